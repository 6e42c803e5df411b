package paper

import (
	"context"
	"errors"

	"candela/internal/trading/broker"
	"candela/internal/trading/margin"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Drop cuts the streams, as a venue's network would.
func (b *Broker) Drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for q := range b.streams {
		q.lost = errors.New("paper: cut by the test")
		q.signal()
	}
}

// Taken returns every order that was ever taken, in no particular order.
func (b *Broker) Taken() []order.Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []order.Report
	for _, t := range b.book.tickets {
		all = append(all, t.full())
	}
	return all
}

// Tapes returns of how many symbols the prices are followed.
func (b *Broker) Tapes() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.tapes)
}

// Again opens the account over another journal.
func (b *Broker) Again(ctx context.Context, j broker.Journal) (*Broker, error) {
	cfg := b.cfg
	cfg.Journal = j
	again := New(cfg)
	return again, again.Load(ctx)
}

// SnapshotEvery sets after how many entries a snapshot is kept.
func (b *Broker) SnapshotEvery(entries int) { b.snapshotEvery = entries }

// Forget drops orders that have ended, all but those that ended last.
func (b *Broker) Forget(most int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.book.forget(most)
}

// Tap returns a function that returns the reports since its last call.
func (b *Broker) Tap() func() []order.Report {
	q := &queue{wake: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streams[q] = struct{}{}
	return func() []order.Report {
		reports, _ := b.drain(q)
		return reports
	}
}

// Margin returns the position in a perpetual future.
func (b *Broker) Margin(s market.Symbol) margin.Position {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.book.perps[s].Position
}
