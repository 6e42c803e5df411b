package order_test

import (
	"strconv"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/trading/order"
)

// model is an order as a few facts, from which the state is derived each
// time. It shares no code with the state machine.
type model struct {
	denied, sent, known, lost, cancel bool
	asked, held                       bool
	end                               order.Status // canceled, expired or rejected; 0 for none
	quantity                          decimal.Decimal
	trades                            map[string]decimal.Decimal
}

func (m *model) filled() decimal.Decimal {
	var sum decimal.Decimal
	for _, q := range m.trades {
		sum = sum.Add(q)
	}
	return sum
}

func (m *model) status() order.Status {
	switch {
	case m.denied:
		return order.Denied
	case !m.sent && m.end != 0:
		return m.end
	case !m.sent && m.asked:
		return order.PendingApproval
	case !m.sent:
		return order.New
	case m.filled().Equal(m.quantity):
		return order.Filled
	case m.end != 0:
		return m.end
	case !m.known && m.lost:
		return order.Uncertain
	case !m.known:
		return order.Submitted
	case m.cancel:
		return order.PendingCancel
	case len(m.trades) > 0:
		return order.PartiallyFilled
	case m.held:
		return order.Held
	default:
		return order.Accepted
	}
}

// take returns whether the event is legal, after noting what it says.
func (m *model) take(e order.Event) bool {
	over := m.end != 0 || m.filled().Equal(m.quantity) // once sent
	live := m.sent && !over
	switch e.Kind {
	case order.KindDenied:
		if m.sent || m.denied || m.end != 0 {
			return false
		}
		m.denied = true
	case order.KindSent, order.KindApprovalAsked:
		if m.sent || m.denied || m.asked || m.end != 0 {
			return false
		}
		m.sent, m.asked = e.Kind == order.KindSent, e.Kind == order.KindApprovalAsked
	case order.KindApproved:
		was := m.asked && !m.denied && m.end == 0
		m.asked = m.asked && !was
		return was
	case order.KindHeld:
		if !live || m.known {
			return false
		}
		m.known, m.held = true, true
	case order.KindTriggered:
		return m.sent
	case order.KindNotSent:
		if !live || m.known || m.lost {
			return false
		}
		m.end = order.Rejected
	case order.KindAccepted:
		if !live || m.known && (!m.held || m.cancel || len(m.trades) > 0) {
			return false
		}
		m.known, m.held = true, false
	case order.KindLost, order.KindDoubted:
		m.lost = m.lost || live
		return m.sent
	case order.KindClaimed:
		return m.sent && e.Filled.LessThanOrEqual(m.quantity)
	case order.KindConfirmed:
		return m.sent
	case order.KindFill:
		if _, again := m.trades[e.Fill.TradeID]; again {
			return m.sent
		}
		if !m.sent || m.end == order.Rejected || m.filled().Add(e.Fill.Quantity).GreaterThan(m.quantity) {
			return false
		}
		m.trades[e.Fill.TradeID], m.known, m.held = e.Fill.Quantity, true, false
	case order.KindCancelRequested:
		m.cancel = m.cancel || live
		return live
	case order.KindCancelFailed:
		if !live || m.known && !m.cancel {
			return false
		}
		m.cancel = false
	case order.KindGone:
		m.finish(live, order.Canceled)
		return m.sent
	case order.KindCanceled:
		if m.asked && !m.denied && m.end == 0 {
			m.end = order.Canceled
			return true
		}
		return m.finish(live, order.Canceled)
	case order.KindExpired:
		return m.finish(live, order.Expired)
	case order.KindRejected:
		return m.finish(live, order.Rejected)
	default:
		return false
	}
	return true
}

func (m *model) finish(live bool, s order.Status) bool {
	if live {
		m.end = s
	}
	return live
}

// TestApply_Model lets anything happen to an order, possible or not, and compares
// each answer with the model's.
func TestApply_Model(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := origin("o1", order.Buy, "3")
		o := fold(order.Order{}, created(g))
		m := &model{quantity: g.Quantity, trades: make(map[string]decimal.Decimal)}
		if rapid.Bool().Draw(t, "send first") { // most of the life is beyond it
			o = fold(o, event(g.ID, order.KindSent))
			m.take(event(g.ID, order.KindSent))
		}
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			e := event(g.ID, order.Kind(rapid.IntRange(1, len(order.Kinds())).Draw(t, "kind")))
			e.Filled = decimal.New(rapid.Int64Range(0, 7).Draw(t, "claimed"), 0).Div(dec("2"))
			e.VenueAt = second(rapid.IntRange(0, 9).Draw(t, "at"))
			if e.Kind == order.KindApprovalAsked || e.Kind == order.KindApproved {
				e.Approval = &order.Approval{}
			}
			if e.Kind == order.KindFill {
				n := rapid.IntRange(1, 8).Draw(t, "trade")
				e = filled(trade(g, n, strconv.Itoa(1+n%2)+".5", "100"))
			}
			next, err := order.Apply(o, e)
			if legal := m.take(e); legal != (err == nil) {
				t.Fatalf("%v in %v: %v, the model says %v", e.Kind, o.Status, err, legal)
			}
			if o = next; o.Status != m.status() || !o.Filled.Equal(m.filled()) {
				t.Fatalf("%v gives %v with %v, the model %v with %v", e.Kind, o.Status, o.Filled, m.status(), m.filled())
			}
			if o.Filled.GreaterThan(o.Quantity) || o.Claimed.LessThan(o.Filled) || o.Claimed.GreaterThan(o.Quantity) {
				t.Fatalf("%v filled, %v claimed of %v", o.Filled, o.Claimed, o.Quantity)
			}
		}
	})
}
