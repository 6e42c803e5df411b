package guard

import (
	"fmt"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// sideRules are the rules about the prices of stops and targets.
func sideRules() []rule {
	fixed := func(text string) func(Policy) string { return func(Policy) string { return text } }
	return []rule{
		{
			"stop_price_side", false, fixed("buy above, sell below"),
			"A stop_price on the wrong side of the last price: a buy waits for a higher price, a sell for a lower one.",
			checkStopPriceSide,
		},
		{
			"stop_side", false, fixed("beyond the entry"),
			"A stop_loss on the wrong side of the last price or of the entry, where it would trigger at once.",
			checkStopSide,
		},
		{
			"target_side", false, fixed("beyond the entry"),
			"A take_profit on the wrong side of the entry, or of the last price if it closes what is held.",
			checkTargetSide,
		},
		{
			"min_stop_distance_pct", false, func(p Policy) string { return perCent(p.MinStopDistancePct) },
			"A stop nearer than this to the entry, or to the last price if it closes what is held. For a trailing stop it is trail_percent.",
			func(q *orderCheck) *Denial { return checkStopDistance(q, q.limits.MinStopDistancePct, false) },
		},
		{
			"max_stop_distance_pct", false, func(p Policy) string { return perCent(p.MaxStopDistancePct) },
			"A stop further away than this.",
			func(q *orderCheck) *Denial { return checkStopDistance(q, q.limits.MaxStopDistancePct, true) },
		},
		{
			"max_target_distance_pct", false, func(p Policy) string { return perCent(p.MaxTargetDistancePct) },
			"A take_profit further away than this. It applies in place of resting_band_pct.",
			checkTargetDistance,
		},
		{legNotionalRule, false, fixed("the venue's"), "A stop or target whose notional is below the venue's minimum.", checkLegNotional},
	}
}

// words describes prices on one side of another.
func words(above bool) (word, opposite string) {
	if above {
		return "above", "below"
	}
	return "below", "above"
}

// isBeyond reports whether a price is strictly above another, or below it.
func isBeyond(price, than decimal.Decimal, above bool) bool {
	if above {
		return price.GreaterThan(than)
	}
	return price.LessThan(than)
}

// trigger returns the price for which stops wait, and its name.
func (q *orderCheck) trigger() argument {
	name := "the last price"
	if q.Capabilities.MarkTriggers && q.Quote.Mark.IsPositive() {
		name = "the mark price"
	}
	return argument{name, q.Capabilities.Triggering(q.Quote).Last}
}

func checkStopPriceSide(q *orderCheck) *Denial {
	above, from := q.Side == order.Buy, q.trigger()
	last := from.value
	if !q.waits() || !q.fresh() || isBeyond(q.StopPrice, last, above) {
		return nil
	}
	word, opposite := words(above)
	d := deny("stop_price", q.StopPrice.String(), word+" "+last.String(),
		"stop_price %v is not %s %s %v: a %v waits for a price %s %v. For one %s it use type limit with price %v and no stop_price.",
		q.StopPrice, word, from.name, last, q.Side, word, last, opposite, q.StopPrice)
	return q.suggest(d, q.StopPrice, last, above)
}

// checkStopSide measures from the last price, and from the price of an entry that rests or
// waits.
func checkStopSide(q *orderCheck) *Denial {
	p := planOf(q.Spec)
	if !p.StopLoss.IsPositive() || !q.fresh() {
		return nil
	}
	above, from, base := p.closing == order.Buy, q.trigger(), q.base()
	last := from.value
	word, opposite := words(above)
	if !q.waits() && !isBeyond(p.StopLoss, last, above) {
		reason := fmt.Sprintf("because it is to %v when the price %s", p.closing, map[bool]string{true: "rises", false: "falls"}[above])
		d := deny("stop_loss", p.StopLoss.String(), word+" "+last.String(),
			"stop_loss %v is not %s %s %v, %s. Did you mean take_profit %v?", p.StopLoss, word, from.name, last, reason, p.StopLoss)
		if p.TakeProfit.IsPositive() || p.StopLoss.Equal(last) || looksPercent(p.StopLoss, last) {
			d = deny("stop_loss", p.StopLoss.String(), word+" "+last.String(), "stop_loss %v is not %s %s %v, %s.", p.StopLoss, word, from.name, last, reason)
		}
		return q.suggest(d, p.StopLoss, q.nearer(last, base.value, above), above)
	}
	if isBeyond(p.StopLoss, base.value, above) {
		return nil
	}
	d := deny("stop_loss", p.StopLoss.String(), word+" "+base.value.String(),
		"stop_loss %v is not %s %s %v: it would trigger as soon as the entry is filled. Use a price %s %v, or an entry %s %v.",
		p.StopLoss, word, base.name, base.value, word, base.value, opposite, p.StopLoss)
	return q.suggest(d, p.StopLoss, base.value, above)
}

// nearer returns the one of two prices that a stop must be beyond to be beyond both.
func (q *orderCheck) nearer(a, b decimal.Decimal, above bool) decimal.Decimal {
	if above {
		return decimal.Max(a, b)
	}
	return decimal.Min(a, b)
}

func checkTargetSide(q *orderCheck) *Denial {
	p := planOf(q.Spec)
	if !p.TakeProfit.IsPositive() || !q.fresh() {
		return nil
	}
	above, base := p.closing == order.Sell, q.base()
	if isBeyond(p.TakeProfit, base.value, above) {
		return nil
	}
	word, _ := words(above)
	d := deny("take_profit", p.TakeProfit.String(), word+" "+base.value.String(),
		"take_profit %v is not %s %s %v, because it is to %v at a profit.", p.TakeProfit, word, base.name, base.value, p.closing)
	if !p.HasStop() && !p.TakeProfit.Equal(base.value) && !looksPercent(p.TakeProfit, base.value) {
		d.Text += fmt.Sprintf(" Did you mean stop_loss %v?", p.TakeProfit)
	}
	return q.suggest(d, p.TakeProfit, base.value, above)
}

// suggest adds the price on the right side of base: as many per cent away as the value
// says, if it looks like per cent, else as far away as the value is on the wrong side.
// The limits of distance bound it.
func (q *orderCheck) suggest(d *Denial, value, base decimal.Decimal, above bool) *Denial {
	off := value.Sub(base).Abs()
	pct := looksPercent(value, base)
	if pct {
		off = percent(base, value)
	}
	if least := q.limits.MinStopDistancePct; !least.Off {
		off = decimal.Max(off, percent(base, least.Value))
	}
	most := q.limits.MaxStopDistancePct
	if d.Field == "take_profit" {
		most = q.limits.MaxTargetDistancePct
	}
	if !most.Off {
		off = decimal.Min(off, percent(base, most.Value))
	}
	if tick := q.Instrument.TickAt(base); off.LessThan(tick) {
		off = tick
	}
	if off.IsZero() {
		off = percent(base, decimal.New(1, -1))
	}
	price := base.Sub(off)
	if above {
		price = base.Add(off)
	}
	if price = q.onTick(price, !above); !price.IsPositive() || !isBeyond(price, base, above) {
		return d
	}
	d.Nearest = []string{price.String()}
	word, _ := words(above)
	away := off.Shift(2).DivRound(base, 2) // rounded for display
	if pct {
		d.Text += fmt.Sprintf(" It is a price, not per cent: %v %% %s is %v.", away, word, price)
		if d.Field != "stop_price" {
			d.Text += fmt.Sprintf(" Or use %s_pct %v.", d.Field, away)
		}
	} else {
		d.Text += fmt.Sprintf(" For example %v, %v %% %s.", price, away, word)
	}
	return d
}

// looksPercent reports whether a value was probably meant in percent: up to 50, and no
// price near base.
func looksPercent(value, base decimal.Decimal) bool {
	ten := decimal.NewFromInt(10)
	return value.LessThanOrEqual(decimal.NewFromInt(50)) && (value.Mul(ten).LessThanOrEqual(base) || value.GreaterThanOrEqual(base.Mul(ten)))
}

// checkStopDistance denies a stop that is too near, or too far away.
func checkStopDistance(q *orderCheck, limit Limit, most bool) *Denial {
	if limit.Off {
		return nil
	}
	word, bound := "at least", "nearer"
	if most {
		word, bound = "at most", "further away"
	}
	if trail := planOf(q.Spec).TrailPercent; trail.IsPositive() && isBeyond(trail, limit.Value, most) {
		d := deny("trail_percent", trail.String(), word+" "+perCent(limit), "trail_percent %v is %s than the limit of %s.", trail, bound, perCent(limit))
		d.Nearest = []string{limit.Value.String()}
		return d
	}
	stop, base := q.stop(), q.base()
	if !stop.value.IsPositive() || !q.fresh() {
		return nil
	}
	off := stop.value.Sub(base.value).Abs()
	if !isBeyond(off, percent(base.value, limit.Value), most) {
		return nil
	}
	above := q.stopAbove()
	return q.tooFar(stop, base, limit, above, most)
}

// stopAbove reports whether the stop is above the price, as that of a short position is.
func (q *orderCheck) stopAbove() bool { return planOf(q.Spec).closing == order.Buy }

// tooFar denies a price whose distance from base is beyond the limit, or within it, and
// suggests the price at the limit.
func (q *orderCheck) tooFar(a, base argument, limit Limit, above, most bool) *Denial {
	word, opposite := words(above)
	actual := word
	if isBeyond(a.value, base.value, !above) {
		actual = opposite
	}
	off := a.value.Sub(base.value).Abs().Shift(2).DivRound(base.value, 2) // rounded for display
	bound := "at least"
	if most {
		bound = "at most"
	}
	d := deny(a.name, a.value.String(), bound+" "+perCent(limit)+" "+word+" "+base.value.String(),
		"%s %v is %v %% %s %s %v; the limit is %s %s.", a.name, a.value, off, actual, base.name, base.value, bound, perCent(limit))
	if most && looksPercent(a.value, base.value) {
		return q.suggest(d, a.value, base.value, above)
	}
	edge := base.value.Sub(percent(base.value, limit.Value))
	if above {
		edge = base.value.Add(percent(base.value, limit.Value))
	}
	if edge = q.onTick(edge, above == most); edge.IsPositive() {
		d.Nearest = []string{edge.String()}
		d.Text += " The nearest allowed price is " + edge.String() + "."
	}
	return d
}

func checkTargetDistance(q *orderCheck) *Denial {
	p, limit, base := planOf(q.Spec), q.limits.MaxTargetDistancePct, q.base()
	if limit.Off || !p.TakeProfit.IsPositive() || !q.fresh() || !p.TakeProfit.Sub(base.value).Abs().GreaterThan(percent(base.value, limit.Value)) {
		return nil
	}
	return q.tooFar(argument{"take_profit", p.TakeProfit}, base, limit, p.closing == order.Sell, true)
}
