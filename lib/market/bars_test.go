package market_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"candela/lib/market"
)

// barGen draws bars that pass Check.
func barGen(t int64) *rapid.Generator[market.Bar] {
	return rapid.Custom(func(rt *rapid.T) market.Bar {
		price := rapid.Float64Range(-1000, 1000)
		o, c := price.Draw(rt, "open"), price.Draw(rt, "close")
		wick := rapid.Float64Range(0, 50)
		bar := market.Bar{
			T: t, O: o, C: c,
			H: max(o, c) + wick.Draw(rt, "up"), L: min(o, c) - wick.Draw(rt, "down"),
			V: rapid.Float64Range(0, 1e6).Draw(rt, "volume"), TakerBuy: math.NaN(),
		}
		if rapid.Bool().Draw(rt, "taker known") {
			bar.TakerBuy = bar.V * rapid.Float64Range(0, 1).Draw(rt, "taker share")
		}
		return bar
	})
}

// equalBars reports whether two runs of bars are equal.
func equalBars(a, b market.Bars) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.T {
		if !a.At(i).Equal(b.At(i)) {
			return false
		}
	}
	return true
}

func TestBar_Check(t *testing.T) {
	t.Parallel()
	good := market.Bar{T: 1600000000, O: 10, H: 12, L: 9, C: 11, V: 5, TakerBuy: 2}
	cases := map[string]struct {
		change func(*market.Bar)
		want   string // a part of the message; empty: none
	}{
		"a plain bar passes":                     {func(*market.Bar) {}, ""},
		"an unknown taker-buy volume passes":     {func(b *market.Bar) { b.TakerBuy = math.NaN() }, ""},
		"prices below zero pass":                 {func(b *market.Bar) { b.O, b.H, b.L, b.C = -37, -10, -40, -11 }, ""},
		"a bar without trades passes":            {func(b *market.Bar) { b.O, b.H, b.L, b.C, b.V, b.TakerBuy = 9, 9, 9, 9, 0, 0 }, ""},
		"a bar before 1970 passes":               {func(b *market.Bar) { b.T = -252322200 }, ""},
		"NaN open":                               {func(b *market.Bar) { b.O = math.NaN() }, "open is NaN"},
		"infinite high":                          {func(b *market.Bar) { b.H = math.Inf(1) }, "high is +Inf"},
		"infinite low":                           {func(b *market.Bar) { b.L = math.Inf(-1) }, "low is -Inf"},
		"NaN close":                              {func(b *market.Bar) { b.C = math.NaN() }, "close is NaN"},
		"NaN volume":                             {func(b *market.Bar) { b.V = math.NaN() }, "volume is NaN"},
		"low above open":                         {func(b *market.Bar) { b.L = 10.5 }, "low 10.5 is above open 10"},
		"high below close":                       {func(b *market.Bar) { b.H = 10.5 }, "high 10.5 is below open 10 or close 11"},
		"negative volume":                        {func(b *market.Bar) { b.V, b.TakerBuy = -1, math.NaN() }, "volume -1 is negative"},
		"taker-buy volume above volume":          {func(b *market.Bar) { b.TakerBuy = 6 }, "taker-buy volume 6 is outside 0 to 5"},
		"negative taker-buy volume":              {func(b *market.Bar) { b.TakerBuy = -1 }, "outside 0 to 5"},
		"infinite taker-buy volume":              {func(b *market.Bar) { b.TakerBuy = math.Inf(1) }, "outside 0 to 5"},
		"open time in milliseconds":              {func(b *market.Bar) { b.T *= 1000 }, "not in unix seconds"},
		"open time before the year 1":            {func(b *market.Bar) { b.T = math.MinInt64 }, "not in unix seconds"},
		"the message names the time of the bar":  {func(b *market.Bar) { b.V, b.TakerBuy = -1, 0 }, "bar 2020-09-13T12:26:40Z"},
		"high and low crossed with equal prices": {func(b *market.Bar) { b.O, b.C, b.H, b.L = 10, 10, 9, 11 }, "low 11 is above"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bar := good
			tc.change(&bar)
			wantError(t, bar.Check(), tc.want)
		})
	}
}

// wantError fails unless err is nil for an empty want, or contains want.
func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("unexpected error: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("error is %v, want one with %q", err, want)
	}
}

