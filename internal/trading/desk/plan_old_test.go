package desk_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// TestPlan_OfAnOldAccount takes an account back to what a program without plans had stored, and holds
// that the start makes the same plan from its orders, records it once, and neither places nor cancels
// anything.
func TestPlan_OfAnOldAccount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do     func(s *site)
		venues []string
	}{
		"a bracket":     {do: func(s *site) { s.done(s.buys("0.05", "stop 48000 target 55000")) }},
		"a stop":        {do: func(s *site) { s.done(s.buys("0.05", "stop 48000")) }},
		"a target":      {do: func(s *site) { s.done(s.buys("0.05", "target 55000")) }},
		"nothing":       {do: func(s *site) { s.done(s.buys("0.05", "")) }},
		"a stop alone":  {do: func(s *site) { s.alone("stop 48000") }},
		"a trail alone": {do: func(s *site) { s.alone("trail 2"); s.upAndBack() }},
		"a trail":       {do: func(s *site) { s.done(s.buys("0.05", "trail 2")); s.upAndBack() }, venues: []string{onThePaper, binanceToo}},
		"a trail and a target": {
			do:     func(s *site) { s.done(s.buys("0.05", "trail 2 target 55000")); s.upAndBack() },
			venues: []string{onThePaper, binanceToo},
		},
		"a pair without an entry": {do: func(s *site) { s.alone("stop 48000 target 55000") }},
		"a pair for a part": {do: func(s *site) {
			s.done(s.buys("0.05", ""))
			s.done(s.sells(s.q("0.02"), "stop 48000 target 55000"))
		}},
		"two entries": {do: func(s *site) {
			s.done(s.buys("0.02", "stop 48000"))
			s.done(s.buys("0.03", "stop 49000 target 53000"))
		}},
		"an entry and a stop alone": {do: func(s *site) {
			s.done(s.buys("0.02", "stop 48000 target 55000"))
			s.done(s.buys("0.03", ""))
			s.done(s.sells(s.net("0.03"), "stop 49000"))
		}},
		"after a partial exit": {do: func(s *site) {
			s.done(s.buys("0.05", "stop 48000 target 55000"))
			s.sold(s.q("0.02"))
		}},
		"after an exit across two": {do: func(s *site) {
			s.done(s.buys("0.02", "stop 48000"))
			s.done(s.buys("0.03", "stop 49000 target 53000"))
			s.sold(s.q("0.035"))
		}},
		"an entry that waits": {do: func(s *site) { s.done(s.waits("0.05", "stop 45000 target 55000")) }},
		"an entry in part": {do: func(s *site) {
			p := s.done(s.waits("0.05", "stop 45000 target 55000"))
			s.tradePart(p.ID, "0.02")
			time.Sleep(10 * time.Second)
		}},
		"an entry whose stop somebody cancelled": {do: func(s *site) {
			p := s.done(s.buys("0.05", "stop 48000"))
			if _, err := s.Cancel(s.t.Context(), caller(), s.legs(p)[0].ID); err != nil {
				s.t.Fatal(err)
			}
		}},
		"a position that was closed": {do: func(s *site) {
			s.done(s.buys("0.05", "stop 48000 target 55000"))
			s.sold(order.RoundDown(s.held(), dec("0.00001")))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				c.do(s)
				time.Sleep(10 * time.Second)
				s.goesBack()
			}, c.venues...)
		})
	}
}

// waits asks for a purchase at 46,000, which the price does not reach.
func (s *site) waits(quantity, words string) order.Request {
	r := s.buys(quantity, words)
	r.Type, r.Price = order.Limit, s.p("46000")
	return r
}

// tradePart fills a part of an entry that waits.
func (s *site) tradePart(id, quantity string) {
	s.t.Helper()
	if s.paper != nil {
		s.paper.minutes = 2 * s.bars
		s.paper.feed("45990", dec(quantity).InexactFloat64())
		s.bars = 2*s.bars + 1
		return
	}
	s.trade(id, quantity)
}

// goesBack starts the desk over the events without plans, and compares.
func (s *site) goesBack() {
	s.t.Helper()
	lines, working, ids, restricted := s.lines(), s.working(), s.openIDs(), len(s.Status().State.Restrictions)
	s.stop()
	entries := make(map[string]bool)
	for _, o := range s.store.Book(owner).Orders() {
		entries[o.ID] = o.Role == order.Entry
	}
	s.store.Rewrite(owner, func(e *order.Event) bool {
		if e.Kind == order.KindCreated && e.Origin.Parent != "" && !entries[e.Origin.Parent] {
			g := *e.Origin
			g.Parent = "" // what no entry asked for belonged to nothing
			e.Origin = &g
		}
		return e.Kind != order.KindPlanned
	})
	before := len(s.store.Audit())
	s.again(func() {})
	time.Sleep(5 * time.Minute)
	if got := s.lines(); !slices.Equal(got, lines) {
		s.t.Errorf("the plan is %q, and was %q", got, lines)
	}
	if got := s.working(); !slices.Equal(got, working) {
		s.t.Errorf("at the venue is %q, and was %q", got, working)
	}
	if got := s.openIDs(); !slices.Equal(got, ids) {
		s.t.Errorf("open are %q, and were %q", got, ids)
	}
	plans := 0
	for _, e := range s.store.Audit()[before:] {
		switch e.Event.Kind {
		case order.KindPlanned:
			plans++
		case order.KindCreated, order.KindCancelRequested, order.KindSent:
			s.t.Errorf("after the start %v of %s is recorded", e.Event.Kind, e.Event.OrderID)
		default:
		}
	}
	if plans > 1 {
		s.t.Errorf("%d plans are recorded", plans)
	}
	if r := s.Status().State.Restrictions; len(r) > restricted {
		s.t.Errorf("trading is restricted: %+v", r)
	}
	s.stillWorks(lines)
}

// openIDs returns the IDs of the orders at the venue.
func (s *site) openIDs() []string {
	s.t.Helper()
	open, err := s.broker.Open(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	var ids []string
	for _, r := range open {
		ids = append(ids, r.ID)
	}
	slices.Sort(ids)
	return ids
}

// stillWorks holds that a partial exit keeps the prices of the plan that was made.
func (s *site) stillWorks(lines []string) {
	s.t.Helper()
	held := order.RoundDown(s.held(), dec("0.00001"))
	part := order.RoundDown(held.Div(decimal.NewFromInt(10)), s.q("0.00001"))
	if len(lines) != 1 || s.Status().Open == 0 || !part.IsPositive() || s.store.Book(owner).Open()[0].Role == order.Entry {
		return
	}
	s.sold(part)
	time.Sleep(10 * time.Second)
	if got := s.lines(); len(got) != 1 || prices(got[0]) != prices(lines[0]) {
		s.t.Errorf("after an exit the plan is %q, and was %q", got, lines)
	}
}

// prices returns a line in words without its quantity.
func prices(line string) string {
	_, after, _ := strings.Cut(line, " ")
	return after
}
