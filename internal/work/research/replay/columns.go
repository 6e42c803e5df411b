package replay

import (
	"slices"

	"candela/internal/alerting/alert"
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
				return k.of(i)
			}
		}
		return &alert.Columns{} // not reached: the condition has all of its indicators
	}, c.longerBars(k.Bars))
}

// longerBars finds the longer bars at every one of some bars.
func (c *Condition) longerBars(bars *market.Bars) func(on market.Interval) alert.LongerBars {
	return func(on market.Interval) alert.LongerBars {
		i := slices.IndexFunc(c.longer, func(l *longerOf) bool { return l.Interval == on })
		return c.longer[i].All(bars)
	}
}

// of returns the values of an indicator at every bar. All are forgotten when they become too many.
func (k *Columns) of(i *indicatorOf) *alert.Columns {
	known := k.kept[i.key]
	if known.columns != nil && (known.signals || !i.signals) {
		return known.columns
	}
	bars := k.Bars
	if i.longer != nil {
		bars = i.longer.Bars
	}
	c := i.Columns(bars, i.signals)
	added := bars.Len() * len(c.Values)
	if k.kept == nil || k.size+added > mostColumns {
		k.kept, k.size = map[string]keptColumns{}, 0
	}
	k.kept[i.key] = keptColumns{c, i.signals}
	k.size += added
	return c
}

// keptColumns are columns that have signals or not.
type keptColumns struct {
	columns *alert.Columns
	signals bool
}
