package tool_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
)

// TestGetPositions_SaysWhatLacksItsStop holds that a position says how much should have a stop and
// has none, why, and for how long, and that one that lacks nothing says nothing of it.
func TestGetPositions_SaysWhatLacksItsStop(t *testing.T) {
	t.Parallel()
	m, r := newMany(t, 2, "")
	m.positions[0].Gaps = []order.Gap{
		{Quantity: decimal.RequireFromString("0.00001"), Reason: "it is too little for a stop", For: time.Minute},
		{Quantity: decimal.RequireFromString("0.4"), Reason: "the clock differs; candela tries again", For: 3 * time.Second},
	}
	var got []map[string]any
	if err := json.Unmarshal(call(t, r, "get_positions", `{}`).Content[0].Text, &got); err != nil || len(got) != 2 {
		t.Fatalf("listed %v, %v", got, err)
	}
	const reason = "0.00001: it is too little for a stop. 0.4: the clock differs; candela tries again"
	if p := got[0]; p["unprotected_quantity"] != "0.40001" || p["unprotected_reason"] != reason || p["unprotected_for"] != "1m0s" {
		t.Errorf("the position is %v", p)
	}
	if _, says := got[1]["unprotected_quantity"]; says {
		t.Errorf("one that lacks nothing is %v", got[1])
	}
}

// TestGetOrders_NamesWhatReplacedAnOrder holds that both orders name each other.
func TestGetOrders_NamesWhatReplacedAnOrder(t *testing.T) {
	t.Parallel()
	m, r := newMany(t, 3, "")
	newest, oldest := &m.orders[0], m.orders[2]
	newest.Replaces, newest.VenueID = oldest.ID, "17"
	var got []map[string]any
	if err := json.Unmarshal(call(t, r, "get_orders", `{}`).Content[0].Text, &got); err != nil || len(got) != 3 {
		t.Fatalf("listed %v, %v", got, err)
	}
	if got[2]["replaced_by"] != newest.ID || got[0]["replaces"] != oldest.ID || got[1]["replaced_by"] != nil {
		t.Errorf("the orders are %v", got)
	}
}

// TestCancelOrder_SaysWhatHasNoStop holds that the cancel of a stop says how much of the position no
// stop closes, and that of any other order does not.
func TestCancelOrder_SaysWhatHasNoStop(t *testing.T) {
	t.Parallel()
	m, r := newMany(t, 3, "")
	for i := range m.orders {
		m.positions[0].Symbol, m.orders[i].Symbol = m.orders[0].Symbol, m.orders[0].Symbol
	}
	m.positions[0].Protected = decimal.RequireFromString("0.4")
	m.orders[0].StopPrice, m.orders[1].Group.Name = decimal.NewFromInt(7), "g"
	for i, want := range []any{"0.6", "0.6", nil} {
		var got map[string]any
		if err := json.Unmarshal(call(t, r, "cancel_order", `{"order_id":"`+m.orders[i].ID+`"}`).Content[0].Text, &got); err != nil || got["without_stop"] != want {
			t.Errorf("order %d: %v, %v", i, got, err)
		}
	}
}
