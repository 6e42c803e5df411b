package deploy

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
)

// TestChangeOf_GivesEachExitItsLine draws lines and exits: after the changes, each exit has as much as the book holds of it, and
// lines are for no more than is held.
func TestChangeOf_GivesEachExitItsLine(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(longtest.Seed(), 3))
	step := decimal.New(1, -2)
	part := func(most int) decimal.Decimal { return decimal.New(int64(1+r.IntN(most)), -2) }
	prices := func() order.Protection {
		return order.Protection{StopLoss: decimal.NewFromInt(int64(90 + r.IntN(4))), TakeProfit: decimal.NewFromInt(int64(110 + r.IntN(2)))}
	}
	for range longtest.Pick(2000, 200_000) {
		var lines []order.Line
		var exits []exit
		held := decimal.Zero
		for i := range r.IntN(5) {
			l := order.Line{ID: fmt.Sprint("line ", i), Side: order.Buy, Quantity: part(50), Protect: prices()}
			lines, held = append(lines, l), held.Add(l.Quantity)
		}
		if r.IntN(2) > 0 {
			held = held.Add(part(30))
		}
		wanted := decimal.Zero
		for i := range 1 + r.IntN(5) {
			e := exit{what: strconv.Itoa(i), quantity: part(50), protect: order.Protection{StopLoss: decimal.NewFromInt(int64(90 + i)), TakeProfit: decimal.NewFromInt(110)}}
			exits, wanted = append(exits, e), wanted.Add(e.quantity)
		}
		was := fmt.Sprint(lines, exits, held)
		for n := 0; ; n++ {
			c, lacks := changeOf(lines, exits, held, step)
			if !lacks {
				break
			}
			bare := held
			for _, l := range lines {
				bare = bare.Sub(l.Quantity)
			}
			change := order.Change{ID: fmt.Sprint("new ", n), Side: order.Buy, Line: c.line.ID, Quantity: c.quantity, Protect: c.protect, Step: step}
			after, _, ok := change.Apply(lines, bare)
			if !ok || n > 2*mostExits {
				t.Fatalf("%s: change %d, %+v, of %v is not possible", was, n, c, lines)
			}
			lines = after
		}
		covered, all := decimal.Zero, decimal.Zero
		for _, l := range lines {
			all = all.Add(l.Quantity)
		}
		for _, e := range exits {
			has := decimal.Zero
			for _, l := range lines {
				if samePrices(l.Protect, e.protect) {
					has = has.Add(l.Quantity)
				}
			}
			covered = covered.Add(decimal.Min(has, e.quantity))
		}
		if !covered.Equal(decimal.Min(wanted, held)) || all.GreaterThan(held) {
			t.Fatalf("%s: %v cover %s of %s and %s", was, lines, covered, wanted, held)
		}
	}
}
