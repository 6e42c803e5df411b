package payload

import "time"

// Compared is another symbol at the bars of the chart.
type Compared struct {
	Symbol   string // as requested
	Provider string
	Stale    bool
	Since    int64     // open time of the bar with its first value
	Values   []float64 // percent change since then, one for each bar; NaN before
}

// Change returns the newest percent change.
func (c *Compared) Change() float64 { return c.Values[len(c.Values)-1] }

// compared writes the symbols that the chart is compared with, in a series with their
// values.
func (e *encoder) compared(c *Chart, series bool) {
	list(e, "compare", c.Compared, func(o Compared) {
		e.text("symbol", o.Symbol)
		e.text("provider", o.Provider)
		e.number("change_pct", o.Change())
		e.text("since", time.Unix(o.Since, 0).UTC().Format(time.RFC3339))
		if o.Stale {
			e.flag("stale", true)
		}
		if series {
			e.values("values", o.Values)
		}
	})
}

// Drawing is a drawing that the client has requested, at bars and prices.
type Drawing struct {
	ID     string // of one that is kept, "" for others
	Type   string
	Timed  bool // it has X and T
	X      int  // the bar, counted from the oldest; outside the bars it is extrapolated
	T      int64
	Y      float64
	Second bool // it has X2, T2 and Y2
	X2     int
	T2     int64
	Y2     float64
	Text   string
	Levels []Level // of a retracement
	Shown  bool    // a part of it is in the picture
}

// Level is a price at a ratio.
type Level struct{ Ratio, Price float64 }

func (e *encoder) drawings(c *Chart) {
	at := func(name string, t int64) {
		if c.sample() {
			e.null(name)
			return
		}
		e.int(name, t)
	}
	list(e, "drawings", c.Drawings, func(d Drawing) {
		if d.ID != "" {
			e.text("drawing_id", d.ID)
		}
		e.text("type", d.Type)
		if d.Timed {
			e.int("x", int64(d.X))
			at("t", d.T)
		}
		e.number("y", d.Y)
		if d.Second {
			e.int("x2", int64(d.X2))
			at("t2", d.T2)
			e.number("y2", d.Y2)
		}
		if d.Text != "" {
			e.text("text", d.Text)
		}
		list(e, "levels", d.Levels, func(l Level) {
			e.number("ratio", l.Ratio)
			e.number("y", l.Price)
		})
		e.flag("shown", d.Shown)
	})
	if c.MoreDrawings > 0 {
		e.int("more_drawings", int64(c.MoreDrawings))
	}
}
