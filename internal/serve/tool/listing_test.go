package tool_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/kit/principal"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/order"
	"candela/lib/chart"
)

// others is tool.Orders under a name that no method of it has.
type others = tool.Orders

// manyOrders has 300 orders, each with its number as its id, newest first, of which
// every hundredth is open, and one that is open and older than what is listed at all.
type manyOrders struct{ others }

func (manyOrders) Orders(_ context.Context, _ principal.Caller, openOnly bool) ([]order.Order, error) {
	var all []order.Order
	for i := range 300 {
		if !openOnly || i%100 == 99 {
			all = append(all, withField(strconv.Itoa(i)))
		}
	}
	if openOnly {
		all = append(all, withField("1000"))
	}
	return all, nil
}

func (m manyOrders) OrderPage(ctx context.Context, caller principal.Caller, q order.Query) (order.Page, error) {
	all, err := m.Orders(ctx, caller, false)
	return desktest.Page(all, q), err
}

func withField(id string) (o order.Order) {
	n, _ := strconv.Atoi(id)
	o.ID, o.Created = id, time.Unix(int64(10_000-n), 0)
	return o
}

func TestGetOrders_ListsAllThatAreOpenAndTheNewestOthers(t *testing.T) {
	t.Parallel()
	parts := (&tooltest.Trading{}).Parts()
	parts.Orders = manyOrders{parts.Orders}
	registry, err := tool.New(tool.Config{Charting: tooltest.Charts(marketdatatest.Bars{}, chart.NewRenderer(), parts), Trading: parts, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	open := []string{"99", "199", "299", "1000"}
	for arguments, want := range map[string]int{
		`{}`: 54, `{"limit":2}`: 6, `{"limit":500}`: 301, `{"filter":"open"}`: 4, `{"filter":"open","limit":1}`: 4,
	} {
		var got []struct {
			ID string `json:"order_id"`
		}
		if err := json.Unmarshal(call(t, registry, "get_orders", arguments).Content[0].Text, &got); err != nil {
			t.Fatal(err)
		}
		var ids []int
		listed := make(map[string]bool)
		for _, o := range got {
			n, _ := strconv.Atoi(o.ID)
			ids, listed[o.ID] = append(ids, n), true
		}
		if len(got) != want || !slices.IsSorted(ids) || slices.ContainsFunc(open, func(id string) bool { return !listed[id] }) {
			t.Errorf("%s lists %d orders, want %d: %v", arguments, len(got), want, ids)
		}
	}
	if result := call(t, registry, "get_orders", `{"limit":501}`); !result.IsError {
		t.Error("more than 500 orders are allowed")
	}
}
