package order_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/market"
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

// TestCovers_LeaveLegsThatWereSizedBeforeTheFee holds that legs which close all that was
// filled are not taken to close more than is held.
func TestCovers_LeaveLegsThatWereSizedBeforeTheFee(t *testing.T) {
	t.Parallel()
	btc := market.Symbol{Venue: "binance", Name: "BTCUSDT"}
	for size, want := range map[string]string{"0.02": "0", "0.03": "0.01"} {
		b := order.NewBook("owner")
		entry := order.Origin{Spec: order.Spec{
			ID: "e", Owner: "owner", Symbol: btc, Side: order.Buy, Type: order.Market, Quantity: decimal.RequireFromString("0.02"), Role: order.Entry,
			Protect: order.Protection{StopLoss: decimal.New(48000, 0)}, Group: order.Group{Name: "e"},
		}}
		stop := order.Origin{Parent: "e", Spec: entry.Legs()[0]}
		stop.ID, stop.Quantity = "s", decimal.RequireFromString(size)
		fill := order.Fill{TradeID: "1", OrderID: "e", Symbol: btc, Side: order.Buy, Quantity: entry.Quantity, Price: decimal.New(50000, 0), Fee: decimal.RequireFromString("0.00002"), FeeAsset: "BTC"}
		at := time.Unix(1_800_000_000, 0)
		for _, e := range []order.Event{
			{Kind: order.KindCreated, OrderID: "e", Origin: &entry},
			{Kind: order.KindSent, OrderID: "e"},
			{Kind: order.KindCreated, OrderID: "s", Origin: &stop},
			{Kind: order.KindSent, OrderID: "s"},
			{Kind: order.KindAccepted, OrderID: "e"},
			{Kind: order.KindAccepted, OrderID: "s"},
			{Kind: order.KindFill, OrderID: "e", Fill: &fill},
		} {
			e.At = at
			if err := b.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		if all := b.Covers(btc, "BTC"); len(all) != 1 || all[0].Over.String() != want {
			t.Errorf("a stop over %s: %+v, want %s over", size, all, want)
		}
	}
}
