// Package firings answers when an alert would have fired, and what the price did then,
// compared with what it did after any bar.
package firings

import (
	"context"
	"math"
	"math/rand/v2"

	"candela/internal/alerting/alert"
	"candela/internal/kit/budget"
	"candela/internal/kit/fair"
	"candela/internal/work/research/replay"
	"candela/lib/backtest/performance"
	"candela/lib/market"
	"candela/lib/ta"
)

// Rearm says when a price alert that has fired may fire again.
type Rearm uint8

const (
	// AfterCross waits for a close on the other side of the price.
	AfterCross Rearm = iota
	// Never lets it fire once, as a price alert that does not repeat.
	Never
)

// Question is what is asked.
type Question struct {
	Library  ta.Library
	Alert    alert.Alert // normalized
	Calendar market.Calendar
	Facts    market.Facts
	Longer   map[market.Interval]*market.Bars // closed bars of the longer intervals of the condition
	Run      *budget.Run                      // what scripts may hold; nil for no bound
	From     int                              // index of the first bar that counts; those before it are for the indicators
	Horizons []int                            // bars after a firing
	Rearm    Rearm
	Seed     uint64
	Step     func(done int) // called with the number of bars that were evaluated; may be nil
}

// pauseEvery is the number of bars between two pauses.
const pauseEvery = 16

// Firing is one time at which the alert would have fired.
type Firing struct {
	Bar   int
	Time  int64
	Price float64
}

// Forward is what the price did some bars after the firings, in percent, and after any bar.
type Forward struct {
	Bars              int
	N, Apart          int     // firings with a full horizon, and those that share none of it
	Mean, Median, Hit float64 // Hit is the share of rises
	BaseMean, BaseHit float64
	Edge              float64 // difference of the means
	EdgeLow, EdgeHigh float64 // 95 % of the edges of series made of blocks of this one
}

// Answer is what would have happened.
type Answer struct {
	Bars    int // that counted
	Firings []Firing
	Forward []Forward
	Adverse float64 // median of the worst price within 20 bars of a firing, percent
	Favour  float64 // median of the best
	// Anchored is the open time of the earliest bar at which a running sum of the condition begins
	// at the last bar, 0 for none.
	Anchored int64
	WarmUp   bool // the indicators had all the bars they need
}

// Ask evaluates an alert over a history.
func Ask(ctx context.Context, q Question, bars *market.Bars) (Answer, error) {
	a := Answer{Bars: bars.Len() - q.From, WarmUp: true}
	if q.Alert.Condition.Type.OnPrice() {
		a.Firings = priceFirings(&q, bars)
	} else if err := a.barFirings(ctx, &q, bars); err != nil {
		return a, err
	}
	random := rand.New(rand.NewPCG(q.Seed, 0)) //nolint:gosec // G404: the same seed gives the same answer
	for _, h := range q.Horizons {
		if err := fair.Pause(ctx); err != nil {
			return a, err
		}
		a.Forward = append(a.Forward, forward(bars, q.From, h, a.Firings, random))
	}
	a.Adverse, a.Favour = excursions(bars, a.Firings)
	return a, nil
}

// barFirings evaluates a condition on closed bars.
func (a *Answer) barFirings(ctx context.Context, q *Question, bars *market.Bars) error {
	c := replay.New(q.Library, q.Alert, replay.Where{Calendar: q.Calendar, Facts: q.Facts, Run: q.Run, Longer: q.Longer})
	defer c.Close()
	if err := c.CheckBars(a.Bars); err != nil {
		return err
	}
	a.WarmUp = c.IsWarm(bars, q.From)
	for i := q.From; i < bars.Len(); i++ {
		if n := i - q.From; n%pauseEvery == 0 {
			if err := fair.Pause(ctx); err != nil {
				return err
			}
			if q.Step != nil {
				q.Step(n)
			}
		}
		seen := bars.Slice(0, i+1)
		rises := c.Last(&seen).Rises
		if err := c.Failed(); err != nil {
			return err
		}
		if rises {
			a.Firings = append(a.Firings, Firing{i, bars.T[i], bars.C[i]})
		}
	}
	a.Anchored = c.Anchored()
	return nil
}

