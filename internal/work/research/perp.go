package research

import (
	"context"
	"fmt"
	"strconv"

	"candela/internal/work/research/past"
	"candela/lib/fault"
)

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
func (r *study) readPerp(ctx context.Context, p *past.Bars) (err error) {
	if r.margined() {
		r.perp, err = p.Perpetual(ctx, r.Request(r.Symbol, r.Interval), r.Leverage, r.Rates)
	}
	return err
}
