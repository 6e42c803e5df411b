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
	named := make(map[market.Symbol]string)
	p := q.Page(all, func(s market.Symbol) string {
		if currency, known := named[s]; known {
			return currency
		}
		currency, known := currencies[s]
		if !known {
			inst, _ := d.cfg.Broker.Instrument(reading, s) // without one the name or the fees may say it
			currency = inst.Quote
		}
		named[s] = cmp.Or(currency, order.QuoteOf(s, bases[s]), order.FeeAsset(all, s))
		return named[s]
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
	all := book.Trades()
	p := q.Page(all, func(s market.Symbol) string { return cmp.Or(order.QuoteOf(s, bases[s]), order.FeeAsset(all, s)) })
	p.Since = book.TradesSince()
	return p, nil
}
