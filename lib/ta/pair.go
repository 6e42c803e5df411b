package ta

import (
	"fmt"
	"math"

	"candela/lib/market"
	"candela/lib/ta/calc"
)

// paired is an instance computed from the closes of the bars and of another symbol. A bar
// is paired with the last close of the other that was known at its own close.
type paired struct {
	label, line   string
	other         market.Symbol
	first, stable int
	compute       func(dst, own, other []float64)
	levels        []HLine
	yRange        *[2]float64
}

// Label names the indicator with its parameters.
func (p *paired) Label() string { return p.label }

// Warmup returns the index of the first value and the bars to stability.
func (p *paired) Warmup(Env) (first, stable int) { return p.first, p.stable }

// Stream returns nil: the other symbol's bars do not come through it.
func (p *paired) Stream(Env) *Stream { return nil }

// Wants returns the bars of the other symbol.
func (p *paired) Wants() []Want { return []Want{{Symbol: p.other}} }

// Compute runs over a whole history.
func (p *paired) Compute(in Input) *Result {
	r := &Result{Label: p.label, HLines: p.levels, YRange: p.yRange}
	given := in.Others[Want{Symbol: p.other}]
	if given == nil {
		r.Label += noData
		return r
	}
	j := newJoin(&in, given.Bars, Env{Interval: in.Interval, Calendar: given.Calendar})
	values := in.Memory.columns(1, in.Bars.Len())[0]
	p.compute(values, in.Bars.C, j.column(given.Bars.C))
	r.Lines = []Line{{Label: p.line, Values: values}}
	return r
}

// otherSymbol is the parameter for the other instrument.
func otherSymbol() Param {
	return Param{Name: "symbol", Kind: SymbolParam, Default: "BTCUSDT", Doc: "the other instrument"}
}

func correlation() Def {
	return Def{
		Name: "correlation", Aliases: []string{"correl"}, Kind: Panel, Group: GroupVolatility,
		Doc:     "Correlation with another symbol, -1 to 1; near 1 they move together.",
		Formula: "Pearson's coefficient of the two closes over `length` bars; each bar is paired with the last close of the other symbol known at its own close. No value while one of them does not move.",
		Truth:   "TradingView ta.correlation, TA-Lib CORREL; second derivation in the tests",
		Params:  []Param{otherSymbol(), Int("length", 20, 2, 1000, "bars to compare").As("period")},
		Lines:   []string{"Correlation"},
		New: func(v Values) Instance {
			n, symbol := v.Int("length"), v.symbol("symbol")
			return &paired{
				label: fmt.Sprintf("Correlation(%s, %d)", symbol, n), line: "Correlation", other: symbol, first: n - 1, stable: n,
				levels: []HLine{{Y: 0, Style: Zero}}, yRange: &[2]float64{-1, 1},
				compute: func(dst, own, other []float64) {
					for i := n - 1; i < len(dst); i++ {
						c, x, y := calc.Covariance(own[i-n+1:i+1], other[i-n+1:i+1])
						if dst[i] = math.NaN(); x > 0 && y > 0 {
							dst[i] = min(max(c/(math.Sqrt(x)*math.Sqrt(y)), -1), 1)
						}
					}
				},
			}
		},
	}
}

func beta() Def {
	return Def{
		Name: "beta", Like: "correlation", Kind: Panel, Group: GroupVolatility,
		Doc:     "Beta to another symbol; 2 means that a move of 1 % there comes with one of 2 % here.",
		Formula: "Covariance of the two returns over the variance of the other symbol's, over `length` returns; bars are paired as in `correlation`. No value while the other symbol does not move.",
		Truth:   "TA-Lib BETA; second derivation in the tests",
		Params:  []Param{otherSymbol(), Int("length", 20, 2, 1000, "returns to compare").As("period")},
		Lines:   []string{"Beta"},
		New: func(v Values) Instance {
			n, symbol := v.Int("length"), v.symbol("symbol")
			return &paired{
				label: fmt.Sprintf("Beta(%s, %d)", symbol, n), line: "Beta", other: symbol, first: n, stable: n + 1,
				levels: []HLine{{Y: 1}, {Y: 0, Style: Zero}},
				compute: func(dst, own, other []float64) {
					x, y := relativeChanges(own), relativeChanges(other)
					for i := n; i < len(dst); i++ {
						c, _, spread := calc.Covariance(x[i-n+1:i+1], y[i-n+1:i+1])
						if dst[i] = math.NaN(); spread > 0 {
							dst[i] = c / spread
						}
					}
				},
			}
		},
	}
}

// relativeChanges are the relative changes of a column; a value at or below zero has none.
func relativeChanges(values []float64) []float64 {
	out := level(values, math.NaN())
	for i := 1; i < len(values); i++ {
		if values[i-1] > 0 {
			out[i] = (values[i] - values[i-1]) / values[i-1]
		}
	}
	return out
}
