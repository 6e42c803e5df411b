package chart

import (
	"slices"
	"strings"
	"testing"

	"candela/lib/market"
	"candela/lib/ta"
)

func TestAhead_IsDrawnBehindTheLastBar(t *testing.T) {
	t.Parallel()
	spec := few(100)
	ahead := constant(25, spec.Bars.C[99])
	flat := constant(100, spec.Bars.C[99])
	spec.Results = []Named{{"x", &ta.Result{
		Label: "X", Overlay: true, Lines: []ta.Line{{Label: "A", Values: flat, Ahead: ahead}},
		Fills: []ta.Fill{{Y1: flat, Y2: constant(100, spec.Bars.C[0]), Ahead1: ahead, Ahead2: ahead, Style: ta.Cloud}},
	}}}
	s := layoutOf(t, spec)
	end := s.Columns.x(99 + 25)
	if xs, _ := s.Points(s.Lines[0]); xs[len(xs)-1] != end {
		t.Errorf("the line ends at %v, 25 bars ahead is %v", xs[len(xs)-1], end)
	}
	if xs, _, _ := s.Bands(s.Fills[0]); xs[len(xs)-1] != end {
		t.Errorf("the cloud ends at %v, 25 bars ahead is %v", xs[len(xs)-1], end)
	}
	if end > float64(s.Plot.X1) || s.Candles[99].Body.X1 > int(end) {
		t.Errorf("25 bars ahead is at %v of %d", end, s.Plot.X1)
	}
}

func TestRestarts_AreNotJoined(t *testing.T) {
	t.Parallel()
	spec := few(60)
	c := spec.Bars.C
	spec.Results = []Named{{"x", &ta.Result{
		Label: "X", Overlay: true, Restarts: []int{20, 40}, Lines: []ta.Line{{Label: "A", Values: c}},
		Fills: []ta.Fill{{Y1: c, Y2: spec.Bars.L}},
	}}}
	s := layoutOf(t, spec)
	if len(s.Lines) != 3 || len(s.Fills) != 3 {
		t.Fatalf("%d lines and %d fills for three sessions", len(s.Lines), len(s.Fills))
	}
	for i, from := range []int{0, 20, 40} {
		xs, _ := s.Points(s.Lines[i])
		if xs[0] != s.Columns.x(from) || xs[len(xs)-1] != s.Columns.x(from+19) {
			t.Errorf("line %d reaches from %v to %v", i, xs[0], xs[len(xs)-1])
		}
	}
}

func TestProfiles_StayInTheirSession(t *testing.T) {
	t.Parallel()
	spec := few(90)
	at := spec.Bars.C[0]
	r := &ta.Result{Label: "SVP(24)", Overlay: true}
	for from := 0; from < 90; from += 30 {
		r.Profiles = append(r.Profiles, ta.Profile{From: from, To: from + 30, Bars: []ta.HBar{
			{Y: at, Height: 1, Width: 1, Left: true, Style: ta.POC},
			{Y: at + 2, Height: 1, Width: 0.5, Left: true},
		}})
	}
	r.Profiles = append(r.Profiles, ta.Profile{From: -1, To: 3}, ta.Profile{From: 80, To: 91})
	spec.Results = []Named{{"x", r}}
	s := layoutOf(t, spec)
	if len(s.Profile) != 6 {
		t.Fatalf("%d bars", len(s.Profile))
	}
	for i, b := range s.Profile {
		left, right := s.Columns.x(i/2*30)-s.Columns.Step, s.Columns.x(i/2*30+29)
		if float64(b.X0) < left || float64(b.X1) > right {
			t.Errorf("bar %d reaches from %d to %d, its session from %v to %v", i, b.X0, b.X1, left, right)
		}
	}
}

func TestProfiles_OnOneSideStandBesideEachOther(t *testing.T) {
	t.Parallel()
	spec := few(90)
	one := func() Named {
		return Named{"vp", &ta.Result{Label: "VP", Overlay: true, HBars: []ta.HBar{{Y: spec.Bars.C[0], Height: 1, Width: 0.25, Left: true}}}}
	}
	spec.Results = []Named{one(), one(), one()}
	s := layoutOf(t, spec)
	for i := 1; i < len(s.Profile); i++ {
		if s.Profile[i].X0 < s.Profile[i-1].X1 {
			t.Errorf("profile %d begins at %d, the one before ends at %d", i, s.Profile[i].X0, s.Profile[i-1].X1)
		}
	}
	if last := s.Profile[len(s.Profile)-1].X1; float64(last) > profilesShare*float64(s.Plot.X1)+1 {
		t.Errorf("the profiles reach to %d of %d", last, s.Plot.X1)
	}
}

