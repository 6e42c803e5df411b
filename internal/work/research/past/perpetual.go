package past

import (
	"cmp"
	"context"
	"strings"

	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/trading/margin"
	"candela/lib/backtest/simulate"
	"candela/lib/market"
)

// Rates reads what longs paid to shorts of a perpetual future while the bars of a set ran.
type Rates func(ctx context.Context, set *marketdata.BarSet, r marketdata.Request) ([]provider.Point, error)

// Perpetual returns the terms of a perpetual future at a leverage, with the funding while the bars ran. Without
// rates there is none.
func (p *Bars) Perpetual(ctx context.Context, asked marketdata.Request, leverage float64, rates Rates) (*simulate.Perp, error) {
	perp := &simulate.Perp{Leverage: leverage, Span: asked.Interval.Seconds() * 1000}
	for _, t := range margin.Usual(baseOf(p.Facts, asked.Symbol)) {
		perp.Tiers = append(perp.Tiers, simulate.Tier{
			Notional: t.Notional.InexactFloat64(), Maintenance: t.Maintenance.InexactFloat64(), Amount: t.Amount.InexactFloat64(), MaxLeverage: t.MaxLeverage.InexactFloat64(),
		})
	}
	if rates != nil {
		points, err := rates(ctx, &p.BarSet, asked)
		if err != nil {
			return nil, err
		}
		perp.Funding = fundingOf(points, &p.Bars)
	}
	return perp, nil
}

// fundingOf joins rates with the price at their times: that of the open of the bar.
func fundingOf(points []provider.Point, bars *market.Bars) []simulate.Funding {
	var all []simulate.Funding
	i := 0
	for _, p := range points {
		for i+1 < bars.Len() && bars.T[i+1] <= p.T {
			i++
		}
		if bars.Len() > 0 && bars.T[i] <= p.T {
			all = append(all, simulate.Funding{At: p.T * 1000, Rate: p.V, Mark: bars.O[i]})
		}
	}
	return all
}

// baseOf is what a perpetual future is of, as the paper account reads it.
func baseOf(f market.Facts, s market.Symbol) string {
	pair, _ := s.Pair()
	for _, quote := range []string{"USDT", "USDC", "BUSD", "USD"} {
		if base, ok := strings.CutSuffix(pair, quote); ok {
			return cmp.Or(f.Base, strings.TrimRight(base, "-/"))
		}
	}
	return cmp.Or(f.Base, pair)
}
