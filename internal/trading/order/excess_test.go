package order_test

import (
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// TestExcess_LeavesTheFeeOut holds that exits of all that was filled close no more than the
// entry brought, though its fee was paid in what was bought.
func TestExcess_LeavesTheFeeOut(t *testing.T) {
	t.Parallel()
	fee, filled := decimal.RequireFromString("0.00002"), decimal.RequireFromString("0.02")
	entry := order.Order{Filled: filled, Fees: order.Fees{"BTC": fee}}
	entry.Side, entry.Role = order.Buy, order.Entry
	for closed, want := range map[string]string{"0.01998": "0", "0.02": "0", "0.04": "0.02"} {
		exit := order.Order{Filled: decimal.RequireFromString(closed)}
		if got := (order.Cover{Entry: entry, Exits: []order.Order{exit}}).Excess(); got.String() != want {
			t.Errorf("exits of %s close %s too much, want %s", closed, got, want)
		}
	}
}
