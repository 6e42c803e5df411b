package desk_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// learn gives the models what was filled since the last time, and which entries bring no more.
func (s *planSequence) learn() {
	s.t.Helper()
	for e := range s.later() {
		if e.Kind == order.KindCreated {
			s.origins[e.OrderID] = *e.Origin
		}
		if e.Kind != order.KindFill {
			continue
		}
		g, f := s.origins[e.OrderID], *e.Fill
		quantity := f.Quantity
		if f.FeeAsset != "" && f.FeeAsset == s.fee() {
			quantity = quantity.Sub(f.Fee)
		}
		for i := range s.models {
			m := &s.models[i]
			switch {
			case f.Side == order.Buy:
				m.bought(g.ID, f.At, quantity)
			case g.External: // it names no line
				m.sold("", f.At, f.Quantity)
			default:
				m.sold(m.lineOf(g), f.At, f.Quantity)
			}
		}
		s.note("  %v %v of %v %s at %v", f.Side, f.Quantity, g.Role, g.ID, f.Price)
	}
	for _, o := range s.view.Orders() {
		if o.Role == order.Entry && o.Status.Final() && !o.NeedsQuery() {
			for i := range s.models {
				s.models[i].settle(o.ID)
			}
		}
	}
}

// later yields the events since the last time, and adds them to the book.
func (s *planSequence) later() iter.Seq[order.Event] {
	return func(yield func(order.Event) bool) {
		n := 0
		for e, err := range s.events() {
			if n++; n <= s.seen {
				continue
			}
			if err = errors.Join(err, s.view.Apply(e)); err != nil {
				s.t.Fatal(err)
			}
			s.seen = n
			if !yield(e) {
				return
			}
		}
	}
}

// book returns the book of all events.
func (s *planSequence) book() *order.Book {
	s.learn()
	return s.view
}

// works reports whether the venue has an order, and it waits for no entry.
func (s *planSequence) works(o order.Order) bool { return s.left(o).IsPositive() }

// watch holds what must be true at every moment: working stops close no more than is held, and none is
// wider than every possible plan says.
func (s *planSequence) watch() {
	s.t.Helper()
	synctest.Wait()
	s.learn()
	held, sum := s.held(), decimal.Zero
	// A venue may size a stop before the fee of its entry.
	if held.Add(s.book().Position(s.symbol()).Fees[s.fee()]).IsNegative() {
		s.t.Errorf("the venue is short by %v", held)
	}
	for _, o := range s.book().Legs(s.symbol()) {
		if !o.IsStop() || !s.works(o) {
			continue
		}
		sum = sum.Add(s.left(o))
		wider := func(m planModel) bool {
			return slices.ContainsFunc(m.lines, func(l modelLine) bool {
				return l.id == o.Line() && l.stop.IsPositive() && o.StopPrice.IsPositive() && o.StopPrice.LessThan(l.stop)
			})
		}
		if o.CancelRequested.IsZero() && !slices.ContainsFunc(s.models, func(m planModel) bool { return !wider(m) }) {
			s.t.Errorf("the stop %s at %v is wider than the plan: %v", o.ID, o.StopPrice, s.models)
		}
	}
	if sum.GreaterThan(decimal.Max(held.Add(held.Shift(-2)), decimal.Zero)) {
		s.t.Errorf("stops close %v of %v", sum, held)
	}
	s.states(sum)
}

// compare holds, after some time without faults, that the orders at the venue are those of a possible
// plan. What the venue refused, a restriction says. Where only one plan is possible it is enough that they
// are once; at the end of a sequence, and where a call had no answer, all the time passes first.
func (s *planSequence) compare(last bool) {
	s.t.Helper()
	s.calm()
	if _, err := s.desk().Resume(s.t.Context(), "candela resume"); err != nil {
		s.t.Error(err)
	}
	waits := []time.Duration{4 * time.Second, 8 * time.Second, 83 * time.Second}
	if last || len(s.models) > 1 {
		waits = []time.Duration{95 * time.Second}
	}
	problem := ""
	for _, d := range waits {
		time.Sleep(d)
		synctest.Wait()
		s.learn()
		if problem = s.unlike(); problem == "" {
			s.tally(func(c *planCount) { c.compared++ })
			return
		}
	}
	for _, r := range s.desk().Status().State.Restrictions {
		if r.Kind == guard.Unprotected {
			s.tally(func(c *planCount) { c.excused++ })
			return
		}
	}
	s.t.Error(problem)
}

