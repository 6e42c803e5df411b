package brokertest

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// This file has manners of venues that no broker has to answer yet.

// Force closes a part of what was bought by itself, as a venue does with a position whose margin is used up.
func (m *Memory) Force(quantity decimal.Decimal, cause string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cause = cause
	defer func() { m.cause = "" }()
	id := m.id()
	m.fill(&order.Report{
		Spec:    order.Spec{ID: "autoclose-" + id, Symbol: MemorySymbol(), Side: order.Sell, Type: order.Market, Quantity: quantity},
		VenueID: id, Status: order.Accepted, At: time.Now(),
	}, quantity, m.price)
}

// Links says when Memory reports that a stop became another order.
type Links uint8

// The times of the report. Queries show it as soon as it is so.
const (
	LinksFirst Links = iota + 1 // before the other order
	LinksLast                   // after the other order is filled
	LinksAsked                  // never
)

// Link lets stops whose price is reached become other orders, as at venues that hold stops in a list of their own.
func (m *Memory) Link(when Links) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.links = when
}

// makeChild makes another order of a stop whose price is reached.
func (m *Memory) makeChild(stop *order.Report) {
	child := &order.Report{Spec: stop.Spec, VenueID: m.id(), Status: order.Accepted, At: time.Now()}
	child.ID, child.Group, child.StopPrice, child.Role = "child-"+child.VenueID, order.Group{}, decimal.Zero, 0
	stop.Linked = child.VenueID
	m.orders = append(m.orders, child)
	if m.links == LinksFirst {
		m.publish(*stop)
	}
	m.publish(*child)
	m.work(child, m.price)
}

// followChild changes a stop as the order that it became.
func (m *Memory) followChild(child *order.Report) {
	for _, stop := range m.orders {
		if stop.Linked == child.VenueID {
			stop.Status, stop.Filled, stop.At = child.Status, child.Filled, child.At
			if m.links != LinksAsked {
				m.publish(*stop)
			}
		}
	}
}

// arrival is what happens at the venue later.
type arrival struct {
	at time.Time
	do func()
}

// Void lets requests that arrive later than this be dropped.
func (m *Memory) Void(after time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.void = after
}

// Receipts answers orders with a receipt, and judges them a second later.
func (m *Memory) Receipts() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receipt = true
}

// postpone lets a request arrive later, unless it is void by then.
func (m *Memory) postpone(by time.Duration, do func()) {
	if m.void == 0 || by <= m.void {
		m.later = append(m.later, arrival{time.Now().Add(by), do})
	}
}

// arrive does what is due. It happens when somebody asks.
func (m *Memory) arrive() {
	for i := 0; i < len(m.later); i++ {
		if next := m.later[i]; !next.at.After(time.Now()) {
			m.later = slices.Delete(m.later, i, i+1)
			i--
			next.do()
		}
	}
}

// receive takes an order that is judged later.
func (m *Memory) receive(o order.Spec) (order.Report, error) {
	if m.find(o.ID) != nil || o.Symbol != MemorySymbol() {
		return order.Report{}, m.check(o)
	}
	r := &order.Report{Spec: o, VenueID: m.id(), Status: order.Submitted, At: time.Now()}
	r.Owner = ""
	m.later = append(m.later, arrival{time.Now().Add(time.Second), func() {
		r.ID = "" // check does not find it
		err := m.check(o)
		r.ID, r.Status, r.At = o.ID, order.Accepted, time.Now()
		if err != nil {
			r.Status, r.Reason = order.Rejected, "as the test has it"
		}
		m.publish(*r)
		m.work(r, m.price)
	}})
	m.orders = append(m.orders, r)
	return *r, nil
}

// Can changes the capabilities.
func (m *Memory) Can(change func(*order.Capabilities)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.can = change
}

// Digits bounds the significant digits of prices.
func (m *Memory) Digits(most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.digits = most
}

// MostAtOnce returns how many requests that change something were on their way at a time.
func (m *Memory) MostAtOnce() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most
}
