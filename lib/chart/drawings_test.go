package chart

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"candela/internal/testkit/longtest"
	"candela/lib/market"
)

func TestRetracements_MeasureBackFromTheEndOfTheMove(t *testing.T) {
	t.Parallel()
	up, down := Retracements(100, 200), Retracements(200, 100)
	want := [...]Retracement{{0, 200}, {0.236, 176.4}, {0.382, 161.8}, {0.5, 150}, {0.618, 138.2}, {0.786, 121.4}, {1, 100}}
	for i, w := range want {
		if up[i].Ratio != w.Ratio || math.Abs(up[i].Price-w.Price) > 1e-9 || math.Abs(down[i].Price-(300-w.Price)) > 1e-9 {
			t.Errorf("%v: up %v, down %v", w, up[i], down[i])
		}
	}
	if got := Retracements(0.1, 0.3); got[0].Price != 0.3 || got[6].Price != 0.1 {
		t.Errorf("the ends are not exact: %v", got)
	}
}

func TestDrawings_ALineKeepsItsSlopeBeyondThePicture(t *testing.T) {
	t.Parallel()
	for _, logarithmic := range []bool{false, true} {
		near := Drawing{Kind: LineDrawing, X: 10, Y: 100, X2: 20, Y2: 200}
		far := Drawing{Kind: LineDrawing, X: -990, X2: 1020, Y: near.priceAt(-990, false), Y2: near.priceAt(1020, false)}
		if logarithmic {
			near = Drawing{Kind: LineDrawing, X: 10, Y: 100, X2: 20, Y2: 110}
			far.Y, far.Y2 = near.priceAt(-990, true), near.priceAt(1020, true)
		}
		for x := range 40 {
			if a, b := near.priceAt(x, logarithmic), far.priceAt(x, logarithmic); math.Abs(a-b) > 1e-6*math.Abs(a) {
				t.Errorf("log %v, bar %d: %v and %v", logarithmic, x, a, b)
			}
		}
	}
}

func TestClipSegment_KeepsWhatIsInside(t *testing.T) {
	t.Parallel()
	r := Rect{0, 0, 100, 100}
	for _, c := range []struct {
		name string
		in   segment
		want segment
		ok   bool
	}{
		{"inside", segment{10, 10, 90, 50}, segment{10, 10, 90, 50}, true},
		{"from the right", segment{90, 50, 10, 10}, segment{10, 10, 90, 50}, true},
		{"across", segment{-1e9, -1e9, 1e9, 1e9}, segment{0, 0, 100, 100}, true},
		{"leaves at the top", segment{50, 50, 50, -1e30}, segment{50, 50, 50, 0}, true},
		{"beside", segment{-10, 20, -5, 80}, segment{}, false},
		{"past the corner", segment{-10, 5, 5, -10}, segment{}, false},
	} {
		got, ok := clipSegment(c.in, r, 0)
		near := math.Abs(got.x0-c.want.x0)+math.Abs(got.y0-c.want.y0)+math.Abs(got.x1-c.want.x1)+math.Abs(got.y1-c.want.y1) < 0.1
		if ok != c.ok || !near {
			t.Errorf("%s: %v %v", c.name, got, ok)
		}
	}
}

