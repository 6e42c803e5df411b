package tooltest

import (
	"context"
	"sync"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/work/drawings"
	"candela/lib/market"
)

// drawn is what every owner has drawn at first.
const drawn = `{"test:BTCUSDT":[{"id":"d-1","type":"level","price":"70000","text":"resistance","by":"console","changed":"2026-01-02T03:04:05Z"},` +
	`{"id":"d-2","type":"line","time":1767225600,"price":"60000","time2":1767312000,"price2":"61000.5","by":"claude","changed":"2026-01-02T03:04:06Z"}]}`

// Drawings returns drawings that are kept in memory, with two at first.
func Drawings() *drawings.Shelf {
	return &drawings.Shelf{
		Store: &kept{value: make(map[principal.Owner][]byte)},
		Resolve: func(_ context.Context, s market.Symbol) (market.Symbol, error) {
			return market.Symbol{Venue: "test", Name: s.Name}, nil
		},
		Now: func() time.Time { return time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC) },
	}
}

// kept keeps one record of each owner.
type kept struct {
	mu    sync.Mutex
	value map[principal.Owner][]byte
}

func (k *kept) of(owner principal.Owner) []byte {
	if value, ok := k.value[owner]; ok {
		return value
	}
	return []byte(drawn)
}

// Kept returns the record.
func (k *kept) Kept(_ context.Context, owner principal.Owner, _ string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.of(owner), nil
}

// Keep changes the record.
func (k *kept) Keep(_ context.Context, owner principal.Owner, _ string, change func([]byte) ([]byte, error)) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	now, err := change(k.of(owner))
	if err == nil {
		k.value[owner] = now
	}
	return err
}
