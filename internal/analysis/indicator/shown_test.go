package indicator

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"candela/internal/market"
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
					if diff := cmp.Diff(after(whole, from), after(s.Compute(in), from), cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
						t.Fatalf("%d bars shown: %s", in.Shown, diff)
					}
				}
			}
		})
	}
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
