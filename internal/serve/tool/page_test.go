package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/data/marketdata/marketdatatest"
	"candela/internal/kit/principal"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/order"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
)

// many is a trading side with long lists.
type many struct {
	*tooltest.Trading
	alerts    []alert.Alert
	orders    []order.Order // newest first
	positions []order.PricedPosition
	log       *local.Inbox
}

type otherAlerts = tool.Alerts

type manyAlerts struct {
	otherAlerts
	of *many
}

func (a manyAlerts) Alerts(context.Context, principal.Caller) ([]alert.Alert, error) {
	return slices.Clone(a.of.alerts), nil
}

func (m *many) Orders(_ context.Context, _ principal.Caller, openOnly bool) ([]order.Order, error) {
	return slices.DeleteFunc(slices.Clone(m.orders), func(o order.Order) bool { return openOnly && o.Status.Final() }), nil
}

func (m *many) OrderPage(_ context.Context, _ principal.Caller, q order.Query) (order.Page, error) {
	return desktest.Page(m.orders, q), nil
}

func (m *many) Cancel(_ context.Context, _ principal.Caller, id string) (order.Order, error) {
	for _, o := range m.orders {
		if o.ID == id {
			o.Status = order.Canceled
			return o, nil
		}
	}
	return order.Order{}, fault.New(fault.NotFound, "unknown_order", "no order %s", id)
}

func (m *many) Positions(context.Context, principal.Caller) ([]order.PricedPosition, error) {
	return slices.Clone(m.positions), nil
}

func (m *many) Poll(ctx context.Context, caller principal.Caller, wait time.Duration, most notify.Bound) (*notify.Batch, error) {
	return m.log.Poll(ctx, caller, wait, most)
}

