package guard

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/margin"
	"candela/internal/trading/order"
)

// riskRules are the rules about what an order may lose.
func riskRules() []rule {
	return []rule{
		{
			"require_stop", false, func(p Policy) string { return string(p.RequireStop) },
			"An order that opens or adds to a position without a stop held by the venue, or that rests in place of the stop of one: `live` with real money, `always` on paper too.",
			checkRequireStop,
		},
		{
			"max_trade_risk", false, func(p Policy) string { return p.MaxTradeRisk.String() },
			"An order that risks more than this: its quantity times the distance from the worst entry to the stop, with the fees of both trades and stop_slippage_pct of the stop. Without a stop, or with stop_loss_limit, it risks its whole worth, in a perpetual future its margin.",
			func(q *orderCheck) *Denial { return q.tooMuchRisk("an order", q.limits.MaxTradeRisk, decimal.Zero) },
		},
		{
			"max_trade_risk_pct", false, func(p Policy) string { return perCent(p.MaxTradeRiskPct) },
			"The same in per cent of the equity, and every such order while the equity is unknown.",
			checkRiskPercent,
		},
		{
			"max_open_risk", false, func(p Policy) string { return p.MaxOpenRisk.String() },
			"An order with which all positions and open orders together would risk more than this. A position is measured from what was paid for it to its stops.",
			func(q *orderCheck) *Denial {
				return q.tooMuchRisk("all positions and orders together", q.policy.MaxOpenRisk, q.OpenRisk)
			},
		},
	}
}

// takerFeePct returns the fee of a trade in percent.
func (q *orderCheck) takerFeePct() decimal.Decimal {
	if q.TakerFeePct.Valid {
		return q.TakerFeePct.Decimal
	}
	return q.limits.TakerFeePct
}

// opening returns the part of the quantity that opens or adds to a position.
func (q *orderCheck) opening() decimal.Decimal {
	if q.ReduceOnly {
		return decimal.Zero
	}
	closes := decimal.Max(q.against().Sub(q.openSame()), decimal.Zero)
	return decimal.Max(q.Quantity.Sub(closes), decimal.Zero)
}

// stopLevel returns the price of the stop that bounds the loss of an entry at a price, and
// false without one. A stop that becomes a limit order may not trade, so it is no bound.
func (q *orderCheck) stopLevel(entry decimal.Decimal) (decimal.Decimal, bool) {
	p := planOf(q.Spec)
	switch {
	case !p.entry || p.StopLossLimit.IsPositive():
		return decimal.Zero, false
	case p.TrailPercent.IsPositive():
		return entry.Sub(percent(entry, p.TrailPercent).Mul(decimal.NewFromInt(q.Side.Sign()))), true
	default:
		return p.StopLoss, p.StopLoss.IsPositive()
	}
}

// unitRisk returns what one unit of an order risks at its worst entry, in the quote currency.
func (q *orderCheck) unitRisk() decimal.Decimal { return q.unitRiskAt(q.worstEntry()) }

// unitRiskAt returns what one unit of an entry at a price risks, exactly, in the quote
// currency:
//
//	|entry - stop| + fee of both trades + slippage of the stop
//
// and the price itself without a stop, of a perpetual future its margin.
func (q *orderCheck) unitRiskAt(entry decimal.Decimal) decimal.Decimal {
	stop, bounded := q.stopLevel(entry)
	switch {
	case !bounded && q.perpetual():
		return margin.Initial(entry, q.leverage())
	case !bounded:
		return entry
	}
	distance := entry.Sub(stop).Mul(decimal.NewFromInt(q.Side.Sign()))
	fee := q.takerFeePct()
	return decimal.Max(distance, decimal.Zero).Add(percent(entry, fee)).Add(percent(stop, fee)).Add(percent(stop, q.limits.StopSlippagePct))
}

