package deploy

import (
	"math"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/backtest/simulate"
)

// keeps returns what the model will still hold at the next open of what it holds now, if what it has ordered at the
// market fills.
func (m *Model) keeps(perpetual bool) decimal.Decimal {
	held := m.exact.quantityOf(m.live.Account().Position())
	if after := m.target(perpetual); after.Sign() != held.Sign() {
		return decimal.Zero
	}
	for i := range m.wants {
		if w := &m.wants[i]; w.Market() && w.Side.Sign() != int64(held.Sign()) {
			held = held.Add(w.Quantity.Mul(decimal.NewFromInt(w.Side.Sign())))
		}
	}
	return held
}

// target returns what the model will hold at the next open, if what it has ordered at the market fills.
func (m *Model) target(perpetual bool) decimal.Decimal {
	held := m.exact.quantityOf(m.live.Account().Position())
	for i := range m.wants {
		w := &m.wants[i]
		if !w.Market() {
			continue
		}
		move := w.Quantity.Mul(decimal.NewFromInt(w.Side.Sign()))
		after := held.Add(move)
		if w.kind == CloseKind && after.Sign() == -held.Sign() || !perpetual && after.IsNegative() {
			after = decimal.Zero
		}
		held = after
	}
	return held
}

// wantsNow reports whether an order was placed for an entry at the market that the model wants at the newest bar.
func (m *Model) wantsNow(key string) bool {
	for i := range m.wants {
		if w := &m.wants[i]; w.kind == EntryKind && w.Market() && w.Key == key {
			return true
		}
	}
	return false
}

// wantsEntry reports whether the model wants the entry that was ordered with a key.
func (m *Model) wantsEntry(key string) bool {
	for i := range m.wants {
		if w := &m.wants[i]; w.kind == EntryKind && w.Key == key {
			return true
		}
	}
	return false
}

// protection returns the stop and the target for all that is held. Of several, those that are farther away: what the
// model closes nearer is closed at the bar.
func (m *Model) protection() order.Protection {
	var p order.Protection
	var stopped, targeted float64
	held := m.live.Account().Position()
	far := math.Copysign(1, held)
	for i := range m.wants {
		w := &m.wants[i]
		if w.kind != LineKind {
			continue
		}
		if w.Stop.IsPositive() {
			stopped += w.Quantity.InexactFloat64()
			p.StopLoss = nearest(p.StopLoss, w.Stop, -far)
		}
		if w.Limit.IsPositive() {
			targeted += w.Quantity.InexactFloat64()
			p.TakeProfit = nearest(p.TakeProfit, w.Limit, far)
		}
	}
	const almost = 1 - 1e-9
	if stopped < math.Abs(held)*almost {
		p.StopLoss = decimal.Zero
	}
	if targeted < math.Abs(held)*almost {
		p.TakeProfit = decimal.Zero
	}
	return p
}

// affordable cuts what an entry at the market opens to what the account of the model can pay, once all is closed that the
// model closes before.
func (m *Model) affordable(w *want, opens decimal.Decimal, perpetual bool) decimal.Decimal {
	side := simulate.Long
	if w.Side == order.Sell {
		side = simulate.Short
	}
	return decimal.Min(opens, m.exact.quantityOf(m.live.Account().Affordable(side, opens.InexactFloat64(), m.live.Account().Position() != 0 && m.keeps(perpetual).IsZero())))
}
