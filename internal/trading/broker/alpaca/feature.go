package alpaca

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/upstream"
	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
	"candela/lib/market"
)

const (
	// featuresAge is how long what a symbol takes is kept.
	featuresAge = time.Hour
	maxFeatures = 1024
)

// features is what decides which orders the venue takes in a symbol.
type features struct {
	crypto bool
	shorts bool // the asset and the account may be sold short
}

// Capabilities returns which orders the venue takes in a symbol, at most an hour old.
func (b *Broker) Capabilities(ctx context.Context, s market.Symbol) (order.Capabilities, error) {
	in, err := b.Instrument(ctx, s) // gives a symbol that is not known its error
	if err != nil {
		return order.Capabilities{}, err
	}
	f, err := b.known.Get(ctx, b.config.Now(), in.Symbol.Name, func(ctx context.Context) (features, error) {
		joined := joinPair(in.Symbol.Name)
		f, err := fetch(ctx, b, upstream.Request{Path: "/v2/assets/" + joined, Subject: joined}, readFeatures)
		if err != nil || !f.shorts {
			return f, err
		}
		f.shorts, err = fetch(ctx, b, upstream.Request{Path: "/v2/account", Subject: "account"}, readShorting)
		return f, err
	})
	if err != nil {
		return order.Capabilities{}, err
	}
	return f.capabilities(), nil
}

// capabilities returns the features in candela's words. The venue documents no bounds of a
// trail; these are those of place_order.
func (f features) capabilities() order.Capabilities {
	if f.crypto {
		return order.Capabilities{StopLimits: true, Times: []order.TimeInForce{order.GTC, order.IOC}}
	}
	return order.Capabilities{
		Stops: true, StopLimits: true, Times: []order.TimeInForce{order.Day, order.GTC, order.IOC, order.FOK},
		TrailMin: decimal.New(1, -1), TrailMax: decimal.NewFromInt(20),
		Pairs: true, OneLeg: true, TwoLegs: true, MarketEntry: true, WholeLegs: true, SellEntry: f.shorts, CancelEndsGroup: true,
	}
}

// readFeatures reads what an asset is and whether it can be sold short: the venue opens
// shorts only in what is easy to borrow.
func readFeatures(body []byte) (features, error) {
	return venue.Parse(body, "an asset", func(j *strictjson.Reader) (f features) {
		class, shortable, borrow := "", false, false
		form.Object(j, "an asset", venue.Members{"class": &class, "shortable": &shortable, "easy_to_borrow": &borrow}, "class")
		f.crypto = class == "crypto"
		f.shorts = shortable && borrow && !f.crypto
		return f
	})
}

// readShorting reads whether an account may sell short.
func readShorting(body []byte) (bool, error) {
	return venue.Parse(body, "an account", func(j *strictjson.Reader) (allowed bool) {
		form.Object(j, "an account", venue.Members{"shorting_enabled": &allowed})
		return allowed
	})
}
