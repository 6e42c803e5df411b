// Package replay evaluates the condition of an alert at the closed bars of a history, as
// the engine does while bars close.
package replay

import (
	"fmt"
	"math"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/analysis/indicator"
	"candela/internal/market"
)

// maxWhole is the most bars at which a condition is evaluated if its indicator computes
// all bars again for each.
const maxWhole = 2000

// Condition is a condition on bars that is evaluated bar by bar.
type Condition struct {
	alert      alert.Alert
	probe      *alert.Probe
	indicators []*indicatorOf // in the order of the probe
	depth      int
	whole      bool
	reads      bool // it reads bars, not only indicators
}

// indicatorOf is an indicator of one or more conditions.
type indicatorOf struct {
	key string
	*evaluate.Evaluator
	signals bool  // somebody reads them
	at      int64 // the last bar
	row     alert.Row
}

// last returns the row of the last bar, which several conditions may ask for.
func (i *indicatorOf) last(bars *market.Bars) *alert.Row {
	if at := bars.T[bars.Len()-1]; at != i.at {
		row := i.Last(bars)
		i.at = at
		i.row.Update(&row)
	}
	return &i.row
}

// Share lets conditions on the same bars compute each indicator once. Whenever one of them is
// evaluated, all must be, before the next bar.
func Share(conditions ...*Condition) {
	known := map[string]*indicatorOf{}
	for _, c := range conditions {
		for _, i := range c.indicators {
			if known[i.key] == nil || i.signals {
				known[i.key] = i
			}
		}
	}
	for _, c := range conditions {
		for k, i := range c.indicators {
			c.indicators[k] = known[i.key]
		}
	}
}

// New returns a condition without history. The alert must have been normalized and have an
// interval. The calendar and the facts are those of its instrument.
func New(l indicator.Library, a alert.Alert, calendar market.Calendar, facts market.Facts) *Condition {
	return NewOf(l, nil, a, calendar, facts)
}

// NewOf is New with indicators of the library that were resolved before.
func NewOf(l indicator.Library, known *alert.Selections, a alert.Alert, calendar market.Calendar, facts market.Facts) *Condition {
	env := indicator.Env{Interval: a.Interval, Calendar: calendar, Facts: facts}
	c := &Condition{alert: a, probe: alert.NewProbeOf(l, known, &a), depth: 1}
	c.reads = c.probe.ReadsBars()
	for key, selection := range c.probe.Groups() {
		ev := evaluate.New(selection, env)
		c.depth = max(c.depth, ev.Depth())
		c.whole = c.whole || !ev.Streams()
		signals := c.probe.Signals(key)
		if !signals {
			ev.Mute()
		}
		c.indicators = append(c.indicators, &indicatorOf{key: key, Evaluator: ev, signals: signals, at: math.MinInt64})
	}
	return c
}

// Depth returns the number of bars on which the newest value depends.
func (c *Condition) Depth() int { return c.depth }

// CheckBars returns an error if the condition cannot be evaluated at so many bars.
func (c *Condition) CheckBars(bars int) error {
	if c.whole && bars > maxWhole {
		return fmt.Errorf("the condition uses an indicator that is computed over all bars again at each bar; ask for at most %d bars, not %d", maxWhole, bars)
	}
	return nil
}

// Last evaluates the condition at the last of the bars. The bars before it must be those of
// the previous call.
func (c *Condition) Last(bars *market.Bars) (alert.Verdict, bool) {
	last := bars.Len() - 1
	var bar, prev market.Bar
	if c.reads {
		bar = bars.At(last)
		if last > 0 {
			prev = bars.At(last - 1)
		}
	}
	closed := time.Unix(bars.T[last], 0)
	for k, i := range c.indicators {
		c.probe.Set(k, i.last(bars), closed)
	}
	return c.probe.Evaluate(bar, prev, closed)
}
