package desk

import (
	"cmp"
	"context"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Trades returns what the caller's orders took out of positions, newest first.
func (d *Desk) Trades(ctx context.Context, caller principal.Caller, q order.TradeQuery) (order.TradePage, error) {
	if _, err := d.authorize(caller); err != nil {
		return order.TradePage{}, err
	}
	var all []order.Trade
	var since time.Time
	var bases map[market.Symbol]string
	currencies := make(map[market.Symbol]string)
	if err := d.do(ctx, func(l *loop) {
		all, since = l.book.Trades(), l.book.TradesSince()
		for s, inst := range l.instruments {
			currencies[s] = inst.Quote
		}
		bases = l.book.Bases()
	}); err != nil {
		return order.TradePage{}, err
	}
	reading, cancel := context.WithTimeout(ctx, quoteTimeout)
	defer cancel()
	p := q.Page(all, func(s market.Symbol) string {
		if currency, known := currencies[s]; known {
			return currency
		}
		inst, _ := d.cfg.Broker.Instrument(reading, s) // without one the name may spell the currency
		currencies[s] = cmp.Or(inst.Quote, order.QuoteOf(s, bases[s]))
		return currencies[s]
	})
	p.Since = since
	return p, nil
}

// StoredTrades is Trades for an account that no desk runs. The currency of a price is what the name of the symbol spells.
func StoredTrades(ctx context.Context, s Store, owner principal.Owner, q order.TradeQuery) (order.TradePage, error) {
	_, book, err := LoadStored(ctx, s, owner)
	if err != nil {
		return order.TradePage{}, err
	}
	bases := book.Bases()
	p := q.Page(book.Trades(), func(s market.Symbol) string { return order.QuoteOf(s, bases[s]) })
	p.Since = book.TradesSince()
	return p, nil
}
