package guard

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/fault"
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
	if q.Side != order.Buy || !q.Cash.Valid {
		return nil
	}
	perUnit := q.notional(decimal.NewFromInt(1))
	return []bound{{"cash", q.Cash.Decimal.Mul(q.Rate), perUnit.Add(percent(perUnit, q.takerFeePct())), false}}
}

// Size returns the estimate of an order whose quantity follows from a risk:
//
//	quantity = risk / unit risk, rounded down to the step
//
// with the unit risk at the price at which it would plausibly trade. If a limit or the free cash
// allows less, CappedBy names it; those of risk count from the worst entry. The error says how much risk
// the smallest order takes, if the risk is less.
func Size(p Policy, in Intent, risk order.Risk, f Facts) (order.Estimate, error) {
	q := newCheck(p, State{}, in, f)
	amount, err := q.riskAmount(risk)
	if err != nil {
		return order.Estimate{}, err
	}
	if !q.fresh() || !q.Rate.IsPositive() {
		return order.Estimate{}, fault.New(fault.Unavailable, "unavailable", "No current price for %v, so no quantity follows from the risk. Retry in 1 s.", q.Symbol).Retry(time.Second)
	}
	perUnit := q.unitRiskAt(q.plausible()).Mul(q.Rate)
	q.Quantity = q.wholeSteps(divide(amount.value, perUnit))
	capped := ""
	if most := q.wholeSteps(risk.Most); risk.Most.IsPositive() && most.LessThan(q.Quantity) {
		q.Quantity, capped = most, "quantity"
	}
	for _, b := range slices.Concat(q.bounds(), q.cash()) {
		if most := q.wholeSteps(divide(b.left, b.perUnit)); most.LessThan(q.Quantity) {
			q.Quantity, capped = most, b.rule
		}
	}
	if least := q.leastQuantity(); q.Quantity.LessThan(least) {
		return order.Estimate{}, tooSmall(amount, least, perUnit, capped, q)
	}
	e := Estimate(p, q.Intent, f)
	e.Quantity, e.CappedBy = q.Quantity, capped
	return e, nil
}

// riskAmount returns the risk in the account's currency, with its argument.
func (q *orderCheck) riskAmount(r order.Risk) (argument, error) {
	if r.Amount.IsPositive() {
		return argument{"risk_amount", r.Amount}, nil
	}
	if !q.Equity.Valid {
		return argument{}, fault.New(fault.Unavailable, "unavailable",
			"risk_pct %v needs the equity of the account, which is unknown now. Use risk_amount, or retry in 1 s.", r.Percent).About("risk_pct", r.Percent.String(), "risk_amount").Retry(time.Second)
	}
	return argument{"risk_pct", percent(q.Equity.Decimal, r.Percent)}, nil
}

// wholeSteps rounds a quantity down to what the venue takes.
func (q *orderCheck) wholeSteps(v decimal.Decimal) decimal.Decimal {
	if q.Capabilities.WholeLegs {
		v = v.Floor()
	}
	if !q.Instrument.Step.IsPositive() {
		return v.Truncate(8)
	}
	return q.floor(v)
}

// leastQuantity returns the smallest quantity that the venue takes, at the lowest price of
// the order and its legs.
func (q *orderCheck) leastQuantity() decimal.Decimal {
	least := decimal.Max(q.Instrument.Step, q.Instrument.MinQuantity, decimal.New(1, -8))
	if q.Capabilities.WholeLegs {
		least = decimal.Max(least, decimal.NewFromInt(1))
	}
	lowest := q.Quote.Last
	for _, a := range q.prices() {
		if a.value.IsPositive() {
			lowest = decimal.Min(lowest, a.value)
		}
	}
	for _, need := range []decimal.Decimal{divide(q.Instrument.MinNotional, lowest), least} {
		if up := q.wholeSteps(need); up.LessThan(need) || up.Mul(lowest).LessThan(q.Instrument.MinNotional) {
			need = up.Add(decimal.Max(q.Instrument.Step, decimal.New(1, -8)))
		}
		least = decimal.Max(least, need)
	}
	return least
}

// tooSmall is the error of a risk from which no quantity follows.
func tooSmall(amount argument, least, perUnit decimal.Decimal, capped string, q *orderCheck) error {
	needed := least.Mul(perUnit)
	if capped != "" {
		return fault.New(fault.Invalid, "invalid_argument", "%s %s: the limit %s leaves a quantity of %v, and the smallest order is %v. Close or cancel something first, or ask the owner.",
			amount.name, money(amount.value), capped, q.Quantity, least).About(amount.name, amount.value.String(), capped)
	}
	text := fmt.Sprintf("%s %s is too small: the smallest order, %v, risks %s.", amount.name, money(amount.value), least, money(needed))
	enough := needed.RoundUp(2)
	if amount.name == "risk_pct" {
		enough = needed.Shift(2).DivRound(q.Equity.Decimal, 8).RoundUp(4)
		text = fmt.Sprintf("risk_pct is too small: it is %s of the equity of %s, and the smallest order, %v, risks %s.", money(amount.value), money(q.Equity.Decimal), least, money(needed))
	}
	e := fault.New(fault.Invalid, "invalid_argument", "%s Use %v or more, or a stop nearer to the entry.", text, enough).About(amount.name, amount.value.String(), "at least "+enough.String())
	e.Suggestions = []string{enough.String()}
	return e
}