// TestDrawings_WidenTheRangeByNearPointsOnly gives the largest ranges that drawings make.
func TestDrawings_WidenTheRangeByNearPointsOnly(t *testing.T) {
	t.Parallel()
	s := basic(100)
	s.Results = nil
	lo, hi := s.Bars.L[lowest(&s.Bars)], s.Bars.H[highest(&s.Bars)]
	h := hi - lo
	for _, c := range []struct {
		name   string
		d      Drawing
		lo, hi float64
		shown  bool
	}{
		{"level in range", Drawing{Kind: LevelDrawing, Y: lo + h/2}, lo, hi, true},
		{"level near", Drawing{Kind: LevelDrawing, Y: hi + h*0.9}, lo, hi + h*0.9, true},
		{"level far", Drawing{Kind: LevelDrawing, Y: hi + h*1.1}, lo, hi, false},
		{"ray that leaves upwards", Drawing{Kind: RayDrawing, X: 50, Y: lo, X2: 51, Y2: hi}, lo, hi, true},
		{"line across", Drawing{Kind: LineDrawing, X: -100, Y: lo - 9*h, X2: 200, Y2: hi + 9*h}, lo, hi, true},
		{"line before the bars", Drawing{Kind: LineDrawing, X: -9, Y: lo, X2: -1, Y2: hi}, lo, hi, false},
		{"ray from before the bars", Drawing{Kind: RayDrawing, X: -9, Y: lo, X2: -1, Y2: lo + h/10}, lo, hi, true},
		{"box around all", Drawing{Kind: BoxDrawing, X: -9, Y: lo - 9*h, X2: 999, Y2: hi + 9*h}, lo, hi, true},
		{"text after the bars", Drawing{Kind: TextDrawing, X: 99 + mostAhead, Y: hi, Text: "x"}, lo, hi, true},
		{"text far after the bars", Drawing{Kind: TextDrawing, X: 100 + mostAhead, Y: hi, Text: "x"}, lo, hi, false},
		{"no number", Drawing{Kind: LevelDrawing, Y: math.NaN()}, lo, hi, false},
	} {
		s.Drawings = []Drawing{c.d}
		var scene Scene
		if err := scene.Layout(s, fixedWidth); err != nil {
			t.Fatal(err)
		}
		got := scene.Panes[0].span
		if shown := s.Shown(); got.lo != c.lo || got.hi != c.hi || len(shown) != 1 || shown[0] != c.shown || scene.visible[0] != c.shown {
			t.Errorf("%s: range %v, want %v to %v; shown %v", c.name, got, c.lo, c.hi, shown)
		}
	}
}

func fixedWidth(text string, _ Face, scale int) float64 { return float64(7 * scale * len(text)) }

// randomDrawing is one of any kind. A tame one lies within the bars and prices.
func randomDrawing(rnd *rand.Rand, b *market.Bars, lo, hi float64, tame bool) Drawing {
	x := func() int { return rnd.IntN(b.Len()) }
	y := func() float64 { return lo + rnd.Float64()*(hi-lo) }
	d := Drawing{Kind: DrawingKind(rnd.IntN(6)), X: x(), X2: x(), Y: y(), Y2: y()}
	if rnd.IntN(2) == 0 {
		d.Text = "Text of a drawing, which is long enough"[:1+rnd.IntN(39)]
	}
	if tame {
		if d.Kind == LevelDrawing { // it has a pill, which widens the axis
			d.Kind = FibDrawing
		}
		return d
	}
	wildX := [...]int{0, -1, b.Len(), 1e9, -1e9, 5000}
	wildY := [...]float64{0, -1, 1e24, -1e24, 1e-24, math.Inf(1), math.NaN(), hi * 2}
	if rnd.IntN(2) == 0 {
		d.X = wildX[rnd.IntN(len(wildX))]
	}
	if rnd.IntN(2) == 0 {
		d.X2 = wildX[rnd.IntN(len(wildX))]
	}
	if rnd.IntN(2) == 0 {
		d.Y = wildY[rnd.IntN(len(wildY))]
	}
	if rnd.IntN(2) == 0 {
		d.Y2 = wildY[rnd.IntN(len(wildY))]
	}
	return d
}

// TestDrawings_StayInThePricePane draws random drawings and compares every pixel outside
// the price pane with the picture without them.
func TestDrawings_StayInThePricePane(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, longtest.Seed()))
	r := NewRenderer()
	for range longtest.Pick(12, 200) {
		s := basic(30 + rnd.IntN(400))
		s.Width, s.Height, s.Scale = 400+rnd.IntN(300), 300+rnd.IntN(200), 1+rnd.IntN(2)
		s.Theme, s.Log = Theme(rnd.IntN(2)), rnd.IntN(2) == 0
		lo, hi := s.Bars.L[lowest(&s.Bars)], s.Bars.H[highest(&s.Bars)]
		plain, err := r.PNG(s)
		if err != nil {
			t.Fatal(err)
		}
		for range 1 + rnd.IntN(MaxDrawings) {
			s.Drawings = append(s.Drawings, randomDrawing(rnd, &s.Bars, lo, hi, true))
		}
		file, err := r.PNG(s)
		if err != nil {
			t.Fatal(err)
		}
		var scene Scene
		if err := scene.Layout(s, fixedWidth); err != nil {
			t.Fatal(err)
		}
		pane, a, b := scene.Panes[0].Rect, decode(t, plain), decode(t, file)
		changed := 0
		for y := range a.Rect.Dy() {
			for x := range a.Rect.Dx() {
				if alike(rgb(a, x, y), rgb(b, x, y)) {
					continue
				}
				if changed++; y >= pane.Y1 || x >= a.Rect.Dx()-20*s.Scale {
					t.Fatalf("%dx%d scale %d: pixel %d,%d outside the pane %v changed from %v to %v; drawings %+v", s.Width, s.Height, s.Scale, x, y, pane, rgb(a, x, y), rgb(b, x, y), s.Drawings)
				}
			}
		}
		if changed == 0 {
			t.Errorf("nothing is drawn: %+v", s.Drawings)
		}
	}
}

