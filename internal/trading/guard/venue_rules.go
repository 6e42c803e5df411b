package guard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// venueRules are about the position, which needs the venue's name of what is
// traded, and about what the venue takes.
func venueRules() []rule {
	filter := func(Policy) string { return "the venue's" }
	return []rule{
		{
			"reducing", false, func(Policy) string { return "trading state" },
			"While the trading state is REDUCING, every order that does not only make a position smaller.",
			checkReducing,
		},
		{
			"allow_short", false, func(p Policy) string {
				if p.AllowShort {
					return "true"
				}
				return "false"
			},
			"A sell of more than is held and not yet being sold, unless short positions are allowed.",
			checkShort,
		},
		{
			"currencies", false, func(p Policy) string { return strings.Join(p.Currencies, ", ") },
			"A symbol that is priced in a currency that is neither in the list nor has a known rate: its worth could not be held against any limit.",
			checkCurrency,
		},
		{
			"venue_tick", false, filter,
			"A limit price that is no multiple of the venue's price step. It is never rounded; the nearest prices are named.",
			checkTick,
		},
		{
			"venue_step", false, filter,
			"A quantity that is no multiple of the venue's quantity step. It is never rounded; the nearest quantities are named.",
			checkStep,
		},
		{"venue_min_quantity", false, filter, "A quantity below the venue's least.", checkMinQuantity},
		{"venue_max_quantity", false, filter, "A quantity above the venue's most.", checkMaxQuantity},
		{"venue_min_notional", false, filter, "A quantity times price below the venue's least.", checkMinNotional},
	}
}

func checkReducing(q *orderCheck) *Denial {
	if q.state.Level() != Reducing || q.reduces() {
		return nil
	}
	return &Denial{
		Limit: "orders that only reduce a position", Value: fmt.Sprintf("%v %v with %v held", q.Side, q.Quantity, q.Held),
		Text: fmt.Sprintf("trading is REDUCING, so that only orders that make a position smaller pass, and %s: %s", q.holding(), q.state.Explain()),
	}
}

// holding says what there is to reduce.
func (q *orderCheck) holding() string {
	pending := q.OpenSell
	if q.Held.IsNegative() {
		pending = q.OpenBuy
	}
	text := fmt.Sprintf("%v of %v is held", q.Held, q.Symbol)
	if pending.IsPositive() {
		text += fmt.Sprintf(", for which orders over %v are open", pending)
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
	return &Denial{
		Limit: free.String(), Value: q.Quantity.String(), Field: "quantity", Nearest: ifPositive(q.floor(free)),
		Text: fmt.Sprintf("quantity: a sell of %v would go short, which the policy does not allow: %s", q.Quantity, q.holding()),
	}
}

// checkCurrency also refuses a currency that the venue does not tell, unless
// nothing is at stake.
func checkCurrency(q *orderCheck) *Denial {
	if q.Rate.IsPositive() {
		return nil
	}
	list := strings.Join(q.policy.Currencies, ", ")
	quote := q.Instrument.Quote
	if quote == "" {
		quote = "a currency that the venue does not tell"
	}
	return &Denial{
		Limit: list, Value: quote, Field: "symbol",
		Text: fmt.Sprintf("symbol: %v is priced in %s, and no rate to the account's currency is known; currencies that count as it: %s", q.Symbol, quote, list),
	}
}

func checkTick(q *orderCheck) *Denial {
	if q.Type != order.Limit {
		return nil
	}
	return checkMultiple("price", q.Price, q.Instrument.Tick, decimal.Zero, decimal.Zero)
}

func checkStep(q *orderCheck) *Denial {
	return checkMultiple("quantity", q.Quantity, q.Instrument.Step, q.Instrument.MinQuantity, q.Instrument.MaxQuantity)
}

// checkMultiple refuses a value that is no multiple of step, and names the multiples next
// to it that lie within the bounds; a bound of zero is none.
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
	d := &Denial{
		Limit: "multiples of " + step.String(), Value: v.String(), Field: field, Nearest: names,
		Text: fmt.Sprintf("%s: %v is no multiple of the venue's step %v", field, v, step),
	}
	if len(names) > 0 {
		d.Text += "; the nearest are " + strings.Join(names, " and ")
	}
	return d
}

// floor returns the largest multiple of the venue's quantity step up to v.
func (q *orderCheck) floor(v decimal.Decimal) decimal.Decimal {
	if step := q.Instrument.Step; step.IsPositive() {
		_, rest := v.QuoRem(step, 0)
		return v.Sub(rest)
	}
	return v
}

func ifPositive(d decimal.Decimal) []string {
	if !d.IsPositive() {
		return nil
	}
	return []string{d.String()}
}

func checkMinQuantity(q *orderCheck) *Denial {
	least := q.Instrument.MinQuantity
	if q.Quantity.GreaterThanOrEqual(least) {
		return nil
	}
	return &Denial{
		Limit: least.String(), Value: q.Quantity.String(), Field: "quantity", Nearest: []string{least.String()},
		Text: fmt.Sprintf("quantity: %v is below the venue's least, %v", q.Quantity, least),
	}
}

func checkMaxQuantity(q *orderCheck) *Denial {
	most := q.Instrument.MaxQuantity
	if !most.IsPositive() || q.Quantity.LessThanOrEqual(most) {
		return nil
	}
	return &Denial{
		Limit: most.String(), Value: q.Quantity.String(), Field: "quantity", Nearest: []string{most.String()},
		Text: fmt.Sprintf("quantity: %v is above the venue's most, %v", q.Quantity, most),
	}
}

// checkMinNotional values a market order at the last price; without one the
// venue is left to judge.
func checkMinNotional(q *orderCheck) *Denial {
	price, least := q.Price, q.Instrument.MinNotional
	if q.Type == order.Market {
		price = q.Quote.Last
	}
	worth := q.Quantity.Mul(price)
	if !price.IsPositive() || worth.GreaterThanOrEqual(least) {
		return nil
	}
	d := &Denial{
		Limit: least.String(), Value: worth.String(), Field: "quantity",
		Text: fmt.Sprintf("quantity: %v at %v is worth %v, and the venue's least is %v %s", q.Quantity, price, worth, least, q.Instrument.Quote),
	}
	if enough, rest := least.QuoRem(price, 12); q.Instrument.Step.IsPositive() {
		if rest.IsPositive() {
			enough = enough.Add(decimal.New(1, -12))
		}
		if up := q.floor(enough); up.LessThan(enough) {
			enough = up.Add(q.Instrument.Step)
		}
		d.Nearest = []string{enough.String()}
		d.Text += "; the least quantity is " + enough.String()
	}
	d.Text = strings.TrimSpace(d.Text)
	return d
}
