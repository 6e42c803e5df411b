package payload

import (
	"cmp"
	"math"
	"slices"
	"time"

	"candela/lib/market"
	"candela/lib/ta"
)

// Bounds of a summary, which a model reads: its size must not depend on the market.
const (
	maxSignals     = 16 // newest of each indicator
	maxDivergences = 8  // newest of each indicator
	maxLevels      = 24 // of each indicator
	topHBars       = 5
	maxAlerts      = 12
)

// AppendSummary appends the summary of a chart, which must have a bar.
func AppendSummary(dst []byte, c *Chart) []byte {
	e := encoder{append(dst, '{')}
	e.head(c)
	e.price(c)
	e.summaries(c)
	e.compared(c, false)
	e.drawings(c)
	listFirst(&e, "alerts", c.Alerts, maxAlerts, func(a Alert) {
		e.text("alert_id", a.ID)
		e.digits(a.Type, a.Threshold)
		if a.Note != "" {
			e.text("note", a.Note)
		}
	})
	e.account(&c.Account)
	e.close('}')
	return e.b
}

// AppendComputed appends the result of a computation: the summary's indicators
// without the price.
func AppendComputed(dst []byte, c *Chart) []byte {
	e := encoder{append(dst, '{')}
	e.head(c)
	e.int("bars", int64(c.Bars.Len()))
	e.last(c)
	e.summaries(c)
	e.close('}')
	return e.b
}

// AppendAbout appends what a client should know of a picture without reading it: the
// instrument, where the bars are from, how old they are, whether they are synthetic, and
// which were drawn, with the last close, and the symbols beside it.
func AppendAbout(dst []byte, c *Chart) []byte {
	e := encoder{append(dst, '{')}
	e.head(c)
	last := c.Bars.Len() - 1
	e.int("bars", int64(last+1))
	for _, end := range []struct {
		name  string
		index int
	}{{"first", 0}, {"last", last}} {
		e.key(end.name)
		e.open('{')
		e.date(c, end.index)
		e.number("close", c.Bars.C[end.index])
		e.close('}')
	}
	e.compared(c, false)
	e.close('}')
	return e.b
}

func (e *encoder) head(c *Chart) {
	e.text("symbol", c.Symbol)
	e.text("interval", c.Interval.String())
	e.text("source", string(c.Source))
	e.text("provider", c.Provider)
	if c.AsOf.IsZero() {
		e.null("as_of")
	} else {
		e.text("as_of", c.AsOf.UTC().Format(time.RFC3339))
	}
	e.flag("last_bar_closed", c.LastBarClosed)
	if c.Cut != 0 {
		e.text("cut_bar", market.Stamp(c.Cut))
	}
	e.flag("stale", c.Stale)
	e.flag("warmup_ok", c.WarmupOK)
	if c.BuiltFrom.Valid() {
		e.text("built_from", c.BuiltFrom.String())
	}
	if c.BuiltFrom.Valid() || c.Holes > 0 {
		e.int("holes", int64(c.Holes))
	}
	if !c.sample() {
		e.text("calendar", c.Calendar.String())
	}
	if c.Calendar.Guessed() {
		e.flag("calendar_guessed", true)
	}
}

func (e *encoder) price(c *Chart) {
	b := c.Bars
	last := b.Len() - 1
	e.key("price")
	e.open('{')
	e.int("bars", int64(b.Len()))
	e.key("first")
	e.open('{')
	e.date(c, 0)
	e.number("open", b.O[0])
	e.number("close", b.C[0])
	e.close('}')
	e.key("last")
	e.open('{')
	e.date(c, last)
	e.number("open", b.O[last])
	e.number("high", b.H[last])
	e.number("low", b.L[last])
	e.number("close", b.C[last])
	e.number("volume", b.V[last])
	e.close('}')
	e.key("range")
	e.open('{')
	e.number("high", slices.Max(b.H))
	e.number("low", slices.Min(b.L))
	e.close('}')
	total := 0.0
	for _, v := range b.V {
		total += v
	}
	e.number("total_volume", total)
	e.number("change_pct", market.ChangePct(b.C[0], b.C[last]))
	e.close('}')
}

func (e *encoder) summaries(c *Chart) {
	e.key("indicators")
	e.open('{')
	for _, ind := range c.Indicators {
		e.key(ind.Key)
		e.summary(c, ind.Result)
	}
	e.close('}')
}

