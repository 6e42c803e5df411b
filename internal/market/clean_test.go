package market_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"candela/internal/market"
)

func TestClean(t *testing.T) {
	t.Parallel()
	bar := func(t int64, v float64) market.Bar {
		return market.Bar{T: t, O: 1, H: 2, L: 1, C: 2, V: v, TakerBuy: math.NaN()}
	}
	higher := bar(60, 5)
	higher.C, higher.H = 3, 3
	cases := map[string]struct {
		in, want []market.Bar
		report   market.Report
	}{
		"nothing":                             {nil, nil, market.Report{}},
		"ascending bars pass untouched":       {[]market.Bar{bar(0, 1), bar(60, 1), bar(300, 1)}, []market.Bar{bar(0, 1), bar(60, 1), bar(300, 1)}, market.Report{}},
		"identical bars are one":              {[]market.Bar{bar(0, 1), bar(60, 1), bar(60, 1), bar(60, 1)}, []market.Bar{bar(0, 1), bar(60, 1)}, market.Report{Duplicates: 2}},
		"more volume wins though it is first": {[]market.Bar{bar(60, 9), bar(60, 4)}, []market.Bar{bar(60, 9)}, market.Report{Conflicts: []market.Conflict{{Kept: bar(60, 9), Dropped: bar(60, 4)}}}},
		"more volume wins though it is last":  {[]market.Bar{bar(60, 4), bar(60, 9)}, []market.Bar{bar(60, 9)}, market.Report{Conflicts: []market.Conflict{{Kept: bar(60, 9), Dropped: bar(60, 4)}}}},
		"at equal volume the later wins":      {[]market.Bar{bar(60, 5), higher}, []market.Bar{higher}, market.Report{Conflicts: []market.Conflict{{Kept: higher, Dropped: bar(60, 5)}}}},
		"bars out of order are sorted":        {[]market.Bar{bar(120, 1), bar(0, 1), bar(60, 1), bar(180, 1)}, []market.Bar{bar(0, 1), bar(60, 1), bar(120, 1), bar(180, 1)}, market.Report{Disorder: []int64{0, 60}}},
		"a late duplicate is both":            {[]market.Bar{bar(0, 1), bar(60, 1), bar(0, 1)}, []market.Bar{bar(0, 1), bar(60, 1)}, market.Report{Duplicates: 1, Disorder: []int64{0}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, want := columns(tc.in), columns(tc.want)
			got, report := market.Clean(&in)
			if !equalBars(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if report.Duplicates != tc.report.Duplicates || !slices.Equal(report.Disorder, tc.report.Disorder) ||
				!slices.EqualFunc(report.Conflicts, tc.report.Conflicts, func(a, b market.Conflict) bool {
					return a.Kept.Equal(b.Kept) && a.Dropped.Equal(b.Dropped)
				}) {
				t.Errorf("reports %+v, want %+v", report, tc.report)
			}
		})
	}
}

func columns(bars []market.Bar) market.Bars {
	var b market.Bars
	for _, bar := range bars {
		b.Append(bar)
	}
	return b
}

func TestClean_ShufflingAndRepeatingChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(rt, "n")
		bars := make([]market.Bar, n)
		for i := range bars {
			bars[i] = barGen(int64(i)*60).Draw(rt, "bar")
		}
		extra := rapid.SliceOfN(rapid.SampledFrom(bars), 0, 10).Draw(rt, "repeated")
		mixed := columns(rapid.Permutation(slices.Concat(bars, extra)).Draw(rt, "order"))
		got, report := market.Clean(&mixed)
		if want := columns(bars); !equalBars(got, want) || report.Duplicates != len(extra) || len(report.Conflicts) != 0 {
			rt.Fatalf("got %+v with %+v, want %+v", got, report, want)
		}
		again, report := market.Clean(&got)
		if !equalBars(again, got) || report.Duplicates != 0 || report.Disorder != nil {
			rt.Fatalf("cleaning twice changes: %+v", report)
		}
	})
}
