package orders

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
)

// prices are those of a line of a plan. Zero fields are not asked for.
type prices struct{ stop, trail, target decimal.Decimal }

// change is a call that changes the plan of a position, or closes a part of it, and what is found when the
// program is killed on its way.
type change struct {
	name   string
	places []string // the venues; nil for all
	single bool     // of an entry with a stop alone; else it has a stop and a target
	call   func(*shield)
	plan   func(*holder) []prices // after it; nil if it stays

	venue, here           string // the orders that it asked for were not sent
	took, found           string // the venue took them
	cleared, sent         string // they were sent with what the plan asks for beside them, and never arrive
	count                 int    // of these orders
	renewed, renewedVenue string // the same, after a minute; "" if it may be in parts
}

// move are the steps of every change of a plan: after the next start the new plan is in force. The orders
// that the client asked for are denied if they were not sent, and others are placed in their stead.
func move() []step {
	var all []step
	for _, c := range changes() {
		all = append(all, c.steps()...)
	}
	return append(all, cancelTarget()...)
}

func changes() []change {
	const (
		cleared = "entry filled, stop_loss ended, take_profit ended"
		again   = "entry filled, stop_loss ended, stop_loss open, take_profit ended, take_profit open"
		found   = "entry filled, stop_loss accepted, stop_loss ended, take_profit accepted, take_profit ended"
	)
	whole := change{
		venue: again, here: "entry filled, stop_loss accepted, stop_loss denied, stop_loss ended, take_profit accepted, take_profit denied, take_profit ended",
		took: again, found: found,
		cleared: cleared, sent: "entry filled, stop_loss ended, stop_loss submitted, take_profit ended, take_profit submitted", count: 2,
		renewedVenue: again, renewed: "entry filled, stop_loss accepted, stop_loss ended, stop_loss ended, take_profit accepted, take_profit ended, take_profit ended",
	}
	replace, target, trail := whole, whole, whole
	replace.name, replace.call = "replace", (*shield).nearer
	replace.plan = func(h *holder) []prices { return []prices{{stop: h.nearer, target: h.target}} }
	target.name, target.call = "target moved", (*shield).further
	target.plan = func(h *holder) []prices { return []prices{{stop: h.stop, target: h.further}} }
	trail.name, trail.places, trail.call = "trail", []string{"binance", "paper"}, func(s *shield) { s.asks(s.position(), `,"trail_percent":3`) }
	trail.plan = func(h *holder) []prices { return []prices{{trail: dec("3"), target: h.target}} }
	return []change{replace, target, trail, {
		name: "target added", single: true, call: (*shield).further, plan: target.plan,
		venue: "entry filled, stop_loss ended, stop_loss open, take_profit open", here: "entry filled, stop_loss accepted, stop_loss denied, stop_loss ended, take_profit accepted, take_profit denied",
		took: "entry filled, stop_loss ended, stop_loss open, take_profit open", found: "entry filled, stop_loss accepted, stop_loss ended, take_profit accepted",
		cleared: "entry filled, stop_loss ended", sent: "entry filled, stop_loss ended, stop_loss submitted, take_profit submitted", count: 2,
		renewedVenue: "entry filled, stop_loss ended, stop_loss open, take_profit open", renewed: "entry filled, stop_loss accepted, stop_loss ended, stop_loss ended, take_profit accepted, take_profit ended",
	}, {
		name: "split", call: func(s *shield) { s.asks(s.venue.half, fmt.Sprintf(`,"take_profit":%s`, s.holder.further)) },
		plan: func(h *holder) []prices {
			return []prices{{stop: h.stop, target: h.target}, {stop: h.stop, target: h.further}}
		},
		venue:   "entry filled, stop_loss ended, stop_loss open, stop_loss open, take_profit ended, take_profit open, take_profit open",
		here:    "entry filled, stop_loss accepted, stop_loss accepted, stop_loss denied, stop_loss ended, take_profit accepted, take_profit accepted, take_profit denied, take_profit ended",
		took:    "entry filled, stop_loss ended, stop_loss open, stop_loss open, take_profit ended, take_profit open, take_profit open",
		found:   "entry filled, stop_loss accepted, stop_loss accepted, stop_loss ended, take_profit accepted, take_profit accepted, take_profit ended",
		cleared: cleared, sent: "entry filled, stop_loss ended, stop_loss submitted, stop_loss submitted, take_profit ended, take_profit submitted, take_profit submitted", count: 4,
		renewedVenue: "entry filled, stop_loss ended, stop_loss open, stop_loss open, take_profit ended, take_profit open, take_profit open",
		renewed:      "entry filled, stop_loss accepted, stop_loss accepted, stop_loss ended, stop_loss ended, stop_loss ended, take_profit accepted, take_profit accepted, take_profit ended, take_profit ended, take_profit ended",
	}, {
		name: "partial exit", call: func(s *shield) { s.asks(s.venue.half, "") },
		venue: again, here: found + ", exit denied",
		took: again + ", exit filled", found: found + ", exit filled",
		cleared: cleared, sent: "entry filled, stop_loss ended, stop_loss submitted, take_profit ended, take_profit submitted, exit submitted", count: 3,
	}, {
		name: "`reduce_only` releases legs", call: func(s *shield) { s.asks(s.position(), "") },
		venue: again, here: found + ", exit denied",
		took: cleared + ", exit filled", found: cleared + ", exit filled",
		cleared: cleared, sent: cleared + ", exit submitted", count: 1,
		renewedVenue: again, renewed: found + ", exit ended",
	}}
}

