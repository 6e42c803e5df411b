package scan_test

import (
	"math"
	"testing"

	"candela/internal/alerting/alert"
	"candela/internal/work/research/replay"
	"candela/internal/work/research/scan"
	"candela/lib/market"
	"candela/lib/ta"
)

func wave(n int) *market.Bars {
	bars := &market.Bars{}
	for i := range n {
		c := 100 + 10*math.Sin(float64(i)/9)
		bars.Append(market.Bar{T: int64(i) * 3600, O: c, H: c + 1, L: c - 1, C: c, V: 5})
	}
	return bars
}

// TestLook_ValuesAreThoseOfCharts holds that a column has the bits of a chart that ends at
// the same bar.
func TestLook_ValuesAreThoseOfCharts(t *testing.T) {
	t.Parallel()
	q := scan.Question{Interval: market.Hour1, Within: 1, Columns: []scan.Column{{"rsi", alert.Operand{Indicator: "rsi"}}, {"close", alert.Operand{Price: "close"}}}}
	if err := q.Check(); err != nil {
		t.Fatal(err)
	}
	selection, err := ta.Resolve(ta.Request{Name: "rsi"})
	if err != nil {
		t.Fatal(err)
	}
	for n := q.Depth(); n < q.Depth()+40; n++ {
		bars := wave(n)
		tail := bars.Tail(q.Depth())
		want := selection.Compute(ta.Input{Env: ta.Env{Interval: market.Hour1}, Bars: &tail}).Lines[0].Values
		row, err := q.Look(bars, replay.Where{})
		if err != nil {
			t.Fatal(err)
		}
		if row.Short || math.Float64bits(row.Values[0]) != math.Float64bits(want[len(want)-1]) || row.Values[1] != bars.C[n-1] {
			t.Fatalf("%d bars: %v, want %v", n, row, want[len(want)-1])
		}
	}
}

func TestLook_WithinBars(t *testing.T) {
	t.Parallel()
	q := scan.Question{Interval: market.Hour1, Within: 30, Condition: &alert.Condition{Type: alert.NewHigh, Bars: 20}}
	if err := q.Check(); err != nil {
		t.Fatal(err)
	}
	bars := wave(q.Depth() + 50)
	last, newest := bars.Len()-1, -1
	for i := last - 29; i <= last; i++ {
		before := bars.Slice(i-20, i)
		high := math.Inf(-1)
		for _, h := range before.H {
			high = max(high, h)
		}
		if bars.H[i] > high {
			newest = i
		}
	}
	if row, err := q.Look(bars, replay.Where{}); err != nil || row.Meets != (newest >= 0) || row.Meets && row.Ago != last-newest {
		t.Errorf("%+v, newest %d of %d", row, newest, last)
	}
}
