package guard

import (
	"github.com/shopspring/decimal"

	"candela/internal/trading/margin"
	"candela/internal/trading/order"
)

// Estimate returns what an order would cost, risk and leave of the limits. It does not
// check the order.
func Estimate(p Policy, in Intent, f Facts) order.Estimate {
	q := newCheck(p, State{}, in, f)
	price, sign := q.plausible(), decimal.NewFromInt(q.Side.Sign())
	e := order.Estimate{Price: price, Value: q.Quantity.Mul(price).Mul(q.Rate), Risk: q.opening().Mul(q.unitRiskAt(price)).Mul(q.Rate)}
	e.Fee, e.NeedsApproval = percent(e.Value, q.takerFeePct()), NeedsApproval(p, in, f)
	plan := planOf(q.Spec)
	switch stop := q.stop().value; {
	case plan.TrailPercent.IsPositive():
		e.StopDistance = plan.TrailPercent
	case stop.IsPositive() && price.IsPositive():
		e.StopDistance = price.Sub(stop).Abs().Shift(2).DivRound(price, 4)
	}
	if target := plan.TakeProfit; plan.entry && target.IsPositive() {
		fees := percent(price.Add(target), q.takerFeePct())
		e.Reward = q.Quantity.Mul(target.Sub(price).Mul(sign).Sub(fees)).Mul(q.Rate)
	}
	if q.Equity.Valid && q.Equity.Decimal.IsPositive() {
		e.Equity = q.Equity.Decimal
		e.RiskPercent = e.Risk.Shift(2).DivRound(e.Equity, 4)
	}
	if q.perpetual() {
		q.estimateMargin(&e)
	}
	for _, b := range q.bounds() {
		left := b.left.Sub(b.perUnit.Mul(q.Quantity))
		if b.opens {
			left = b.left.Sub(b.perUnit.Mul(q.opening()))
		}
		e.Limits = append(e.Limits, order.LimitLeft{Rule: b.rule, Left: decimal.Max(left, decimal.Zero)})
	}
	return e
}

// plausible returns the price at which the order would trade: that of a limit or stop, else
// of the other side of the book, or the last.
func (q *orderCheck) plausible() decimal.Decimal {
	taker, known := q.Quote.TakerPrice(q.Side)
	if !known {
		taker = q.Quote.Last
	}
	switch {
	case q.Type == order.Limit && !q.StopPrice.IsPositive() && taker.IsPositive() && !isBeyond(taker, q.Price, q.Side == order.Buy):
		return taker // it trades at once, at this price or better
	case q.Type == order.Limit:
		return q.Price
	case q.StopPrice.IsPositive():
		return q.StopPrice
	default:
		return taker
	}
}

// bound is a limit of which each unit of an order uses a part.
type bound struct {
	rule          string
	left, perUnit decimal.Decimal
	opens         bool // only the part of an order that opens a position counts
}

// bounds returns the limits of the policy and the venue that are on and that a quantity
// counts against.
func (q *orderCheck) bounds() []bound {
	one, perUnit := decimal.NewFromInt(1), q.notional(decimal.NewFromInt(1))
	before, _ := q.exposure()
	used := before.Mul(decimal.NewFromInt(q.Side.Sign())).Mul(perUnit)
	risk := q.unitRisk().Mul(q.Rate)
	var all []bound
	add := func(rule string, l Limit, used, perUnit decimal.Decimal, opens bool) {
		if !l.Off {
			all = append(all, bound{rule, l.Value.Sub(used), perUnit, opens})
		}
	}
	add("max_order_quantity", q.limits.MaxOrderQuantity, decimal.Zero, one, false)
	add("venue_max_quantity", Limit{Value: q.Instrument.MaxQuantity, Off: !q.Instrument.MaxQuantity.IsPositive()}, decimal.Zero, one, false)
	if most := q.floor(q.Instrument.MaxMarket); !q.ReduceOnly && (q.Type == order.Market || planOf(q.Spec).HasStop()) {
		add("venue_max_market", Limit{Value: most, Off: !most.IsPositive() || q.Type != order.Market && planOf(q.Spec).StopLossLimit.IsPositive()}, decimal.Zero, one, false)
	}
	add("max_order_notional", q.limits.MaxOrderNotional, decimal.Zero, perUnit, false)
	add("max_daily_notional", q.policy.MaxDailyNotional, q.Traded, perUnit, false)
	if q.ReduceOnly {
		return all
	}
	add("max_symbol_exposure", q.limits.MaxSymbolExposure, used, perUnit, false)
	add("max_exposure", q.policy.MaxExposure, used.Add(q.Others), perUnit, false)
	add("max_trade_risk", q.limits.MaxTradeRisk, decimal.Zero, risk, true)
	if pct := q.limits.MaxTradeRiskPct; q.Equity.Valid {
		add("max_trade_risk_pct", Limit{percent(q.Equity.Decimal, pct.Value), pct.Off}, decimal.Zero, risk, true)
	}
	add("max_open_risk", q.policy.MaxOpenRisk, q.OpenRisk, risk, true)
	return all
}

// cash returns the bound of what a purchase may cost with its fee, if that is known.
func (q *orderCheck) cash() []bound {
	if q.Side != order.Buy && !q.perpetual() || !q.Cash.Valid {
		return nil
	}
	perUnit := q.notional(decimal.NewFromInt(1))
	if q.perpetual() {
		needs := margin.Initial(perUnit, q.leverage()).Add(percent(perUnit, q.takerFeePct()))
		return []bound{{"cash", q.Cash.Decimal.Mul(q.Rate), needs, true}}
	}
	return []bound{{"cash", q.Cash.Decimal.Mul(q.Rate), perUnit.Add(percent(perUnit, q.takerFeePct())), false}}
}
