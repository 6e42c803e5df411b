package brokertest

import (
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
