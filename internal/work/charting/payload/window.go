package payload

import (
	"slices"

	"candela/lib/ta"
)

// Tail returns r, which was computed over total bars, cut to the last n of them:
// bar indices count from the first remaining bar. Earlier signals and profiles, and segments
// that begin earlier, are removed. Levels and profiles stay. The values alias r's.
func Tail(r *ta.Result, total, n int) *ta.Result {
	from := total - n
	if from <= 0 {
		return r
	}
	cut := *r
	cut.Lines = make([]ta.Line, len(r.Lines))
	for i, l := range r.Lines {
		l.Values, l.Paint = l.Values[from:], tailPaint(l.Paint, from)
		cut.Lines[i] = l
	}
	cut.Hist = make([]ta.Hist, len(r.Hist))
	for i, h := range r.Hist {
		h.Values, h.Paint = h.Values[from:], tailPaint(h.Paint, from)
		cut.Hist[i] = h
	}
	cut.Fills = make([]ta.Fill, len(r.Fills))
	for i, f := range r.Fills {
		f.Y1, f.Y2, f.Paint = f.Y1[from:], f.Y2[from:], tailFill(f.Paint, from)
		cut.Fills[i] = f
	}
	cut.Drawn, cut.Restarts = tailDrawn(r.Drawn, total, n), nil
	for _, x := range r.Restarts {
		if x > from {
			cut.Restarts = append(cut.Restarts, x-from)
		}
	}
	cut.Profiles = nil
	for _, p := range r.Profiles {
		if p.To > from {
			p.From, p.To = max(p.From-from, 0), p.To-from
			cut.Profiles = append(cut.Profiles, p)
		}
	}
	cut.Signals = make([]ta.Signal, 0, len(r.Signals))
	for _, s := range r.Signals {
		if s.X >= from {
			s.X, s.Confirmed = s.X-from, s.Confirmed-from
			cut.Signals = append(cut.Signals, s)
		}
	}
	cut.DivLines = nil
	for _, d := range r.DivLines {
		if min(d.X1, d.X2) >= from {
			d.X1, d.X2 = d.X1-from, d.X2-from
			cut.DivLines = append(cut.DivLines, d)
		}
	}
	return &cut
}

// Cut is Tail with values of its own.
func Cut(r *ta.Result, total, n int) *ta.Result {
	cut := *Tail(r, total, n)
	n = min(n, total)
	cells := make([]float64, 0, n*(len(r.Lines)+len(r.Hist)+2*len(r.Fills)))
	own := func(values []float64) []float64 {
		from := len(cells)
		cells = append(cells, values...)
		return cells[from:len(cells):len(cells)]
	}
	cut.Lines, cut.Hist, cut.Fills = slices.Clone(cut.Lines), slices.Clone(cut.Hist), slices.Clone(cut.Fills)
	for i := range cut.Lines {
		cut.Lines[i].Values = own(cut.Lines[i].Values)
		cut.Lines[i].Ahead = slices.Clone(cut.Lines[i].Ahead)
	}
	for i := range cut.Hist {
		cut.Hist[i].Values = own(cut.Hist[i].Values)
	}
	for i := range cut.Fills {
		cut.Fills[i].Y1, cut.Fills[i].Y2 = own(cut.Fills[i].Y1), own(cut.Fills[i].Y2)
		cut.Fills[i].Ahead1, cut.Fills[i].Ahead2 = slices.Clone(cut.Fills[i].Ahead1), slices.Clone(cut.Fills[i].Ahead2)
	}
	return &cut
}

// last returns c cut to its last n bars.
func (c *Chart) last(n int) *Chart {
	total := c.Bars.Len()
	cut := *c
	bars := c.Bars.Tail(n)
	cut.Bars = &bars
	cut.Indicators = make([]Indicator, len(c.Indicators))
	for i, ind := range c.Indicators {
		cut.Indicators[i] = Indicator{Key: ind.Key, Result: Tail(ind.Result, total, n)}
	}
	cut.Compared = slices.Clone(c.Compared)
	for i := range cut.Compared {
		cut.Compared[i].Values = cut.Compared[i].Values[total-n:]
	}
	cut.Drawings = slices.Clone(c.Drawings)
	for i := range cut.Drawings {
		cut.Drawings[i].X -= total - n
		cut.Drawings[i].X2 -= total - n
	}
	return &cut
}
