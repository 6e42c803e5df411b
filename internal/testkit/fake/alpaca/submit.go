package alpaca

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// ask is what a client wants. Numbers come with and without quotes.
type ask struct {
	Symbol        string           `json:"symbol"`
	Quantity      *decimal.Decimal `json:"qty"`
	Notional      *decimal.Decimal `json:"notional"`
	Side          string           `json:"side"`
	Type          string           `json:"type"`
	TimeInForce   string           `json:"time_in_force"`
	LimitPrice    *decimal.Decimal `json:"limit_price"`
	StopPrice     *decimal.Decimal `json:"stop_price"`
	TrailPrice    *decimal.Decimal `json:"trail_price"`
	TrailPercent  *decimal.Decimal `json:"trail_percent"`
	Extended      bool             `json:"extended_hours"`
	ClientOrderID string           `json:"client_order_id"`
	OrderClass    string           `json:"order_class"`
	TakeProfit    *exit            `json:"take_profit"`
	StopLoss      *exit            `json:"stop_loss"`
}

// exit is a leg that a client wants.
type exit struct {
	LimitPrice *decimal.Decimal `json:"limit_price"`
	StopPrice  *decimal.Decimal `json:"stop_price"`
}

func wrong(text string) *refusal {
	return &refusal{http.StatusUnprocessableEntity, 40010001, text, nil}
}

func unprocessable(format string, args ...any) *refusal {
	return &refusal{http.StatusUnprocessableEntity, 42210000, fmt.Sprintf(format, args...), nil}
}

func forbidden(format string, args ...any) *refusal {
	return &refusal{http.StatusForbidden, 40310000, fmt.Sprintf(format, args...), nil}
}

// submit takes an order, or refuses it. The answer shows it as it came in, with its legs;
// what becomes of it follows at once.
func (d *desk) submit(a *account, in ask) (any, *refusal) {
	if bad := d.check(a, &in); bad != nil {
		return nil, bad
	}
	t := d.ticketOf(in)
	t.legs = d.legsOf(t, in)
	if bad := d.fits(a, t); bad != nil {
		return nil, bad
	}
	if bad := d.afford(a, t, nil); bad != nil {
		return nil, bad
	}
	a.orders = append(append(a.orders, t), t.legs...)
	now := d.now().Unix()
	trading := d.session(t, now).Holds(now)
	if trading {
		t.status = "pending_new"
	}
	answer := d.showNested(t)
	for _, leg := range t.legs {
		d.publish(a, leg, "held", nil)
	}
	if trading {
		d.release(a, t)
		d.look(a, t, d.quoteAt(t.symbol, now))
	}
	return answer, nil
}

// ticketOf makes an order of what was asked for.
func (d *desk) ticketOf(in ask) *ticket {
	now := d.now()
	t := &ticket{
		id: d.uuid(), clientID: in.ClientOrderID, symbol: in.Symbol, class: d.server.list[in.Symbol].class, side: in.Side, kind: in.Type,
		force: in.TimeInForce, extended: in.Extended, quantity: *in.Quantity, status: "accepted", created: now, submitted: now, updated: now,
		ended: make(map[string]time.Time), limit: amount(in.LimitPrice), stop: amount(in.StopPrice),
		trail: trail{price: amount(in.TrailPrice), percent: amount(in.TrailPercent)},
	}
	if in.OrderClass != "simple" {
		t.orderClass = in.OrderClass
	}
	if t.clientID == "" {
		t.clientID = d.uuid()
	}
	return t
}

// amount is a number, 0 for none.
func amount(n *decimal.Decimal) decimal.Decimal {
	if n == nil {
		return decimal.Decimal{}
	}
	return *n
}

// check holds an order against the rules of the API.
func (d *desk) check(a *account, in *ask) *refusal {
	name, ok := d.server.listed(in.Symbol)
	switch {
	case !ok:
		return unprocessable("asset %q not found", in.Symbol)
	case in.Quantity == nil && in.Notional == nil:
		return wrong("qty or notional is required")
	case in.Notional != nil:
		return wrong("notional orders are not supported here")
	case !in.Quantity.IsPositive():
		return wrong("qty must be > 0")
	case in.Side != "buy" && in.Side != "sell":
		return wrong("invalid side")
	case len(in.ClientOrderID) > 48:
		return wrong("client_order_id must be no more than 48 characters")
	case in.ClientOrderID != "" && a.find("", in.ClientOrderID) != nil:
		return wrong("client_order_id must be unique")
	}
	in.Symbol = name
	for _, rule := range []func(*ask) *refusal{checkClass, checkType, checkPositive} {
		if bad := rule(in); bad != nil {
			return bad
		}
	}
	if st := d.server.list[name]; st.class == crypto {
		return checkPair(in)
	}
	return d.checkStock(in)
}

