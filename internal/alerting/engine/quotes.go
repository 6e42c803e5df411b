package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/data/provider"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// Quotes for trading. Symbols carry their venue.

// Quote returns a price that is at most a few seconds old. It reads one from the venue if
// the tracked price is older.
func (e *Engine) Quote(ctx context.Context, s market.Symbol) (order.Quote, error) {
	if q, ok := e.LastQuote(s); ok && e.cfg.Now().Sub(q.At) <= maxPriceAge {
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
		return order.Quote{}, fault.Unreachable(nil, 0, "%s reports a price of %v for %s, which cannot be traded", s.Venue, q.bar.C, s.Name)
	}
	return order.Quote{Last: decimal.NewFromFloat(q.bar.C), At: q.asOf, MarketClosed: q.marketClosed}, nil
}

// LastQuote returns the newest tracked price without waiting, and false if there is none.
func (e *Engine) LastQuote(s market.Symbol) (order.Quote, bool) {
	p := e.prices.get(s)
	if p == nil || p.price <= 0 {
		return order.Quote{}, false
	}
	q := order.Quote{Last: decimal.NewFromFloat(p.price), At: p.at, MarketClosed: p.marketClosed}
	if p.mark > 0 {
		q.Mark, q.MarkedAt = decimal.NewFromFloat(p.mark), p.markedAt
	}
	return q, true
}

// Instrument returns the venue's description of a symbol.
func (e *Engine) Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error) {
	venue, err := e.cfg.Data.Route(ctx, s)
	if err != nil {
		return provider.Instrument{}, err
	}
	s.Venue = venue.Name()
	return venue.Instrument(ctx, s)
}

// LaggingVenues returns the venues whose prices are overdue.
func (e *Engine) LaggingVenues() []string { return e.status.Load().LaggingVenues }

// Follow sets the symbols whose prices are tracked in addition to those of alerts. It
// does not wait.
func (e *Engine) Follow(symbols []market.Symbol) {
	requested := make(map[market.Symbol]bool, len(symbols))
	for _, s := range symbols {
		requested[s] = true
	}
	e.mu.Lock()
	same := maps.Equal(requested, e.requestedSymbols)
	e.requestedSymbols = requested
	e.mu.Unlock()
	if same {
		return
	}
	select {
	case e.changed <- struct{}{}:
	default: // the loop sees this change with the previous one
	}
}

// applyFollowed applies the last call of Follow.
func (l *loop) applyFollowed() {
	l.mu.Lock()
	requested := l.requestedSymbols
	l.mu.Unlock()
	gone := slices.Collect(maps.Keys(l.extraSymbols))
	l.extraSymbols = requested
	for s := range requested {
		d := alert.Dependency{Instrument: s}
		if t := l.tracker(d); t != nil {
			t.unusedSince = time.Time{}
		} else {
			l.load(l.track(d))
		}
	}
	for _, s := range gone {
		l.markUnused(alert.Dependency{Instrument: s})
	}
}