func TestBars_Check(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*market.Bars)
		want   string
	}{
		"two plain bars pass":            {func(*market.Bars) {}, ""},
		"no bars pass":                   {func(b *market.Bars) { *b = market.Bars{} }, ""},
		"a short column":                 {func(b *market.Bars) { b.H = b.H[:1] }, "high column has 1 values for 2 bars"},
		"a short taker-buy column":       {func(b *market.Bars) { b.TakerBuy = b.TakerBuy[:1] }, "taker-buy column has 1 values for 2 bars"},
		"a missing taker-buy column":     {func(b *market.Bars) { b.TakerBuy = nil }, ""},
		"the same open time twice":       {func(b *market.Bars) { b.T[1] = 60 }, "does not come after"},
		"open times that descend":        {func(b *market.Bars) { b.T[1] = 0 }, "bar 1970-01-01T00:00:00Z does not come after the bar before it (1970-01-01T00:01:00Z)"},
		"a bad bar in the middle of all": {func(b *market.Bars) { b.L[1] = 100 }, "bar 1970-01-01T00:02:00Z: low 100"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b market.Bars
			b.Append(market.Bar{T: 60, O: 1, H: 2, L: 1, C: 2, V: 3, TakerBuy: 1})
			b.Append(market.Bar{T: 120, O: 2, H: 2, L: 1, C: 1, V: 3, TakerBuy: 1})
			tc.change(&b)
			wantError(t, b.Check(), tc.want)
		})
	}
}

func TestBars_AppendThenAtReturnsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(rt, "n")
		b := market.MakeBars(rapid.IntRange(0, 20).Draw(rt, "room"), rapid.Bool().Draw(rt, "taker column"))
		want := make([]market.Bar, n)
		for i := range want {
			want[i] = barGen(int64(i)).Draw(rt, "bar")
			b.Append(want[i])
		}
		if err := b.Check(); err != nil {
			rt.Fatal(err)
		}
		for i := range want {
			if !b.At(i).Equal(want[i]) {
				rt.Fatalf("bar %d is %v, want %v", i, b.At(i), want[i])
			}
		}
		tail := rapid.IntRange(-2, n+2).Draw(rt, "tail")
		got := b.Tail(tail)
		if got.Len() != min(n, max(0, tail)) {
			rt.Fatalf("Tail(%d) of %d has %d", tail, n, got.Len())
		}
		t := rapid.Int64Range(-3, int64(n)+3).Draw(rt, "t")
		if i := b.Search(t); i != int(min(max(t, 0), int64(n))) {
			rt.Fatalf("Search(%d) of %d bars is %d", t, n, i)
		}
	})
}

func TestBars_AppendToASliceLeavesTheOriginalAlone(t *testing.T) {
	t.Parallel()
	b := market.MakeBars(8, true)
	for i := range int64(4) {
		b.Append(market.Bar{T: i})
	}
	head := b.Slice(0, 2)
	head.Append(market.Bar{T: 99, TakerBuy: 1})
	if b.T[2] != 2 || b.TakerBuy[2] != 0 {
		t.Errorf("the original changed: %v", b.At(2))
	}
}

func TestBar_EqualComparesEveryField(t *testing.T) {
	t.Parallel()
	a := market.Bar{T: 1, O: 2, H: 3, L: 1, C: 2, V: 4, TakerBuy: math.NaN()}
	if !a.Equal(a) {
		t.Error("a bar with an unknown taker-buy volume does not equal itself")
	}
	for i, change := range []func(*market.Bar){
		func(b *market.Bar) { b.T++ }, func(b *market.Bar) { b.O++ }, func(b *market.Bar) { b.H++ },
		func(b *market.Bar) { b.L-- }, func(b *market.Bar) { b.C++ }, func(b *market.Bar) { b.V++ },
		func(b *market.Bar) { b.TakerBuy = 0 },
	} {
		b := a
		change(&b)
		if a.Equal(b) || b.Equal(a) {
			t.Errorf("change %d goes unseen", i)
		}
	}
}

func TestBars_KeepMovesTheNewestToTheFront(t *testing.T) {
	t.Parallel()
	bars, want := market.MakeBars(8, false), market.MakeBars(8, false)
	for i := range 10 {
		b := market.Bar{T: int64(i), O: 1, H: float64(i), L: 0, C: 1, V: 2, TakerBuy: math.NaN()}
		if i == 7 {
			b.TakerBuy = 1
		}
		bars.Append(b)
		if i >= 6 {
			want.Append(b)
		}
	}
	memory := &bars.H[0]
	bars.Keep(20)
	bars.Keep(4)
	if bars.Len() != 4 || &bars.H[0] != memory {
		t.Fatalf("%d bars, of other memory: %v", bars.Len(), &bars.H[0] != memory)
	}
	for i := range 4 {
		if got, is := bars.At(i), want.At(i); fmt.Sprint(got) != fmt.Sprint(is) {
			t.Errorf("bar %d is %v, want %v", i, got, is)
		}
	}
}
