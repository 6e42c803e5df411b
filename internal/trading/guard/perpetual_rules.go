package guard

import (
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/margin"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Perpetual are the limits of positions in perpetual futures.
type Perpetual struct {
	MaxLeverage               Limit // how large a position may be beside its margin; on paper that is its leverage
	MinLiquidationDistancePct Limit // a lower bound
}

// mostLeverage is the largest number that max_leverage may have: no venue lends more.
const mostLeverage = 125

func defaultPerpetual() Perpetual {
	return Perpetual{MinLiquidationDistancePct: Limit{Value: decimal.NewFromInt(10)}}
}

// perpetualKeys are the keys of the file about perpetual futures.
func perpetualKeys() []policyKey {
	return []policyKey{
		limitKey("max_leverage", true, readLeverage, func(p *Policy) *Limit { return &p.MaxLeverage }),
		limitKey("min_liquidation_distance_pct", true, readPercent, func(p *Policy) *Limit { return &p.MinLiquidationDistancePct }),
	}
}

// readLeverage reads a leverage. There is no "none": it would lend whatever a venue lends.
func readLeverage(raw any) (Limit, string) {
	const allowed = "a whole number from 0, which allows no perpetual future, to 125"
	l, problem := readLimit(raw, allowed, func(d decimal.Decimal) bool {
		return d.IsInteger() && !d.IsNegative() && d.LessThanOrEqual(decimal.NewFromInt(mostLeverage))
	})
	if l.Off {
		return Limit{}, allowed
	}
	return l, problem
}

// perpetualRules are the rules that decide whether a perpetual future may be traded at all.
func perpetualRules() []rule {
	return []rule{
		{
			"max_leverage", false, func(p Policy) string { return p.MaxLeverage.String() },
			"Every order in a perpetual future, such as BTCUSDT.P, at 0, but those that close a position. Above 0 it is the leverage of paper positions.",
			checkLeverage,
		},
		{
			"perpetual", false, func(Policy) string { return "the paper account" },
			"Every order in a perpetual future where the account cannot hold one.",
			checkPerpetual,
		},
		{
			"account_mode", false, func(Policy) string { return "one-way, isolated, at most max_leverage" },
			"In perpetual futures, an order that opens a position or adds to it, while the account at the venue is in hedge mode, shares its margin among positions, or opens with a leverage above max_leverage. candela never changes these; a change at the venue counts within a minute.",
			checkModes,
		},
	}
}

// liquidationRules are the rules about the price at which a position is liquidated.
func liquidationRules() []rule {
	fixed := func(text string) func(Policy) string { return func(Policy) string { return text } }
	return []rule{
		{
			"no_mark", false, fixed("as max_quote_age"),
			"In perpetual futures, an order that opens a position or adds to it, while the venue's mark prices, by which positions are liquidated, have stopped: the last one is older than max_quote_age.",
			checkMark,
		},
		{
			"min_liquidation_distance_pct", false, func(p Policy) string { return perCent(p.MinLiquidationDistancePct) },
			"In perpetual futures, an order that opens a position or adds to it, after which the price of liquidation is nearer than this to the last price.",
			checkLiquidationDistance,
		},
		{
			"stop_before_liquidation", false, fixed("0.5 % before it"),
			"In perpetual futures, a stop within 0.5 % of the price of liquidation or beyond it: the position would be liquidated first.",
			checkStopBeforeLiquidation,
		},
	}
}

// perpetual reports whether the order is in a perpetual future.
func (q *orderCheck) perpetual() bool { return q.Instrument.Class == provider.Perpetual }

func checkLeverage(q *orderCheck) *Denial {
	if !q.perpetual() || q.limits.MaxLeverage.Value.IsPositive() || q.closes() {
		return nil
	}
	pair, _ := q.Symbol.Pair()
	d := deny("symbol", q.Symbol.String(), "a pair or a share",
		"%v is a perpetual future, and the policy allows none (max_leverage = 0); only the owner can change that. The pair %s can be traded.", q.Symbol, pair)
	d.Nearest = []string{pair}
	return d
}

// checkModes denies what opens a position while the account at the venue holds positions in another way than the
// rules count with.
func checkModes(q *orderCheck) *Denial {
	if !q.perpetual() || q.Modes == nil || !q.opening().IsPositive() {
		return nil
	}
	if !q.Modes.Known {
		d := deny("", "unknown", "known modes", "How the account holds positions in %v is not known: the venue does not say it. Try again in a moment.", q.Symbol)
		d.RetryAfter = time.Second
		return d
	}
	wrong := q.Modes.Wrong(q.limits.MaxLeverage.Value)
	if wrong == "" {
		return nil
	}
	return deny("", wrong, "one-way mode, isolated margin, a leverage of at most "+q.limits.MaxLeverage.String(),
		"The account at the venue has %s in %v. Only its owner changes that, at the venue: %s. Orders that close positions pass.", wrong, q.Symbol, q.Modes.Change)
}

func checkPerpetual(q *orderCheck) *Denial {
	if !q.perpetual() || q.Capabilities.Perpetuals {
		return nil
	}
	pair, _ := q.Symbol.Pair()
	d := deny("symbol", q.Symbol.String(), "a pair or a share",
		"%v is a perpetual future. Only the paper account holds those, and orders go to %s; the pair %s can be traded.", q.Symbol, q.venue(), pair)
	d.Nearest = []string{pair}
	return d
}

// checkOneSide denies an order that would close a position and open one on the other side: of its fills
// nobody could say which they were, and its stop would protect neither.
func checkOneSide(q *orderCheck) *Denial {
	held := q.against()
	if !q.perpetual() || q.ReduceOnly || !held.IsPositive() {
		return nil
	}
	rest := q.Quantity.Sub(held)
	closing := fmt.Sprintf("%v %v with reduce_only", q.Side, held)
	switch {
	case rest.IsPositive():
		d := deny("quantity", q.Quantity.String(), held.String(),
			"A %v of %v with %v held would turn the position round, and one order never does. Send %s first, then %v %v.", q.Side, q.Quantity, q.Held, closing, q.Side, rest)
		d.Nearest = []string{held.String()}
		return d
	case planOf(q.Spec).entry && !planOf(q.Spec).IsZero():
		d := deny("reduce_only", "false", "true", "A %v of %v with %v held closes a part of the position, so it opens nothing that stop_loss or take_profit could protect. Send it with reduce_only and without them, or give the %v position a stop with %s and stop_loss.",
			q.Side, q.Quantity, q.Held, sideOf(q.Held), closing)
		d.Nearest = []string{"true"}
		return d
	}
	return nil
}

// sideOf names the side of a position.
func sideOf(held decimal.Decimal) string {
	if held.IsNegative() {
		return "short"
	}
	return "long"
}

// position returns the position in a perpetual future as the account has it, or without its margin as it was
// opened with the leverage of now.
func (q *orderCheck) position() margin.Position {
	p := margin.Position{Quantity: q.Held, Cost: q.Held.Mul(q.Entry)}
	switch {
	case q.Margin != nil:
		p.Margin = q.Margin.Margin
	case !p.Cost.IsZero():
		p.Margin = margin.Initial(p.Cost.Abs(), q.leverage())
	}
	return p
}

// leverage is that of what the order opens, at least 1.
func (q *orderCheck) leverage() decimal.Decimal {
	return decimal.Max(q.limits.MaxLeverage.Value, decimal.NewFromInt(1))
}

// tiers returns what the venue demands. None says it without keys, so they are the usual ones.
func (q *orderCheck) tiers() margin.Tiers { return margin.Usual(q.Instrument.Base) }

// after returns the position after the order, at the price at which it would trade, and the price of its
// liquidation. It reports false if none liquidates it.
func (q *orderCheck) after() (p margin.Position, liquidation decimal.Decimal, ok bool) {
	p = q.position()
	if opening := q.opening(); opening.IsPositive() && p.Opens(opening.Mul(decimal.NewFromInt(q.Side.Sign()))) {
		price := q.plausible()
		leverage := decimal.Min(q.leverage(), q.tiers().At(p.Cost.Abs().Add(opening.Mul(price))).MaxLeverage)
		p, _ = p.Trade(opening.Mul(decimal.NewFromInt(q.Side.Sign())), price, leverage)
	}
	liquidation, ok = q.tiers().Liquidation(p, q.Instrument.Tick)
	return p, liquidation, ok
}

// checkMark denies what opens a position while the mark prices of a venue that has them do not come. Where none
// came yet the last price counts.
func checkMark(q *orderCheck) *Denial {
	age, limit := q.Now.Sub(q.Quote.MarkedAt).Round(time.Millisecond), q.policy.MaxQuoteAge
	if !q.perpetual() || !q.Quote.Mark.IsPositive() || age <= limit || !q.opening().IsPositive() {
		return nil
	}
	d := deny("", age.String(), limit.String(), "The mark price of %v, %v, by which the position would be liquidated, is %v old; the limit is %v.", q.Symbol, q.Quote.Mark, age, limit)
	d.RetryAfter = time.Second
	return d
}

func checkLiquidationDistance(q *orderCheck) *Denial {
	limit := q.limits.MinLiquidationDistancePct
	if !q.perpetual() || limit.Off || !q.opening().IsPositive() || !q.fresh() {
		return nil
	}
	p, at, ok := q.after()
	from := argument{"the last price", q.Quote.Last}
	if q.Held.IsZero() && (q.waits() || q.Type == order.Limit) {
		from = argument{"the entry", q.plausible()}
	}
	distance := margin.Distance(p, at, from.value)
	if !ok || !distance.LessThan(limit.Value) {
		return nil
	}
	d := deny("quantity", distance.Round(2).String()+" %", perCent(limit),
		"After this order %v would be liquidated at %v, %v %% from %s %v; at least %s is allowed.", q.Symbol, at, distance.Round(2), from.name, from.value, perCent(limit))
	if q.Held.IsZero() {
		pair, _ := q.Symbol.Pair()
		d.Text += fmt.Sprintf(" At a leverage of %v no quantity is further away; only the owner can lower max_leverage. With the symbol %s, the pair, nothing is borrowed.", q.leverage(), pair)
	} else {
		d.Text += " Reduce the position first, or wait."
	}
	return d
}

// stopMargin is how far before the price of liquidation a stop must be, in percent.
func stopMargin() decimal.Decimal { return decimal.New(5, -1) }

func checkStopBeforeLiquidation(q *orderCheck) *Denial {
	if !q.perpetual() {
		return nil
	}
	plan := planOf(q.Spec)
	stop, name := plan.StopLoss, "stop_loss"
	if plan.TrailPercent.IsPositive() {
		from := q.Quote.Last
		if plan.entry {
			from = q.plausible()
		}
		stop, name = from.Add(percent(from, plan.TrailPercent).Mul(decimal.NewFromInt(plan.closing.Sign()))), "trail_percent"
	}
	p, at, ok := q.after()
	if !ok || !stop.IsPositive() || looksPercent(stop, q.Quote.Last) {
		return nil
	}
	long := p.Quantity.IsPositive()
	edge := at.Add(percent(at, stopMargin()).Mul(decimal.NewFromInt(int64(p.Quantity.Sign()))))
	if long && stop.GreaterThan(edge) || !long && stop.LessThan(edge) {
		return nil
	}
	edge = q.onTick(edge, !long)
	if edge.Equal(stop) || long != edge.GreaterThan(stop) {
		edge = edge.Add(q.Instrument.TickAt(edge).Mul(decimal.NewFromInt(int64(p.Quantity.Sign()))))
	}
	word, _ := words(long)
	d := deny(name, stop.String(), word+" "+edge.String(), "A stop at %v is not before the liquidation at %v: the position would be liquidated first. Use a stop %s %v.", stop, at, word, edge)
	if name == "stop_loss" {
		d.Nearest = []string{edge.String()}
	}
	return d
}

// MarginOf returns the margin of the position in a symbol among the holdings of an account, nil for none.
func MarginOf(holdings []order.Holding, s market.Symbol) *order.Margin {
	for _, h := range holdings {
		if h.Margin != nil && h.Symbol == s {
			return h.Margin
		}
	}
	return nil
}

// halfOf writes half of a limit in percent.
func halfOf(l Limit) string {
	if l.Off {
		return none
	}
	return l.Value.Div(decimal.NewFromInt(2)).String() + " %"
}

// NearLiquidation reports whether a position in a perpetual future is nearer to its liquidation than half of
// what an entry may leave, and says so.
func NearLiquidation(p Policy, m order.PricedPosition) (why string, near bool) {
	limit := p.For(m.Symbol).MinLiquidationDistancePct
	price, distance, ok := m.Liquidation()
	if !ok || limit.Off || !distance.Mul(decimal.NewFromInt(2)).LessThan(limit.Value) {
		return "", false
	}
	return fmt.Sprintf("%v %v of %v is %v %% from its liquidation at %v", sideOf(m.Quantity), m.Quantity.Abs(), m.Symbol, distance, price), true
}

// estimateMargin adds what an order in a perpetual future sets aside, and where the position would end.
func (q *orderCheck) estimateMargin(e *order.Estimate) {
	before := q.position()
	p, at, ok := q.after()
	if opening := q.opening(); opening.IsPositive() {
		e.Margin = p.Margin.Sub(before.Margin)
		e.Leverage = decimal.Min(q.leverage(), q.tiers().At(p.Cost.Abs()).MaxLeverage)
	}
	if ok {
		e.Liquidation, e.LiquidationDistance = at, margin.Distance(p, at, e.Price).Round(2)
	}
}
