package research

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/trading/margin"
	"candela/lib/backtest/simulate"
	"candela/lib/fault"
	"candela/lib/market"
)

// Rates reads what longs paid to shorts of a perpetual future while the bars of a set ran.
type Rates func(ctx context.Context, set *marketdata.BarSet, r marketdata.Request) ([]provider.Point, error)

// Bounds of the leverage of a back-test.
const (
	LeastLeverage = 1
	MostLeverage  = 125
)

// perpFee is the fee in a perpetual future on paper, in basis points.
const perpFee = 5

// flagNoFunding says that a run over a perpetual future paid no funding, because none is recorded.
const flagNoFunding = "no_funding"

// margined reports whether the orders fill as those of the paper account in a perpetual future.
func (r *study) margined() bool {
	_, perpetual := r.Symbol.Pair()
	return perpetual && r.Fills == FillsPaper
}

// checkFills refuses what the paper account cannot do.
func (r *study) checkFills() error {
	most := 100.0
	if r.margined() {
		most *= r.Leverage
		if !r.Chosen.Fee {
			r.Fee = perpFee
		}
	}
	switch {
	case r.Leverage != LeastLeverage && !r.margined():
		return fault.Field("leverage", strconv.FormatFloat(r.Leverage, 'f', -1, 64), `1, or a perpetual future such as BTCUSDT.P with "fill_model":"paper"`)
	case r.Fills != FillsPaper:
		return nil
	case r.Rules.Short != nil && !r.margined():
		return fault.Field("fill_model", FillsPaper, "pine, long alone, or a perpetual future such as BTCUSDT.P: nothing is lent to the paper account")
	case r.Percent > most && r.margined():
		return fault.Field("size_pct", strconv.FormatFloat(r.Percent, 'f', -1, 64), fmt.Sprintf("at most %g with a leverage of %g", most, r.Leverage))
	case r.Percent > most:
		return fault.Field("size_pct", strconv.FormatFloat(r.Percent, 'f', -1, 64), "at most 100 with the fill model paper: nothing is lent to the paper account")
	}
	return nil
}

// readPerp reads what a run over a perpetual future on paper needs besides the bars.
func (r *study) readPerp(ctx context.Context, p *past) error {
	if !r.margined() {
		return nil
	}
	perp := &simulate.Perp{Leverage: r.Leverage, Span: r.Interval.Seconds() * 1000}
	for _, t := range margin.Usual(baseOf(p.Facts, r.Symbol)) {
		perp.Tiers = append(perp.Tiers, simulate.Tier{
			Notional: t.Notional.InexactFloat64(), Maintenance: t.Maintenance.InexactFloat64(), Amount: t.Amount.InexactFloat64(), MaxLeverage: t.MaxLeverage.InexactFloat64(),
		})
	}
	if r.Rates != nil {
		points, err := r.Rates(ctx, &p.BarSet, r.request(r.Symbol, r.Interval))
		if err != nil {
			return err
		}
		perp.Funding = fundingOf(points, &p.Bars)
	}
	r.perp = perp
	return nil
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
