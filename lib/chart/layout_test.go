package chart

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"candela/lib/chart/raster"
	"candela/lib/fault"
	"candela/lib/ta"
)

// monospace measures text as seven logical pixels a letter.
func monospace(text string, face Face, scale int) float64 {
	each := 7
	if face == Title {
		each = 10
	}
	return float64(utf8.RuneCountInString(text) * each * scale)
}

func layoutOf(tb testing.TB, s *Spec) *Scene {
	tb.Helper()
	scene := new(Scene)
	if err := scene.Layout(s, monospace); err != nil {
		tb.Fatal(err)
	}
	return scene
}

// textsOf returns every text of the scene.
func textsOf(s *Scene) []string {
	var out []string
	for _, l := range s.Labels {
		out = append(out, l.Text)
	}
	for _, p := range s.Pills {
		out = append(out, p.Label.Text, p.Name.Text)
	}
	return out
}

// TestScenes_NoLabelIsCutOrCovered holds for the real faces what the eye checks
// in the goldens: every text lies within the picture and on no other text.
func TestScenes_NoLabelIsCutOrCovered(t *testing.T) {
	t.Parallel()
	r := NewRenderer()
	for name, scene := range allScenes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := r.frame(scene())
			if err != nil {
				t.Fatal(err)
			}
			defer r.release(p)
			checkLabels(t, &p.scene)
		})
	}
}

func checkLabels(t *testing.T, s *Scene) {
	t.Helper()
	all := slices.Clone(s.Labels)
	for _, p := range s.Pills {
		all = append(all, p.Label)
		if p.Name.Text != "" {
			all = append(all, p.Name)
		}
	}
	box := func(l Label) Rect { return labelBox(&l, s.Scale) }
	whole := Rect{0, 0, s.Width, s.Height}
	for i, a := range all {
		if !box(a).inside(whole) {
			t.Errorf("%q at %+v is cut", a.Text, box(a))
		}
		for _, b := range all[:i] {
			if box(a).overlaps(box(b)) {
				t.Errorf("%q at %+v lies on %q at %+v", a.Text, box(a), b.Text, box(b))
			}
		}
	}
	for i, a := range s.Pills {
		if !a.inside(whole) {
			t.Errorf("pill %q is cut: %+v", a.Label.Text, a.Rect)
		}
		for _, b := range s.Pills[:i] {
			if a.overlaps(b.Rect) {
				t.Errorf("pill %q lies on %q", a.Label.Text, b.Label.Text)
			}
		}
	}
}

func TestLayout_FollowsTheSharesOfTheDesign(t *testing.T) {
	t.Parallel()
	s := layoutOf(t, basic(200))
	plot := s.Height - timeAxisHeight
	if got := s.Panes[0].Rect.height(); got != plot-2*156 {
		t.Errorf("the price pane is %d high, want %d", got, plot-2*156)
	}
	for i, p := range s.Panes {
		if p.Rect.X0 != 0 || p.Rect.X1 != s.Plot.X1 {
			t.Errorf("pane %d spans %d to %d, the plot ends at %d", i, p.Rect.X0, p.Rect.X1, s.Plot.X1)
		}
	}
	if got := len(layoutOf(t, panels(6)).Panes); got != 7 {
		t.Errorf("%d panes, want 7", got)
	}
}

// TestLayout_PanesShareOneAxis compares the x of bars, lines and histograms.
func TestLayout_PanesShareOneAxis(t *testing.T) {
	t.Parallel()
	for _, scale := range []int{1, 2, 3} {
		spec := basic(230)
		spec.Scale = scale
		s := layoutOf(t, spec)
		for i, c := range s.Candles {
			middle := float64(c.Wick.X0+c.Wick.X1) / 2
			if middle != float64(c.Body.X0+c.Body.X1)/2 || middle != s.Columns.x(i) {
				t.Fatalf("scale %d, bar %d: wick %v, body %v, lines %v", scale, i, c.Wick, c.Body, s.Columns.x(i))
			}
		}
		for _, k := range s.Lines {
			xs, _ := s.Points(k)
			if last := xs[len(xs)-1]; last != s.Columns.x(229) {
				t.Errorf("scale %d: a line ends at %v, the last bar is at %v", scale, last, s.Columns.x(229))
			}
		}
	}
}

func TestLayout_OverlaysCountInTheRange(t *testing.T) {
	t.Parallel()
	spec := basic(100)
	hi, lo := slices.Max(spec.Bars.H), slices.Min(spec.Bars.L)
	for value, shown := range map[float64]bool{hi + 0.9*(hi-lo): true, lo - 0.9*(hi-lo): true, hi + 20*(hi-lo): false, lo - 20*(hi-lo): false} {
		spec.Results = []Named{{"x", &ta.Result{Label: "X", Overlay: true, Lines: []ta.Line{{Label: "X", Values: constant(100, value)}}}}}
		p := &layoutOf(t, spec).Panes[0]
		if y := p.axis.row(value); (y >= p.Rect.Y0 && y < p.Rect.Y1) != shown {
			t.Errorf("the overlay is drawn at %d in %+v", y, p.Rect)
		}
		if got := (p.axis.y(lo) - p.axis.y(hi)) / (p.axis.bottom - p.axis.top); got < 0.33 {
			t.Errorf("an overlay at %v leaves %.0f %% of the axis to the prices", value, got*100)
		}
	}
}