// newMany has n of everything.
func newMany(t *testing.T, n int, text string) (*many, *tool.Registry) {
	t.Helper()
	log, err := local.Open(local.Config{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	m := &many{Trading: &tooltest.Trading{}, log: log}
	for i := range n {
		m.add(i, text)
	}
	slices.Reverse(m.orders)
	parts := m.Parts()
	parts.Orders, parts.Positions, parts.Alerts, parts.Notifications = m, m, manyAlerts{tooltest.Alerts{Trading: m.Trading}, m}, m
	r, err := tool.New(tool.Config{Charting: tooltest.Charts(marketdatatest.Bars{}, chart.NewRenderer(), parts), Trading: parts, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

func (m *many) add(i int, text string) {
	one, at := decimal.NewFromInt(1), time.Unix(1_700_000_000+int64(i), 0)
	symbol := market.Symbol{Venue: "test", Name: fmt.Sprintf("S%05d", i)}
	a := alert.Alert{ID: fmt.Sprintf("a-%05d", i), Symbol: symbol, Created: at, Note: text, Condition: alert.Condition{Type: alert.PriceAbove, Threshold: one}}
	m.alerts = append(m.alerts, a)
	m.orders = append(m.orders, order.Order{
		Origin: order.Origin{Spec: order.Spec{ID: fmt.Sprintf("o-%05d", i), Symbol: symbol, Side: order.Buy, Type: order.Limit, Quantity: one, Price: one}, Broker: "paper", Mode: order.Paper},
		Status: order.Filled, Created: at, Updated: at,
	})
	m.positions = append(m.positions, order.PricedPosition{Position: order.Position{Symbol: symbol, Quantity: one, Cost: one}, Mode: order.Paper})
	f := alert.Firing{Alert: a, Value: 1, At: at}
	m.log.Append([]notify.Entry{{Seq: uint64(i) + 1, Owner: caller().Subject, Symbol: symbol, Type: "price_above", At: time.Now(), Data: f.AppendJSON(nil)}})
}

// follow reads a list to its end and returns what it found, by one of its fields.
func follow(t *testing.T, r *tool.Registry, name, field, first string, between func()) []string {
	t.Helper()
	var found []string
	for arguments := first; arguments != ""; between() {
		result := call(t, r, name, arguments)
		var items []map[string]any
		if err := json.Unmarshal(result.Content[0].Text, &items); err != nil || result.IsError {
			t.Fatalf("%s %s: %v %.300s", name, arguments, err, result.Content[0].Text)
		}
		if len(items) > 500 || len(result.Content[0].Text) > 256<<10+4096 {
			t.Fatalf("%s %s: %d items in %d bytes", name, arguments, len(items), len(result.Content[0].Text))
		}
		for _, item := range items {
			found = append(found, fmt.Sprint(item[field]))
		}
		if result.OnSent != nil {
			result.OnSent(true)
		}
		if len(result.Content) == 1 {
			break
		}
		var said, beside struct {
			Left   int    `json:"left"`
			Cursor string `json:"cursor"`
			More   *struct {
				Left   int    `json:"left"`
				Cursor string `json:"cursor"`
			} `json:"more"`
		}
		if err := json.Unmarshal(result.Content[1].Text, &said); err != nil || said.Left < 1 {
			t.Fatalf("%s: %v %s", name, err, result.Content[1].Text)
		}
		if err := json.Unmarshal(result.Structured, &beside); err != nil || beside.More == nil || beside.More.Left != said.Left || beside.More.Cursor != said.Cursor {
			t.Fatalf("%s: %v %.200s", name, err, result.Structured)
		}
		arguments = `{"limit":400}`
		if said.Cursor != "" {
			arguments = fmt.Sprintf(`{"limit":400,"cursor":%q}`, said.Cursor)
		}
	}
	return found
}

func TestLists_PagesHaveEverythingOnce(t *testing.T) {
	t.Parallel()
	for name, field := range map[string]string{"list_alerts": "alert_id", "get_orders": "order_id", "get_positions": "symbol", "get_notifications": "alert_id"} {
		for text, first := range map[string]string{"": `{"limit":7}`, strings.Repeat("x", 450): `{}`} {
			_, r := newMany(t, 1234, text)
			found := follow(t, r, name, field, first, func() {})
			slices.Sort(found)
			if n := len(found); n != 1234 || len(slices.Compact(found)) != n {
				t.Errorf("%s from %s on: %d items, some of them twice or not at all", name, first, n)
			}
		}
	}
}

// Items added or removed between pages do not shift later pages.
func TestLists_PagesStayWhereTheyAreWhenItemsComeAndGo(t *testing.T) {
	t.Parallel()
	for name, field := range map[string]string{"list_alerts": "alert_id", "get_orders": "order_id", "get_positions": "symbol"} {
		m, r := newMany(t, 1000, "")
		next := 1000
		found := follow(t, r, name, field, `{"limit":100}`, func() {
			m.add(next, "")
			m.orders = slices.Insert(m.orders[:len(m.orders)-1], 0, m.orders[len(m.orders)-1])
			m.alerts = slices.Delete(m.alerts, 99, 100) // where the first page ended
			m.positions = slices.Delete(m.positions, 99, 100)
			m.orders = slices.Delete(m.orders, 100, 101)
			next++
		})
		slices.Sort(found)
		if n := len(found); n < 995 || len(slices.Compact(found)) != n {
			t.Errorf("%s: %d items", name, n)
		}
	}
}

func TestLists_AWrongCursorIsRefused(t *testing.T) {
	t.Parallel()
	_, r := newMany(t, 20, "")
	var said struct {
		Cursor string `json:"cursor"`
	}
	if err := json.Unmarshal(call(t, r, "list_alerts", `{"limit":5}`).Content[1].Text, &said); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"get_orders", "get_positions", "list_alerts"} {
		for _, cursor := range []string{`"x"`, `""`, `5`, `"0"`, `"` + said.Cursor + `"`} {
			if name == "list_alerts" && strings.Contains(cursor, said.Cursor) {
				continue
			}
			result := call(t, r, name, `{"cursor":`+cursor+`}`)
			text := string(result.Content[0].Text)
			if !result.IsError || !strings.Contains(text, `"field":"cursor"`) || !strings.Contains(text, "the previous result of "+name) {
				t.Errorf("%s %s: %s", name, cursor, text)
			}
		}
	}
}

// Only what was returned is taken out of the queue, and what did not arrive is back.
func TestNotifications_WhatIsNotReturnedStays(t *testing.T) {
	t.Parallel()
	_, r := newMany(t, 10, "")
	take := func(arrived bool, want ...string) {
		t.Helper()
		result := call(t, r, "get_notifications", `{"limit":4}`)
		for _, id := range want {
			if !strings.Contains(string(result.Content[0].Text), id) {
				t.Errorf("no %s in %s", id, result.Content[0].Text)
			}
		}
		if n := strings.Count(string(result.Content[0].Text), "alert_id"); n != len(want) {
			t.Errorf("%d notifications, want %d", n, len(want))
		}
		result.OnSent(arrived)
	}
	take(false, "a-00000", "a-00001", "a-00002", "a-00003")
	take(true, "a-00000", "a-00001", "a-00002", "a-00003")
	take(true, "a-00004", "a-00005", "a-00006", "a-00007")
	take(true, "a-00008", "a-00009")
	take(true)
}
