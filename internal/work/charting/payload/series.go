package payload

import "candela/lib/ta"

// AppendSeries appends the series of a chart, which must have a bar, in at most
// limit bytes: the oldest bars are left out until it fits, and the payload then
// says so. A single bar is always written.
func AppendSeries(dst []byte, c *Chart, limit int) []byte {
	series, _ := AppendScene(dst, c, limit, nil) // without a look there is no error
	return series
}

// AppendScene appends the series of a chart as AppendSeries does, with how it looks: the JSON that look
// returns for the chart as it was cut, if look is not nil.
func AppendScene(dst []byte, c *Chart, limit int, look func(*Chart) ([]byte, error)) ([]byte, error) {
	total := c.Bars.Len()
	shown, start := c, len(dst)
	for {
		e := encoder{append(dst[:start], '{')}
		e.series(shown, total)
		if look != nil {
			scene, err := look(shown)
			if err != nil {
				return dst[:start], err
			}
			e.key("look")
			e.b = append(e.b, scene...)
		}
		e.close('}')
		size, n := len(e.b)-start, shown.Bars.Len()
		if size <= limit || n <= 1 {
			return e.b, nil
		}
		dst = e.b
		// The size is proportional to the bars; aim a little low so that one more try
		// usually suffices.
		fit := int(float64(n) * float64(limit) / float64(size) * 0.97)
		shown = c.last(max(1, min(fit, n-1)))
	}
}

func (e *encoder) series(c *Chart, total int) {
	b := c.Bars
	e.head(c)
	if omitted := total - b.Len(); omitted > 0 {
		e.flag("truncated", true)
		e.int("bars_omitted", int64(omitted))
	}
	e.key("bars")
	e.open('[')
	for i := range b.T {
		e.open('{')
		e.time("t", c, i)
		e.number("o", b.O[i])
		e.number("h", b.H[i])
		e.number("l", b.L[i])
		e.number("c", b.C[i])
		e.number("v", b.V[i])
		e.close('}')
	}
	e.close(']')
	e.key("indicators")
	e.open('{')
	for _, ind := range c.Indicators {
		e.key(ind.Key)
		e.channels(c, ind.Result, total-b.Len())
	}
	e.close('}')
	e.compared(c, true)
	e.drawings(c)
}

// channels writes every channel of the indicator. If bars were left out, a result
// that covers all of them says so: its point of control may lie among those.
func (e *encoder) channels(c *Chart, r *ta.Result, omitted int) {
	e.open('{')
	e.about(c, r)
	if omitted > 0 && r.Shown {
		e.int("covers_omitted_bars", int64(omitted))
	}
	e.columns(r, e.column)
	if r.Drawn != nil {
		e.colors(r)
	}
	e.signals(c, r.Signals)
	e.levels(r.HLines)
	list(e, "fills", r.Fills, func(f ta.Fill) {
		e.values("y1", f.Y1)
		e.values("y2", f.Y2)
		if f.Paint != nil {
			e.painted("colors", f.Paint.Colors)
		}
	})
	list(e, "hbars", r.HBars, func(h ta.HBar) {
		e.number("y", h.Y)
		e.number("height", h.Height)
		e.number("width", h.Width)
		e.number("offset", h.Offset)
		e.flag("left", h.Left)
	})
	e.divergences("divlines", c, r.DivLines)
	e.drawn(c, r.Drawn, false)
	e.close('}')
}

func (e *encoder) column(index int, label string, values []float64) {
	e.open('{')
	e.int("index", int64(index))
	e.text("label", label)
	e.values("values", values)
	e.close('}')
}
