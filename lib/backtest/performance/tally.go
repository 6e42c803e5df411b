package performance

import "math"

// Tally measures a curve while it is made, without keeping it: what many curves are compared by.
// Sums of squares make its last digits differ from those of Measure.
type Tally struct {
	count        int
	before       float64 // the last equity
	sum, squares float64 // of returns
	peak, low    float64 // the highest equity and the lowest since
	fall         float64 // the largest fall below an earlier peak, as a share of it
}

// NewTally returns a tally of a curve that begins with a capital.
func NewTally(capital float64) *Tally { return &Tally{peak: capital, low: capital} }

// Add adds the equity at bars.
func (t *Tally) Add(equity []float64) {
	if len(equity) == 0 {
		return
	}
	t.begin(equity[0])
	t.count += len(equity)
	before, sum, squares, peak, low := t.before, t.sum, t.squares, t.peak, t.low
	for _, e := range equity {
		r := e/before - 1
		sum += r
		squares += float64(r * r)
		before = e
		if low = min(low, e); e > peak {
			t.fall = max(t.fall, 1-low/peak)
			peak, low = e, e
		}
	}
	t.before, t.sum, t.squares, t.peak, t.low = before, sum, squares, peak, low
}

// Same adds a number of bars with the same equity.
func (t *Tally) Same(equity float64, bars int) {
	if bars > 0 {
		t.Add([]float64{equity})
		t.count += bars - 1
	}
}

// begin takes the first equity, from which no return is counted.
func (t *Tally) begin(equity float64) {
	if t.count == 0 {
		t.before = equity
	}
}

// Drawdown returns the largest fall in percent of the peak before it.
func (t *Tally) Drawdown() float64 {
	if t.count < 3 {
		return 0
	}
	return 100 * max(t.fall, 1-t.low/t.peak)
}

// Sharpe returns the Sharpe ratio by bars, not annualised; NaN if there is none.
func (t *Tally) Sharpe() float64 {
	if t.count < 3 {
		return math.NaN()
	}
	n := float64(t.count - 1)
	mean := t.sum / n
	return ratio(mean, math.Sqrt(max(0, t.squares-float64(n*mean*mean))/(n-1)))
}
