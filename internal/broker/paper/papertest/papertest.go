// Package papertest has what the paper broker stands on, made for tests: a market
// whose prices the test sets, a journal in memory, and the promises that every
// journal keeps.
package papertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/broker/paper"
	"candela/internal/fault"
	"candela/internal/market"
	"candela/internal/order"
	"candela/internal/provider"
)

// Market is what symbols trade at, as the test has it. It is safe for concurrent
// use.
type Market struct {
	mu          sync.Mutex
	quotes      map[market.Symbol]order.Quote
	instruments map[market.Symbol]provider.Instrument
	failure     error
}

// NewMarket returns a market with the symbols.
func NewMarket(instruments ...provider.Instrument) *Market {
	m := &Market{quotes: make(map[market.Symbol]order.Quote), instruments: make(map[market.Symbol]provider.Instrument)}
	for _, inst := range instruments {
		m.instruments[inst.Symbol] = inst
	}
	return m
}

// Set sets what a symbol trades at from now on. A zero At keeps the price as new
// as the question.
func (m *Market) Set(s market.Symbol, q order.Quote) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.quotes[s] = q
}

// Fail lets every question about a price fail, until it is given nil.
func (m *Market) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failure = err
}

// Quote tells what was set.
func (m *Market) Quote(ctx context.Context, s market.Symbol) (order.Quote, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := errors.Join(m.failure, ctx.Err()); err != nil {
		return order.Quote{}, err
	}
	q, ok := m.quotes[s]
	if !ok {
		return q, fault.Unreachable(nil, 0, "no price of %s is known", s)
	}
	if q.At.IsZero() {
		q.At = time.Now()
	}
	return q, nil
}

// Instrument tells what NewMarket was given.
func (m *Market) Instrument(_ context.Context, s market.Symbol) (provider.Instrument, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	inst, ok := m.instruments[s]
	if !ok {
		return inst, provider.UnknownSymbol("test", s)
	}
	return inst, nil
}

// BTCUSDT is an instrument with the rules that Binance has for it.
func BTCUSDT() provider.Instrument {
	return provider.Instrument{
		Symbol: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Base: "BTC", Quote: "USDT", Tick: decimal.New(1, -2), Step: decimal.New(1, -5),
		MinQuantity: decimal.New(1, -5), MaxQuantity: decimal.NewFromInt(9000), MinNotional: decimal.NewFromInt(5),
	}
}

// Journal is a journal in memory. It outlives the broker that writes to it, as a
// disk does. It is safe for concurrent use.
type Journal struct {
	mu      sync.Mutex
	entries [][]byte
	failure error
}

// Append adds entries.
func (j *Journal) Append(ctx context.Context, entries ...[]byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := errors.Join(j.failure, ctx.Err()); err != nil {
		return err
	}
	for _, e := range entries {
		j.entries = append(j.entries, slices.Clone(e))
	}
	return nil
}

// Entries yields what was added before the call.
func (j *Journal) Entries(context.Context) iter.Seq2[[]byte, error] {
	j.mu.Lock()
	defer j.mu.Unlock()
	entries := slices.Clone(j.entries)
	return func(yield func([]byte, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Fail lets every Append fail, until it is given nil.
func (j *Journal) Fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failure = err
}

// RunJournal checks a journal against what paper.Journal promises. Open returns
// the same journal again, as after a restart; it begins empty.
func RunJournal(t *testing.T, open func(testing.TB) paper.Journal) {
	t.Helper()
	read := func(j paper.Journal) (all []string) {
		for e, err := range j.Entries(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(e))
		}
		return all
	}
	if all := read(open(t)); len(all) != 0 {
		t.Fatalf("it begins with %d entries", len(all))
	}
	var want []string
	for i := range 5 {
		j := open(t)
		for k := range i {
			entries := [][]byte{fmt.Appendf(nil, `{"n":"%d.%d"}`, i, k), []byte(`{"text":"\"ä\u0000"}`)}
			if err := j.Append(t.Context(), entries...); err != nil {
				t.Fatal(err)
			}
			want = append(want, string(entries[0]), string(entries[1]))
		}
	}
	if got := read(open(t)); !slices.Equal(got, want) {
		t.Errorf("it holds %q, want %q", got, want)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := open(t).Append(over, []byte(`{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("an Append whose context ended says %v", err)
	}
	for range open(t).Entries(t.Context()) {
		break
	}
	if got := read(open(t)); !slices.Equal(got, want) {
		t.Errorf("afterwards it holds %q", got)
	}
}
