package chart

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"candela/lib/market"
	"candela/lib/ta"
)

// anyChart draws a chart as users ask for it: some overlays, some panels, any size
// from 400x300 up, any price.
func anyChart(t *rapid.T) *Spec {
	price := rapid.Float64Range(1, 10).Draw(t, "digits") * math.Pow10(rapid.IntRange(-7, 6).Draw(t, "order"))
	n := rapid.SampledFrom([]int{20, 60, 200, 400, 700, 1500, 5000}).Draw(t, "bars")
	every := rapid.SampledFrom([]market.Interval{market.Minute15, market.Hour1, market.Hour4, market.Day1}).Draw(t, "interval")
	b := walk(rapid.Uint64Range(0, 1<<20).Draw(t, "seed"), n, price, every.Seconds())
	spec := &Spec{
		Bars: b, Symbol: "BTCUSDT", Interval: every,
		Width: rapid.IntRange(400, MaxSide).Draw(t, "width"), Height: rapid.IntRange(300, MaxSide).Draw(t, "height"),
		Theme: Theme(rapid.IntRange(0, 1).Draw(t, "theme")), Log: rapid.Bool().Draw(t, "log"), Forming: rapid.Bool().Draw(t, "forming"),
	}
	overlays := []func() Named{
		func() Named { return ema(b, 8, 21, 50, 200) }, func() Named { return bbands(b) },
		func() Named { return profile(b, 24, true) }, func() Named { return crosses(b) }, func() Named { return far(b) },
	}
	panels := []func() Named{func() Named { return rsi(b) }, func() Named { return macd(b) }, func() Named { return divergent(rsi(b)) }, func() Named { return turnover(b) }}
	for range rapid.IntRange(0, 4).Draw(t, "overlays") {
		spec.Results = append(spec.Results, rapid.SampledFrom(overlays).Draw(t, "overlay")())
	}
	for range rapid.IntRange(0, 4).Draw(t, "panels") {
		spec.Results = append(spec.Results, rapid.SampledFrom(panels).Draw(t, "panel")())
	}
	last := b.C[n-1]
	for range rapid.IntRange(0, 4).Draw(t, "levels") {
		spec.Levels = append(spec.Levels, Level{
			Kind: LevelKind(rapid.IntRange(0, 2).Draw(t, "kind")), Label: rapid.SampledFrom([]string{"Long 0.5", "Sell 0.25", "Alert"}).Draw(t, "label"),
			Price: last * rapid.Float64Range(0.9, 1.1).Draw(t, "level"),
		})
	}
	return spec
}

// far has levels on both sides of the price, most of them far from it.
func far(b market.Bars) Named {
	r := &ta.Result{Label: "Pivot(traditional)", Overlay: true}
	for i, name := range []string{"R2", "R1", "Pivot", "S1", "S2"} {
		r.Lines = append(r.Lines, ta.Line{Label: name, Style: ta.Steps, Values: constant(b.Len(), b.C[0]*math.Pow(1.5, float64(2-i)))})
	}
	r.HLines = []ta.HLine{{Y: b.C[b.Len()/2], Label: "POC", Style: ta.Primary}, {Y: b.C[b.Len()/3], Label: "VAH", Style: ta.Secondary}}
	return Named{"pivot", r}
}

// turnover is a sum that grows to millions.
func turnover(b market.Bars) Named {
	sum, values := 0.0, nans(b.Len())
	for i := range values {
		sum += b.V[i] * 100
		values[i] = sum
	}
	return Named{"obv", &ta.Result{Label: "OBV", Lines: []ta.Line{{Label: "OBV", Values: values}}}}
}

