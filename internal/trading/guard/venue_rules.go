package guard

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// venueRules are the rules about the position and the venue's filters.
func venueRules() []rule {
	filter := func(Policy) string { return "the venue's" }
	return slices.Concat([]rule{
		{
			"reducing", false, func(Policy) string { return "trading state" },
			"While the trading state is REDUCING, every order that does not only reduce a position.",
			checkReducing,
		},
	}, deploymentRules(), perpetualRules(), exitRules(), []rule{
		{
			"allow_short", false, func(p Policy) string { return strconv.FormatBool(p.AllowShort) },
			"A sell of more than is held and not yet being sold, unless short positions are allowed.",
			checkShort,
		},
		{
			"one_side", false, func(Policy) string { return "one side" },
			"In perpetual futures, an order that would close the position and open one on the other side, or that closes a part of it and has a stop or target of its own.",
			checkOneSide,
		},
		{
			"currencies", false, func(p Policy) string { return strings.Join(p.Currencies, ", ") },
			"A symbol priced in a currency that is not in the list and has no known rate, because no limit could be checked.",
			checkCurrency,
		},
	}, capabilityRules(), []rule{
		{
			"venue_tick", false, filter,
			"A price of the order or its legs that is not a multiple of the venue's price step. It is never rounded; the denial names the nearest prices.",
			checkTick,
		},
		{
			"venue_step", false, filter,
			"A quantity that is not a multiple of the venue's quantity step. It is never rounded; the denial names the nearest quantities.",
			checkStep,
		},
		{"venue_min_quantity", false, filter, "A quantity below the venue's minimum; on the paper account 0.00000001 where the venue states none, or all that is held.", checkMinQuantity},
		{"venue_max_quantity", false, filter, "A quantity above the venue's maximum.", checkMaxQuantity},
		{"venue_min_notional", false, filter, "A notional below the venue's minimum.", checkMinNotional},
	})
}

func checkReducing(q *orderCheck) *Denial {
	if q.state.Level() != Reducing || q.reduces() {
		return nil
	}
	value := fmt.Sprintf("%v %v with %v held", q.Side, q.Quantity, q.Held)
	return deny("", value, "orders that only reduce a position",
		"Only orders that reduce a position are allowed now; %s. Reason: %s", q.holding(), q.state.Explain())
}

// holding describes the position and the open orders against it.
func (q *orderCheck) holding() string {
	pending := q.OpenSell
	if q.Held.IsNegative() {
		pending = q.OpenBuy
	}
	text := fmt.Sprintf("%v of %v is held", q.Held, q.Symbol)
	if pending.IsPositive() {
		text += fmt.Sprintf(", with open orders for %v against it", pending)
	}
	return text
}

func checkShort(q *orderCheck) *Denial {
	if q.limits.AllowShort || q.Side != order.Sell {
		return nil
	}
	free := decimal.Max(q.Held.Sub(q.OpenSell), decimal.Zero)
	if q.Quantity.LessThanOrEqual(free) {
		return nil
	}
	d := deny("quantity", q.Quantity.String(), free.String(),
		"Selling %v would open a short position, which the policy does not allow; %s.", q.Quantity, q.holding())
	if most := q.floor(free); most.IsPositive() {
		d.Nearest = []string{most.String()}
		d.Text += " The largest quantity is " + most.String() + "."
	} else if !q.Held.IsPositive() {
		d.Text += " Check get_positions; side buy opens a position."
	}
	return d
}

// checkCurrency also denies an unknown currency in live trading.
func checkCurrency(q *orderCheck) *Denial {
	if q.Rate.IsPositive() {
		return nil
	}
	list := strings.Join(q.policy.Currencies, ", ")
	quote := cmp.Or(q.Instrument.Quote, "an unknown currency")
	return deny("symbol", quote, list,
		"symbol %v is priced in %s, which has no known rate to the account's currency. Accepted currencies: %s.", q.Symbol, quote, list)
}

func checkTick(q *orderCheck) *Denial {
	for _, a := range q.prices() {
		tick := q.Instrument.TickAt(a.value)
		d := checkMultiple(a.name, a.value, tick, decimal.Zero, decimal.Zero)
		if d == nil || a.value.IsZero() {
			continue
		}
		if tick.GreaterThan(q.Instrument.Tick) {
			d.Text += fmt.Sprintf(" Prices have at most %d significant digits there.", q.Instrument.Digits)
		}
		return d
	}
	return nil
}

func checkStep(q *orderCheck) *Denial {
	d := checkMultiple("quantity", q.Quantity, q.Instrument.Step, q.Instrument.MinQuantity, q.Instrument.MaxQuantity)
	if d == nil || planOf(q.Spec).IsZero() || !q.Quantity.LessThan(q.Instrument.Step) {
		return d
	}
	least := q.leastQuantity().String()
	d.Nearest = []string{least}
	d.Text = fmt.Sprintf("quantity %v is below the venue's step %v. The smallest quantity is %s.", q.Quantity, q.Instrument.Step, least)
	return d
}

// checkMultiple denies a value that is not a multiple of step and suggests the nearest
// multiples within the bounds. A zero bound is none.
func checkMultiple(field string, v, step, least, most decimal.Decimal) *Denial {
	if !step.IsPositive() {
		return nil
	}
	_, rest := v.QuoRem(step, 0)
	if rest.IsZero() {
		return nil
	}
	below := v.Sub(rest)
	above := below.Add(step)
	near := []decimal.Decimal{below, above}
	if above.Sub(v).LessThan(rest) {
		near = []decimal.Decimal{above, below}
	}
	near = slices.DeleteFunc(near, func(d decimal.Decimal) bool {
		return !d.IsPositive() || d.LessThan(least) || most.IsPositive() && d.GreaterThan(most)
	})
	names := make([]string, 0, 2)
	for _, d := range near {
		names = append(names, d.String())
	}
	d := deny(field, v.String(), "multiples of "+step.String(), "%s %v is not a multiple of the venue's step %v.", field, v, step)
	if d.Nearest = names; len(names) > 0 {
		d.Text += " The nearest are " + strings.Join(names, " and ") + "."
	}
	return d
}

