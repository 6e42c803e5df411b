package replay

import (
	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/market"
)

// mostColumns bounds the values that are kept of indicators: 256 MB.
const mostColumns = 32 << 20

// Columns keeps the values of indicators at all bars of a history, so that many conditions on
// the same indicators share them. It is for one goroutine at a time.
type Columns struct {
	Bars *market.Bars

	kept map[string]*alert.Columns
	size int
}

// Of evaluates the condition at every bar, with the verdicts of Last at each.
func (k *Columns) Of(c *Condition) alert.Verdicts {
	return c.probe.Over(k.Bars, func(key string) *alert.Columns {
		if known := k.kept[key]; known != nil {
			return known
		}
		for _, i := range c.indicators {
			if i.key == key {
				return k.add(key, i.Evaluator)
			}
		}
		return &alert.Columns{} // not reached: the condition has all of its indicators
	})
}

// add computes an indicator at every bar. All are forgotten when they become too many.
func (k *Columns) add(key string, e *evaluate.Evaluator) *alert.Columns {
	c := e.Columns(k.Bars)
	added := 2 * k.Bars.Len() * len(c.Values)
	if k.kept == nil || k.size+added > mostColumns {
		k.kept, k.size = map[string]*alert.Columns{}, 0
	}
	k.kept[key] = c
	k.size += added
	return c
}
