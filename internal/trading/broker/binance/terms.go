package binance

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/fault"
)

// The venue's types of orders. Those with a stop wait for it.
const (
	typeMarket    = "MARKET"
	typeLimit     = "LIMIT"
	typeMaker     = "LIMIT_MAKER" // rests, or is refused
	typeStop      = "STOP_LOSS"
	typeStopLimit = "STOP_LOSS_LIMIT"
)

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
	t := terms{kind: typeMarket, stop: o.StopPrice, trail: o.TrailPercent.Shift(trailDigits).IntPart()}
	switch waits := o.IsStop(); {
	case o.Type == order.Limit && waits:
		t.kind = typeStopLimit
	case o.Type == order.Limit && o.PostOnly:
		t.kind = typeMaker
	case o.Type == order.Limit:
		t.kind = typeLimit
	case waits:
		t.kind = typeStop
	}
	if o.Type == order.Limit {
		t.price = o.Price
	}
	if t.kind == typeLimit || t.kind == typeStopLimit {
		t.force = forceWord(o.TimeInForce)
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

// forceWord returns the venue's word for a time in force. The usual one is until it is
// cancelled.
func forceWord(t order.TimeInForce) string {
	switch t {
	case order.IOC:
		return "IOC"
	case order.FOK:
		return "FOK"
	default:
		return "GTC"
	}
}

// forceOf reads a time in force, zero for a word that is not known.
func forceOf(word string) order.TimeInForce {
	switch word {
	case "GTC":
		return order.GTC
	case "IOC":
		return order.IOC
	case "FOK":
		return order.FOK
	}
	return 0
}

// sideWord returns the venue's word for a side.
func sideWord(s order.Side) string { return strings.ToUpper(s.String()) }

// checkSpec refuses what the venue would not even be asked.
func checkSpec(o order.Spec) error {
	legal := func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_'
	}
	switch {
	case o.ID == "" || len(o.ID) > maxID || strings.ContainsFunc(o.ID, func(c rune) bool { return !legal(c) }):
		return fault.Field("id", o.ID, "1 to 36 letters, digits, - and _")
	case o.Side != order.Buy && o.Side != order.Sell:
		return fault.Field("side", fmt.Sprint(o.Side), "buy, sell")
	case o.Type != order.Market && o.Type != order.Limit:
		return fault.Field("type", fmt.Sprint(o.Type), "market, limit")
	case !o.Quantity.IsPositive():
		return fault.Field("quantity", o.Quantity.String(), "above zero")
	case o.Type == order.Limit && !o.Price.IsPositive():
		return fault.Field("price", o.Price.String(), "above zero for a limit order")
	}
	if err := checkStop(o); err != nil {
		return err
	}
	return checkForce(o)
}

// checkStop refuses a stop that the venue does not have.
func checkStop(o order.Spec) error {
	switch trail := o.TrailPercent.Round(trailDigits); {
	case o.StopPrice.IsNegative():
		return fault.Field(stopField(o), o.StopPrice.String(), "a price above zero")
	case o.TrailPercent.IsNegative() || o.TrailPercent.IsPositive() && trail.GreaterThan(decimal.NewFromInt(100)):
		return fault.Field("trail_percent", o.TrailPercent.String(), "per cent above 0 and up to 100")
	case o.TrailPercent.IsPositive() && o.StopPrice.IsPositive():
		return fault.Field("trail_percent", o.TrailPercent.String(), "trail_percent or a stop price, not both")
	case !o.Best.IsZero():
		return fault.Field("best", o.Best.String(), "no best price: a trail begins at the price of now at binance")
	case !o.TrailPercent.Equal(trail):
		nearest := decimal.Max(trail, decimal.New(1, -trailDigits))
		return fault.Field("trail_percent", o.TrailPercent.String(), "steps of 0.01 per cent at binance", nearest.String())
	}
	return nil
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

// stopField returns the argument that an order's stop price comes from.
func stopField(o order.Spec) string {
	if o.Role == order.StopLoss {
		return "stop_loss"
	}
	return "stop_price"
}