// TestDrawings_DoNotDependOnTheOrderOfTheirPoints draws each kind from either point. A ray
// has a direction, and the end of a retracement is not its start.
func TestDrawings_DoNotDependOnTheOrderOfTheirPoints(t *testing.T) {
	t.Parallel()
	r := NewRenderer()
	for _, kind := range []DrawingKind{LineDrawing, BoxDrawing} {
		draw := func(d Drawing) []byte {
			s := basic(80)
			s.Width, s.Height, s.Drawings = 500, 300, []Drawing{d}
			file, err := r.PNG(s)
			if err != nil {
				t.Fatal(err)
			}
			return file
		}
		b := basic(80).Bars
		one := draw(Drawing{Kind: kind, X: 10, Y: b.C[10], X2: 60, Y2: b.C[60]})
		other := draw(Drawing{Kind: kind, X: 60, Y: b.C[60], X2: 10, Y2: b.C[10]})
		if !bytes.Equal(one, other) {
			t.Errorf("kind %d looks different with its points exchanged", kind)
		}
	}
}

// alike reports whether two pixels differ by no more than the colours of edges may when a
// palette fills up.
func alike(a, b [3]uint8) bool {
	for i := range a {
		if abs(int(a[i])-int(b[i])) > 56 {
			return false
		}
	}
	return true
}

// TestDrawings_AnythingCanBeDrawn draws points that no market has.
func TestDrawings_AnythingCanBeDrawn(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(6, longtest.Seed()))
	r := NewRenderer()
	for range longtest.Pick(40, 1000) {
		s := basic(1 + rnd.IntN(200))
		s.Width, s.Height, s.Log = 200+rnd.IntN(300), 200+rnd.IntN(300), rnd.IntN(2) == 0
		lo, hi := s.Bars.L[lowest(&s.Bars)], s.Bars.H[highest(&s.Bars)]
		for range rnd.IntN(MaxDrawings + 1) {
			s.Drawings = append(s.Drawings, randomDrawing(rnd, &s.Bars, lo, hi, false))
		}
		if _, err := r.PNG(s); err != nil {
			t.Fatal(err)
		}
		var scene Scene
		if err := scene.Layout(s, fixedWidth); err != nil {
			t.Fatal(err)
		}
		pane := scene.Panes[0].Rect
		for _, k := range scene.Drawings {
			xs, ys := scene.Points(k)
			for i := range xs {
				if i > 0 && xs[i] < xs[i-1] {
					t.Fatalf("a line goes back, which is not drawn: %v", xs)
				}
				if math.Abs(xs[i]) > 4*MaxSide || math.Abs(ys[i]) > 4*MaxSide || xs[i] != xs[i] || ys[i] != ys[i] {
					t.Fatalf("a point at %v,%v of pane %v: %+v", xs[i], ys[i], pane, s.Drawings)
				}
			}
		}
	}
}

func TestCompare_TheLineOfTheSameSymbolIsItsPrice(t *testing.T) {
	t.Parallel()
	b := walk(3, 200, 65000, 3600)
	own := make([]float64, 200)
	for i := range own {
		own[i] = market.ChangePct(b.C[0], b.C[i])
	}
	for i, v := range appendPrices(nil, b.C, own) {
		if math.Abs(v-b.C[i]) > 1e-9*b.C[i] {
			t.Fatalf("bar %d: %v instead of %v", i, v, b.C[i])
		}
	}
	late := appendPrices(nil, b.C, []float64{math.NaN(), math.NaN(), 0, 10})
	if late[1] == late[1] || late[2] != b.C[2] || math.Abs(late[3]-1.1*b.C[2]) > 1e-6 {
		t.Errorf("a line that starts later: %v", late)
	}
}