// checkType holds that an order has the prices of its type, and no others.
func checkType(in *ask) *refusal {
	trails := in.TrailPrice != nil || in.TrailPercent != nil
	switch limit, stop := in.LimitPrice != nil, in.StopPrice != nil; in.Type {
	case typeMarket:
		if limit || stop {
			return wrong("market orders require no stop or limit price")
		}
	case typeLimit:
		switch {
		case !limit:
			return wrong("limit orders require a limit price")
		case stop:
			return wrong("limit orders require no stop price")
		}
	case typeStop:
		switch {
		case !stop:
			return wrong("stop orders require a stop price")
		case limit:
			return wrong("stop orders require no limit price")
		}
	case typeStopLimit:
		if !limit || !stop {
			return wrong("stop limit orders require both stop and limit price")
		}
	case typeTrailing:
		switch {
		case (in.TrailPrice != nil) == (in.TrailPercent != nil):
			return wrong("trailing stop orders must specify one of trail_price or trail_percent")
		case limit || stop:
			return wrong("trailing stop orders require no stop or limit price")
		}
		return nil
	default:
		return wrong("invalid order type")
	}
	if trails {
		return wrong(strings.ReplaceAll(in.Type, "_", " ") + " orders must not have trail_price or trail_percent")
	}
	return nil
}

// prices returns the prices of an order and its legs by their names.
func (in *ask) prices() map[string]*decimal.Decimal {
	out := map[string]*decimal.Decimal{"limit_price": in.LimitPrice, "stop_price": in.StopPrice}
	if in.TakeProfit != nil {
		out["take_profit.limit_price"] = in.TakeProfit.LimitPrice
	}
	if in.StopLoss != nil {
		out["stop_loss.limit_price"], out["stop_loss.stop_price"] = in.StopLoss.LimitPrice, in.StopLoss.StopPrice
	}
	maps.DeleteFunc(out, func(_ string, p *decimal.Decimal) bool { return p == nil })
	return out
}

// checkPositive holds that every price is above zero.
func checkPositive(in *ask) *refusal {
	all := in.prices()
	all["trail_price"], all["trail_percent"] = in.TrailPrice, in.TrailPercent
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if p := all[name]; p != nil && !p.IsPositive() {
			return wrong(name + " must be > 0")
		}
	}
	return nil
}

// checkPair holds an order for a pair against its rules. More decimals than the
// pair has are cut off in silence, as the venue does.
func checkPair(in *ask) *refusal {
	switch {
	case in.advanced():
		return unprocessable("crypto orders not allowed for advanced order_class: %s", strings.Replace(in.OrderClass, "bracket", "otoco", 1))
	case in.Type == typeStop || in.Type == typeTrailing:
		return wrong("invalid order type for crypto order")
	case in.TimeInForce != "gtc" && in.TimeInForce != "ioc":
		return unprocessable("invalid crypto time_in_force")
	case in.Extended:
		return unprocessable("extended hours order must be DAY or GTC limit orders")
	}
	least, step := decimal.RequireFromString(pairMinimum), decimal.RequireFromString(pairStep)
	if in.Quantity.LessThan(least) {
		return forbidden("minimal qty of order is %s", least)
	}
	cut := in.Quantity.Div(step).Floor().Mul(step)
	in.Quantity = &cut
	return nil
}

// The sizes of every pair here.
const (
	pairMinimum = "0.0001"
	pairStep    = "0.000000001"
	pairTick    = "0.01"
)

// checkStock holds an order for a stock against its rules.
func (d *desk) checkStock(in *ask) *refusal {
	stop := in.Type != typeMarket && in.Type != typeLimit
	switch {
	case !slices.Contains([]string{"day", "gtc", "ioc", "fok"}, in.TimeInForce): // opg and cls are not offered here
		return wrong("invalid time_in_force")
	case stop && in.TimeInForce != "day" && in.TimeInForce != "gtc":
		return wrong(strings.ReplaceAll(in.Type, "_", " ") + ` orders support only "day" or "gtc" time_in_force`)
	case in.Extended && stop:
		return unprocessable("stop orders are not eligible for extended hours trading")
	case in.Extended && (in.Type != typeLimit || in.TimeInForce != "day" && in.TimeInForce != "gtc"):
		return unprocessable("extended hours order must be DAY or GTC limit orders")
	}
	all := in.prices()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p, digits := all[name], int32(2)
		if p.LessThan(decimal.NewFromInt(1)) {
			digits = 4
		}
		if !p.Equal(p.Truncate(digits)) {
			return unprocessable("invalid %s %s. sub-penny increment does not fulfill minimum pricing criteria", name, p)
		}
	}
	if in.Quantity.IsInteger() {
		return nil
	}
	switch {
	case !d.server.list[in.Symbol].fractionable:
		return forbidden("asset %q is not fractionable", in.Symbol)
	case in.TimeInForce != "day":
		return unprocessable("fractional orders must be DAY orders")
	case in.advanced():
		return unprocessable("fractional orders must be simple orders")
	case in.Type == typeTrailing:
		return unprocessable("fractional orders must not be trailing stop orders")
	}
	return nil
}
