package app

import (
	"context"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/market"
	"candela/internal/market/provider"
)

// namesWithin is how long finding the names of a filter may take.
const namesWithin = 5 * time.Second

// subscriptions is the log for clients, whose filters it completes: alerts are kept
// under the name that the venue writes, and a client may write another.
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

// canonical returns the instrument that a symbol names: with its venue, and as that
// writes it.
func (b *bars) canonical(ctx context.Context, s market.Symbol) (market.Symbol, error) {
	venue, err := b.Route(ctx, s)
	if err != nil {
		return s, err
	}
	return provider.Canonical(ctx, venue, s)
}
