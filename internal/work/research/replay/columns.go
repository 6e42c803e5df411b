package replay

import (
	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/lib/market"
)

// mostColumns bounds the values of indicators that one sweep keeps.
const mostColumns = 4 << 20

// Columns keeps the values of indicators at all bars of a history, so that many conditions on
// the same indicators share them. It is for one goroutine at a time.
type Columns struct {
	Bars *market.Bars

	kept map[string]keptColumns
	size int
}

// Of evaluates the condition at every bar, with the verdicts of Last at each.
func (k *Columns) Of(c *Condition) *alert.Verdicts {
	return c.probe.Over(k.Bars, func(key string) *alert.Columns {
		for _, i := range c.indicators {
			if i.key == key {
				return k.of(key, i.Evaluator, c.probe.Signals(key))
			}
		}
		return &alert.Columns{} // not reached: the condition has all of its indicators
	})
}

// of returns the values of an indicator at every bar. All are forgotten when they become too many.
func (k *Columns) of(key string, e *evaluate.Evaluator, signals bool) *alert.Columns {
	known := k.kept[key]
	if known.columns != nil && (known.signals || !signals) {
		return known.columns
	}
	c := e.Columns(k.Bars, signals)
	added := k.Bars.Len() * len(c.Values)
	if k.kept == nil || k.size+added > mostColumns {
		k.kept, k.size = map[string]keptColumns{}, 0
	}
	k.kept[key] = keptColumns{c, signals}
	k.size += added
	return c
}

// keptColumns are columns that have signals or not.
type keptColumns struct {
	columns *alert.Columns
	signals bool
}
