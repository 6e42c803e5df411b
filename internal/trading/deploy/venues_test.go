package deploy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"candela/internal/testkit/longtest"
	"candela/internal/trading/drift"
)

// TestTrade_BookFollowsTheModel lets a strategy trade on paper and at both fake venues, and kills the process before and after
// calls of its journal and its desk: the fills are those of a run that is not killed, and none is doubled. Each cell of the
// long run is a kill at one call, and once again at the next one.
func TestTrade_BookFollowsTheModel(t *testing.T) {
	t.Parallel()
	for _, at := range []string{onThePaper, atBinance, atAlpaca} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			run := func(killed func(call int) (before, after bool)) (out traded) {
				synctest.Test(t, func(t *testing.T) { out = tradeOver(t, at, longtest.Pick(170, 240), killed) })
				return out
			}
			whole := run(func(int) (before, after bool) { return false, false })
			if whole.held < 8 || len(whole.fills) < 8 || whole.less > whole.closes/4 {
				t.Errorf("of %d closes %d are equal, at %d the book has less; %d with a position, %d fills", whole.closes, whole.same, whole.less, whole.held, len(whole.fills))
			}
			// At equal costs a paper account differs only where another order of the strategy filled within a bar.
			if is := whole.drift; is.Entries < 3 || len(is.Causes) > 0 || at == onThePaper && (len(is.Steps) > 1 || len(is.Steps) == 1 && is.Steps[0].Name != drift.Path) {
				t.Errorf("%+v", is)
			}
			same := func(name string, got traded) {
				if !slices.Equal(got.fills, whole.fills) {
					t.Errorf("killed %d times, %s: fills\n%q, not\n%q", got.kills, name, got.fills, whole.fills)
				}
			}
			if longtest.On() {
				for call := range whole.calls {
					for _, after := range []bool{false, true} {
						same(fmt.Sprintf("after: %t, call %d of %d", after, call, whole.calls), run(func(n int) (bool, bool) { hit := n == call || n == call+1; return hit && !after, hit && after }))
					}
				}
				return
			}
			r := rand.New(rand.NewPCG(longtest.Seed(), 11))
			got := run(func(int) (before, after bool) {
				if r.IntN(2) > 0 {
					return false, false
				}
				after = r.IntN(2) > 0
				return !after, after
			})
			if same("at random", got); got.kills < 3 {
				t.Errorf("killed %d times", got.kills)
			}
		})
	}
}
