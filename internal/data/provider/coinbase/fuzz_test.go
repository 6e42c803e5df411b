package coinbase

import (
	"testing"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// The seeds are the payloads of the venue's documentation.

func FuzzParseCandles(f *testing.F) {
	f.Add([]byte(`[[1591514160,0.02507,0.02507,0.02507,0.02507,0.02816506],[1591514100,0.02507,0.02507,0.02507,0.02507,1.63830323]]`))
	f.Add([]byte(`[]`))
	f.Add([]byte(`[[1591514160,"0.02507",null,1e999]]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		bars, err := parseCandles(data, market.Minute1)
		if err != nil {
			return
		}
		if err := provider.CheckAligned(&bars, market.Minute1); err != nil {
			t.Fatalf("%q becomes bars: %v", data, err)
		}
	})
}

func TestParseCandles_OrderOfColumnsAndRows(t *testing.T) {
	t.Parallel()
	bars, err := parseCandles([]byte(`[[120,1,5,2,4,9],[60,10,50,20,40,90]]`), market.Minute1)
	if err != nil || bars.Len() != 2 {
		t.Fatal(err)
	}
	b := bars.At(1)
	if b.T != 120 || b.L != 1 || b.H != 5 || b.O != 2 || b.C != 4 || b.V != 9 {
		t.Errorf("got %+v", b)
	}
}

func FuzzParseProduct(f *testing.F) {
	f.Add([]byte(`{"id":"BTC-USD","base_currency":"BTC","quote_currency":"USD","quote_increment":"0.01","base_increment":"0.00000001","display_name":"BTC/USD","min_market_funds":"1","status":"online"}`))
	f.Add([]byte(`{"id":"BTC-USD","base_increment":"-1"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		inst, err := parseProduct(data, "BTC-USD")
		if err == nil && (inst.Tick.IsNegative() || inst.Step.IsNegative() || inst.MinNotional.IsNegative()) {
			t.Fatalf("%q becomes %+v", data, inst)
		}
	})
}

func FuzzParseMessage(f *testing.F) {
	for _, s := range []string{
		`{"type":"match","trade_id":10,"sequence":50,"maker_order_id":"ac928c66","taker_order_id":"132fb6ae","time":"2014-11-07T08:19:27.028459Z","product_id":"BTC-USD","size":"5.23512","price":"400.23","side":"sell"}`,
		`{"type":"heartbeat","sequence":90,"last_trade_id":20,"product_id":"BTC-USD","time":"2014-11-07T08:19:28.464459Z"}`,
		`{"type":"subscriptions","channels":[{"name":"matches","product_ids":["BTC-USD"]}]}`,
		`{"type":"error","message":"Failed to subscribe","reason":"x is not a valid product"}`,
		`{"type":"match","trade_id":-1,"time":"x"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMessage(data)
		if err == nil && m.kind == "match" && (m.id <= 0 || m.at.IsZero() || m.product == "" || m.size.IsNegative()) {
			t.Fatalf("%q becomes %+v", data, m)
		}
	})
}
