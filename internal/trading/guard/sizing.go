package guard

import (
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/fault"
)

// Bounds of stop_loss_pct and take_profit_pct.
func leastDistance() decimal.Decimal { return decimal.New(1, -1) }
func mostDistance() decimal.Decimal  { return decimal.NewFromInt(50) }

// requestSize checks that one argument gives the quantity.
func requestSize(r order.Request) *Denial {
	s, notional := r.Sizing, argument{"notional", r.Sizing.Notional}
	switch {
	case s.All && !r.ReduceOnly:
		return deny("quantity", "all", "with reduce_only true", `quantity "all" closes all that is held and needs reduce_only true. To open a position give quantity, or notional for an amount of money.`)
	case !notional.value.IsPositive():
		return nil
	case s.Risks():
		return exclude(notional, riskArgument(s).name, ": both decide the quantity; give one of them.")
	case s.All:
		return exclude(notional, `quantity "all"`, "; give one of them.")
	case s.Most.IsPositive() || r.Quantity.IsPositive():
		return exclude(notional, "quantity "+decimal.Max(s.Most, r.Quantity).String(), ", which follows from it; omit quantity, or give 0.")
	case r.ReduceOnly && r.Protects():
		return exclude(notional, "reduce_only and a stop or target", `: they are for a part of the position; give quantity, or quantity "all".`)
	default:
		return nil
	}
}

// riskArgument returns the risk of a request with its name.
func riskArgument(s order.Sizing) argument {
	if s.Amount.IsPositive() {
		return argument{"risk_amount", s.Amount}
	}
	return argument{"risk_pct", s.Percent}
}

// requestRisk checks a request whose quantity follows from a risk.
func requestRisk(r order.Request) *Denial {
	if !r.Sizing.Risks() {
		return nil
	}
	a := riskArgument(r.Sizing)
	switch {
	case r.Sizing.Percent.IsPositive() && r.Sizing.Amount.IsPositive():
		return exclude(a, "risk_pct", "; give one of them.")
	case r.Quantity.IsPositive():
		return exclude(a, "quantity "+r.Quantity.String(), ", which follows from it; omit one of them.")
	case r.ReduceOnly:
		return exclude(a, "reduce_only", ": an order that closes a position takes no risk; give quantity.")
	case !r.HasStop():
		return deny(a.name, a.value.String(), "with stop_loss, stop_loss_pct or trail_percent", "%s %v needs stop_loss, stop_loss_pct or trail_percent: the quantity follows from the distance to the stop.", a.name, a.value)
	case r.Protect.StopLossLimit.IsPositive():
		return exclude(a, "stop_loss_limit", ": such a stop may not trade, so the loss has no bound; omit stop_loss_limit or give quantity.")
	default:
		return nil
	}
}

// requestDistances checks stops and targets that are given as distances.
func requestDistances(r order.Request) *Denial {
	p, stop, target := r.Protect, argument{"stop_loss_pct", r.Sizing.StopLossPct}, argument{"take_profit_pct", r.Sizing.TakeProfitPct}
	switch {
	case stop.value.IsPositive() && p.StopLoss.IsPositive():
		return exclude(stop, "stop_loss "+p.StopLoss.String(), ": both are the stop; give one of them.")
	case stop.value.IsPositive() && p.TrailPercent.IsPositive():
		return exclude(stop, "trail_percent "+p.TrailPercent.String(), ": a stop that stays, or one that follows the price; give one of them.")
	case stop.value.IsPositive() && p.StopLossLimit.IsPositive():
		return exclude(stop, "stop_loss_limit "+p.StopLossLimit.String(), ": give stop_loss as a price, or omit stop_loss_limit.")
	case target.value.IsPositive() && p.TakeProfit.IsPositive():
		return exclude(target, "take_profit "+p.TakeProfit.String(), ": both are the target; give one of them.")
	}
	for _, a := range []argument{stop, target} {
		if a.value.IsPositive() && (a.value.LessThan(leastDistance()) || a.value.GreaterThan(mostDistance())) {
			price := map[string]string{"stop_loss_pct": "stop_loss", "take_profit_pct": "take_profit"}[a.name]
			d := deny(a.name, a.value.String(), "0.1 to 50", "%s %v is not from 0.1 to 50: it is a distance in per cent, such as 2. For a price use %s.", a.name, a.value, price)
			if a.value.GreaterThan(mostDistance()) {
				d.Nearest = []string{price}
			}
			return d
		}
	}
	return nil
}

// Levels returns a request with the prices of the stop and the target that it gives as distances:
// from the limit price, else from stop_price, else from the last price; with reduce_only from the
// average entry. They are rounded to the tick towards that price, so that the loss is not more
// than asked.
func Levels(p Policy, in Intent, r order.Request, f Facts) (order.Request, error) {
	if !r.Sizing.SetsPrices() {
		return r, nil
	}
	q := newCheck(p, State{}, in, f)
	from, long := q.base().value, r.Side == order.Buy
	if r.ReduceOnly {
		if q.Held.Sign() != -int(r.Side.Sign()) || !q.Entry.IsPositive() {
			return r, nothingHeld(q)
		}
		from, long = q.Entry, r.Side == order.Sell
	}
	if !from.IsPositive() || !r.ReduceOnly && r.Type == order.Market && !r.StopPrice.IsPositive() && !q.fresh() {
		return r, noPrice(q, "price follows from the distance")
	}
	r.Sizing.From = from
	var err error
	if r.Protect.StopLoss, err = q.level(argument{"stop_loss_pct", r.Sizing.StopLossPct}, r.Protect.StopLoss, from, !long); err != nil {
		return r, err
	}
	r.Protect.TakeProfit, err = q.level(argument{"take_profit_pct", r.Sizing.TakeProfitPct}, r.Protect.TakeProfit, from, long)
	return r, err
}

