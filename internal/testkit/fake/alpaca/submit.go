package alpaca

import (
	"fmt"
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
	Extended      bool             `json:"extended_hours"`
	ClientOrderID string           `json:"client_order_id"`
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

// submit takes an order, or refuses it. The answer shows it as it came in; what
// becomes of it follows at once.
func (d *desk) submit(a *account, in ask, replaces *ticket) (any, *refusal) {
	if bad := d.check(a, &in); bad != nil {
		return nil, bad
	}
	now := d.now()
	t := &ticket{
		id: d.uuid(), clientID: in.ClientOrderID, symbol: in.Symbol, class: d.server.list[in.Symbol].class, side: in.Side, kind: in.Type,
		force: in.TimeInForce, extended: in.Extended, quantity: *in.Quantity, status: "accepted", created: now, submitted: now, updated: now,
		ended: make(map[string]time.Time),
	}
	if in.LimitPrice != nil {
		t.limit = *in.LimitPrice
	}
	if t.clientID == "" {
		t.clientID = d.uuid()
	}
	if replaces != nil {
		t.replaces = replaces.id
	}
	if bad := d.afford(a, t, replaces); bad != nil {
		return nil, bad
	}
	if replaces != nil {
		replaces.replacedBy = t.id
		d.end(a, replaces, "replaced")
	}
	a.orders = append(a.orders, t)
	trading := d.session(t, now.Unix()).Holds(now.Unix())
	if trading {
		t.status = "pending_new"
	}
	answer := d.show(t)
	if trading {
		d.release(a, t)
		d.match(a, t, d.quoteAt(t.symbol, now.Unix()))
		if t.force == "ioc" && t.open() {
			d.end(a, t, "canceled")
		}
	}
	return answer, nil
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
	case in.Type != "market" && in.Type != "limit":
		return wrong("invalid order type")
	case in.StopPrice != nil || in.Type == "market" && in.LimitPrice != nil:
		return wrong("market orders require no stop or limit price")
	case in.Type == "limit" && in.LimitPrice == nil:
		return wrong("limit orders require a limit price")
	case in.LimitPrice != nil && !in.LimitPrice.IsPositive():
		return wrong("limit_price must be > 0")
	case len(in.ClientOrderID) > 48:
		return wrong("client_order_id must be no more than 48 characters")
	case in.ClientOrderID != "" && a.find("", in.ClientOrderID) != nil:
		return wrong("client_order_id must be unique")
	}
	in.Symbol = name
	if st := d.server.list[name]; st.class == crypto {
		return checkPair(in)
	}
	return d.checkStock(in)
}

// checkPair holds an order for a pair against its rules. More decimals than the
// pair has are cut off in silence, as the venue does.
func checkPair(in *ask) *refusal {
	if !slices.Contains([]string{"gtc", "ioc"}, in.TimeInForce) {
		return unprocessable("invalid crypto time_in_force")
	}
	if in.Extended {
		return unprocessable("extended hours order must be DAY limit orders")
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
	if !slices.Contains([]string{"day", "gtc", "ioc"}, in.TimeInForce) {
		return wrong("invalid time_in_force")
	}
	if in.Extended && (in.Type != "limit" || in.TimeInForce != "day") {
		return unprocessable("extended hours order must be DAY limit orders")
	}
	if p := in.LimitPrice; p != nil {
		digits := int32(2)
		if p.LessThan(decimal.NewFromInt(1)) {
			digits = 4
		}
		if !p.Equal(p.Truncate(digits)) {
			return unprocessable("invalid limit_price %s. sub-penny increment does not fulfill minimum pricing criteria", p)
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
	case in.Type != "market":
		return unprocessable("fractional orders must be market orders")
	}
	return nil
}

// afford holds an order against what the account has: a sale of what is held
// needs it free of other sales, anything else needs power to buy.
func (d *desk) afford(a *account, t, without *ticket) *refusal {
	held := decimal.Decimal{}
	if p := a.held[t.symbol]; p != nil {
		held = p.quantity
	}
	closing := held.IsPositive() && t.side == "sell" || held.IsNegative() && t.side == "buy"
	if closing {
		free := held.Abs().Sub(a.reserved(t.symbol, t.side, without))
		if t.quantity.GreaterThan(free) {
			if t.class == crypto {
				return forbidden("insufficient balance for %s (requested: %s, available: %s)", strings.Split(t.symbol, "/")[0], t.quantity, free)
			}
			bad := forbidden("insufficient qty available for order (requested: %s, available: %s)", t.quantity, free)
			bad.more = map[string]any{"symbol": t.symbol, "existing_qty": held.String(), "available": free.String(), "held_for_orders": held.Abs().Sub(free).String()}
			return bad
		}
		return nil
	}
	if t.side == "sell" {
		switch {
		case t.class == crypto:
			return forbidden("insufficient balance for %s (requested: %s, available: 0)", strings.Split(t.symbol, "/")[0], t.quantity)
		case !t.quantity.IsInteger():
			return forbidden("fractional orders cannot be sold short")
		}
	}
	power, need := d.power(a, without), d.worth(t)
	if t.class == crypto {
		power = power.Div(decimal.NewFromInt(2)) // nothing is lent on it
	}
	if need.GreaterThan(power) {
		bad := forbidden("insufficient buying power")
		bad.more = map[string]any{"buying_power": power.String(), "cost_basis": need.String()}
		return bad
	}
	return nil
}

// worth is what an order takes of the power to buy: a market order is counted 3 %
// above the best price, and so is a short sale.
func (d *desk) worth(t *ticket) decimal.Decimal {
	price := t.limit
	if t.kind == "market" || t.side == "sell" {
		price = decimal.Max(price, d.quoteAt(t.symbol, d.now().Unix()).ask.Mul(decimal.New(103, -2)))
	}
	return t.left().Mul(price)
}

// reserved returns how much of a symbol open orders of one side are for.
func (a *account) reserved(symbol, side string, without *ticket) decimal.Decimal {
	sum := decimal.Decimal{}
	for _, t := range a.orders {
		if t != without && t.open() && t.parent == nil && t.symbol == symbol && t.side == side { // a pair sells once
			sum = sum.Add(t.left())
		}
	}
	return sum
}

// equity is what the account is worth, and gross what it holds either way.
func (d *desk) equity(a *account) (equity, long, short decimal.Decimal) {
	equity = a.cash
	for symbol, p := range a.held {
		q := d.quoteAt(symbol, d.now().Unix())
		value := p.quantity.Mul(q.bid.Add(q.ask).Div(decimal.NewFromInt(2)))
		equity = equity.Add(value)
		if value.IsPositive() {
			long = long.Add(value)
		} else {
			short = short.Add(value)
		}
	}
	return equity, long, short
}

// power is what may be bought: twice what half of the holdings leave of the
// equity (Regulation T), less what open orders may take.
func (d *desk) power(a *account, without *ticket) decimal.Decimal {
	equity, long, short := d.equity(a)
	power := equity.Mul(decimal.NewFromInt(2)).Sub(long).Add(short)
	for _, t := range a.orders {
		if t == without || !t.open() || t.parent != nil {
			continue
		}
		held := decimal.Decimal{}
		if p := a.held[t.symbol]; p != nil {
			held = p.quantity
		}
		if t.side == "buy" && !held.IsNegative() || t.side == "sell" && !held.IsPositive() {
			power = power.Sub(d.worth(t))
		}
	}
	return decimal.Max(power, decimal.Decimal{})
}