func TestSessionBreaks_FollowPausesOrDays(t *testing.T) {
	t.Parallel()
	hours := func(n int) []int64 {
		out := make([]int64, n)
		for i := range out {
			out[i] = start + int64(i)*3600
		}
		return out
	}
	crypto := hours(72)
	outage := slices.Concat(hours(30), hours(72)[33:])
	stock := sessions().Bars.T
	for name, c := range map[string]struct {
		times []int64
		want  []int
	}{
		"a market that never pauses":     {crypto, []int{24, 48}},
		"an outage is not a session":     {outage, []int{24, 45}},
		"a market with pauses":           {stock[:21], []int{7, 14}},
		"one bar":                        {crypto[:1], nil},
		"a week of one session each day": {[]int64{0, 3600, 86400, 90000}, []int{2}},
	} {
		if got := sessionBreaks(nil, c.times, market.Hour1.Seconds()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestTags_ShowTheHighestAndTheLowestPrice(t *testing.T) {
	t.Parallel()
	s := layoutOf(t, sessions())
	b := sessions().Bars
	n := s.Panes[0].notation
	for _, want := range []string{"H " + n.text(slices.Max(b.H)), "L " + n.text(slices.Min(b.L))} {
		if !slices.Contains(textsOf(s), want) {
			t.Errorf("no tag %q in %q", want, textsOf(s))
		}
	}
}

// scriptedCaption returns a script's result with a signal at the close of each bar and a caption at the last one.
func scriptedCaption(spec *Spec, overlay bool, text string, pointer ta.Pointer) *ta.Result {
	n := spec.Bars.Len()
	r := &ta.Result{Label: "Script", Overlay: overlay, Lines: []ta.Line{{Label: "A", Values: constant(n, 50)}}, Drawn: &ta.Drawn{}}
	for i, c := range spec.Bars.C {
		r.Signals = append(r.Signals, ta.Signal{X: i, Confirmed: i, Y: c, Label: "up"})
	}
	r.Drawn.Shapes = []ta.Shape{{
		Kind: ta.Caption, Points: []ta.Point{{X: n - 1, Y: 60}}, Text: text, Pointer: pointer, Color: 0x00ff00ff, Ink: 0xffffffff,
	}}
	return r
}

func TestScript_SignalsDoNotStretchItsPanel(t *testing.T) {
	t.Parallel()
	spec := few(100)
	spec.Results = []Named{{"x", scriptedCaption(spec, false, "", ta.PointDown)}}
	s := layoutOf(t, spec)
	if top := s.Panes[1].span.hi; top > 100 {
		t.Errorf("the panel of a line at 50 reaches to %v", top)
	}
}

func TestCaptions_AtTheLastBarAreReadWhole(t *testing.T) {
	t.Parallel()
	for _, pointer := range []ta.Pointer{ta.PointLeft, ta.PointDown, ta.Bare, ta.PointRight} {
		spec := few(120)
		r := scriptedCaption(spec, true, "Point of control 47283.25", pointer)
		r.Drawn.Shapes[0].Points[0].Y = spec.Bars.C[119]
		spec.Results = []Named{{"x", r}}
		s := layoutOf(t, spec)
		found := false
		for _, f := range s.Figures {
			if f.Kind == TextFigure && f.Label.Text == r.Drawn.Shapes[0].Text {
				found = true
				if right := f.Label.X + f.Label.Width; right > float64(s.Plot.X1) {
					t.Errorf("pointer %d: the text ends at %v, the plot at %d", pointer, right, s.Plot.X1)
				}
			}
		}
		if !found {
			t.Errorf("pointer %d: the caption is not drawn", pointer)
		}
	}
}

// A caption over the highest bar stands below the legend, also one of several rows.
func TestCaptions_StandBelowTheLegend(t *testing.T) {
	t.Parallel()
	spec := basic(80)
	r := scriptedCaption(spec, true, "one\ntwo\nthree\nfour", ta.PointDown)
	top := highest(&spec.Bars)
	r.Drawn.Shapes[0].Points[0] = ta.Point{X: top, Y: spec.Bars.H[top]}
	spec.Results = []Named{{"x", r}}
	var scene Scene
	if err := scene.Layout(spec, fixedWidth); err != nil {
		t.Fatal(err)
	}
	seen := false
	for i := range scene.Figures {
		f := &scene.Figures[i]
		if f.Kind != RoundFigure {
			continue
		}
		seen = true
		for _, legend := range scene.legends {
			if int(f.Y[0]) < legend.Y1 {
				t.Errorf("a caption begins at %v, the legend ends at %v", f.Y[0], legend.Y1)
			}
		}
	}
	if !seen {
		t.Error("no caption")
	}
}

// The tags of two profiles have the names of their profiles; those of one do not need it.
func TestPills_OfTwoProfilesHaveTheirNames(t *testing.T) {
	t.Parallel()
	for _, labels := range [][]string{{"VPVR(24)"}, {"VPVR(24)", "SVP(24)"}, {"VPVR(24)", "VPVR(12)"}} {
		spec := basic(80)
		for i, label := range labels {
			low, high := spec.Bars.L[lowest(&spec.Bars)], spec.Bars.H[highest(&spec.Bars)]
			at := low + (0.5+0.4*float64(i))*(high-low)
			spec.Results = append(spec.Results, Named{label, &ta.Result{Label: label, Overlay: true, HLines: []ta.HLine{{Y: at, Label: "POC", Style: ta.Primary}}}})
		}
		var scene Scene
		if err := scene.Layout(spec, fixedWidth); err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for i := range scene.Pills {
			if name := scene.Pills[i].Name.Text; strings.Contains(name, "POC") {
				names[name] = true
			}
		}
		if len(names) != len(labels) || len(labels) == 1 && !names["POC"] {
			t.Errorf("%v: the tags are %v", labels, names)
		}
	}
}
