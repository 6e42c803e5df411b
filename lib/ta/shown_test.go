package ta

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"candela/lib/market"
)

// TestCompute_BarsShown requires that a result for fewer bars differs from the whole
// one before these bars alone.
func TestCompute_BarsShown(t *testing.T) {
	t.Parallel()
	const n = 2_000
	for name, s := range defaults(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, b := range []*market.Bars{walk(n, 3), nasty(n, 4)} {
				in := input(b, market.Hour1)
				whole := s.Compute(in)
				in.Memory = new(Memory)
				for _, in.Shown = range []int{1, 2, 200, 999, n - 1, n, n + 1} {
					from := max(0, n-in.Shown)
					in.Memory.Reset()
					if diff := differ(after(whole, from), after(s.Compute(in), from)); diff != "" {
						t.Fatalf("%d bars shown: %s", in.Shown, diff)
					}
				}
			}
		})
	}
}

// differ returns the difference of two results. Columns are compared here, because cmp
// takes a microsecond for each of their values.
func differ(want, got *Result) string {
	a, b := bare(want), bare(got)
	if !slices.EqualFunc(columnsOf(want), columnsOf(got), func(x, y []float64) bool { return slices.EqualFunc(x, y, same) }) {
		a, b = want, got
	}
	return cmp.Diff(a, b, cmpopts.EquateNaNs(), cmpopts.EquateEmpty())
}

// columnsOf returns all columns of r.
func columnsOf(r *Result) [][]float64 {
	var all [][]float64
	for _, l := range r.Lines {
		all = append(all, l.Values)
	}
	for _, h := range r.Hist {
		all = append(all, h.Values)
	}
	for _, f := range r.Fills {
		all = append(all, f.Y1, f.Y2)
	}
	return all
}

// bare returns r without its columns.
func bare(r *Result) *Result {
	out := *r
	out.Lines, out.Hist, out.Fills = slices.Clone(r.Lines), slices.Clone(r.Hist), slices.Clone(r.Fills)
	for i := range out.Lines {
		out.Lines[i].Values = nil
	}
	for i := range out.Hist {
		out.Hist[i].Values = nil
	}
	for i := range out.Fills {
		out.Fills[i].Y1, out.Fills[i].Y2 = nil, nil
	}
	return &out
}

// after returns r without what lies before bar from.
func after(r *Result, from int) *Result {
	out := *r
	out.Lines, out.Hist, out.Fills = slices.Clone(r.Lines), slices.Clone(r.Hist), slices.Clone(r.Fills)
	for i := range out.Lines {
		out.Lines[i].Values = out.Lines[i].Values[from:]
	}
	for i := range out.Hist {
		out.Hist[i].Values = out.Hist[i].Values[from:]
	}
	for i := range out.Fills {
		out.Fills[i].Y1, out.Fills[i].Y2 = out.Fills[i].Y1[from:], out.Fills[i].Y2[from:]
	}
	out.Signals = slices.DeleteFunc(slices.Clone(r.Signals), func(s Signal) bool { return s.X < from })
	return &out
}
