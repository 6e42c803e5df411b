package desktest

import (
	"context"
	"slices"
	"sync"
	"time"

	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// Market provides prices that a test sets. It is safe for concurrent use.
type Market struct {
	mu       sync.Mutex
	quotes   map[market.Symbol]order.Quote
	followed []market.Symbol
	lost     []string
}

// Set sets the price of a symbol. With a zero At the price is always current.
func (m *Market) Set(s market.Symbol, q order.Quote) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.quotes == nil {
		m.quotes = make(map[market.Symbol]order.Quote)
	}
	m.quotes[s] = q
}

// SetLagging sets the venues whose prices are overdue.
func (m *Market) SetLagging(venues ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost = venues
}

// Quote returns the price that Set set.
func (m *Market) Quote(ctx context.Context, s market.Symbol) (order.Quote, error) {
	if err := ctx.Err(); err != nil {
		return order.Quote{}, err
	}
	q, ok := m.LastQuote(s)
	if !ok {
		return q, fault.Unreachable(nil, 0, "no price of %s is known", s)
	}
	return q, nil
}

// LastQuote returns the price that Set set.
func (m *Market) LastQuote(s market.Symbol) (order.Quote, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q, ok := m.quotes[s]
	if ok && q.At.IsZero() {
		q.At = time.Now()
	}
	return q, ok
}

// Follow records the symbols.
func (m *Market) Follow(symbols []market.Symbol) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.followed = slices.Clone(symbols)
}

// Followed returns the symbols of the last Follow.
func (m *Market) Followed() []market.Symbol {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.followed)
}

// LaggingVenues returns the venues that SetLagging set.
func (m *Market) LaggingVenues() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.lost)
}

// Forget removes the price of a symbol.
func (m *Market) Forget(s market.Symbol) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.quotes, s)
}
