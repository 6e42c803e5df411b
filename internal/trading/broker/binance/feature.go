package binance

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	rules "candela/internal/data/provider/binance"
	"candela/internal/data/upstream"
	"candela/internal/kit/strictjson"
	"candela/internal/trading/order"
	"candela/internal/trading/venue"
	"candela/lib/market"
)

const (
	// featuresAge is how long what a symbol takes is kept, as its filters are.
	featuresAge = time.Hour
	// feesAge is how long the account's fee is kept.
	feesAge = 10 * time.Minute
	// maxFeatures bounds both.
	maxFeatures = 1000

	weightInfo = 20
	weightFees = 20
)

// features is which orders the venue takes in a symbol.
type features struct {
	types         []string // of orders
	oco, oto, opo bool     // pairs; entries with legs; legs that the venue sizes
	trails        bool
	minTrail      int64 // hundredths of a per cent, in both directions
	maxTrail      int64
	maxStops      int // at a time; 0 if it does not say
}

// Capabilities returns which orders the venue takes in a symbol, at most an hour old.
func (b *Broker) Capabilities(ctx context.Context, s market.Symbol) (order.Capabilities, error) {
	f, err := b.features(ctx, s)
	if err != nil {
		return order.Capabilities{}, err
	}
	return f.capabilities(), nil
}

// features reads what a symbol takes.
func (b *Broker) features(ctx context.Context, s market.Symbol) (features, error) {
	spelled, err := rules.Spell(s)
	if err != nil {
		return features{}, err
	}
	return b.known.Get(ctx, time.Now(), spelled, func(ctx context.Context) (features, error) {
		ask := upstream.Request{Path: "/api/v3/exchangeInfo", Query: url.Values{"symbol": {spelled}}, Weight: weightInfo, Subject: spelled}
		f, _, err := upstream.Get(ctx, b.reads, ask, func(body []byte) (features, error) { return parseFeatures(body, spelled) })
		return f, rules.Explain(err, s, spelled)
	})
}

// capabilities returns the features in candela's words. Legs wait for the whole entry,
// which is a limit order, and a group ends as a whole.
func (f features) capabilities() order.Capabilities {
	has := func(kind string) bool { return slices.Contains(f.types, kind) }
	c := order.Capabilities{
		Stops: has(typeStop), StopLimits: has(typeStopLimit), PostOnly: has(typeMaker),
		Times: []order.TimeInForce{order.GTC, order.IOC, order.FOK}, CancelEndsGroup: true, MaxStops: f.maxStops,
	}
	if f.trails && c.Stops && f.minTrail <= f.maxTrail {
		c.TrailMin, c.TrailMax, c.TrailLeg = decimal.New(f.minTrail, -trailDigits), decimal.New(f.maxTrail, -trailDigits), true
		c.TrailStep = decimal.New(1, -trailDigits)
	}
	stops := c.Stops || c.StopLimits
	c.Pairs = f.oco && stops && c.PostOnly
	c.OneLeg = f.oto
	c.TwoLegs = f.oto && c.Pairs
	return c
}

// parseFeatures reads the features of one symbol out of exchangeInfo.
func parseFeatures(data []byte, spelled string) (features, error) {
	return venue.Parse(data, "the rules of symbols", func(j *strictjson.Reader) (found features) {
		known := false
		form.Object(j, "the rules of symbols", venue.Members{"symbols": func() {
			j.Array(func(int) {
				if symbol, f := parseSymbol(j); symbol == spelled {
					found, known = f, true
				}
			})
		}})
		if !known {
			j.Failf("the symbol is not in it")
		}
		return found
	})
}

func parseSymbol(j *strictjson.Reader) (symbol string, f features) {
	form.Object(j, "a symbol", venue.Members{
		"symbol": &symbol, "orderTypes": func() { f.types = venue.Items(j, (*strictjson.Reader).Text) }, "ocoAllowed": &f.oco, "otoAllowed": &f.oto, "opoAllowed": &f.opo,
		"allowTrailingStop": &f.trails, "filters": func() { j.Array(func(int) { f.parseFilter(j) }) },
	})
	return symbol, f
}

// parseFilter reads a filter, if it bounds trails, by the narrower bounds of both directions, or
// how many orders wait for a price.
func (f *features) parseFilter(j *strictjson.Reader) {
	var kind string
	var minAbove, maxAbove, minBelow, maxBelow, stops int64
	form.Object(j, "a filter", venue.Members{
		"filterType": &kind, "minTrailingAboveDelta": &minAbove, "maxTrailingAboveDelta": &maxAbove, "minTrailingBelowDelta": &minBelow, "maxTrailingBelowDelta": &maxBelow,
		"maxNumAlgoOrders": &stops,
	})
	switch kind {
	case "TRAILING_DELTA":
		f.minTrail, f.maxTrail = max(minAbove, minBelow, 1), min(maxAbove, maxBelow)
	case "MAX_NUM_ALGO_ORDERS":
		f.maxStops = int(max(stops, 0))
	}
}

// FeePercent returns the most that a trade of the account in a symbol costs, at most ten
// minutes old.
func (b *Broker) FeePercent(ctx context.Context, s market.Symbol) (decimal.Decimal, error) {
	spelled, err := rules.Spell(s)
	if err != nil {
		return decimal.Zero, err
	}
	rate, err := b.feeRate(ctx, s, spelled)
	return rate.Shift(2), err
}

// feeRate returns the most that the venue takes of what an order in a symbol buys.
func (b *Broker) feeRate(ctx context.Context, s market.Symbol, spelled string) (decimal.Decimal, error) {
	return b.fees.Get(ctx, time.Now(), spelled, func(ctx context.Context) (decimal.Decimal, error) {
		return ask(ctx, b, b.reads, s, "/api/v3/account/commission", weightFees, url.Values{"symbol": {spelled}}, parseFeeRate)
	})
}

// parseFeeRate adds up the commissions of a purchase, as maker or taker, whichever is
// more. A discount is not counted on: it ends when the account lacks what pays it.
func parseFeeRate(data []byte) (decimal.Decimal, error) {
	return venue.Parse(data, "commissions", func(j *strictjson.Reader) (rate decimal.Decimal) {
		found := false
		add := func() {
			var maker, taker, buyer decimal.Decimal
			form.Object(j, "a commission", venue.Members{"maker": &maker, "taker": &taker, "buyer": &buyer})
			rate, found = rate.Add(decimal.Max(maker, taker)).Add(buyer), true
		}
		form.Object(j, "commissions", venue.Members{"standardCommission": add, "specialCommission": add, "taxCommission": add})
		if !found || rate.GreaterThanOrEqual(decimal.NewFromInt(1)) {
			j.Failf("there is no commission in it, or all is taken")
		}
		return rate
	})
}
