package tool_test

import (
	"encoding/json"
	"testing"
)

// TestRunBacktest_SaysWhatIsOpen holds that an answer has what the strategy holds and has ordered at the last close: the
// exits of what is held, an entry, the exits that wait for it, and of many orders the first ten.
func TestRunBacktest_SaysWhatIsOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, position, orders string }{
		"nothing": {"\nplot(close)", "null", "null"},
		"an entry and its exits": {`
strategy.entry("L", strategy.long, qty=2, limit=10.5)
strategy.exit("x", "L", profit=300, loss=150)
`, "null", `[{"kind":"entry","id":"L","side":"buy","quantity":2,"limit":10.5},{"kind":"exit","id":"x","of":"L","side":"sell","waits_for_entry":true,"limit_distance":0.03,"stop_distance":0.015}]`},
		"what is held, and an order against it": {`
strategy.entry("L", strategy.long, qty=1)
strategy.exit("x", "L", stop=1, limit=10000000)
if strategy.position_size > 0
    strategy.entry("S", strategy.short, qty=2, limit=9000000)
`, `{"side":"long","quantity":1}`, `[{"kind":"exit","id":"x","of":"L","side":"sell","quantity":1,"limit":10000000,"stop":1},{"kind":"entry","id":"S","side":"sell","quantity":3,"closes":1,"limit":9000000}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, text := backtestOf(t, "//@version=6\nstrategy(\"x\", initial_capital=1000000)"+c.body, "")
			var out struct {
				Position *struct {
					Side     string  `json:"side"`
					Quantity float64 `json:"quantity"`
				} `json:"open_position"`
				Orders json.RawMessage `json:"open_orders"`
			}
			if err := json.Unmarshal([]byte(text), &out); err != nil {
				t.Fatal(err)
			}
			if out.Orders == nil {
				out.Orders = json.RawMessage("null")
			}
			if position, _ := json.Marshal(out.Position); string(position) != c.position || string(out.Orders) != c.orders {
				t.Errorf("%s and %s", position, out.Orders)
			}
		})
	}
	_, text := backtestOf(t, `//@version=6
strategy("x", pyramiding=20)
for i = 1 to 14
    strategy.entry("L" + str.tostring(i), strategy.long, qty=1, limit=i)
`, "")
	var many struct {
		Orders []struct{} `json:"open_orders"`
		More   int        `json:"open_orders_more"`
	}
	if err := json.Unmarshal([]byte(text), &many); err != nil || len(many.Orders) != 10 || many.More != 4 {
		t.Errorf("%d are listed of 14, %d are not: %v", len(many.Orders), many.More, err)
	}
}