func TestCompare_LegendAndPillsShowPercent(t *testing.T) {
	t.Parallel()
	s := compareScene(Dark)
	var scene Scene
	if err := scene.Layout(s, fixedWidth); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for i := range scene.Labels {
		seen[scene.Labels[i].Text] = true
	}
	own := percent(market.ChangePct(s.Bars.C[0], s.Bars.C[159]))
	for _, want := range []string{"BTCUSDT", own, "ETHUSDT", percent(s.Compare[0].Percent[159]), percent(s.Compare[1].Percent[159]) + " stale"} {
		if !seen[want] {
			t.Errorf("no legend has %q", want)
		}
	}
	for i := range scene.Pills {
		p := &scene.Pills[i]
		for _, c := range s.Compare {
			if p.Name.Text == c.Symbol && p.Label.Text != percent(c.Percent[159]) && !c.Stale {
				t.Errorf("the pill of %s says %q", c.Symbol, p.Label.Text)
			}
		}
	}
}

func TestSpec_RefusesTooManyComparisonsAndDrawings(t *testing.T) {
	t.Parallel()
	for field, s := range map[string]*Spec{
		"compare":  {Compare: make([]Comparison, MaxCompared+1)},
		"values":   {Compare: make([]Comparison, 1)},
		"drawings": {Drawings: make([]Drawing, MaxDrawings+1)},
	} {
		s.Bars = walk(1, 5, 100, 60)
		if s.Check() == nil {
			t.Errorf("too many %s are accepted", field)
		}
	}
}

// TestRenderer_NamesWhatNoFontHas draws texts in scripts that the typeface has and lacks.
func TestRenderer_NamesWhatNoFontHas(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"Stop \u0421\u0442\u043e\u043f \u00e9": "", "\u4e70\u5165 1": "\u4e70\u5165"} {
		s, got := basic(50), ""
		s.Drawings = []Drawing{{Kind: TextDrawing, X: 25, Y: s.Bars.C[25], Text: text}}
		s.Boxes = func(missing []rune) { got = string(missing) }
		if _, err := NewRenderer().PNG(s); err != nil || got != want {
			t.Errorf("%q: boxes for %q, want %q, %v", text, got, want, err)
		}
	}
}

// TestDrawings_LabelsHideNoCandle draws a label where the candles are: it stands beside them, in the
// colour of its drawing alone.
func TestDrawings_LabelsHideNoCandle(t *testing.T) {
	t.Parallel()
	s := basic(80)
	last := s.Bars.C[40]
	s.Drawings = []Drawing{
		{Kind: TextDrawing, X: 40, Y: last, Text: "a note of some length"},
		{Kind: LineDrawing, X: 20, X2: 60, Y: last, Y2: last, Text: "a line"},
	}
	var scene Scene
	if err := scene.Layout(s, fixedWidth); err != nil {
		t.Fatal(err)
	}
	colors := map[string]bool{}
	for i := range scene.Labels {
		label := &scene.Labels[i]
		if label.Text != s.Drawings[0].Text && label.Text != s.Drawings[1].Text {
			continue
		}
		colors[fmt.Sprint(label.Color)] = true
		box := Rect{int(label.X), label.Baseline - capHeight, int(label.X + label.Width), label.Baseline}
		for _, c := range scene.Candles {
			if c.Wick.overlaps(box) || c.Body.overlaps(box) {
				t.Errorf("%q at %v hides a candle at %v", label.Text, box, c.Wick)
			}
		}
	}
	if len(colors) != 2 {
		t.Errorf("the labels of two drawings have %d colours", len(colors))
	}
}

// TestDrawings_EveryRetracementHasItsName draws a move so small that its levels are close together.
func TestDrawings_EveryRetracementHasItsName(t *testing.T) {
	t.Parallel()
	for _, size := range []float64{0.002, 0.01, 0.03} {
		s := basic(160)
		from := s.Bars.C[80]
		s.Drawings = []Drawing{{Kind: FibDrawing, X: 80, X2: 100, Y: from, Y2: from * (1 + size)}}
		var scene Scene
		if err := scene.Layout(s, fixedWidth); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"0 ", "0.236 ", "0.382 ", "0.5 ", "0.618 ", "0.786 ", "1 "} {
			if !slices.ContainsFunc(scene.Labels, func(l Label) bool { return strings.HasPrefix(l.Text, name) }) {
				t.Errorf("a move of %v: no name for %s", size, name)
			}
		}
	}
}
