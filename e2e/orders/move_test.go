package orders

import (
	"fmt"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
)

// move are the steps of an order that takes the place of the legs of an entry: a stop nearer
// to the market, or the sale of what they hold.
func move() []step {
	const (
		cleared = "entry filled, stop_loss ended, take_profit ended"
		pending = "entry filled, stop_loss ended, stop_loss submitted, take_profit ended, take_profit submitted"
		again   = "entry filled, stop_loss ended, stop_loss open, take_profit ended, take_profit open"
		denied  = "entry filled, stop_loss accepted, stop_loss denied, stop_loss ended, take_profit accepted, take_profit denied, take_profit ended"
		found   = "entry filled, stop_loss accepted, stop_loss ended, take_profit accepted, take_profit ended"
		renewed = "entry filled, stop_loss accepted, stop_loss ended, stop_loss ended, take_profit accepted, take_profit ended, take_profit ended"
		unsold  = "entry filled, stop_loss accepted, stop_loss ended, take_profit accepted, take_profit ended, exit denied"
	)
	return []step{
		{name: "replace: cancel persisted, not sent", before: fills, venue: again, here: denied, bring: func(s *shield) { s.nearer(); s.cancelling() }},
		{name: "replace: old cancelled, that not persisted", places: remote(), before: fills, venue: again, here: denied, bring: func(s *shield) {
			s.nearer()
			s.fails(fake.Fault{}, s.lock)
			s.becomesThere(cleared)
			settle()
		}},
		{
			name: "replace: old cancelled, new persisted, not sent", before: fills, venue: cleared, here: pending, state: "unprotected", ends: renewed, healed: again,
			bring: func(s *shield) { s.nearer(); s.replacing() },
		},
		{moved: true, name: "replace: sent, the venue took it", places: remote(), before: fills, venue: again, here: found, bring: func(s *shield) {
			s.nearer()
			s.holder.stall(s)
			s.begin()
			s.becomesThere(again)
		}},
		{name: "`reduce_only` releases legs: cancel persisted, not sent", before: fills, venue: again, here: unsold, bring: func(s *shield) { s.sells(); s.cancelling() }},
		{
			name: "`reduce_only` releases legs: these cancelled, the sale persisted, not sent", before: fills, venue: cleared, here: cleared + ", exit submitted", state: "unprotected",
			ends: found + ", exit ended", healed: again, bring: func(s *shield) { s.sells(); s.replacing() },
		},
	}
}

// nearer has the next call move the stop.
func (s *shield) nearer() {
	s.tool, s.args = "place_order", fmt.Sprintf(`{"symbol":%q,"side":"sell","type":"market","quantity":%s,"reduce_only":true,"stop_loss":%s,"replaces":%q`,
		s.holder.symbol, s.position(), s.holder.nearer, s.orderOf("stop_loss"))
	if s.legs == 2 {
		s.args += fmt.Sprintf(`,"take_profit":%s`, s.holder.target)
	}
	s.args += `,"idempotency_key":"moved"}`
}

// sells has the next call sell what the legs hold.
func (s *shield) sells() {
	s.tool, s.args = "place_order", fmt.Sprintf(`{"symbol":%q,"side":"sell","type":"market","quantity":%s,"reduce_only":true,"idempotency_key":"sold"}`, s.holder.symbol, s.position())
}

// position returns what is held.
func (s *shield) position() decimal.Decimal {
	return s.holder.quantity.Sub(s.holder.quantity.Mul(s.holder.fee))
}

// cancelling calls, and returns when the cancels are persisted. They do not leave.
func (s *shield) cancelling() {
	s.Helper()
	s.holder.cut(s)
	s.begin()
	s.persisted("order_cancel_asked")
}

// replacing calls, and returns when the legs are cancelled and the new order is persisted as
// sent. It does not leave.
func (s *shield) replacing() {
	s.Helper()
	const count = "SELECT count(*) FROM events WHERE kind = 'order_sent'"
	before := s.column(count)[0]
	s.holder.cutNew(s)
	s.begin()
	s.await("the new order is persisted", func() bool { return s.column(count)[0] != before })
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