func realLayout(tb interface{ Fatal(...any) }, r *Renderer, spec *Spec) *pixels {
	p, err := r.frame(spec)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// TestRules_HoldForEveryChart holds what a reader of a chart relies on, over random
// charts of every size, price and number of bars.
func TestRules_HoldForEveryChart(t *testing.T) {
	t.Parallel()
	r := NewRenderer()
	rapid.Check(t, func(t *rapid.T) {
		spec := anyChart(t)
		scene := new(Scene)
		p := r.pixels(1)
		defer r.scenes.Put(p)
		if err := scene.Layout(spec, p.measure); err != nil {
			t.Fatal(err)
		}
		checkAxes(t, scene)
		checkPills(t, scene)
		checkLegends(t, scene)
		checkApart(t, scene)
	})
}

// checkAxes: every axis has three labels or more, in one notation, and labels are close to
// each other only in a low pane or beside pills.
func checkAxes(t *rapid.T, s *Scene) {
	for i := range s.Panes {
		labels := 0
		var units []string
		for _, k := range s.Panes[i].Ticks {
			if k.Hidden {
				continue
			}
			labels++
			if k.Value != 0 {
				units = append(units, strings.TrimLeft(k.Text, minus+"0123456789.,e"))
			}
		}
		if units = slices.Compact(units); len(units) > 1 {
			t.Fatalf("pane %d has labels in %q", i, units)
		}
		if gap := closest(s.Panes[i].Ticks); gap < labelPitches[0]-1 { // rows are rounded
			pills := slices.ContainsFunc(s.Pills, func(p Pill) bool { return p.Pane == i })
			if labels > minLabels || s.Panes[i].Rect.height() > 120 && !pills || gap < labelPitches[len(labelPitches)-1]-1 {
				t.Fatalf("pane %d of %d px has %d labels %d px apart: %+v, pills %+v", i, s.Panes[i].Rect.height(), labels, gap, s.Panes[i].Ticks, s.Pills)
			}
		}
		if labels < minLabels && s.Panes[i].Rect.height() >= blankPanel*s.Scale {
			t.Fatalf("pane %d of %d px has %d labels: %+v, pills %+v", i, s.Panes[i].Rect.height(), labels, s.Panes[i].Ticks, s.Pills)
		}
	}
}

// closest returns the least distance of two labels.
func closest(ticks []Tick) int {
	least := math.MaxInt
	for i, a := range ticks {
		for _, b := range ticks[:i] {
			if !a.Hidden && !b.Hidden {
				least = min(least, abs(a.Y-b.Y))
			}
		}
	}
	return least
}

// checkPills: a pill is at most 12 px from its value, and on no other.
func checkPills(t *rapid.T, s *Scene) {
	for i, p := range s.Pills {
		if row := s.Panes[p.Pane].axis.row(p.value); abs(p.y-row) > pillReach {
			t.Fatalf("pill %q is %d px from its value", p.Label.Text, p.y-row)
		}
		if p.rank > rankLast && p.Name.Text == "" {
			t.Fatalf("pill %q has no name", p.Label.Text)
		}
		for _, o := range s.Pills[:i] {
			if p.overlaps(o.Rect) {
				t.Fatalf("pill %q lies on %q", p.Label.Text, o.Label.Text)
			}
		}
	}
}

// checkLegends: the boxes of the legends cover nothing that is drawn at a value.
func checkLegends(t *rapid.T, s *Scene) {
	for _, b := range s.legends {
		free := func(r Rect, what string) {
			if b.overlaps(r) {
				t.Fatalf("the legend at %+v covers a %s at %+v", b, what, r)
			}
		}
		for _, c := range s.Candles {
			free(c.Wick, "candle")
			free(c.Body, "candle")
		}
		for _, v := range s.Volume {
			free(v.Rect, "bar")
		}
		for _, v := range s.Profile {
			if v.X1-v.X0 < s.Plot.X1 {
				free(v.Rect, "profile")
			}
		}
		for _, m := range s.Marks {
			free(arrowBox(&m, 1), "mark")
		}
		for _, k := range s.Lines {
			xs, ys := s.Points(k)
			for i := range xs {
				free(Rect{int(xs[i]), int(ys[i] - k.Width/2), int(xs[i]) + 1, int(ys[i]+k.Width/2) + 1}, "line")
			}
		}
		for _, rules := range [][]Rule{s.Rules, s.Levels, {s.Last}} {
			for _, k := range rules {
				free(Rect{k.X0, k.Y, k.X1, k.Y + k.Thick}, "rule")
			}
		}
	}
}

// checkApart: no text is cut or lies on another.
func checkApart(t *rapid.T, s *Scene) {
	all := append([]Label(nil), s.Labels...)
	for _, p := range s.Pills {
		all = append(all, p.Label)
		if p.Name.Text != "" {
			all = append(all, p.Name)
		}
	}
	for i, a := range all {
		if !labelBox(&a, s.Scale).inside(Rect{0, 0, s.Width, s.Height}) {
			t.Fatalf("%q is cut", a.Text)
		}
		for _, b := range all[:i] {
			if labelBox(&a, s.Scale).overlaps(labelBox(&b, s.Scale)) {
				t.Fatalf("%q lies on %q", a.Text, b.Text)
			}
		}
	}
}

// labelBox is the box of a label's capitals.
func labelBox(l *Label, scale int) Rect {
	tall := capHeight
	if l.Face == Title {
		tall = 12
	}
	return Rect{int(math.Floor(l.X)), l.Baseline - tall*scale, int(math.Ceil(l.X + l.Width)), l.Baseline}
}
