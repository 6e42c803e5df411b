package ta

import (
	"fmt"
	"math"
	"strings"

	"candela/lib/ta/calc"
)

// The columns of an anchored VWAP; the first three are those of anchored.
const (
	avwapMean = iota
	avwapBegan
	avwapDeviation
	avwapClose
	avwapBands
)

func anchoredVWAP() Def {
	names := []string{"AVWAP", "Upper 1", "Lower 1", "Upper 2", "Lower 2", "Upper 3", "Lower 3"}
	return Def{
		Name: "anchored_vwap", Aliases: []string{"avwap"}, Kind: Overlay, Group: GroupVolume,
		Doc: "VWAP since a date, a time, a high, a low or a period; with bands of 1 to 3 deviations.",
		Formula: "VWAP and deviation as in `vwap_bands`, from the bar that holds the anchor on. A date begins at midnight UTC. `high`, `low`: from the highest high or lowest low of the last `length` bars, " +
			"which a new bar can move, so without signals. `auto`: day up to 15m, week for longer intraday bars, month for daily bars, year beyond. No values if the bars read begin after the anchor.",
		Truth: "TradingView anchored VWAP, Skender; second derivation in the tests",
		Params: []Param{
			Choice("anchor", "auto", []string{"auto", "session", "week", "month", "quarter", "year", "high", "low"}, "where it begins").orTime().As("start"),
			Int("bands", 1, 0, 3, "bands on each side, one deviation apart"),
			Int("length", 200, 2, 5000, "bars among which `high` and `low` are looked for"), source("hlc3"),
		},
		Lines: names,
		Signals: []Trigger{
			{"cross_up", "the close goes from at or below AVWAP to above it, within one period; y is AVWAP"},
			{"cross_down", "the close goes from at or above AVWAP to below it, within one period; y is AVWAP"},
		},
		New: func(v Values) Instance {
			anchor, bands := v.Text("anchor"), v.Int("bands")
			label := fmt.Sprintf("AVWAP(%s)", strings.TrimSuffix(anchor, "T00:00:00Z"))
			if anchor == "high" || anchor == "low" {
				return &whole{
					label: label, history: func(Env) int { return v.Int("length") - 1 },
					compute: func(in Input, r *Result) { computeFromExtreme(in, v, names, r) },
				}
			}
			a := anchored{v: v, began: avwapBegan}
			s := &series{
				label: label, columns: avwapBands + 2*bands, warm: a.warm,
				begin:   func(m *calc.Slab, env Env) step { return withBands(a.begin(m, env), bands) },
				detect:  detectVWAPCross,
				present: func(r *Result, col [][]float64) { drawAVWAP(r, names, bands, col) },
			}
			if at, ok := parseTime(anchor); ok {
				s.warm = func(Env) (int, int) { return 0, maxStable }
				s.begin = func(m *calc.Slab, env Env) step {
					return withBands(sinceTime(m, env, at.Unix(), v.Text("source")), bands)
				}
			}
			return s
		},
	}
}

// sinceTime returns a step that writes the mean and the deviation since the bar that
// holds a time, or the first one after it.
func sinceTime(m *calc.Slab, env Env, at int64, source string) step {
	const running, missed = 1, 2
	state, mean := m.Cells(1), newVolumeMean(m, source)
	return func(r *Row) {
		c := state.Mem()
		switch {
		case r.Index == 0 && r.Bar.T > at:
			c[0] = missed // the bars before it are not known
		case c[0] == 0 && env.Calendar.CloseOf(env.Interval, r.Bar.T) > at:
			c[0] = running
		}
		if c[0] == running {
			mean.write(r)
		}
	}
}

// withBands adds the bands to a mean, and the close: the mean itself where they differ by
// rounding alone.
func withBands(next step, bands int) step {
	return func(r *Row) {
		next(r)
		r.Values[avwapClose] = r.Bar.C
		if calc.Difference(r.Bar.C, r.Values[avwapMean]) == 0 {
			r.Values[avwapClose] = r.Values[avwapMean]
		}
		for k := range bands {
			width := float64(float64(k+1) * r.Values[avwapDeviation])
			r.Values[avwapBands+2*k], r.Values[avwapBands+2*k+1] = r.Values[avwapMean]+width, r.Values[avwapMean]-width
		}
	}
}

func detectVWAPCross(r *Row) {
	if r.Values[avwapBegan] == 1 {
		return // the mean before is that of another period
	}
	if r.CrossedUp(avwapClose, avwapMean) {
		r.Signal("cross_up", r.Values[avwapMean])
	}
	if r.CrossedDown(avwapClose, avwapMean) {
		r.Signal("cross_down", r.Values[avwapMean])
	}
}

// drawAVWAP draws the mean, the bands and the area between the inner ones.
func drawAVWAP(r *Result, names []string, bands int, col [][]float64) {
	r.Lines = []Line{{Label: names[0], Values: col[avwapMean]}}
	for i := range 2 * bands {
		r.Lines = append(r.Lines, Line{Label: names[1+i], Values: col[avwapBands+i], Style: Band})
	}
	if bands > 0 {
		r.Fills = []Fill{{Y1: col[avwapBands], Y2: col[avwapBands+1], Style: Channel}}
	}
	r.Restarts = restarts(col[avwapBegan])
	if n := len(col[avwapMean]); n > 0 && math.IsNaN(col[avwapMean][n-1]) && col[avwapBegan][n-1] != 0 {
		r.Label = strings.TrimSuffix(r.Label, ")") + ", no data)"
	}
}

// computeFromExtreme anchors at the highest high or the lowest low of the last bars,
// the first of equal ones.
func computeFromExtreme(in Input, v Values, names []string, r *Result) {
	b, bands := in.Bars, v.Int("bands")
	n := b.Len()
	columns := make([][]float64, avwapBands+2*bands)
	for c := range columns {
		columns[c] = undefined(in)
	}
	at := max(0, n-v.Int("length"))
	for i := at; i < n; i++ {
		if v.Text("anchor") == "high" && b.H[i] > b.H[at] || v.Text("anchor") == "low" && b.L[i] < b.L[at] {
			at = i
		}
	}
	row := newRow(len(columns))
	mean := newVolumeMean(calc.NewSlab(), v.Text("source"))
	next := withBands(mean.write, bands)
	for i := at; i < n; i++ {
		row.begin(i, b.At(i))
		next(&row)
		for c, x := range row.Values {
			columns[c][i] = x
		}
	}
	drawAVWAP(r, names, bands, columns)
}
