package ta

import (
	"math"

	"candela/lib/ta/calc"
)

func midpoint() Def {
	return windowed{line: "Midpoint", length: 14, least: 1, source: "close", next: func(m *calc.Slab, n int) func(calc.Slot, float64) float64 {
		high, low := m.Max(n), m.Min(n)
		return func(_ calc.Slot, x float64) float64 { return (high.Step(x) + low.Step(x)) / 2 }
	}}.def(Def{
		Name: "midpoint", Kind: Overlay, Group: GroupTrend,
		Doc:     "Midpoint of highest and lowest close.",
		Formula: "(highest + lowest source of the last `length` bars) / 2.",
		Truth:   "TA-Lib MIDPOINT",
	})
}

func midprice() Def {
	return Def{
		Name: "midprice", Kind: Overlay, Group: GroupTrend,
		Doc:     "Midpoint of highest high and lowest low.",
		Formula: "(highest high + lowest low of the last `length` bars) / 2.",
		Truth:   "TA-Lib MIDPRICE",
		Params:  []Param{lengthFrom(14, 1, "bars in the range")},
		Lines:   []string{"Midprice"},
		New: func(v Values) Instance {
			n := v.Int("length")
			return single(labelOf("Midprice", v, "length"), "Midprice", n-1, n, func(m *calc.Slab, _ Env) func(*Row) float64 {
				high, low := m.Max(n), m.Min(n)
				return func(r *Row) float64 { return (high.Step(r.Bar.H) + low.Step(r.Bar.L)) / 2 }
			})
		},
	}
}

func minmax() Def {
	return Def{
		Name: "minmax", Kind: Overlay, Group: GroupLevels,
		Doc:     "Highest and lowest close of the last bars; a signal is a new high or low.",
		Formula: "Highest and lowest source of the last `length` bars, this one included.",
		Truth:   "TradingView ta.highest and ta.lowest, TA-Lib MINMAX",
		Params:  []Param{lengthFrom(20, 1, "bars in the range"), source("close")},
		Lines:   []string{"Highest", "Lowest"},
		Signals: []Trigger{
			{"breakout_up", "the source is above Highest of the bar before, and the bar before was not; y is the source"},
			{"breakout_down", "the source is below Lowest of the bar before, and the bar before was not; y is the source"},
		},
		New: func(v Values) Instance {
			n, price := v.Int("length"), sourceOf(v.Text("source"))
			const top, bottom, side = 0, 1, 2
			return &series{
				label: labelOf("MinMax", v, "length"), first: n - 1, stable: n + 1, columns: 3,
				lines: styled(Band, "Highest", "Lowest"),
				begin: func(m *calc.Slab, _ Env) step {
					high, low := m.Max(n), m.Min(n)
					return func(r *Row) {
						x := price(r.Bar)
						r.Values[top], r.Values[bottom] = high.Step(x), low.Step(x)
						r.Values[side] = outsideOf(x, r.Prev[bottom], r.Prev[top])
					}
				},
				detect: func(r *Row) { detectOutside(r, side, price(r.Bar)) },
			}
		},
	}
}

// detectOutside raises a breakout when a column turns to 1 or -1, the side on which the
// price left a channel.
func detectOutside(r *Row, side int, y float64) {
	if r.Values[side] == 1 && r.Prev[side] != 1 {
		r.Signal("breakout_up", y)
	}
	if r.Values[side] == -1 && r.Prev[side] != -1 {
		r.Signal("breakout_down", y)
	}
}

