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
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/broker"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
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

// Quote returns the quote that was set.
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

// Instrument returns what NewMarket was given.
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
	mu       sync.Mutex
	entries  [][]byte
	appends  int
	snapshot []byte
	snapped  int // how many entries are in it
	failure  error
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
	j.appends++
	return nil
}

// Appends returns how often entries were added.
func (j *Journal) Appends() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.appends
}

// Entries yields what was added before the call.
func (j *Journal) Entries(context.Context) iter.Seq2[[]byte, error] {
	j.mu.Lock()
	defer j.mu.Unlock()
	return each(slices.Clone(j.entries))
}

// SaveSnapshot keeps what the entries come to.
func (j *Journal) SaveSnapshot(ctx context.Context, value []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := errors.Join(j.failure, ctx.Err()); err != nil {
		return err
	}
	j.snapshot, j.snapped = slices.Clone(value), len(j.entries)
	return nil
}

// Snapshot returns what was kept, and the entries since.
func (j *Journal) Snapshot(context.Context) ([]byte, iter.Seq2[[]byte, error], error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.snapshot == nil {
		return nil, each(slices.Clone(j.entries)), nil
	}
	return slices.Clone(j.snapshot), each(slices.Clone(j.entries[j.snapped:])), nil
}

// Copy returns a journal with what this one has now, as a backup does.
func (j *Journal) Copy() *Journal {
	j.mu.Lock()
	defer j.mu.Unlock()
	return &Journal{entries: slices.Clone(j.entries), snapshot: j.snapshot, snapped: j.snapped}
}

// Spoil replaces what was kept.
func (j *Journal) Spoil(snapshot []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.snapshot = snapshot
}

func each(entries [][]byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// Fail lets every write fail, until it is given nil.
func (j *Journal) Fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failure = err
}

// RunJournal checks a journal against what broker.Journal promises. Open returns
// the same journal again, as after a restart; it begins empty.
func RunJournal(t *testing.T, open func(testing.TB) broker.Journal) {
	t.Helper()
	read := func(j broker.Journal) (all []string) {
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
	runSnapshots(t, open, want)
}

// runSnapshots checks the snapshots of a journal that holds entries.
func runSnapshots(t *testing.T, open func(testing.TB) broker.Journal, held []string) {
	t.Helper()
	wantKept := func(value string, since ...string) {
		t.Helper()
		kept, entries, err := open(t).Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for e, err := range entries {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(e))
		}
		if string(kept) != value || (kept == nil) != (value == "") || !slices.Equal(got, since) {
			t.Errorf("it keeps %.40q and %q since, want %.40q and %q", kept, got, value, since)
		}
	}
	wantKept("", held...)
	large := strings.Repeat("\x00\xffa", 200_000)
	for _, value := range []string{"first", large, "second"} {
		if err := open(t).SaveSnapshot(t.Context(), []byte(value)); err != nil {
			t.Fatal(err)
		}
		wantKept(value)
		entry := []byte(`{"after":"it"}`)
		j := open(t)
		if err := errors.Join(j.Append(t.Context(), entry), j.Append(t.Context(), entry)); err != nil {
			t.Fatal(err)
		}
		wantKept(value, string(entry), string(entry))
	}
}