// risk returns what the order risks, in the account's currency.
func (q *orderCheck) risk() decimal.Decimal {
	if opening := q.opening(); opening.IsPositive() {
		return opening.Mul(q.unitRisk()).Mul(q.Rate)
	}
	return decimal.Zero
}

func checkRequireStop(q *orderCheck) *Denial {
	if !q.limits.RequireStop.requires(q.Mode) {
		return nil
	}
	p := planOf(q.Spec)
	if q.opening().IsPositive() && q.Holder != "" && p.HasStop() {
		return q.heldRequired(p)
	}
	if !q.opening().IsPositive() || p.entry && p.HasStop() {
		return nil
	}
	return deny("stop_loss", none, "a stop", "stop_loss is %s: a %v of %v opens a position, and the policy requires a stop (require_stop = %q). Give stop_loss or trail_percent.",
		none, q.Side, q.Quantity, string(q.limits.RequireStop))
}

func checkRiskPercent(q *orderCheck) *Denial {
	pct := q.limits.MaxTradeRiskPct
	if pct.Off || !q.opening().IsPositive() {
		return nil
	}
	if !q.Equity.Valid {
		d := deny("quantity", q.Quantity.String(), perCent(pct)+" of the equity",
			"quantity %v cannot be checked: the equity of the account is unknown now, and the policy limits the risk to %s of it. Retry in 1 s.", q.Quantity, perCent(pct))
		d.RetryAfter = time.Second
		return d
	}
	most := Limit{Value: percent(decimal.Max(q.Equity.Decimal, decimal.Zero), pct.Value)}
	d := q.tooMuchRisk(fmt.Sprintf("an order, %s of the equity of %s", perCent(pct), money(q.Equity.Decimal)), most, decimal.Zero)
	return d
}

// tooMuchRisk denies an order whose risk and what is used already exceed a limit, and
// suggests the largest quantity that does not.
func (q *orderCheck) tooMuchRisk(of string, limit Limit, used decimal.Decimal) *Denial {
	risk := q.risk()
	if !risk.IsPositive() || !limit.exceeded(used.Add(risk)) {
		return nil
	}
	entry := q.worstEntry()
	what := "no stop, so its whole worth"
	if q.perpetual() {
		what = "no stop, so its whole margin"
	}
	stop, bounded := q.stopLevel(entry)
	if bounded {
		what = "the stop at " + stop.String() + ", fees and slippage"
	} else if planOf(q.Spec).StopLossLimit.IsPositive() {
		what = "a stop that may not trade because of stop_loss_limit, so its whole worth"
	}
	d := deny("quantity", used.Add(risk).String(), limit.String(), "quantity %v at up to %v risks %s (%s)", q.Quantity, entry, money(risk), what)
	if q.Side == order.Sell {
		d.Text = fmt.Sprintf("quantity %v at %v or less risks %s (%s)", q.Quantity, entry, money(risk), what)
	}
	if used.IsPositive() {
		d.Text += fmt.Sprintf(", with %s at risk already", money(used))
	}
	d.Text += fmt.Sprintf("; the limit of %s is %s.", of, money(limit.Value))
	most := q.floor(divide(limit.Value.Sub(used), q.unitRisk().Mul(q.Rate))).Add(q.Quantity.Sub(q.opening()))
	if most = q.floor(most); most.IsPositive() && most.GreaterThanOrEqual(q.Instrument.MinQuantity) && most.LessThan(q.Quantity) {
		d.Nearest = []string{most.String()}
		d.Text += " The largest quantity is " + most.String() + "."
	} else {
		d.Text += " Use a stop nearer to the entry, or wait until less is at risk."
	}
	if bounded && q.Type == order.Market {
		d.Text += " A limit order risks less: it counts from its price."
	}
	return d
}

// divide returns a / b rounded down to 12 decimals, and zero if that is not positive.
func divide(a, b decimal.Decimal) decimal.Decimal {
	if !a.IsPositive() || !b.IsPositive() {
		return decimal.Zero
	}
	quotient, _ := a.QuoRem(b, 12)
	return quotient
}
