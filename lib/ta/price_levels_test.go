package ta

import (
	"math"
	"testing"
	"time"

	"candela/lib/market"
)

// newYork is the calendar of the exchanges there.
func newYork(t *testing.T) market.Calendar {
	t.Helper()
	c, err := market.NewCalendar(market.USEquities())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sessionBars makes bars of the interval in the sessions of a calendar.
func sessionBars(c market.Calendar, i market.Interval, n int, seed uint64) *market.Bars {
	b := walk(n, seed)
	at := int64(testStart) - 1
	for k := range n {
		at = c.Next(i, at).Open
		b.T[k] = at
	}
	return b
}

// priceEnvs are bars of a market that never closes and of one with sessions.
func priceEnvs(t *testing.T, interval market.Interval, n int) []Input {
	t.Helper()
	ny := newYork(t)
	return []Input{
		{Env: Env{Interval: interval}, Bars: sessionBars(market.Calendar{}, interval, n, 41)},
		{Env: Env{Interval: interval, Calendar: ny}, Bars: sessionBars(ny, interval, n, 42)},
	}
}

// startOf names the day, week or month of a time by its first local date.
func startOf(unit string, c market.Calendar, t int64) string {
	local := time.Unix(t, 0).In(c.Zone())
	switch unit {
	case "week":
		for local.Weekday() != time.Monday {
			local = local.AddDate(0, 0, -1)
		}
	case "month":
		return local.Format("2006-01")
	}
	return local.Format("2006-01-02")
}

// computeText computes an indicator on an input.
func computeText(t *testing.T, text string, in Input) *Result {
	t.Helper()
	s, err := Resolve(request(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Compute(in)
}

func TestPriorLevels_SecondDerivation(t *testing.T) {
	t.Parallel()
	for _, in := range priceEnvs(t, market.Hour1, 1_500) {
		b := in.Bars
		for _, c := range []struct{ period, unit, letter string }{
			{"day", "day", "D"}, {"week", "week", "W"}, {"month", "month", "M"}, {"all", "day", "D"}, {"all", "month", "M"},
		} {
			r := computeText(t, `prior_levels {"period":"`+c.period+`"}`, in)
			name := make([]string, b.Len())
			for i := range name {
				name[i] = startOf(c.unit, in.Calendar, b.T[i])
			}
			// The bars of the period before that of bar i.
			before := func(i int) (from, to int) {
				to = i
				for to > 0 && name[to-1] == name[i] {
					to--
				}
				from = to
				for from > 0 && name[from-1] == name[to-1] {
					from--
				}
				return from, to
			}
			level := func(pick func(from, to int) float64) func(int) float64 {
				return func(i int) float64 {
					from, to := before(i)
					if from == to {
						return math.NaN()
					}
					return pick(from, to)
				}
			}
			high := level(func(from, to int) float64 { return highestOf(b.H[from:to]) })
			low := level(func(from, to int) float64 { return -highestOf(negated(b.L[from:to])) })
			sameLine(t, c.period, lineOf(t, r, "P"+c.letter+"H"), high)
			sameLine(t, c.period, lineOf(t, r, "P"+c.letter+"L"), low)
			if c.period == "all" {
				continue
			}
			sameLine(t, c.period, lineOf(t, r, "P"+c.letter+"C"), level(func(_, to int) float64 { return b.C[to-1] }))
			sameLine(t, c.period, lineOf(t, r, "P"+c.letter+"O"), level(func(from, _ int) float64 { return b.O[from] }))
			if c.period == "month" { // the bars have too few
				continue
			}
			expect(t, r, "breakout_up", b.Len(), func(i int) bool {
				return name[i] == name[i-1] && b.C[i] > high(i) && b.C[i-1] <= high(i)
			})
			expect(t, r, "breakout_down", b.Len(), func(i int) bool {
				return name[i] == name[i-1] && b.C[i] < low(i) && b.C[i-1] >= low(i)
			})
		}
	}
}

func highestOf(x []float64) float64 {
	top := math.Inf(-1)
	for _, v := range x {
		top = max(top, v)
	}
	return top
}

func negated(x []float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = -v
	}
	return out
}

func TestOpeningRange_SecondDerivation(t *testing.T) {
	t.Parallel()
	for _, in := range priceEnvs(t, market.Minute5, 3_000) {
		b := in.Bars
		const seconds = 30 * 60
		r := computeText(t, "opening_range", in)
		days := map[string][]int{}
		for i := range b.Len() {
			days[startOf("day", in.Calendar, b.T[i])] = append(days[startOf("day", in.Calendar, b.T[i])], i)
		}
		high, low := undefined(in), undefined(in)
		up, down := map[int]bool{}, map[int]bool{}
		for _, bars := range days {
			open := b.T[bars[0]] // the bars begin with a session
			top, bottom := math.Inf(-1), math.Inf(1)
			wasUp, wasDown := false, false
			for _, i := range bars {
				if b.T[i] < open+seconds {
					top, bottom = max(top, b.H[i]), min(bottom, b.L[i])
				}
				if b.T[i]+300 < open+seconds {
					continue
				}
				high[i], low[i] = top, bottom
				if b.C[i] > top && !wasUp {
					wasUp, up[i] = true, true
				}
				if b.C[i] < bottom && !wasDown {
					wasDown, down[i] = true, true
				}
			}
		}
		sameLine(t, "high", lineOf(t, r, "OR High"), func(i int) float64 { return high[i] })
		sameLine(t, "low", lineOf(t, r, "OR Low"), func(i int) float64 { return low[i] })
		sameLine(t, "mid", lineOf(t, r, "OR Mid"), func(i int) float64 { return (high[i] + low[i]) / 2 })
		expect(t, r, "breakout_up", b.Len(), func(i int) bool { return up[i] })
		expect(t, r, "breakout_down", b.Len(), func(i int) bool { return down[i] })
	}
}

// TestOpeningRange_NeedsTheFirstBar: a history that begins within a session, and bars
// before the session opens, have no range.
func TestOpeningRange_NeedsTheFirstBar(t *testing.T) {
	t.Parallel()
	in := priceEnvs(t, market.Minute5, 120)[1]
	late := in.Bars.Slice(3, in.Bars.Len())
	line := computeText(t, "opening_range", Input{Env: in.Env, Bars: &late}).Lines[0].Values
	for i := range 75 { // the first day has 78 bars
		if line[i] == line[i] {
			t.Fatalf("bar %d has a range of a session that was not seen from its start", i)
		}
	}
	if line[80] != line[80] {
		t.Error("the second session has no range")
	}
	early := in.Bars.Slice(0, 78)
	early.T[0] -= 3600 // trades before the open
	if line := computeText(t, "opening_range", Input{Env: in.Env, Bars: &early}).Lines[0].Values; line[70] == line[70] {
		t.Error("a bar before the open counts as the first")
	}
}
