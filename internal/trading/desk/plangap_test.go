package desk_test

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// planAnswer is how long an answer of a fake takes in every second sequence.
const planAnswer = 40 * time.Millisecond

// states holds that what has no stop is stated: the desk shows a gap of at least what the plan asks for and no
// stop at the venue, nor an exit on its way, would close. stops is what own ones would.
func (s *planSequence) states(stops decimal.Decimal) {
	s.t.Helper()
	if !s.models[0].held.Equal(s.holds()) {
		return // the report of a fill is on its way
	}
	for _, o := range s.book().Open() {
		if o.External && o.IsStop() {
			stops = stops.Add(s.left(o))
		}
	}
	closes := stops.Add(s.exiting())
	for _, o := range s.view.Unreported(s.symbol()) {
		closes = closes.Add(o.Remaining())
	}
	least, lines := decimal.Zero, 0
	for i, m := range s.models {
		sum := decimal.Zero
		for _, l := range m.lines {
			if !l.open && l.stop.Add(l.trail).IsPositive() {
				sum = sum.Add(order.RoundDown(l.quantity, s.step()))
			}
		}
		if i == 0 || sum.LessThan(least) {
			least = sum
		}
		lines = max(lines, len(m.lines))
	}
	stated := s.statedGap()
	dust := dec("12").Div(s.last()).Mul(decimal.NewFromInt(int64(1 + lines)))
	if least.Sub(closes).Sub(stated).GreaterThan(dust) {
		s.t.Errorf("%v should have a stop, %v is closed by one or by an exit, and %v is stated as a gap: %v", least, closes, stated, s.models)
	}
}

// statedGap is how much the desk says has no stop.
func (s *planSequence) statedGap() decimal.Decimal {
	s.t.Helper()
	all, err := s.desk().Positions(s.t.Context(), caller())
	if err != nil {
		s.t.Fatal(err)
	}
	var sum decimal.Decimal
	for _, p := range all {
		for _, g := range p.Gaps {
			if p.Symbol == s.symbol() {
				sum = sum.Add(g.Quantity)
			}
		}
	}
	return sum
}

// measure returns what holds, after a call, that it left the position without a stop at the venue for no
// longer than it says.
func (s *planSequence) measure() func(order.Placed) {
	all, from := s.gaps(), time.Now()
	before := len(all)
	if before > 0 && all[before-1].To.IsZero() {
		return func(order.Placed) {} // it had none already
	}
	if s.models[0].bare().GreaterThan(dec("18").Div(s.last())) {
		return func(order.Placed) {} // what no line is for counts as a gap when a stop becomes smaller by a fee
	}
	if slices.ContainsFunc(s.book().Legs(s.symbol()), func(o order.Order) bool { return o.IsStop() && !o.CancelRequested.IsZero() }) {
		return func(order.Placed) {} // somebody ends one, and the order does not
	}
	return func(p order.Placed) {
		s.t.Helper()
		now := s.gaps()
		if p.ID == "" || s.dying || !p.ReduceOnly {
			return
		}
		for _, g := range now[before:] {
			if g.To.IsZero() {
				g.To = time.Now()
			}
			long := g.To.Sub(g.From)
			if p.IsExit() && (p.Quantity.GreaterThanOrEqual(order.RoundDown(g.Quantity, s.step())) || len(p.Fills) > 1 || s.stopsOf(p.Released) > 1) {
				continue // what is sold, perhaps in parts or of several lines, has no stop before it is
			}
			s.tally(func(c *planCount) { c.measured++; c.longest = max(c.longest, long) })
			if g.From.After(from) && long > p.UnprotectedFor {
				s.t.Errorf("%s left the position without a stop for %v and says %v", p.ID, long, p.UnprotectedFor)
			}
		}
	}
}

// stopsOf counts the stops among orders.
func (s *planSequence) stopsOf(ids []string) int {
	n := 0
	for _, id := range ids {
		if o, _ := s.book().Order(id); o.IsStop() {
			n++
		}
	}
	return n
}
