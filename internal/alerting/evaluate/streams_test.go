package evaluate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/testkit/longtest"
	"candela/lib/market"
	"candela/lib/ta"
)

// venue has closed bars that grow in place, as a cache keeps them.
type venue struct {
	rand   *rand.Rand
	closed market.Bars
	env    ta.Env
	known  *ta.Streams
}

func newVenue(n int) *venue {
	v := &venue{rand: rand.New(rand.NewPCG(longtest.Seed(), 9)), env: ta.Env{Interval: market.Hour1}, known: ta.NewStreams(8 << 20)}
	v.closed = market.MakeBars(n, true)
	for range n {
		v.closed.Append(v.next())
	}
	return v
}

// next returns a bar after the newest one, now and then after a hole.
func (v *venue) next() market.Bar {
	t, open := int64(1_600_000_000/3600*3600), 100.0
	if n := v.closed.Len(); n > 0 {
		t, open = v.closed.T[n-1]+3600, v.closed.C[n-1]
		if v.rand.IntN(200) == 0 {
			t += 3600 * int64(1+v.rand.IntN(30))
		}
	}
	last, volume := open*math.Exp(0.01*v.rand.NormFloat64()), 1000*v.rand.Float64()
	return market.Bar{
		T: t, O: open, C: last, V: volume, TakerBuy: volume * v.rand.Float64(),
		H: max(open, last) * (1 + 0.005*v.rand.Float64()), L: min(open, last) * (1 - 0.005*v.rand.Float64()),
	}
}

// change lets bars close, and in one of two rounds revises the past, makes a hole, changes the calendar or starts
// the program again; each of them once in ten rounds. Old bars are dropped.
func (v *venue) change(t *testing.T, round int) {
	t.Helper()
	for range v.rand.IntN([]int{180, 4}[round%2]) { // few before a change, which leaves its trace in the newest values alone
		v.closed.Append(v.next())
	}
	back := v.rand.IntN([]int{30, 3000}[round/10%2]) // what is long ago leaves no trace in most values
	switch round % 10 {
	case 1:
		v.closed = without(&v.closed, -1)
		i := v.closed.Len() - 1 - back
		v.closed.C[i] = (v.closed.H[i] + v.closed.L[i]) / 2
	case 3:
		v.closed = without(&v.closed, v.closed.Len()-1-back)
	case 5:
		hours := market.Hours{Zone: "America/New_York", Open: time.Duration(9+v.rand.IntN(2)) * time.Hour, Close: 16 * time.Hour}
		calendar, err := market.NewCalendar(hours)
		if err != nil {
			t.Fatal(err)
		}
		v.env.Calendar = calendar
	case 7:
		v.known = ta.NewStreams(8 << 20)
	case 9: // the same bars, of which one column is in other memory and differs
		v.closed.V = slices.Clone(v.closed.V)
		for i := range 30 {
			v.closed.V[v.closed.Len()-1-back-i]++
		}
	}
	if v.closed.Len() > 9000 {
		v.closed = v.closed.Tail(8000)
	}
}

func without(b *market.Bars, skip int) market.Bars {
	out := market.MakeBars(b.Len(), true)
	for i := range b.Len() {
		if i != skip {
			out.Append(b.At(i))
		}
	}
	return out
}

// catalogue has every indicator with its members but the candles, which are one.
func catalogue(tb testing.TB) (all []*ta.Selection) {
	tb.Helper()
	for _, name := range ta.Names() {
		s, err := ta.Resolve(ta.Request{Name: name})
		if err != nil {
			tb.Fatal(err)
		}
		if family := s.Def.Family(); family == s.Def || family.Name != "candles" {
			all = append(all, s)
		}
	}
	return all
}

// rows evaluates the last bars and a forming one after them.
func rows(ev *evaluate.Evaluator, bars *market.Bars, last int, forming market.Bar) (all []alert.Row) {
	add := func(r *alert.Row) {
		all = append(all, alert.Row{Values: slices.Clone(r.Values), Prev: slices.Clone(r.Prev), Signals: slices.Clone(r.Signals)})
	}
	for i := bars.Len() - last; i < bars.Len(); i++ {
		seen := bars.Slice(0, i+1)
		add(ev.Last(&seen))
	}
	if row, ok := ev.Peek(bars, forming); ok {
		add(&row)
	}
	return all
}

func differ(a, b []alert.Row) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d rows, %d rows", len(a), len(b))
	}
	same := func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y }
	for i := range a {
		if !slices.EqualFunc(a[i].Values, b[i].Values, same) || !slices.EqualFunc(a[i].Prev, b[i].Prev, same) || !slices.Equal(a[i].Signals, b[i].Signals) {
			return fmt.Sprintf("row %d: %v, %v", i, a[i], b[i])
		}
	}
	return ""
}

// TestShare_GivesTheSameBits evaluates the whole catalogue again and again while bars close and form, are revised
// and go missing, the calendar changes and what is kept is lost, and requires every bit of an evaluator that
// shares nothing. The long form has more than 100,000 bars.
func TestShare_GivesTheSameBits(t *testing.T) {
	t.Parallel()
	all, v := catalogue(t), newVenue(7000)
	asked := 0
	for round := range longtest.Pick(10, 2400) {
		v.change(t, round)
		last, forming := 1+v.rand.IntN(3), v.next()
		for _, s := range all {
			want := rows(evaluate.New(s, v.env), &v.closed, last, forming)
			for range 2 {
				shared := evaluate.New(s, v.env)
				shared.Share(v.known)
				if difference := differ(want, rows(shared, &v.closed, last, forming)); difference != "" {
					t.Fatalf("round %d, %s differs: %s", round, s.Key(), difference)
				}
				asked++
			}
		}
	}
	bytes, streams := v.known.Held()
	t.Logf("%d selections; %d evaluations compared; %d bytes of %d streams kept", len(all), asked, bytes, streams)
	if streams == 0 || bytes > 8<<20 {
		t.Errorf("%d bytes of %d streams are kept", bytes, streams)
	}
}

// BenchmarkShare measures an indicator at the newest bar of one of 50 symbols, of which each time another bar has
// closed: from all bars, and from what was kept.
func BenchmarkShare(b *testing.B) {
	for _, name := range []string{"rsi", "macd", "ema_stack", "cipher_b"} {
		s, err := ta.Resolve(ta.Request{Name: name})
		if err != nil {
			b.Fatal(err)
		}
		v := newVenue(7000)
		for how, known := range map[string]*ta.Streams{"fresh": nil, "kept": v.known} {
			b.Run(name+"/"+how, func(b *testing.B) {
				at := 0
				for b.Loop() {
					at++
					bars := v.closed.Slice(at%50, 6000+at/50%1000)
					ev := evaluate.New(s, v.env)
					ev.Share(known)
					ev.Last(&bars)
				}
				bytes, streams := v.known.Held()
				b.ReportMetric(float64(bytes)/float64(max(1, streams)), "kept-B/stream")
			})
		}
	}
}
