package deploy_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"candela/internal/testkit/longtest"
)

// halves closes its entries in three parts: at a near target, at a far one, and with a stop that trails.
const halves = `//@version=6
strategy("x", initial_capital = 10000, default_qty_type = strategy.percent_of_equity, default_qty_value = 50)
if ta.crossover(ta.sma(close, 3), ta.sma(close, 9))
    strategy.entry("L", strategy.long)
    strategy.exit("near", "L", qty_percent = 30, profit = 120, loss = 200)
    strategy.exit("far", "L", qty_percent = 30, profit = 240, loss = 260)
    strategy.exit("trail", "L", trail_points = 80, trail_offset = 90, loss = 300)
if ta.crossunder(ta.sma(close, 5), ta.sma(close, 20))
    strategy.close_all()`

// TestTrade_ALineForEachExit lets a strategy with several exits trade on paper and at both fake venues, killed at random: each
// exit has a line of its own, and the book is never larger than the model.
func TestTrade_ALineForEachExit(t *testing.T) {
	t.Parallel()
	for _, at := range []string{onThePaper, atBinance, atAlpaca} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			run := func(killed func(call int) (before, after bool)) (out traded) {
				synctest.Test(t, func(t *testing.T) { out = tradeOver(t, at, halves, 120+longtest.Pick(60, 400), killed) })
				return out
			}
			whole := run(func(int) (before, after bool) { return false, false })
			less := whole.less
			if at == atBinance {
				less -= whole.held // its fee is taken from what was bought
			}
			if whole.parts < 5 || len(whole.fills) < 8 || less > whole.closes/20 {
				t.Errorf("of %d closes %d are equal, at %d the book has less, %d with a position, %d with several lines, %d fills", whole.closes, whole.same, whole.less, whole.held, whole.parts, len(whole.fills))
			}
			if at != onThePaper && !longtest.On() {
				return
			}
			r := rand.New(rand.NewPCG(longtest.Seed(), 12))
			got := run(func(int) (before, after bool) {
				if r.IntN(3) > 0 {
					return false, false
				}
				after = r.IntN(2) > 0
				return !after, after
			})
			if !slices.Equal(got.fills, whole.fills) || got.kills < 3 {
				t.Errorf("killed %d times: fills\n%q, not\n%q", got.kills, got.fills, whole.fills)
			}
		})
	}
}

// TestTrade_MoreExitsThanTheVenueHolds gives a position more stops than Binance holds in a symbol: they become one, and the book
// is never larger than the model.
func TestTrade_MoreExitsThanTheVenueHolds(t *testing.T) {
	t.Parallel()
	many := strings.Replace(halves, `    strategy.exit("near"`, `    for i = 1 to 5
        strategy.exit("part" + str.tostring(i), "L", qty_percent = 10, profit = 110 + i, loss = 250 + 20 * i)
    strategy.exit("near"`, 1)
	synctest.Test(t, func(t *testing.T) {
		got := tradeOver(t, atBinance, many, 120+longtest.Pick(24, 200), func(int) (before, after bool) { return false, false })
		if got.held < 3 || got.denied == 0 || got.denied > 2*got.entries {
			t.Errorf("of %d closes %d with a position, %d orders denied, %d entries", got.closes, got.held, got.denied, got.entries)
		}
	})
}
