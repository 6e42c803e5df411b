package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/fault"
	"candela/internal/market"
	"candela/internal/market/provider"
	"candela/internal/trading/order"
)

// What whoever trades needs to know of prices. Symbols bear their venue.

// Quote returns a price that is at most some seconds old, and asks the venue if
// none is known.
func (e *Engine) Quote(ctx context.Context, s market.Symbol) (order.Quote, error) {
	if q, known := e.LastQuote(s); known && e.cfg.Now().Sub(q.At) <= maxPriceAge {
		return q, nil
	}
	p, err := e.resolveListing(ctx, s)
	if err != nil {
		return order.Quote{}, err
	}
	q, err := e.readPrice(ctx, p)
	if err != nil {
		return order.Quote{}, err
	}
	if q.bar.C <= 0 {
		return order.Quote{}, fault.Unreachable(nil, 0, "%s tells %v as the price of %s, at which nothing can be traded", s.Venue, q.bar.C, s.Name)
	}
	return order.Quote{Last: decimal.NewFromFloat(q.bar.C), At: q.asOf, MarketClosed: q.marketClosed}, nil
}

// LastQuote returns the newest price that is known, without waiting for anything, and
// false when none is.
func (e *Engine) LastQuote(s market.Symbol) (order.Quote, bool) {
	known := e.prices.get(s)
	if known == nil || known.price <= 0 {
		return order.Quote{}, false
	}
	return order.Quote{Last: decimal.NewFromFloat(known.price), At: known.at, MarketClosed: known.marketClosed}, true
}

// Instrument tells what is known of a symbol.
func (e *Engine) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	venue, err := e.cfg.Data.Route(ctx, s)
	if err != nil {
		return provider.Instrument{}, err
	}
	s.Venue = venue.Name()
	return venue.Instrument(ctx, s)
}

// LaggingVenues returns the venues whose prices do not come.
func (e *Engine) LaggingVenues() []string { return e.status.Load().LaggingVenues }

// Follow names all the symbols whose prices are needed from now on, besides those
// of alerts. It waits for nothing.
func (e *Engine) Follow(symbols []market.Symbol) {
	wanted := make(map[market.Symbol]bool, len(symbols))
	for _, s := range symbols {
		wanted[s] = true
	}
	e.mu.Lock()
	same := maps.Equal(wanted, e.requestedSymbols)
	e.requestedSymbols = wanted
	e.mu.Unlock()
	if same {
		return
	}
	select {
	case e.changed <- struct{}{}:
	default: // the loop will see this change with the one before
	}
}

// applyFollowed follows what Follow was told last.
func (l *loop) applyFollowed() {
	l.mu.Lock()
	wanted := l.requestedSymbols
	l.mu.Unlock()
	gone := slices.Collect(maps.Keys(l.extraSymbols))
	l.extraSymbols = wanted
	for s := range wanted {
		n := alert.Dependency{Instrument: s}
		delete(l.idle, n)
		if p := l.priceTrackers[s]; p == nil {
			l.loadingOf(n)
			l.load(n)
		}
	}
	for _, s := range gone {
		l.markUnused(alert.Dependency{Instrument: s})
	}
}