// level returns the price at a distance above or below another, on the tick nearest to it that is not
// further away; without a distance the price that was given.
func (q *orderCheck) level(a argument, given, from decimal.Decimal, above bool) (decimal.Decimal, error) {
	if !a.value.IsPositive() {
		return given, nil
	}
	off := percent(from, a.value)
	price := from.Sub(off)
	if above {
		price = from.Add(off)
	}
	if q.Instrument.Tick.IsPositive() {
		price = q.onTick(price, above)
	} else if price = price.RoundFloor(8); !above {
		price = from.Sub(off).RoundCeil(8)
	}
	if isBeyond(price, from, above) {
		return price, nil
	}
	tick := q.Instrument.TickAt(from)
	least := tick.Shift(2).DivRound(from, 8).RoundUp(2)
	e := fault.New(fault.Invalid, "invalid_argument", "%s %v of %v is less than the venue's price step of %v. Use %v or more.", a.name, a.value, from, tick, least).
		About(a.name, a.value.String(), "at least "+least.String())
	e.Suggestions = []string{least.String()}
	return price, e
}

// nothingHeld is the fault of a request to close what is not there.
func nothingHeld(q *orderCheck) error {
	d := deny("reduce_only", "true", "a position to reduce", "reduce_only true: there is no position that a %v reduces; %s. Check get_positions.", q.Side, q.holding())
	d.Rule = "reduce_only"
	return d.Fault()
}

func noPrice(q *orderCheck, what string) error {
	return fault.New(fault.Unavailable, "unavailable", "No current price for %v, so no %s. Retry in 1 s.", q.Symbol, what).Retry(time.Second)
}

// Size returns the estimate of an order whose quantity follows from a risk:
//
//	quantity = risk / unit risk, rounded down to the step
//
// with the unit risk at the price at which it would plausibly trade. If a limit or the free cash
// allows less, CappedBy names it; those of risk count from the worst entry. The error says how much risk
// the smallest order takes, if the risk is less.
//
// Of a notional it is
//
//	quantity = notional / price, rounded down to the step
//
// at the limit price, else stop_price, else the other side of the book, else the last price, for a buy
// with stop_slippage_pct. No limit makes it smaller: the rules deny it as they would the quantity. All
// is what is held and no other open order closes.
func Size(p Policy, in Intent, s order.Sizing, f Facts) (order.Estimate, error) {
	q := newCheck(p, State{}, in, f)
	switch {
	case s.All:
		return q.sizeAll()
	case s.Notional.IsPositive():
		return q.sizeNotional(s.Notional)
	default:
		return q.sizeRisk(p, s, f)
	}
}

func (q *orderCheck) sizeAll() (order.Estimate, error) {
	left := q.floor(decimal.Max(q.against().Sub(q.openSame()), decimal.Zero))
	if !left.IsPositive() {
		return order.Estimate{}, nothingHeld(q)
	}
	return order.Estimate{Quantity: left}, nil
}

func (q *orderCheck) sizeNotional(notional decimal.Decimal) (order.Estimate, error) {
	price := q.budgetPrice()
	if !price.IsPositive() || q.Type == order.Market && !q.StopPrice.IsPositive() && !q.fresh() {
		return order.Estimate{}, noPrice(q, "quantity follows from notional")
	}
	e := order.Estimate{Price: price, Quantity: q.wholeSteps(divide(notional, price))}
	least := q.leastQuantity()
	if e.Quantity.GreaterThanOrEqual(least) {
		return e, nil
	}
	enough := least.Mul(price).RoundUp(2)
	fail := fault.New(fault.Invalid, "invalid_argument", "notional %v is too small: the smallest order, %v, costs %s at %v. Use %v or more.", notional, least, money(least.Mul(price)), price, enough).
		About("notional", notional.String(), "at least "+enough.String())
	fail.Suggestions = []string{enough.String()}
	return order.Estimate{}, fail
}

// budgetPrice returns the price at which a notional is divided.
func (q *orderCheck) budgetPrice() decimal.Decimal {
	switch taker, known := q.Quote.TakerPrice(q.Side); {
	case q.Type == order.Limit:
		return q.Price
	case q.StopPrice.IsPositive():
		return q.StopPrice
	case known:
		return taker
	case q.Side == order.Buy:
		return q.onTick(q.Quote.Last.Add(percent(q.Quote.Last, q.limits.StopSlippagePct)), false)
	default:
		return q.Quote.Last
	}
}

// sizeRisk returns the estimate of an order whose quantity follows from a risk.
func (q *orderCheck) sizeRisk(p Policy, s order.Sizing, f Facts) (order.Estimate, error) {
	amount, err := q.riskAmount(s)
	if err != nil {
		return order.Estimate{}, err
	}
	if !q.fresh() || !q.Rate.IsPositive() {
		return order.Estimate{}, noPrice(q, "quantity follows from the risk")
	}
	perUnit := q.unitRiskAt(q.plausible()).Mul(q.Rate)
	q.Quantity = q.wholeSteps(divide(amount.value, perUnit))
	capped := ""
	if most := q.wholeSteps(s.Most); s.Most.IsPositive() && most.LessThan(q.Quantity) {
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
func (q *orderCheck) riskAmount(r order.Sizing) (argument, error) {
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
	if q.wholeOnly() {
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
	if q.wholeOnly() {
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
