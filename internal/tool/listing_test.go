package tool_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"testing"

	"candela/internal/chart"
	"candela/internal/mcp"
	"candela/internal/order"
	"candela/internal/tool"
	"candela/internal/tool/tooltest"
)

// others is tool.Orders under a name that no method of it has.
type others = tool.Orders

// manyOrders has as many orders as it is told, each with its number as its id.
type manyOrders struct {
	others
	count int
}

func (m manyOrders) Orders(context.Context, mcp.Caller, bool) ([]order.Order, error) {
	all := make([]order.Order, m.count)
	for i := range all {
		all[i].ID = strconv.Itoa(i)
	}
	return all, nil
}

func TestGetOrders_ListsTheNewestUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	parts := (&tooltest.Trading{}).Parts()
	parts.Orders = manyOrders{parts.Orders, 300}
	registry, err := tool.New(tool.Config{Bars: tooltest.Bars{}, Painter: chart.NewRenderer(), Trading: parts, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]int{
		`{}`: 50, `{"limit":2}`: 2, `{"limit":500}`: 300, `{"filter":"open"}`: 300, `{"filter":"open","limit":1}`: 300,
	} {
		var got []struct {
			ID string `json:"order_id"`
		}
		if err := json.Unmarshal(call(t, registry, "get_orders", arguments).Content[0].Text, &got); err != nil {
			t.Fatal(err)
		}
		if len(got) != want || got[0].ID != "0" {
			t.Errorf("%s lists %d orders, want %d", arguments, len(got), want)
		}
	}
	if result := call(t, registry, "get_orders", `{"limit":501}`); !result.IsError {
		t.Error("more than 500 orders are allowed")
	}
}