// priceFirings finds the bars that reach a price from the other side.
func priceFirings(q *Question, bars *market.Bars) []Firing {
	var out []Firing
	c := &q.Alert.Condition
	p := c.Threshold.InexactFloat64()
	for i := max(1, q.From); i < bars.Len(); i++ {
		before := bars.C[i-1]
		up := c.Type != alert.PriceBelow && before < p && bars.H[i] >= p
		down := c.Type != alert.PriceAbove && before > p && bars.L[i] <= p
		if !up && !down {
			continue
		}
		price := p
		if up && bars.O[i] > p || down && bars.O[i] < p {
			price = bars.O[i]
		}
		if out = append(out, Firing{i, bars.T[i], price}); q.Rearm == Never {
			break
		}
	}
	return out
}

// returns gives, for each bar from the first that counts, the return from the next open to
// the close h bars later.
func returns(bars *market.Bars, from, h int) []float64 {
	n := bars.Len() - from - h
	if n <= 0 {
		return nil
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = (bars.C[from+i+h]/bars.O[from+i+1] - 1) * 100
	}
	return out
}

func forward(bars *market.Bars, from, h int, fired []Firing, random *rand.Rand) Forward {
	f := Forward{Bars: h}
	all := returns(bars, from, h)
	flags := make([]bool, len(all))
	var after []float64
	last := -h
	for _, x := range fired {
		i := x.Bar - from
		if i >= len(all) {
			continue
		}
		flags[i] = true
		after = append(after, all[i])
		if i-last >= h {
			f.Apart++
			last = i
		}
	}
	f.N = len(after)
	f.Mean, f.Hit = meanAndRises(after)
	f.BaseMean, f.BaseHit = meanAndRises(all)
	f.Median = performance.Percentile(after, 50)
	f.Edge = f.Mean - f.BaseMean
	f.EdgeLow, f.EdgeHigh = interval(all, flags, max(2*h, 20), random)
	return f
}

func meanAndRises(v []float64) (mean, rises float64) {
	if len(v) == 0 {
		return math.NaN(), math.NaN()
	}
	for _, x := range v {
		mean += x
		if x > 0 {
			rises++
		}
	}
	n := float64(len(v))
	return mean / n, 100 * rises / n
}

const draws = 2000

// interval returns the bounds of 95 % of the edges of series that are put together from
// random blocks of this one, with its firings.
func interval(all []float64, flags []bool, block int, random *rand.Rand) (low, high float64) {
	n := len(all)
	if n <= block {
		return math.NaN(), math.NaN()
	}
	sum, hit, count := make([]float64, n+1), make([]float64, n+1), make([]float64, n+1)
	for i, r := range all {
		sum[i+1], hit[i+1], count[i+1] = sum[i]+r, hit[i], count[i]
		if flags[i] {
			hit[i+1] += r
			count[i+1]++
		}
	}
	edges := make([]float64, 0, draws)
	for range draws {
		var total, after, fired float64
		left := n
		for left > 0 {
			size := min(block, left)
			at := random.IntN(n - block + 1)
			total += sum[at+size] - sum[at]
			after += hit[at+size] - hit[at]
			fired += count[at+size] - count[at]
			left -= size
		}
		if fired > 0 {
			edges = append(edges, after/fired-total/float64(n))
		}
	}
	return performance.Percentile(edges, 2.5), performance.Percentile(edges, 97.5)
}

// excursions returns the medians of the worst and the best price within 20 bars after the
// firings, in percent of the next open.
func excursions(bars *market.Bars, fired []Firing) (adverse, favour float64) {
	const within = 20
	var down, up []float64
	for _, f := range fired {
		if f.Bar+1 >= bars.Len() {
			continue
		}
		end := min(f.Bar+1+within, bars.Len())
		open, low, high := bars.O[f.Bar+1], math.Inf(1), math.Inf(-1)
		for i := f.Bar + 1; i < end; i++ {
			low, high = min(low, bars.L[i]), max(high, bars.H[i])
		}
		down, up = append(down, (low/open-1)*100), append(up, (high/open-1)*100)
	}
	return performance.Percentile(down, 50), performance.Percentile(up, 50)
}

// fewFirings is the number below which nothing can be said.
const fewFirings = 20

// Reading says in one sentence what the answer shows.
func (a *Answer) Reading() string {
	if len(a.Firings) < fewFirings {
		return "fewer than 20 firings: nothing can be said"
	}
	for _, f := range a.Forward {
		if f.EdgeLow > 0 || f.EdgeHigh < 0 {
			return "some intervals do not hold 0; with several horizons one in twenty does so by chance"
		}
	}
	return "no edge shown: every interval holds 0"
}
