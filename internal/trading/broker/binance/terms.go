package binance

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/internal/trading/venue"
	"candela/lib/fault"
)

// The venue's types of orders that a symbol may lack. Those with a stop wait for it.
const (
	typeMaker     = "LIMIT_MAKER" // rests, or is refused
	typeStop      = "STOP_LOSS"
	typeStopLimit = "STOP_LOSS_LIMIT"
)

func kinds() venue.Words[venue.Kind] {
	return venue.Words[venue.Kind]{
		"MARKET": {Type: order.Market}, "LIMIT": {Type: order.Limit}, typeMaker: {Type: order.Limit, Maker: true},
		typeStop: {Type: order.Market, Waits: true}, typeStopLimit: {Type: order.Limit, Waits: true},
		"TAKE_PROFIT": {Type: order.Market, Waits: true, Target: true}, "TAKE_PROFIT_LIMIT": {Type: order.Limit, Waits: true, Target: true},
	}
}

func forces() venue.Words[order.TimeInForce] {
	return venue.Words[order.TimeInForce]{"GTC": order.GTC, "IOC": order.IOC, "FOK": order.FOK}
}

func sides() venue.Words[order.Side] {
	return venue.Words[order.Side]{"BUY": order.Buy, "SELL": order.Sell}
}

// maxID is how long an id may be at the venue.
const maxID = 36

// trailDigits are the digits after the point of a trail in per cent: the venue counts in
// hundredths.
const trailDigits = 2

// terms is what an order asks for in the venue's words.
type terms struct {
	kind  string
	force string          // "" for a type without it
	price decimal.Decimal // of types with a limit
	stop  decimal.Decimal // zero for none
	trail int64           // hundredths of a per cent, 0 for none
}

// termsOf returns the terms of an order that was checked.
func termsOf(o order.Spec) terms {
	kind := venue.KindOf(o)
	kind.Trails = false // which the venue has as a stop
	t := terms{kind: kinds().Write(kind), stop: o.StopPrice, trail: o.TrailPercent.Shift(trailDigits).IntPart()}
	if o.Type == order.Limit {
		t.price = o.Price
		if !o.PostOnly {
			t.force = forces().Write(cmp.Or(o.TimeInForce, order.GTC))
		}
	}
	return t
}

// put adds the terms to the parameters of a request. The names of an order in a list have
// a prefix.
func (t terms) put(params url.Values, prefix string) {
	set := func(name, value string) {
		if prefix == "" {
			name = strings.ToLower(name[:1]) + name[1:]
		}
		params.Set(prefix+name, value)
	}
	set("Type", t.kind)
	if t.force != "" {
		set("TimeInForce", t.force)
	}
	if t.price.IsPositive() {
		set("Price", t.price.String())
	}
	if t.stop.IsPositive() {
		set("StopPrice", t.stop.String())
	}
	if t.trail > 0 {
		set("TrailingDelta", strconv.FormatInt(t.trail, 10))
	}
}

// agrees reports whether a report is of an order with these terms.
func (t terms) agrees(r order.Report) bool {
	got := termsOf(r.Spec)
	return r.Type != 0 && got.kind == t.kind && (t.force == "" || got.force == t.force) && got.price.Equal(t.price) && got.stop.Equal(t.stop) && got.trail == t.trail
}

// checkSpec refuses what the venue would not even be asked.
func checkSpec(o order.Spec) error {
	if err := venue.CheckOrder(name, maxID, o); err != nil {
		return err
	}
	if trail := o.TrailPercent.Round(trailDigits); !o.TrailPercent.Equal(trail) {
		nearest := decimal.Max(trail, decimal.New(1, -trailDigits))
		return fault.Field("trail_percent", o.TrailPercent.String(), "steps of 0.01 per cent at binance", nearest.String())
	}
	return checkForce(o)
}

// checkForce refuses a time in force that the venue does not have for the order.
func checkForce(o order.Spec) error {
	force := o.TimeInForce
	switch {
	case o.PostOnly && (o.Type != order.Limit || o.IsStop()):
		return fault.Field("post_only", "true", "post_only with a limit order that has no stop price")
	case force == 0 || force == order.GTC:
	case o.PostOnly:
		return fault.Field("time_in_force", force.String(), "gtc with post_only: such an order rests")
	case force != order.IOC && force != order.FOK:
		return fault.Field("time_in_force", force.String(), "gtc, ioc or fok at binance")
	case force == order.FOK && o.Type == order.Market:
		return fault.Field("time_in_force", force.String(), "gtc or ioc for a market order, or type limit with price")
	}
	return nil
}
