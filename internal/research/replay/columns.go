package replay

import (
	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/analysis/indicator"
	"candela/internal/market"
)

// mostColumns bounds the values that are kept of indicators: 128 MB.
const mostColumns = 16 << 20

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
	n := k.Bars.Len()
	c := &alert.Columns{Signals: map[string][]bool{}}
	for i := range n {
		seen := k.Bars.Slice(0, i+1)
		row := e.Last(&seen)
		for len(c.Values) < len(row.Values) {
			c.Values, c.Prev = append(c.Values, make([]float64, n)), append(c.Prev, make([]float64, n))
		}
		for j, v := range row.Values {
			c.Values[j][i] = v
		}
		for j, v := range row.Prev {
			c.Prev[j][i] = v
		}
		mark(c.Signals, row.Signals, i, n)
	}
	added := 2 * n * len(c.Values)
	if k.kept == nil || k.size+added > mostColumns {
		k.kept, k.size = map[string]*alert.Columns{}, 0
	}
	k.kept[key] = c
	k.size += added
	return c
}

func mark(to map[string][]bool, signals []indicator.Signal, at, n int) {
	for _, s := range signals {
		if to[s.Label] == nil {
			to[s.Label] = make([]bool, n)
		}
		to[s.Label][at] = true
	}
}
