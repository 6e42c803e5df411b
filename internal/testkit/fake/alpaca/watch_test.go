package alpaca_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

// TestWatch_MeasuresAtTheVenue follows a position whose pair is cancelled, which is sold in part
// and whose rest gets a stop. While a cancel is pending, the stop does not work.
func TestWatch_MeasuresAtTheVenue(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.place("buy", "market", "10", "")
	pair := c.place("sell", "limit", "10", `"order_class":"oco","time_in_force":"gtc","take_profit":{"limit_price":"110"},"stop_loss":{"stop_price":"90"}`)
	g := c.Watch("AAPL", decimal.NewFromInt(1))
	c.SetCancelDelay(3 * time.Second)
	c.wait(time.Second)
	c.ask("DELETE", "/v2/orders/"+pair.ID, "")
	c.wait(3 * time.Second)
	c.wants(pair.ID, "canceled", "canceled")
	c.place("sell", "market", "4", "")
	c.wait(time.Second)
	c.place("sell", "stop", "6", `"stop_price":"90","time_in_force":"gtc"`)
	c.wait(time.Second)
	all := g.All()
	if len(all) != 1 || !all[0].Quantity.Equal(decimal.NewFromInt(10)) || all[0].To.Sub(all[0].From) != 4*time.Second {
		t.Fatalf("the gaps are %+v", all)
	}
	c.price("80")
	if all = g.All(); len(all) != 1 {
		t.Errorf("the gaps are %+v", all)
	}
}
