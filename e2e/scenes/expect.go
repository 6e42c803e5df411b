package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"candela/lib/chart"
	"candela/lib/chart/raster"
)

// expected is what the scene of a picture has, with bars in place of pixels. Each list is sorted.
type expected struct {
	Legend  map[int][]string `json:"legend"` // of each pane, texts and colours in the order of reading
	Header  []string         `json:"header"`
	Lines   []string         `json:"lines"`
	Dots    []string         `json:"dots"` // lines that are drawn as dots, and their single values
	Fills   []string         `json:"fills"`
	Columns []string         `json:"columns"` // of panels
	Rules   []string         `json:"rules"`
	Marks   []string         `json:"marks"`
	Tints   []string         `json:"tints"` // the colours of profiles, bands and grounds
	Values  []sample         `json:"values"`
}

// sample is a value of a line as it stands in the picture.
type sample struct {
	Line  string  `json:"line"` // of Lines
	Bar   int     `json:"bar"`
	Value float64 `json:"value"`
	Near  float64 `json:"near"` // how exact it is
}

func hex(c raster.Color) string {
	text := fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
	if c.A < 255 {
		text += fmt.Sprintf("%02x", c.A)
	}
	return text
}

// pictured lays a picture out and reads its scene.
func pictured(spec *chart.Spec) (*expected, error) {
	var s chart.Scene
	if err := s.Layout(spec, func(text string, _ chart.Face, scale int) float64 { return float64(7 * len([]rune(text)) * scale) }); err != nil {
		return nil, err
	}
	if s.Columns.Per != 1 {
		return nil, fmt.Errorf("%d bars in a column", s.Columns.Per)
	}
	e := &expected{Legend: map[int][]string{}}
	bar := func(x float64) int { return int(math.Round((x-s.Columns.Left)/s.Columns.Step - 0.5)) }
	e.legends(&s)
	for _, k := range s.Lines {
		xs, ys := s.Points(k)
		line := fmt.Sprintf("%d %s %.2f %v/%v %d-%d", k.Pane, hex(k.Color), k.Width, k.On, k.Off, bar(xs[0]), bar(xs[len(xs)-1]))
		e.Lines = append(e.Lines, line)
		value, near := inverse(&s.Panes[k.Pane])
		for _, i := range []int{0, len(xs) / 2, len(xs) - 1} {
			if corner := i > 0 && xs[i] == xs[i-1] || i+1 < len(xs) && xs[i] == xs[i+1]; value != nil && !corner {
				e.Values = append(e.Values, sample{line, bar(xs[i]), value(ys[i]), near(ys[i])})
			}
		}
	}
	for _, m := range s.Dots {
		e.Dots = append(e.Dots, fmt.Sprintf("%d %s %d", m.Pane, hex(m.Color), bar(m.X)))
	}
	for _, a := range s.Fills {
		xs, _, _ := s.Bands(a)
		e.Fills = append(e.Fills, fmt.Sprintf("%d %s %s %d-%d", a.Pane, hex(a.Color), hex(a.Below), bar(xs[0]), bar(xs[len(xs)-1])))
	}
	for _, b := range s.Volume {
		if b.Pane > 0 {
			e.Columns = append(e.Columns, fmt.Sprintf("%d %s %d", b.Pane, hex(b.Color), bar(float64(b.X0+b.X1)/2)))
		}
	}
	for _, r := range s.Rules {
		e.Rules = append(e.Rules, fmt.Sprintf("%d %s %d/%d", r.Pane, hex(r.Color), r.On, r.Off))
	}
	for _, m := range s.Marks {
		e.Marks = append(e.Marks, fmt.Sprintf("%d %s %s %d", m.Pane, []string{"dot", "up", "down"}[m.Shape], hex(m.Color), bar(m.X)))
	}
	for _, b := range s.Profile {
		e.Tints = append(e.Tints, fmt.Sprintf("%d %s", b.Pane, hex(b.Color)))
	}
	for _, list := range []*[]string{&e.Lines, &e.Dots, &e.Fills, &e.Columns, &e.Rules, &e.Marks, &e.Tints} {
		slices.Sort(*list)
	}
	e.Tints = slices.Compact(e.Tints)
	return e, nil
}

// inverse returns the value at a row of a pane, and how exact it is: the ticks that show it stand at whole pixels.
func inverse(p *chart.Pane) (value, near func(y float64) float64) {
	if len(p.Ticks) < 2 {
		return nil, nil
	}
	a, b := p.Ticks[0], p.Ticks[len(p.Ticks)-1]
	if a.Y == b.Y {
		return nil, nil
	}
	per := (b.Value - a.Value) / float64(b.Y-a.Y)
	from := func(y float64) float64 { return y - float64(a.Y) - 0.5 }
	return func(y float64) float64 { return a.Value + from(y)*per }, func(y float64) float64 {
		return math.Abs(per) * (1.5 + 1.5*math.Abs(from(y)/float64(b.Y-a.Y)))
	}
}

// legends reads the rows whose ground begins at the left edge.
func (e *expected) legends(s *chart.Scene) {
	for _, ground := range s.Backings {
		if ground.X0 != 8 {
			continue
		}
		var row []chart.Label
		for _, t := range s.Labels {
			if t.Baseline > ground.Y0 && t.Baseline < ground.Y1 && t.X >= float64(ground.X0) && t.X+t.Width <= float64(ground.X1) {
				row = append(row, t)
			}
		}
		slices.SortFunc(row, func(a, b chart.Label) int { return int(a.X - b.X) })
		all := make([]string, 0, len(row))
		for _, t := range row {
			all = append(all, strings.TrimSpace(t.Text)+" "+hex(t.Color))
		}
		if e.Header == nil {
			e.Header = all
			continue
		}
		e.Legend[ground.Pane] = append(e.Legend[ground.Pane], all...)
	}
}
