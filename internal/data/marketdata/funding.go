package marketdata

import (
	"context"
	"time"

	"candela/internal/data/provider"
	"candela/lib/fault"
	"candela/lib/market"
)

// maxFunding is how many funding times one question may have: those of a year with three a day.
const maxFunding = 1200

// Funding returns the funding of a perpetual future after a time and until another, oldest first, by the clock
// on the wall. Without a source of it there is none.
func (s *Service) Funding(ctx context.Context, symbol market.Symbol, from, to time.Time) ([]provider.Funding, error) {
	at, err := s.Route(ctx, symbol)
	if err != nil {
		return nil, err
	}
	source := s.sourceOf(market.FundingRate, &BarSet{Provider: at.Name(), Synthetic: at.Capabilities().Synthetic})
	if source == nil {
		return nil, nil
	}
	var clock provider.Clock
	if clocked, ok := at.(provider.Clocked); ok {
		clock = clocked.Clock()
	}
	query := provider.SeriesQuery{Name: string(market.FundingRate), Symbol: symbol, Interval: market.Minute1, From: clock.Unix(from), To: clock.Unix(to)}
	points, err := source.Series(ctx, query)
	if err != nil {
		return nil, err
	}
	var all []provider.Funding
	for _, p := range points {
		if p.T <= query.From || p.T > query.To || len(all) == maxFunding {
			continue
		}
		price, err := priceAt(ctx, at, symbol, p.T)
		if err != nil {
			return nil, err
		}
		all = append(all, provider.Funding{At: clock.Wall(p.T), Rate: p.V, Mark: price})
	}
	return all, nil
}

// priceAt returns the price of a symbol at a time, from the finest bars that there are.
func priceAt(ctx context.Context, from provider.Provider, s market.Symbol, t int64) (float64, error) {
	for _, i := range from.Capabilities().Intervals {
		open := t / i.Seconds() * i.Seconds()
		if i < market.Minute1 || i > market.Day1 {
			continue
		}
		page, err := from.Bars(ctx, provider.BarQuery{Symbol: s, Interval: i, From: open - i.Seconds(), To: open + i.Seconds(), Limit: 2})
		n := page.Bars.Len()
		switch {
		case err == nil && n > 0 && page.Bars.At(n-1).T == open && open == t:
			return page.Bars.At(n - 1).O, nil
		case err == nil && n > 0:
			return page.Bars.At(n - 1).C, nil
		case err != nil && ctx.Err() != nil:
			return 0, err
		}
	}
	return 0, fault.Unreachable(nil, 0, "no price of %s is known at %s", s, time.Unix(t, 0).UTC().Format(time.RFC3339))
}