func priceTypes() Def {
	types := map[string]string{"average": "ohlc4", "median": "hl2", "typical": "hlc3", "weighted": "hlcc4"}
	return Def{
		Name: "price", Kind: Overlay, Group: GroupTrend,
		Doc:     "A price per bar: average, median, typical, weighted.",
		Formula: "average = (o+h+l+c)/4, median = (h+l)/2, typical = (h+l+c)/3, weighted = (h+l+2c)/4.",
		Truth:   "TA-Lib AVGPRICE, MEDPRICE, TYPPRICE, WCLPRICE",
		Params:  []Param{Choice("type", "typical", []string{"average", "median", "typical", "weighted"}, "which prices of the bar")},
		Lines:   []string{"Price"},
		Members: []Member{
			{Name: "avgprice", Doc: "Average of the bar's four prices.", Fixed: map[string]any{"type": "average"}},
			{Name: "medprice", Doc: "Middle of the bar's range.", Fixed: map[string]any{"type": "median"}},
			{Name: "typprice", Doc: "Typical price of the bar.", Fixed: map[string]any{"type": "typical"}},
			{Name: "wclprice", Doc: "Weighted close of the bar.", Fixed: map[string]any{"type": "weighted"}},
		},
		New: func(v Values) Instance {
			price := sourceOf(types[v.Text("type")])
			return single(labelOf("Price", v, "type"), "Price", 0, 1, func(*calc.Slab, Env) func(*Row) float64 {
				return func(r *Row) float64 { return price(r.Bar) }
			})
		},
	}
}

func drawdown() Def {
	return Def{
		Name: "drawdown", Aliases: []string{"dd"}, Kind: Panel, Group: GroupVolatility,
		Doc:     "Drawdown: percent below the highest close so far; or below the highest of the last bars.",
		Formula: "100 x (source / highest source - 1); the highest since the first bar shown, whose time is `anchored_at` in answers, or of the last `length` bars.",
		Truth:   "pandas-ta drawdown, with the opposite sign",
		Params: []Param{
			OptionalInt("length", 1, longest, "bars in which the high lies; unset: all").As("period"), source("close"),
		},
		Lines: []string{"Drawdown"},
		New: func(v Values) Instance {
			n, given := v.OptionalInt("length")
			price, label := sourceOf(v.Text("source")), "Drawdown"
			first, stable := 0, 1
			if given {
				first, stable, label = n-1, n, labelOf(label, v, "length")
			}
			s := single(label, "Drawdown", first, stable, func(m *calc.Slab, _ Env) func(*Row) float64 {
				top := runningHigh(m)
				if given {
					high := m.Max(n)
					top = high.Step
				}
				return func(r *Row) float64 {
					x := price(r.Bar)
					return 100 * (ratio(x, top(x)) - 1)
				}
			})
			s.sum, s.levels = !given, []HLine{{Y: 0, Style: Zero}}
			s.present = func(r *Result, col [][]float64) {
				r.Fills = []Fill{{Y1: col[0], Y2: level(col[0], 0), Style: Area}}
			}
			return s
		},
	}
}

// runningHigh returns a step with the highest value so far.
func runningHigh(m *calc.Slab) func(float64) float64 {
	const known, high, size = 0, 1, 2
	cells := m.Cells(size)
	return func(x float64) float64 {
		c := cells.Mem()
		if !finite(x) {
			return math.NaN()
		}
		if c[known] == 0 || x > c[high] {
			c[known], c[high] = 1, x
		}
		return c[high]
	}
}

func returns() Def {
	return Def{
		Name: "returns", Kind: Panel, Group: GroupMomentum,
		Doc:     "Return over the last bars in percent; simple or logarithmic.",
		Formula: "simple = 100 x (source / source n bars ago - 1); log = 100 x ln(source / source n bars ago).",
		Truth:   "pandas-ta percent_return and log_return",
		Params: []Param{
			lengthFrom(1, 1, "bars to look back"), Choice("type", "simple", []string{"simple", "log"}, "how a return is measured"), source("close"),
		},
		Lines: []string{"Return"},
		New: func(v Values) Instance {
			n, price, logs := v.Int("length"), sourceOf(v.Text("source")), v.Text("type") == "log"
			s := single(labelOf("Returns", v, "length", "type"), "Return", n, n+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				back := m.Lag(n)
				return func(r *Row) float64 {
					x := price(r.Bar)
					before := back.Step(x)
					if logs {
						return 100 * calc.Log(ratio(x, before))
					}
					return 100 * (ratio(x, before) - 1)
				}
			})
			s.levels = []HLine{{Y: 0, Style: Zero}}
			return s
		},
	}
}
