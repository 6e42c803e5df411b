package replay

import (
	"cmp"
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

	kept  map[string]keptColumns
	order []string // of kept, the newest last
	size  int
	most  int // values; mostColumns if it is 0
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

// of returns the values of an indicator at every bar. When they become too many, the newest are forgotten: a sweep
// asks for the others again in the same order, and would find none of them if the oldest went.
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
	if k.kept == nil {
		k.kept = map[string]keptColumns{}
	}
	if known.columns != nil {
		k.forget(slices.Index(k.order, i.key))
	}
	for k.size+added > cmp.Or(k.most, mostColumns) && len(k.order) > 0 {
		k.forget(len(k.order) - 1)
	}
	k.kept[i.key] = keptColumns{c, i.signals, added}
	k.order = append(k.order, i.key)
	k.size += added
	return c
}

// forget forgets the columns at a place of the order.
func (k *Columns) forget(at int) {
	key := k.order[at]
	k.order = slices.Delete(k.order, at, at+1)
	k.size -= k.kept[key].size
	delete(k.kept, key)
}

// keptColumns are columns that have signals or not.
type keptColumns struct {
	columns *alert.Columns
	signals bool
	size    int
}
