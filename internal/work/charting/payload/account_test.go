package payload

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestAccount_IsListedWithinBounds(t *testing.T) {
	t.Parallel()
	written := func(a Account) string {
		e := encoder{[]byte{'{'}}
		e.account(&a)
		e.close('}')
		if !json.Valid(e.b) {
			t.Errorf("no JSON: %s", e.b)
		}
		return string(e.b)
	}
	if got := written(Account{Mode: "paper"}); got != "{}" {
		t.Errorf("who has nothing gets %s", got)
	}
	a := Account{Mode: "live", Position: &Position{Side: "sell", Quantity: "2", Entry: "1.5"}}
	if got := written(a); got != `{"mode":"live","position":{"side":"sell","quantity":2,"entry_price":1.5}}` {
		t.Errorf("without a price: %s", got)
	}
	for range 20 {
		a.Orders = append(a.Orders, Order{ID: "o", Side: "buy", Type: "market", Quantity: "1", Filled: "0"})
		a.Fills = append(a.Fills, Fill{Side: "buy", Quantity: "1", Price: "3", At: time.Unix(0, 0)})
	}
	got := written(a)
	if strings.Count(got, `"order_id"`) != maxOrders || !strings.Contains(got, `"open_orders_count":20`) ||
		strings.Count(got, `"date":"1970-01-01T00:00:00Z"`) != maxFills || !strings.Contains(got, `"fills_count":20`) || strings.Contains(got, `"price":,`) {
		t.Error(got)
	}
}
