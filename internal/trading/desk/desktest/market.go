package desktest

import (
	"context"
	"slices"
	"sync"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/market"
	"candela/internal/trading/order"
)

// Market is what symbols trade at, as the test has it. It is safe for concurrent
// use.
type Market struct {
	mu       sync.Mutex
	quotes   map[market.Symbol]order.Quote
	followed []market.Symbol
	lost     []string
}

// Set sets what a symbol trades at from now on. A zero At keeps the price as new
// as the question.
func (m *Market) Set(s market.Symbol, q order.Quote) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.quotes == nil {
		m.quotes = make(map[market.Symbol]order.Quote)
	}
	m.quotes[s] = q
}

// SetLagging says of which venues no prices come.
func (m *Market) SetLagging(venues ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost = venues
}

// Quote tells what was set.
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

// LastQuote tells the same.
func (m *Market) LastQuote(s market.Symbol) (order.Quote, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q, ok := m.quotes[s]
	if ok && q.At.IsZero() {
		q.At = time.Now()
	}
	return q, ok
}

// Follow keeps the list.
func (m *Market) Follow(symbols []market.Symbol) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.followed = slices.Clone(symbols)
}

// Followed returns the list.
func (m *Market) Followed() []market.Symbol {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.followed)
}

// LaggingVenues tells what Lose was given.
func (m *Market) LaggingVenues() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.lost)
}

// Forget has no price of a symbol known any more.
func (m *Market) Forget(s market.Symbol) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.quotes, s)
}