func (s *planSequence) tally(add func(*planCount)) {
	s.count.mu.Lock()
	defer s.count.mu.Unlock()
	add(s.count)
}

// unlike returns in what the orders at the venue differ from all possible plans, and keeps the plans that
// they are like: one line and two with the same prices look the same.
func (s *planSequence) unlike() string {
	open, seen := make(map[string]decimal.Decimal), make(map[string]bool)
	legs := s.book().Legs(s.symbol())
	var problems []string
	for _, o := range legs {
		if !s.works(o) {
			return fmt.Sprintf("the %v %s is %v here, and does not work at the venue", o.Role, o.ID, o.Status)
		}
		var stop, trail, target, quantity decimal.Decimal
		for _, other := range legs {
			if other.ID == o.ID || o.Group.Name != "" && other.Group.Name == o.Group.Name {
				quantity = decimal.Max(quantity, other.Remaining())
				if other.IsStop() {
					stop, trail = other.StopPrice, other.TrailPercent
				} else {
					target = other.Price
				}
			}
		}
		if key := cmpGroup(o); !seen[key] {
			seen[key] = true
			if stop.Add(trail).IsPositive() && target.LessThanOrEqual(s.last()) {
				target = decimal.Zero
			}
			name := legKey(stop, trail, target)
			open[name] = open[name].Add(quantity)
		}
	}
	var like []planModel
	for _, m := range s.models {
		if problem := s.differs(m, open); problem == "" {
			like = append(like, m)
		} else {
			problems = append(problems, problem)
		}
	}
	if len(like) > 0 {
		s.models = like
		return ""
	}
	return fmt.Sprintf("the venue has %v, the book %v\n%s", open, s.book().Lines(s.symbol()), strings.Join(problems, "\n"))
}

func cmpGroup(o order.Order) string {
	if o.Group.Name != "" {
		return o.Group.Name
	}
	return o.ID
}

// differs returns in what the orders at the venue differ from a plan. A trail may have a stop in its
// place that is not wider, and less than the venue trades needs no order.
func (s *planSequence) differs(m planModel, open map[string]decimal.Decimal) string {
	if !m.held.Equal(s.holds()) {
		return fmt.Sprintf("the model holds %v, the venue %v", m.held, s.held())
	}
	want, left := m.legs(s.step(), s.last()), maps.Clone(open)
	dust := dec("12").Div(s.last())
	for key, quantity := range want {
		has := left[key]
		for !strings.Contains(key, "trail 0") && quantity.Sub(has).GreaterThan(dust) {
			other := s.standIn(m, key, left, quantity.Sub(has))
			if other == "" {
				break
			}
			has = has.Add(left[other])
			delete(left, other)
		}
		if has.Sub(quantity).Abs().GreaterThan(dust) {
			return fmt.Sprintf("%s: %v at the venue, %v in the plan %v", key, has, quantity, m)
		}
		delete(left, key)
	}
	for key, quantity := range left {
		if quantity.GreaterThan(dust) {
			return fmt.Sprintf("%s: %v at the venue and not in the plan %v", key, quantity, m)
		}
	}
	return ""
}

// standIn returns a stop that is in place of a trail: at a price, with the same target. Of several it is the
// one whose quantity is nearest to what is wanted.
func (*planSequence) standIn(m planModel, key string, left map[string]decimal.Decimal, want decimal.Decimal) string {
	_, target, _ := strings.Cut(key, "target ")
	found := ""
	for other, has := range left {
		if !strings.HasSuffix(other, "trail 0 target "+target) || slices.ContainsFunc(m.lines, func(l modelLine) bool { return legKey(l.stop, l.trail, l.target) == other }) {
			continue
		}
		if found == "" || has.Sub(want).Abs().LessThan(left[found].Sub(want).Abs()) {
			found = other
		}
	}
	return found
}