// floor rounds down to the venue's quantity step.
func (q *orderCheck) floor(v decimal.Decimal) decimal.Decimal {
	if step := q.Instrument.Step; step.IsPositive() {
		_, rest := v.QuoRem(step, 0)
		return v.Sub(rest)
	}
	return v
}

func checkMinQuantity(q *orderCheck) *Denial {
	least, held := q.Instrument.MinQuantity, decimal.Zero
	if q.reduces() {
		held = q.Held.Abs()
	}
	if q.Instrument.Trades(q.Quantity, held) {
		return nil
	}
	d := deny("quantity", q.Quantity.String(), least.String(), "quantity %v is below the venue's minimum of %v.", q.Quantity, least)
	d.Nearest = []string{d.Limit}
	return d
}

func checkMaxQuantity(q *orderCheck) *Denial {
	most := q.Instrument.MaxQuantity
	if !most.IsPositive() || q.Quantity.LessThanOrEqual(most) {
		return nil
	}
	d := deny("quantity", q.Quantity.String(), most.String(), "quantity %v is above the venue's maximum of %v.", q.Quantity, most)
	d.Nearest = []string{d.Limit}
	return d
}

// MaxParts is in how many parts an order that closes a position is sent.
const MaxParts = 50

// checkMaxMarket denies what could not be closed again in one order, or not be opened in one.
func checkMaxMarket(q *orderCheck) *Denial {
	most, p := q.floor(q.Instrument.MaxMarket), planOf(q.Spec)
	stopped := p.entry && p.HasStop() && !p.StopLossLimit.IsPositive()
	if q.ReduceOnly {
		most = most.Mul(decimal.NewFromInt(MaxParts))
	}
	if !most.IsPositive() || q.Quantity.LessThanOrEqual(most) || q.Type != order.Market && !stopped {
		return nil
	}
	text := fmt.Sprintf("quantity %v: %s takes at most %v in an order at the market.", q.Quantity, q.venue(), most)
	switch {
	case q.ReduceOnly:
		text += fmt.Sprintf(" candela sends it in %d parts at most. Close %v first, and then the rest.", MaxParts, most)
	case q.against().IsPositive() && q.Role != order.Entry:
		text += " Say reduce_only true to close a position: candela sends it in parts then."
	case q.Type == order.Market:
		text += fmt.Sprintf(" Use quantity %v, in several orders, or type limit with price.", most)
	default:
		text += fmt.Sprintf(" Its stop becomes one. Use quantity %v, in several orders, or give stop_loss_limit too.", most)
	}
	d := deny("quantity", q.Quantity.String(), most.String(), "%s", text)
	d.Nearest = []string{most.String()}
	return d
}

// checkMinNotional values a market order at the last price, if there is one.
func checkMinNotional(q *orderCheck) *Denial {
	if p := planOf(q.Spec); !p.entry && !p.IsZero() {
		return nil // of an order that closes a position
	}
	if q.Type == order.Market && !q.waits() {
		return q.minNotional(q.Quote.Last)
	}
	return q.minNotional(q.Price, q.StopPrice)
}

// checkLegNotional values the stop and the target. It comes after the rules about their
// prices, so that a wrong price is not answered with a larger quantity.
func checkLegNotional(q *orderCheck) *Denial {
	p := planOf(q.Spec)
	trail := decimal.Zero
	if last := q.Quote.Last; p.TrailPercent.IsPositive() {
		trail = last.Add(percent(last, p.TrailPercent).Mul(decimal.NewFromInt(p.closing.Sign())))
	}
	return q.minNotional(p.StopLoss, p.StopLossLimit, p.TakeProfit, trail)
}

// Worth returns why the stop and the target of a line are worth too little for the venue, nil if they are not.
func Worth(p Policy, in Intent, f Facts) *Denial {
	d := checkLegNotional(newCheck(p, State{}, in, f))
	if d != nil {
		d.Rule = legNotionalRule
	}
	return d
}

const legNotionalRule = "venue_leg_notional"

// minNotional denies a quantity that is worth too little at the lowest of some prices. Zero
// ones are unknown.
func (q *orderCheck) minNotional(prices ...decimal.Decimal) *Denial {
	var price decimal.Decimal
	least := q.Instrument.MinNotional
	for _, p := range prices {
		if p.IsPositive() && (price.IsZero() || p.LessThan(price)) {
			price = p
		}
	}
	worth := q.Quantity.Mul(price)
	if !price.IsPositive() || worth.GreaterThanOrEqual(least) {
		return nil
	}
	d := deny("quantity", worth.String(), least.String(), "quantity %v at %v is worth %v; the venue's minimum is %s.",
		q.Quantity, price, worth, strings.TrimSpace(least.String()+" "+q.Instrument.Quote))
	if enough, rest := least.QuoRem(price, 12); q.Instrument.Step.IsPositive() {
		if rest.IsPositive() {
			enough = enough.Add(decimal.New(1, -12))
		}
		if up := q.floor(enough); up.LessThan(enough) {
			enough = up.Add(q.Instrument.Step)
		}
		d.Nearest = []string{enough.String()}
		d.Text += " The minimum quantity is " + enough.String() + "."
	}
	return d
}
