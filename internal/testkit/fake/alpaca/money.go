package alpaca

import (
	"strings"

	"github.com/shopspring/decimal"
)

// afford holds an order against what the account has: a sale of what is held
// needs it free of other sales, anything else needs power to buy.
func (d *desk) afford(a *account, t, without *ticket) *refusal {
	held := decimal.Decimal{}
	if p := a.held[t.symbol]; p != nil {
		held = p.quantity
	}
	closing := held.IsPositive() && t.side == "sell" || held.IsNegative() && t.side == "buy"
	if closing {
		free := held.Abs().Sub(d.reserved(a, t.symbol, t.side, without))
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
// above the best price, and so is a short sale; a stop at its trigger if that is more.
func (d *desk) worth(t *ticket) decimal.Decimal {
	price := decimal.Max(t.limit, t.stop)
	if !t.priced() || t.side == "sell" {
		price = decimal.Max(price, d.quoteAt(t.symbol, d.now().Unix()).ask.Mul(decimal.New(103, -2)))
	}
	return t.left().Mul(price)
}

// reserved returns how much of a symbol open orders of one side are for.
func (d *desk) reserved(a *account, symbol, side string, without *ticket) decimal.Decimal {
	sum, now := decimal.Decimal{}, d.now()
	for _, t := range a.orders {
		if t != without && (t.claims() || now.Before(t.claimUntil)) && t.symbol == symbol && t.side == side {
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
		if t == without || !t.claims() {
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
