package paper

import (
	"context"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// mark is the newest mark price of a symbol.
type mark struct {
	price decimal.Decimal
	at    time.Time
}

// mark notes a mark price, triggers the stops that wait for it and liquidates the position that has no more margin
// at it. A stop lies before the price of liquidation, so it is reached first.
func (b *Broker) mark(e provider.Event) {
	if e.Price <= 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var stops []*ticket
	for _, k := range b.book.open {
		if k.Symbol == e.Symbol && k.MarkTriggers && k.waits() && k.Status != order.Held {
			stops = append(stops, k)
		}
	}
	if b.book.perps[e.Symbol].Quantity.IsZero() && len(stops) == 0 {
		return
	}
	now := mark{decimal.NewFromFloat(e.Price), b.cfg.Now()}
	b.marks[e.Symbol] = now
	m := matching{plan: b.plan(), volume: pool{endless: true}, room: make(map[string]decimal.Decimal, len(stops)), torn: make(map[order.Group]bool)}
	for _, k := range slices.SortedStableFunc(slices.Values(stops), sooner) {
		m.reach(m.tickets[k.ID], now.price, b.lastOf(e.Symbol, now.price))
	}
	m.judge(e.Symbol, now.price)
	if len(m.entries) == 0 {
		return
	}
	if err := b.commit(context.Background(), m.entries...); err != nil {
		b.notWritten(context.Background(), "a mark price had no effect on a paper account", err, "symbol", e.Symbol.String())
		return
	}
	b.begin(m.entries, now.at)
	b.sweep()
}

// lastOf returns the last price of a symbol, at which stops that the mark price triggers trade; another where none
// is known.
func (b *Broker) lastOf(s market.Symbol, other decimal.Decimal) decimal.Decimal {
	if t := b.tapes[s]; t != nil && t.last.bar.C > 0 {
		return decimal.NewFromFloat(t.last.bar.C)
	}
	return other
}

// ofBars returns the orders that bars may trigger: all but the stops that wait for the mark price, while that is known.
func (b *Broker) ofBars(orders []*ticket) []*ticket {
	return slices.DeleteFunc(orders, func(k *ticket) bool {
		return k.MarkTriggers && k.waits() && b.cfg.Now().Sub(b.marks[k.Symbol].at) <= maxQuoteAge
	})
}
