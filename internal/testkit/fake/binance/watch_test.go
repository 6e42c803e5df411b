package binance_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
)

// TestWatch_MeasuresAtTheVenue follows a purchase whose stop is cancelled, sold in part and
// placed again.
func TestWatch_MeasuresAtTheVenue(t *testing.T) {
	t.Parallel()
	d := newThinDesk()
	d.must(t, http.MethodPost, "order", "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.2&newClientOrderId=buy")
	bought := strings.Replace(sellStop, "quantity=0.1", "quantity=0.1998", 1) // less the fee
	d.must(t, http.MethodPost, "order", bought+"&stopPrice=48000")
	g := d.Watch("BTCUSDT", decimal.New(1, -4))
	later := func() { d.now = d.now.Add(time.Second) }
	later()
	d.must(t, http.MethodDelete, "order", "symbol=BTCUSDT&origClientOrderId=stop")
	later()
	d.must(t, http.MethodPost, "order", "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.0998&newClientOrderId=sale")
	later()
	d.must(t, http.MethodPost, "order", sellStop+"&stopPrice=48000")
	later()
	all := g.All()
	if len(all) != 1 || all[0].To.Sub(all[0].From) != 2*time.Second || !all[0].Quantity.Equal(decimal.RequireFromString("0.1998")) {
		t.Fatalf("the gaps are %+v", all)
	}
	d.Move("BTCUSDT", decimal.NewFromInt(47_000)) // the stop sells all
	later()
	if all = g.All(); len(all) != 1 {
		t.Errorf("the gaps are %+v", all)
	}
}
