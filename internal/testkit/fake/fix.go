package fake

import (
	"slices"
	"time"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// fixed is a price that holds from a time on, and what was traded at it then.
type fixed struct {
	at            time.Time
	price, volume float64
}

// Fix holds the price of a symbol from now on, and lets so much be traded at it now. Bars
// that end later have these prices alone.
func (p *Prices) Fix(symbol string, price, volume float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fixes == nil {
		p.fixes = make(map[string][]fixed)
	}
	p.fixes[symbol] = append(p.fixes[symbol], fixed{p.now(), price, volume})
	clear(p.answers)
}

// held returns the fixed prices of a symbol, oldest first.
func (p *Prices) held(symbol string) []fixed {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fixes[symbol]
}

// overlay puts the fixed prices of a symbol into its bars. The bar of now is among them also
// where it has not traded before.
func (p *Prices) overlay(symbol string, q provider.BarQuery, page *provider.BarPage) {
	all := p.held(symbol)
	if len(all) == 0 {
		return
	}
	bars, i := &page.Bars, q.Interval
	bars.O, bars.H, bars.L, bars.C, bars.V = slices.Clone(bars.O), slices.Clone(bars.H), slices.Clone(bars.L), slices.Clone(bars.C), slices.Clone(bars.V)
	bars.T, bars.TakerBuy = slices.Clone(bars.T), slices.Clone(bars.TakerBuy)
	now := p.now().Unix()
	span, _ := market.Calendar{}.Bucket(i, now)
	if n := bars.Len(); (q.To == 0 || q.To > now) && (n == 0 || bars.T[n-1] < span.Open) && (q.From == 0 || q.Limit == 0 || n < q.Limit) {
		bars.Append(market.Bar{T: span.Open})
		page.Running = true
	}
	if n := bars.Len(); q.Limit > 0 && n > q.Limit {
		*bars = bars.Slice(n-q.Limit, n)
	}
	for k, t := range bars.T {
		span, _ := market.Calendar{}.Bucket(i, t)
		within := during(all, time.Unix(span.Open, 0), time.Unix(span.Close, 0))
		if len(within) == 0 {
			continue
		}
		bars.O[k], bars.C[k] = within[0].price, within[len(within)-1].price
		bars.H[k], bars.L[k], bars.V[k] = bars.O[k], bars.O[k], 0
		for _, f := range within {
			bars.H[k], bars.L[k], bars.V[k] = max(bars.H[k], f.price), min(bars.L[k], f.price), bars.V[k]+f.volume
		}
		if bars.TakerBuy != nil {
			bars.TakerBuy[k] = bars.V[k] / 2
		}
	}
}

// during returns the prices of a span of time: the one that held when it began, without its
// volume, and those that came later.
func during(all []fixed, from, to time.Time) []fixed {
	within := make([]fixed, 0, len(all))
	for _, f := range all {
		switch {
		case !f.at.Before(to):
			return within
		case f.at.Before(from):
			within = append(within[:0], fixed{f.at, f.price, 0})
		default:
			within = append(within, f)
		}
	}
	return within
}