// TestLayout_ThePriceKeepsAThird holds that no number of panels makes the price lower than 35 % of the plot, and that a
// panel without a value is as low as its legend.
func TestLayout_ThePriceKeepsAThird(t *testing.T) {
	t.Parallel()
	for n := range 14 {
		s := layoutOf(t, panels(n))
		if plot, price := s.Height-timeAxisHeight*s.Scale, s.Panes[0].Rect.height(); float64(price) < 0.35*float64(plot) {
			t.Errorf("%d panels leave %d of %d px", n, price, plot)
		}
	}
	spec := basic(100)
	spec.Results = append(spec.Results, Named{"x", &ta.Result{Label: "CVD(session) (no data)", Lines: []ta.Line{{Label: "CVD", Values: constant(100, math.NaN())}}, HLines: []ta.HLine{{Y: 0}}}})
	s := layoutOf(t, spec)
	if high := s.Panes[len(s.Panes)-1].Rect.height(); high >= blankPanel || !slices.Contains(textsOf(s), "CVD(session) (no data)") {
		t.Errorf("a panel without a value has %d px, and the texts are %q", high, textsOf(s))
	}
}

func TestPills_KeepTheirOrder(t *testing.T) {
	t.Parallel()
	for name, scene := range scenes() {
		s := layoutOf(t, scene())
		for i, a := range s.Pills {
			for _, b := range s.Pills[:i] {
				if a.Pane == b.Pane && (a.Y0 > b.Y0) != (a.value < b.value) && a.value != b.value {
					t.Errorf("%s: pills %q and %q are out of order", name, a.Label.Text, b.Label.Text)
				}
			}
		}
	}
}

func TestPills_LevelsStandAtTheirLine(t *testing.T) {
	t.Parallel()
	s := layoutOf(t, levels())
	for _, p := range s.Pills {
		if row := s.Panes[p.Pane].axis.row(p.value); abs(p.y-row) > pillReach {
			t.Errorf("%q at row %d has its pill at %d", p.Name.Text, row, p.y)
		}
	}
	texts := textsOf(s)
	for _, want := range []string{"Long 0.5", "Sell 0.25", "Buy 0.5", "Alert"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no label %q in %q", want, texts)
		}
	}
	if !slices.ContainsFunc(texts, func(s string) bool { return strings.HasSuffix(s, "(above)") }) {
		t.Errorf("the legend does not name the level out of sight: %q", texts)
	}
	if len(s.Levels) != 4 {
		t.Errorf("%d level lines, want 4: one level is out of sight", len(s.Levels))
	}
}

func TestLegend_SharesRowsBeforeItHidesEntries(t *testing.T) {
	t.Parallel()
	texts := textsOf(layoutOf(t, overlays(9)))
	for i := range 9 {
		if want := "EMA " + strconv.Itoa(5+7*i); !slices.Contains(texts, want) {
			t.Errorf("no %q in %q", want, texts)
		}
	}
	spec := overlays(40)
	spec.Width, spec.Height = 500, 300
	texts = textsOf(layoutOf(t, spec))
	if !slices.ContainsFunc(texts, func(s string) bool { return strings.HasPrefix(s, "+3") }) {
		t.Errorf("the legend does not count what it hides: %q", texts)
	}
}

func TestLegend_NamesAndValues(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{
		"RSI(14)": "RSI 14", "BB(20, 2)": "BB 20 2", "EMA": "EMA", "OI (no data)": "OI (no data)", "": "", "(x)": "(x)", "MACD(12,26,9)": "MACD 12 26 9",
	} {
		if _, got := legendName(label); got != want {
			t.Errorf("%q is shown as %q, want %q", label, got, want)
		}
	}
	texts := textsOf(layoutOf(t, basic(200)))
	for _, want := range []string{"EMA", "8", "21", "50", "200", "RSI 14", "MACD 12 26 9"} {
		if !slices.Contains(texts, want) {
			t.Errorf("no %q in %q", want, texts)
		}
	}
}

func TestHeader_ShowsWarnings(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"sample": "SAMPLE", "note": "SAMPLE", "bars_2000": "2 bars per column", "bars_5000": "4 bars per column",
		"log": "log", "negative": "linear: a price is not positive", "levels": "forming",
	} {
		if texts := textsOf(layoutOf(t, scenes()[name]())); !slices.Contains(texts, want) {
			t.Errorf("%s: no %q in %q", name, want, texts)
		}
	}
	texts := textsOf(layoutOf(t, noted()))
	if !slices.Contains(texts, "stale 12m") {
		t.Errorf("no note in %q", texts)
	}
	if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "2025") }) {
		t.Errorf("made-up bars have a date: %q", texts)
	}
	if !slices.Contains(texts, "#20") {
		t.Errorf("made-up bars are not counted: %q", texts)
	}
}