// steps are those in which the program is killed on the way of a change.
func (c change) steps() []step {
	all := step{places: c.places, before: fills, plan: c.plan, two: !c.single, single: c.single}
	away := all
	if away.places = remote(); c.places != nil {
		away.places = slices.DeleteFunc(slices.Clone(c.places), func(p string) bool { return p == "paper" })
	}
	unsent, unsaved, lost, taken := all, away, all, away
	unsent.name, unsent.venue, unsent.here = c.name+": cancel persisted, not sent", c.venue, c.here
	unsent.bring = func(s *shield) { c.call(s); s.cancelling(s.holder.cutNext) }
	unsaved.name, unsaved.venue, unsaved.here = c.name+": old cancelled, that not persisted", c.venue, c.here
	unsaved.bring = func(s *shield) {
		c.call(s)
		s.fails(fake.Fault{}, s.lock)
		s.becomesThere(c.cleared)
		settle()
	}
	lost.name, lost.venue, lost.here, lost.state, lost.ends, lost.healed = c.name+": old cancelled, new persisted, not sent", c.cleared, c.sent, "unprotected", c.renewed, c.renewedVenue
	lost.heals = c.renewed == ""
	lost.bring = func(s *shield) { c.call(s); s.replacing(c.count) }
	taken.name, taken.venue, taken.here = c.name+": sent, the venue took it", c.took, c.found
	taken.bring = func(s *shield) {
		c.call(s)
		s.holder.stall(s)
		s.begin()
		s.becomesThere(c.took)
	}
	return []step{unsent, unsaved, lost, taken}
}

// cancelTarget are the steps of the cancel of a target: its stop stays, and is placed again where the venue
// ends both.
func cancelTarget() []step {
	call := func(s *shield) {
		s.tool, s.args = "cancel_order", fmt.Sprintf(`{"order_id":%q}`, s.orderOf("take_profit"))
	}
	alone := step{
		two: true, places: remote(), before: fills, plan: func(h *holder) []prices { return []prices{{stop: h.stop}} },
		venue: "entry filled, stop_loss ended, stop_loss open, take_profit ended", here: "entry filled, stop_loss accepted, stop_loss ended, take_profit ended",
	}
	unsent, unsaved, kept, lost := alone, alone, alone, alone
	unsent.name, unsent.bring = "cancel of the target: persisted, not sent", func(s *shield) { call(s); s.cancelling(s.holder.cut) }
	unsaved.name, unsaved.bring = "cancel of the target: done, not persisted", func(s *shield) {
		call(s)
		s.fails(fake.Fault{}, s.lock)
		s.becomesThere(naked)
		settle()
	}
	kept.places, kept.name, kept.bring = []string{"paper"}, "cancel of the target: persisted, not done", unsent.bring
	kept.venue, kept.here = "entry filled, stop_loss open, take_profit ended", "entry filled, stop_loss accepted, take_profit ended"
	lost.name, lost.bring = "cancel of the target: its stop persisted, not sent", func(s *shield) { call(s); s.replacing(1) }
	lost.venue, lost.here, lost.state = naked, "entry filled, stop_loss ended, stop_loss submitted, take_profit ended", "unprotected"
	lost.healed, lost.ends = alone.venue, "entry filled, stop_loss accepted, stop_loss ended, stop_loss ended, take_profit ended"
	return []step{unsent, kept, unsaved, lost}
}

// nearer has the next call move the stop.
func (s *shield) nearer() {
	s.asks(s.position(), fmt.Sprintf(`,"stop_loss":%s,"replaces":%q`, s.holder.nearer, s.orderOf("stop_loss")))
}

// further has the next call move the target, or add one.
func (s *shield) further() {
	s.asks(s.position(), fmt.Sprintf(`,"take_profit":%s`, s.holder.further))
	s.legs = 2
}

// asks has the next call ask for something of a part of what is held.
func (s *shield) asks(quantity decimal.Decimal, more string) {
	_, closes := s.holder.sides()
	s.tool, s.args = "place_order", fmt.Sprintf(`{"symbol":%q,"side":%q,"type":"market","quantity":%s,"reduce_only":true%s,"idempotency_key":"moved"}`, s.holder.symbol, closes, quantity, more)
}

// position returns what is held.
func (s *shield) position() decimal.Decimal {
	return s.holder.quantity.Sub(s.holder.quantity.Mul(s.holder.fee))
}

// cancelling calls, and returns when the cancels are persisted. They do not leave.
func (s *shield) cancelling(cut func(*shield)) {
	s.Helper()
	cut(s)
	s.begin()
	s.persisted("order_cancel_asked")
}

// replacing calls, and returns when the old orders are cancelled and this many new ones are persisted as
// sent. They do not leave.
func (s *shield) replacing(orders int) {
	s.Helper()
	count := func() int { return len(s.column("SELECT kind FROM events WHERE kind = 'order_sent'")) }
	before := count()
	s.holder.cutNew(s)
	s.begin()
	s.await("the new orders are persisted", func() bool { return count() == before+orders })
}

// decide are the steps of an order that needs the owner's approval.
func decide() []step {
	held := "entry pending_approval, stop_loss pending_approval, take_profit pending_approval"
	owner := []string{"approval_above = 1"}
	return []step{
		{name: "approval asked for, not decided", laws: owner, before: asks, venue: "nothing", here: held},
		{
			keyed: true, name: "approval: yes persisted, not sent", laws: owner, before: asks, venue: "nothing", here: sent, ends: gone,
			bring: func(s *shield) {
				id := s.head()
				s.act = func() error { _, err := run(s, "approve", id, "--home", s.home); return err }
				unsent(s)
			},
		},
	}
}

// asks places a group that waits for the owner.
func asks(s *shield) {
	s.settled("nothing", "entry pending_approval, stop_loss pending_approval, take_profit pending_approval")
}