// about writes the fields that summary and series share.
func (e *encoder) about(c *Chart, r *ta.Result) {
	e.text("label", r.Label)
	e.flag("is_overlay", r.Overlay)
	if r.Anchored != 0 && !c.sample() {
		e.text("anchored_at", market.Stamp(r.Anchored))
	}
	if r.Until != 0 {
		e.text("data_until", market.Stamp(r.Until))
	}
	if r.Overlay {
		return
	}
	if low, high, ok := yRange(r); ok {
		e.values("y_range", []float64{low, high})
	}
}

// yRange is the panel's fixed range, or the range of its values.
func yRange(r *ta.Result) (low, high float64, ok bool) {
	if r.YRange != nil {
		return r.YRange[0], r.YRange[1], true
	}
	low, high = math.Inf(1), math.Inf(-1)
	span := func(values []float64) {
		for _, v := range values {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	for _, l := range r.Lines {
		span(l.Values)
	}
	for _, h := range r.Hist {
		span(h.Values)
	}
	return low, high, low <= high
}

func (e *encoder) summary(c *Chart, r *ta.Result) {
	e.open('{')
	e.about(c, r)
	e.columns(r, e.lastValue)
	signals, divergences := newest(r.Signals, maxSignals), newest(r.DivLines, maxDivergences)
	e.signals(c, signals)
	e.levels(r.HLines[:min(len(r.HLines), maxLevels)])
	e.divergences("divergences", c, divergences)
	if len(r.Fills) > 0 {
		e.int("fills_count", int64(len(r.Fills)))
	}
	e.topBars(r.HBars)
	e.drawn(c, r.Drawn, true)
	if len(signals) < len(r.Signals) {
		e.int("signals_count", int64(len(r.Signals)))
	}
	if len(signals) < len(r.Signals) || len(divergences) < len(r.DivLines) || len(r.HLines) > maxLevels {
		e.flag("truncated", true)
	}
	e.close('}')
}

// columns writes the lines and histograms, each column by the given writer.
func (e *encoder) columns(r *ta.Result, write func(index int, label string, values []float64)) {
	if len(r.Lines) > 0 {
		e.key("lines")
		e.open('[')
		for i, l := range r.Lines {
			write(i, l.Label, l.Values)
		}
		e.close(']')
	}
	if len(r.Hist) > 0 {
		e.key("histogram")
		e.open('[')
		for i, h := range r.Hist {
			write(i, h.Label, h.Values)
		}
		e.close(']')
	}
}

func newest[T any](all []T, most int) []T { return all[max(0, len(all)-most):] }

func (e *encoder) lastValue(index int, label string, values []float64) {
	e.open('{')
	e.int("index", int64(index))
	e.text("label", label)
	if len(values) == 0 {
		e.null("last_value")
	} else {
		e.number("last_value", values[len(values)-1])
	}
	e.close('}')
}

func (e *encoder) signals(c *Chart, signals []ta.Signal) {
	list(e, "signals", signals, func(s ta.Signal) {
		e.int("x", int64(s.X))
		e.time("t", c, s.X)
		e.int("confirmed_x", int64(s.Confirmed))
		e.time("confirmed_t", c, s.Confirmed)
		e.number("y", s.Y)
		e.text("label", s.Label)
	})
}

func (e *encoder) levels(lines []ta.HLine) {
	list(e, "hlines", lines, func(h ta.HLine) {
		e.number("y", h.Y)
		if h.Label != "" {
			e.text("label", h.Label)
		}
	})
}

func (e *encoder) divergences(name string, c *Chart, lines []ta.DivLine) {
	list(e, name, lines, func(d ta.DivLine) {
		e.int("x1", int64(d.X1))
		e.time("t1", c, d.X1)
		e.number("y1", d.Y1)
		e.int("x2", int64(d.X2))
		e.time("t2", c, d.X2)
		e.number("y2", d.Y2)
		e.flag("dashed", d.Dashed)
	})
}

// topBars writes the widest bars of a profile.
func (e *encoder) topBars(bars []ta.HBar) {
	top := slices.Clone(bars)
	slices.SortStableFunc(top, func(a, b ta.HBar) int { return cmp.Compare(b.Width, a.Width) })
	list(e, "hbars_top", top[:min(topHBars, len(top))], func(h ta.HBar) {
		e.number("y", h.Y)
		e.number("weight", h.Width)
	})
	if len(bars) > 0 {
		e.int("hbars_count", int64(len(bars)))
	}
}
