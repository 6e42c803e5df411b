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
