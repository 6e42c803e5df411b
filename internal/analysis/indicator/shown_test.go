package indicator

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"candela/internal/market"
)

// TestCompute_SignalsOfBarsShown requires that a result for fewer bars differs from the
// whole one in signals of earlier bars alone.
func TestCompute_SignalsOfBarsShown(t *testing.T) {
	t.Parallel()
	for name, s := range defaults(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, b := range []*market.Bars{walk(700, 3), nasty(700, 4)} {
				in := input(b, market.Hour1)
				want := s.Compute(in)
				for _, shown := range []int{1, 2, 200, 699, 700, 900} {
					in.Shown = shown
					got := s.Compute(in)
					for _, r := range []*Result{got, want} {
						r.Signals = slices.DeleteFunc(r.Signals, func(s Signal) bool { return s.X < 700-shown })
					}
					if diff := cmp.Diff(want, got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
						t.Fatalf("%d bars shown: %s", shown, diff)
					}
					want = s.Compute(input(b, market.Hour1))
				}
			}
		})
	}
}
