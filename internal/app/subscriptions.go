package app

import (
	"context"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/market"
	"candela/internal/market/provider"
)

// namesWithin limits the time to resolve the symbols of a filter.
const namesWithin = 5 * time.Second

// subscriptions completes the filters of clients: alerts are stored under the venue's
// spelling of a symbol, and clients may use another.
type subscriptions struct {
	notify.Inbox
	canonical func(context.Context, market.Symbol) (market.Symbol, error)
}

// Subscribe is notify.Inbox.Subscribe with the filter's Instruments set. A symbol that
// no venue has, or whose venue does not answer, matches as it is written.
func (s subscriptions) Subscribe(ctx context.Context, caller principal.Caller, f notify.Filter) error {
	asking, cancel := context.WithTimeout(ctx, namesWithin)
	defer cancel()
	f.Instruments = nil
	for _, symbol := range f.Symbols {
		if named, err := s.canonical(asking, symbol); err == nil && named != symbol {
			f.Instruments = append(f.Instruments, named)
		}
	}
	return s.Inbox.Subscribe(ctx, caller, f)
}

// canonical returns the instrument of a symbol: with its venue, in the venue's spelling.
func (b *bars) canonical(ctx context.Context, s market.Symbol) (market.Symbol, error) {
	venue, err := b.Route(ctx, s)
	if err != nil {
		return s, err
	}
	return provider.Canonical(ctx, venue, s)
}
