package report

import "math"

// Brief is the result of a back-test in one line. All figures but the counts are percentages.
type Brief struct {
	Bars, Trades int
	Net          float64 // of the closed trades
	Hold         float64 // of buying at the first bar and holding
	Drawdown     float64 // the largest, by closes
	OutOfSample  float64 // growth over the bars that chose no parameters, NaN if there are none
	Equity       []float64
}

// Brief returns the figures of the run.
func (c *Curve) Brief() Brief {
	r, bars := c.Run, c.Run.Bars
	b := Brief{
		Bars: bars.Len() - r.From, Trades: len(r.Trades), Net: 100 * r.Net / r.Config.Capital,
		Hold: 100 * (bars.C[bars.Len()-1]/bars.O[r.From] - 1), Drawdown: r.Summary(1).DrawdownPercent,
		OutOfSample: math.NaN(), Equity: r.Equity,
	}
	if before := c.OutOfSample - r.From - 1; before >= 0 && r.Equity[before] > 0 {
		b.OutOfSample = 100 * (r.Equity[len(r.Equity)-1]/r.Equity[before] - 1)
	}
	return b
}