func TestLayout_DropsPanelsWithoutRoomAndSaysSo(t *testing.T) {
	t.Parallel()
	spec := panels(12)
	spec.Width, spec.Height = 900, 300
	s := layoutOf(t, spec)
	for _, p := range s.Panes[1:] {
		if p.Rect.height() < smallestPanel-1 {
			t.Errorf("a panel of %d px", p.Rect.height())
		}
	}
	if !slices.Contains(textsOf(s), plusN(12-len(s.Panes)+1, " panels")) {
		t.Errorf("%d panes, header %q", len(s.Panes), textsOf(s))
	}
}

func TestSignals_TextGivesWayTheArrowStays(t *testing.T) {
	t.Parallel()
	spec := basic(60)
	r := &ta.Result{Label: "S", Overlay: true}
	for x := range 10 {
		r.Signals = append(r.Signals, ta.Signal{X: 20 + x, Y: spec.Bars.L[20+x], Label: "buy"})
	}
	r.Signals = append(r.Signals, ta.Signal{X: -1, Label: "buy"}, ta.Signal{X: 60, Label: "buy"}, ta.Signal{X: 3, Y: math.NaN(), Label: "buy"})
	spec.Results = []Named{{"s", r}}
	s := layoutOf(t, spec)
	words := 0
	for _, text := range textsOf(s) {
		if text == "Buy" {
			words++
		}
	}
	if len(s.Marks) != 10 || words == 0 || words == 10 {
		t.Errorf("%d arrows and %d words for 10 signals", len(s.Marks), words)
	}
	for _, m := range s.Marks {
		if m.Shape != ArrowUp {
			t.Errorf("a buy is drawn as %v", m.Shape)
		}
	}
}

func TestLayout_SubstituteCandlesReplaceTheBars(t *testing.T) {
	t.Parallel()
	spec := basic(50)
	ha := heikin(spec.Bars)
	spec.Results = []Named{{"ha", ha}}
	s := layoutOf(t, spec)
	if got, want := s.Candles[30].Body.Y0, s.Panes[0].axis.row(max(ha.Lines[0].Values[30], ha.Lines[3].Values[30])); got != want {
		t.Errorf("the body begins at %d, Heikin-Ashi at %d", got, want)
	}
	if len(s.Lines) != 0 {
		t.Errorf("%d lines beside the candles", len(s.Lines))
	}
}

func TestSpec_RejectsInvalidFields(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*Spec){
		"width":  func(s *Spec) { s.Width = 199 },
		"height": func(s *Spec) { s.Height = 4097 },
		"scale":  func(s *Spec) { s.Scale = 4 },
		"theme":  func(s *Spec) { s.Theme = 9 },
		"bars":   func(s *Spec) { s.Bars = s.Bars.Slice(0, 0) },
	} {
		s := basic(10)
		change(s)
		_, err := NewRenderer().PNG(s)
		if f := fault.Of(err); f == nil || f.Field != field || f.Kind != fault.Invalid {
			t.Errorf("%s: %v", field, err)
		}
	}
	s := basic(10)
	s.Width, s.Height, s.Scale = 4096, 4096, 2
	if f := fault.Of(s.Check()); f == nil || f.Field != "scale" {
		t.Errorf("4096x4096 at scale 2: %v", s.Check())
	}
	short := basic(10)
	short.Bars.V = short.Bars.V[:5]
	if f := fault.Of(short.Check()); f == nil || f.Field != "bars" {
		t.Errorf("a short column: %v", short.Check())
	}
}

// TestProfile_UsesTheRequestedLook reads the colours of a split profile.
func TestProfile_UsesTheRequestedLook(t *testing.T) {
	t.Parallel()
	half := 0.5
	spec := scenes()["default"]()
	at := spec.Bars.C[len(spec.Bars.C)-1]
	spec.Results = []Named{{"vp", &ta.Result{
		Label: "VPVR(24)", Overlay: true, Look: &ta.Look{Up: "#0000ff", Opacity: &half},
		HBars: []ta.HBar{
			{Y: at, Height: 1, Width: 0.1, Style: ta.UpVolume},
			{Y: at, Height: 1, Width: 0.1, Offset: 0.1, Style: ta.DownVolume},
		},
	}}}
	scene := layoutOf(t, spec)
	want := []raster.Color{raster.Hex(0x0000ff).Alpha(half), themes[Dark].down.Alpha(half)}
	for i, b := range scene.Profile {
		if i >= len(want) || b.Color != want[i] {
			t.Errorf("bar %d is %v", i, b.Color)
		}
	}
	if len(scene.Profile) != len(want) {
		t.Errorf("%d bars, want %d", len(scene.Profile), len(want))
	}
}
