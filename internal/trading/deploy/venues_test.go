package deploy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

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
				synctest.Test(t, func(t *testing.T) { out = tradeOver(t, at, script, longtest.Pick(185, 240), killed) })
				return out
			}
			whole := run(func(int) (before, after bool) { return false, false })
			less := whole.less
			if at == atBinance {
				less -= whole.held // its fee is taken from what was bought
			}
			if whole.held < 8 || len(whole.fills) < 8 || less > whole.closes/20 {
				t.Errorf("of %d closes %d are equal, at %d the book has less; %d with a position, %d fills", whole.closes, whole.same, whole.less, whole.held, len(whole.fills))
			}
			if at != onThePaper {
				delete(whole.drift.Causes, drift.Unmatched) // within a bar the venue and the model may take another order
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

// TestTrade_SevenDays lets a strategy trade for seven virtual days at both fake venues, killed once a day: its drift explains
// every cent, and every difference of an entry has a cause. The short form has three hours.
func TestTrade_SevenDays(t *testing.T) {
	t.Parallel()
	for _, at := range []string{atBinance, atAlpaca} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				every := longtest.Pick(40*time.Minute, 24*time.Hour)
				var next time.Time
				after := false
				got := tradeOver(t, at, script, 120+longtest.Pick(36, 7*288), func(int) (bool, bool) {
					if now := time.Now(); next.IsZero() {
						next = now.Add(every / 2)
					} else if now.After(next) {
						next, after = now.Add(every), !after
						return !after, after
					}
					return false, false
				})
				is := got.drift
				t.Logf("killed %d times, %d fills; of %d closes the book equals the model at %d and is smaller at %d; model %s, account %s, steps %v, causes %v of %d entries", got.kills, len(got.fills), got.closes, got.same, got.less, is.Model.Round(2), is.Account.Round(2), is.Steps, is.Causes, is.Entries)
				if got.kills < longtest.Pick(1, 6) || is.Different != "" {
					t.Errorf("killed %d times, %+v", got.kills, is)
				}
			})
		})
	}
}
