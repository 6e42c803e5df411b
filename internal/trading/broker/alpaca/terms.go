package alpaca

import (
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/internal/trading/venue"
	"candela/lib/fault"
)

// The venue's types of orders that wait for a price.
const (
	typeStop      = "stop"
	typeStopLimit = "stop_limit"
	typeTrailing  = "trailing_stop"
)

func kinds() venue.Words[venue.Kind] {
	return venue.Words[venue.Kind]{
		"market": {Type: order.Market}, "limit": {Type: order.Limit}, typeStop: {Type: order.Market, Waits: true}, typeStopLimit: {Type: order.Limit, Waits: true},
		typeTrailing: {Type: order.Market, Waits: true, Trails: true},
	}
}

// sides are the venue's words for sides, of which a fill of a short sale has one of its own.
func sides() venue.Words[order.Side] {
	return venue.Words[order.Side]{"buy": order.Buy, "sell": order.Sell, "sell_short": order.Sell}
}

const (
	maxIDBytes = 48 // of the id that we give an order
	// codeNotNative is of what the venue cannot hold.
	codeNotNative = "protection_not_native"
)

// ask is an order as it is sent. Legs without order_class would be ignored in silence, so
// both are set together, by compose of a group alone.
type ask struct {
	ClientOrderID string   `json:"client_order_id"`
	Symbol        string   `json:"symbol"`
	Quantity      string   `json:"qty"`
	Side          string   `json:"side"`
	Type          string   `json:"type"`
	TimeInForce   string   `json:"time_in_force"`
	LimitPrice    string   `json:"limit_price,omitempty"`
	StopPrice     string   `json:"stop_price,omitempty"`
	TrailPercent  string   `json:"trail_percent,omitempty"`
	OrderClass    string   `json:"order_class,omitempty"`
	TakeProfit    *legTerm `json:"take_profit,omitempty"`
	StopLoss      *legTerm `json:"stop_loss,omitempty"`
}

// legTerm is a leg of a group as it is sent.
type legTerm struct {
	LimitPrice string `json:"limit_price,omitempty"`
	StopPrice  string `json:"stop_price,omitempty"`
}

// isPair reports whether an order is in a crypto pair.
func isPair(o order.Spec) bool { return strings.Contains(o.Symbol.Name, "/") }

// typeWord returns the venue's word for the type of an order.
func typeWord(o order.Spec) string { return kinds().Write(venue.KindOf(o)) }

// forceOf returns how long an order stays open where the request does not say it: until it
// is cancelled in a pair, and also in a stock if it is a stop or has legs, because what
// ends at the close protects nothing overnight. Other orders for stocks are for the day,
// the only time in force that the venue has for fractions of a share.
func forceOf(o order.Spec, grouped bool) order.TimeInForce {
	switch {
	case o.TimeInForce != 0:
		return o.TimeInForce
	case isPair(o) || o.IsStop() || grouped:
		return order.GTC
	default:
		return order.Day
	}
}

// sentAs describes an order whose time in force was chosen here and is not the usual one.
func sentAs(o order.Spec, grouped bool) string {
	if o.TimeInForce != 0 || isPair(o) || forceOf(o, grouped) == order.Day {
		return ""
	}
	words := []string{typeWord(o)}
	if o.TrailPercent.IsPositive() {
		words = append(words, o.TrailPercent.String()+"%")
	}
	for _, price := range []decimal.Decimal{o.StopPrice, o.Price} {
		if price.IsPositive() {
			words = append(words, price.String())
		}
	}
	return strings.Join(append(words, order.GTC.String()), " ")
}

// price writes a price, and none as "".
func price(d decimal.Decimal) string {
	if !d.IsPositive() {
		return ""
	}
	return d.String()
}

// termsOf writes an order down that was checked.
func termsOf(o order.Spec, grouped bool) ask {
	a := ask{
		ClientOrderID: o.ID, Symbol: o.Symbol.Name, Quantity: o.Quantity.String(), Side: o.Side.String(), Type: typeWord(o),
		TimeInForce: forceOf(o, grouped).String(), StopPrice: price(o.StopPrice), TrailPercent: price(o.TrailPercent),
	}
	if o.Type == order.Limit {
		a.LimitPrice = price(o.Price)
	}
	return a
}

// checkSpec says what is wrong with an order.
func checkSpec(o order.Spec, grouped bool) error {
	if err := venue.CheckOrder(name, maxIDBytes, o); err != nil {
		return err
	}
	switch trails := o.TrailPercent.IsPositive(); {
	case o.Symbol.Venue != name || o.Symbol.Name == "":
		return fault.Field("symbol", o.Symbol.String(), "a symbol of "+name)
	case o.PostOnly:
		return fault.Field("post_only", "true", "false: alpaca has no orders that only rest")
	case trails && o.Type == order.Limit:
		return fault.Field("type", o.Type.String(), "market with trail_percent: alpaca has no limit for it")
	case trails && isPair(o):
		return notNative("trail_percent", o.TrailPercent, "trailing stop in crypto pairs; give a stop price with a limit")
	case o.StopPrice.IsPositive() && o.Type == order.Market && isPair(o):
		return notNative(venue.StopField(o), o.StopPrice, "stop without a limit in crypto pairs; give "+limitField(o)+" as well")
	case (o.IsStop() || grouped) && !isPair(o) && !o.Quantity.IsInteger():
		return wholeShares(o, grouped)
	}
	return checkForce(o, grouped)
}

// checkForce refuses a time in force that the venue does not have for the order.
func checkForce(o order.Spec, grouped bool) error {
	allowed := "day, gtc, ioc or fok at alpaca"
	var ok bool
	switch force := o.TimeInForce; {
	case force == 0:
		ok = true
	case isPair(o):
		ok, allowed = force == order.GTC || force == order.IOC, "gtc or ioc for crypto pairs at alpaca"
	case o.IsStop() || grouped:
		ok, allowed = force == order.GTC || force == order.Day, "gtc or day for stops, trails and orders with legs at alpaca"
	default:
		ok = force.String() != ""
	}
	if !ok {
		return fault.Field("time_in_force", o.TimeInForce.String(), allowed)
	}
	return nil
}

// wholeShares refuses a fraction of a share.
func wholeShares(o order.Spec, grouped bool) error {
	what, next := "stops and trails", "as a market or limit order"
	if grouped {
		what, next = "legs", "without legs"
	}
	less := o.Quantity.Floor()
	done := "sold"
	if o.Side == order.Buy {
		done = "bought"
	}
	return fault.New(fault.Invalid, "invalid_argument", "quantity: alpaca takes %s for whole shares only; the nearest are %s and %s; %s %s can be %s",
		what, less.Add(decimal.NewFromInt(1)), less, next, o.Quantity, done).About("quantity", o.Quantity.String(), "whole shares")
}

// notNative refuses an order that the venue cannot hold.
func notNative(field string, value decimal.Decimal, what string) error {
	return fault.New(fault.Unsupported, codeNotNative, "%s: alpaca has no %s", field, what).About(field, value.String(), "")
}

// limitField returns the argument that the limit of an order with a stop comes from.
func limitField(o order.Spec) string {
	if o.Role == order.StopLoss {
		return "stop_loss_limit"
	}
	return "type limit with price"
}
