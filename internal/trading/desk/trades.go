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
	currencies, bases := make(map[market.Symbol]string), make(map[market.Symbol]string)
	if err := d.do(ctx, func(l *loop) {
		all, since = l.book.Trades(), l.book.TradesSince()
		for s, inst := range l.instruments {
			currencies[s] = inst.Quote
		}
		for _, pos := range l.book.Positions() {
			bases[pos.Symbol] = pos.Base
		}
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
