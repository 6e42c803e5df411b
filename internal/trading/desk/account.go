package desk

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"candela/internal/data/provider"
	"candela/internal/kit/principal"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// Account returns the caller's balances, the use of every limit, and the policy. If the
// venue does not return the balances, the rest is returned with the reason.
func (d *Desk) Account(ctx context.Context, caller principal.Caller) (guard.Account, error) {
	if _, err := d.authorize(caller); err != nil {
		return guard.Account{}, err
	}
	policy, from := d.view.Load().policy, d.cfg.Broker
	a := guard.Account{Broker: from.Name(), Mode: from.Mode(), Rules: guard.Rules(policy), Exceptions: guard.Exceptions(policy), Conditions: guard.OwnConditions(policy)}
	reading, cancel := context.WithTimeout(ctx, quoteTimeout)
	defer cancel()
	holdings, unread := d.balances(reading)
	var prices guard.Prices
	var traded []market.Symbol
	var earned []order.SymbolDays
	if err := d.do(ctx, func(l *loop) {
		prices, a.State = l.prices(), l.state
		a.State.Restrictions = slices.Clone(l.state.Restrictions)
		prices.Instruments, traded = maps.Clone(l.instruments), l.exposedSymbols()
		a.Usage = guard.Measure(policy, l.state, l.book, prices, a.Mode, caller.Key)
		earned = l.book.EarnedDays()
	}); err != nil {
		return guard.Account{}, err
	}
	d.addInstruments(reading, prices, traded, earned)
	a.Earned = guard.Earn(policy, earned, prices, a.Mode, d.cfg.Now())
	if unread != nil {
		a.Unread = from.Name() + " does not return the balances now"
		if f := fault.Of(unread); f != nil && f.Kind != fault.Internal {
			a.Unread = f.Public()
		}
		return a, nil
	}
	d.priceHoldings(prices, holdings, func(s market.Symbol) (order.Quote, bool) {
		if q, known := d.cfg.Market.LastQuote(s); known {
			return q, true
		}
		q, err := d.cfg.Market.Quote(reading, s)
		return q, err == nil
	})
	a.Value(policy, prices, holdings)
	return a, nil
}

// addInstruments reads the instruments that are unknown, as of an order from elsewhere. One that the venue no longer
// has is known by its name.
func (d *Desk) addInstruments(ctx context.Context, prices guard.Prices, traded []market.Symbol, earned []order.SymbolDays) {
	for _, one := range earned {
		traded = append(traded, one.Position.Symbol)
	}
	for _, s := range traded {
		if _, known := prices.Instruments[s]; known {
			continue
		}
		if inst, err := d.cfg.Broker.Instrument(ctx, s); err == nil {
			prices.Instruments[s] = inst
		}
	}
	for _, one := range earned {
		p := one.Position
		if _, known := prices.Instruments[p.Symbol]; !known && order.QuoteOf(p.Symbol, p.Base) != "" {
			prices.Instruments[p.Symbol] = provider.Instrument{Symbol: p.Symbol, Base: p.Base, Quote: order.QuoteOf(p.Symbol, p.Base)}
		}
	}
}

// balances returns the balances, at most holdingsTTL old and never older than what the venue last
// reported of an order.
func (d *Desk) balances(ctx context.Context) ([]order.Holding, error) {
	return d.holdings.Get(ctx, d.cfg.Now(), strconv.FormatInt(d.reported.Load(), 10), d.cfg.Broker.Holdings)
}

// noteReported makes balances that were read before outdated, if an event changes them.
func (d *Desk) noteReported(events []order.Event) {
	if slices.ContainsFunc(events, func(e order.Event) bool { return e.VenueID != "" || e.OrderID == "" }) {
		d.reported.Add(1)
	}
}

// priceHoldings adds to x the prices of holdings in symbols that are no longer, or not yet, among
// the positions.
func (d *Desk) priceHoldings(x guard.Prices, holdings []order.Holding, quote func(market.Symbol) (order.Quote, bool)) {
	know := func(s market.Symbol) {
		if !x.Quotes[s].Last.IsPositive() {
			if q, ok := quote(s); ok {
				x.Quotes[s] = q
			}
		}
	}
	for _, h := range holdings {
		if !h.Symbol.IsZero() {
			know(h.Symbol)
			continue
		}
		for s, inst := range x.Instruments {
			if _, priced := x.Rates[h.Asset]; priced || inst.Base != h.Asset || h.Asset == "" || !slices.Contains(d.view.Load().policy.Currencies, inst.Quote) {
				continue
			}
			if know(s); x.Quotes[s].Last.IsPositive() {
				x.Rates[h.Asset] = x.Quotes[s].Last
			}
		}
	}
}
