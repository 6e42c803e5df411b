package replay

import (
	"math"
	"slices"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/analysis/indicator"
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
	n, added := k.Bars.Len(), 0
	c := &alert.Columns{Signals: map[string][]bool{}}
	for i := range n {
		seen := k.Bars.Slice(0, i+1)
		row := e.Last(&seen)
		for len(c.Values) < len(row.Values) {
			// The values before are the same memory, a bar later, until one differs: a stream
			// that begins anew may see the past otherwise.
			both := make([]float64, n+1)
			both[0] = math.NaN()
			c.Values, c.Prev = append(c.Values, both[1:]), append(c.Prev, both[:n])
			added += n
		}
		for j, v := range row.Prev {
			if math.Float64bits(c.Prev[j][i]) == math.Float64bits(v) || v != v && c.Prev[j][i] != c.Prev[j][i] { //nolint:gocritic // both are no numbers
				continue
			}
			if n > 1 && &c.Prev[j][n-1] == &c.Values[j][n-2] {
				c.Prev[j] = slices.Clone(c.Prev[j])
				added += n
			}
			c.Prev[j][i] = v
		}
		for j, v := range row.Values {
			c.Values[j][i] = v
		}
		mark(c.Signals, row.Signals, i, n)
	}
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
