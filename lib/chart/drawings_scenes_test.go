package chart

import (
	"math"

	"candela/lib/market"
)

// drawnScenes returns the pictures of drawings and comparisons.
func drawnScenes() map[string]func() *Spec {
	return map[string]func() *Spec{
		"drawings": func() *Spec { return drawn(Dark) }, "drawings_light": func() *Spec { return drawn(Light) },
		"drawings_log": drawnLog, "drawings_clipped": drawnClipped, "drawings_dense": drawnDense, "drawings_small": drawnSmall,
		"compare": func() *Spec { return compareScene(Dark) }, "compare_light": func() *Spec { return compareScene(Light) },
		"compare_log": compareLog,
	}
}

// drawn has one drawing of each kind.
func drawn(theme Theme) *Spec {
	s := basic(160)
	s.Theme = theme
	s.Drawings = eachKind(&s.Bars)
	return s
}

func eachKind(b *market.Bars) []Drawing {
	n := b.Len()
	at := func(part float64) int { return int(part * float64(n)) }
	low, high := lowest(b), highest(b)
	return []Drawing{
		{Kind: LevelDrawing, Y: b.C[n-1] * 1.035, Text: "Resistance"},
		{Kind: LineDrawing, X: at(0.1), Y: b.H[at(0.1)], X2: at(0.5), Y2: b.H[at(0.5)], Text: "Trend"},
		{Kind: RayDrawing, X: at(0.55), Y: b.L[at(0.55)], X2: at(0.75), Y2: b.L[at(0.75)]},
		{Kind: BoxDrawing, X: at(0.75), Y: b.C[n-1] * 0.99, X2: n + 12, Y2: b.C[n-1] * 0.97, Text: "Demand"},
		{Kind: FibDrawing, X: low, Y: b.L[low], X2: high, Y2: b.H[high]},
		{Kind: TextDrawing, X: at(0.3), Y: b.H[at(0.3)] * 1.01, Text: "News of the halving"},
	}
}

func lowest(b *market.Bars) int {
	k := 0
	for i, v := range b.L {
		if v < b.L[k] {
			k = i
		}
	}
	return k
}

func highest(b *market.Bars) int {
	k := 0
	for i, v := range b.H {
		if v > b.H[k] {
			k = i
		}
	}
	return k
}

func drawnLog() *Spec {
	s := logarithmic()
	s.Drawings = append(eachKind(&s.Bars), Drawing{Kind: LevelDrawing, Y: -5, Text: "no place"})
	return s
}

// drawnClipped has drawings that reach far beyond the pane.
func drawnClipped() *Spec {
	s := basic(120)
	b := &s.Bars
	c := b.C[119]
	s.Drawings = []Drawing{
		{Kind: LineDrawing, X: -500, Y: c * 0.2, X2: 500, Y2: c * 1.8, Text: "from far below to far above"},
		{Kind: RayDrawing, X: -40, Y: c * 0.9, X2: -20, Y2: c * 0.93, Text: "from the left"},
		{Kind: RayDrawing, X: 90, Y: b.L[90], X2: 91, Y2: b.L[90] * 1.05, Text: "steep"},
		{Kind: BoxDrawing, X: -9999, Y: c * 0.95, X2: 30, Y2: c * 0.1, Text: "below"},
		{Kind: BoxDrawing, X: 100, Y: c * 1.01, X2: 1e6, Y2: c * 1.03, Text: "to the right"},
		{Kind: FibDrawing, X: -10, Y: c * 0.9, X2: 200, Y2: c * 1.1},
		{Kind: LevelDrawing, Y: c * 9, Text: "out of sight"},
		{Kind: TextDrawing, X: 118, Y: c, Text: "a text of which the right half would be outside of the pane"},
		{Kind: TextDrawing, X: -1, Y: c, Text: "left of the bars"},
		{Kind: LineDrawing, X: 60, Y: c * 0.97, X2: 60, Y2: c * 1.02, Text: "vertical"},
	}
	return s
}

// drawnDense has the most drawings over many bars.
func drawnDense() *Spec {
	s := basic(2000)
	b := &s.Bars
	for i := range MaxDrawings {
		x := 100 * i
		s.Drawings = append(s.Drawings, Drawing{Kind: DrawingKind(i % 6), X: x, Y: b.L[x], X2: x + 70, Y2: b.H[x+70], Text: "Drawing " + notation{}.text(float64(i))})
	}
	return s
}

func drawnSmall() *Spec {
	s := drawn(Dark)
	s.Width, s.Height = 400, 300
	return s
}

// compareScene has four symbols: one of them listed later, one stale.
func compareScene(theme Theme) *Spec {
	s := basic(160)
	s.Theme = theme
	s.Results = s.Results[:2]
	for i, name := range []string{"ETHUSDT", "AAPL", "SOLUSDT", "EURUSD=X"} {
		s.Compare = append(s.Compare, Comparison{Symbol: name, Percent: percents(uint64(20+i), 160, i*25), Stale: i == 1})
	}
	return s
}

func percents(seed uint64, n, first int) []float64 {
	b := walk(seed, n, 100, 3600)
	values := make([]float64, n)
	for i := range values {
		values[i] = math.NaN()
		if i >= first {
			values[i] = market.ChangePct(b.C[first], b.C[i])
		}
	}
	return values
}

func compareLog() *Spec {
	s := logarithmic()
	s.Compare = []Comparison{{Symbol: "BTCUSDT", Percent: percents(31, 300, 0)}}
	return s
}
