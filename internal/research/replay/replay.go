// Package replay evaluates the condition of an alert at the closed bars of a history, as
// the engine does while bars close.
package replay

import (
	"fmt"
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
	indicators []indicatorOf
	depth      int
	whole      bool
}

type indicatorOf struct {
	key string
	*evaluate.Evaluator
}

// New returns a condition without history. The alert must have been normalized and have an
// interval. The calendar and the facts are those of its instrument.
func New(l indicator.Library, a alert.Alert, calendar market.Calendar, facts market.Facts) *Condition {
	env := indicator.Env{Interval: a.Interval, Calendar: calendar, Facts: facts}
	c := &Condition{alert: a, probe: alert.NewProbe(l, &a), depth: 1}
	for key, selection := range c.probe.Groups() {
		ev := evaluate.New(selection, env)
		c.depth = max(c.depth, ev.Depth())
		c.whole = c.whole || !ev.Streams()
		c.indicators = append(c.indicators, indicatorOf{key, ev})
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
	bar, prev := bars.At(last), market.Bar{}
	if last > 0 {
		prev = bars.At(last - 1)
	}
	closed := time.Unix(bar.T, 0)
	for _, i := range c.indicators {
		c.probe.SetRow(i.key, i.Last(bars), closed)
	}
	return c.probe.Evaluate(bar, prev, closed)
}
