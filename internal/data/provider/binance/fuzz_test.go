package binance

import (
	"math"
	"testing"

	"candela/internal/data/provider"
	"candela/lib/market"
)

// The seeds are the payloads of the venue's documentation.

func FuzzParseKlines(f *testing.F) {
	f.Add([]byte(`[[1499040000000,"0.01634790","0.80000000","0.01575800","0.01577100","148976.11427815",1499644799999,"2434.19055334",308,"1756.87402397","28.46694368","0"]]`))
	f.Add([]byte(`[]`))
	f.Add([]byte(`[[1499040000000,"1","1","1","1","1",1499644799999,"1",1,"1","1","0"],[1499040000000,"1","1","1","1","1",1499644799999,"1",1,"1","1","0"]]`))
	f.Add([]byte(`[[1499040000000,"1e400","NaN",1,null,"1"]]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		bars, err := parseKlines(data, market.Week1)
		if err != nil {
			return
		}
		if err := provider.CheckAligned(&bars, market.Week1); err != nil {
			t.Fatalf("%q becomes bars: %v", data, err)
		}
	})
}

func FuzzParseMessage(f *testing.F) {
	for _, s := range []string{
		`{"stream":"bnbbtc@kline_1m","data":{"e":"kline","E":1672515782136,"s":"BNBBTC","k":{"t":1672515780000,"T":1672515839999,"s":"BNBBTC","i":"1m","f":100,"L":200,"o":"0.0010","c":"0.0020","h":"0.0025","l":"0.0010","v":"1000","n":100,"x":false,"q":"1.0000","V":"500","Q":"0.500","B":"123456"}}}`,
		`{"e":"trade","E":1672515782136,"s":"BNBBTC","t":12345,"p":"0.001","q":"100","T":1672515782136,"m":true,"M":true}`,
		`{"u":400900217,"s":"BNBUSDT","b":"25.35190000","B":"31.21000000","a":"25.36520000","A":"40.66000000"}`,
		`{"e":"serverShutdown","E":1770123456789}`,
		`{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":1770123456789}}`,
		`{"result":null,"id":1}`, `{"result":["btcusdt@aggTrade"],"id":3}`, `{"code":2,"msg":"Invalid request: too many parameters"}`,
		`{"error":{"code":2,"msg":"x"},"id":"a"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMessage(data)
		if err != nil || m.isAnswer || m.event != "kline" {
			return
		}
		if err := m.kline.bar.Check(); err != nil || m.stream == "" || m.at.IsZero() {
			t.Fatalf("%q becomes %+v: %v", data, m, err)
		}
	})
}

// TestParseMessage_DistinguishesCase is the trap of encoding/json: with the upper
// case keys first or last, the open time stays the open time.
func TestParseMessage_DistinguishesCase(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		`{"stream":"x","data":{"E":1672515782136,"e":"kline","k":{"T":1672515839999,"V":"500","Q":"9","t":1672515780000,"v":"1000","q":"8","o":"0.0010","c":"0.0020","h":"0.0025","l":"0.0010","L":7,"x":true,"i":"1m","n":100,"B":"123456"}}}`,
		`{"stream":"x","data":{"e":"kline","E":1672515782136,"k":{"t":1672515780000,"v":"1000","x":true,"i":"1m","o":"0.0010","c":"0.0020","h":"0.0025","l":"0.0010","L":7,"T":1672515839999,"V":"500"}}}`,
	} {
		m, err := parseMessage([]byte(s))
		want := market.Bar{T: 1672515780, O: 0.001, H: 0.0025, L: 0.001, C: 0.002, V: 1000, TakerBuy: 500}
		if err != nil || m.kline.bar != want || !m.kline.closed || m.at.UnixMilli() != 1672515782136 {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

func FuzzParseInfo(f *testing.F) {
	f.Add([]byte(`{"timezone":"UTC","serverTime":1565246363776,"rateLimits":[],"exchangeFilters":[],"symbols":[{"symbol":"ETHBTC","status":"TRADING","baseAsset":"ETH","baseAssetPrecision":8,"quoteAsset":"BTC","filters":[{"filterType":"PRICE_FILTER","minPrice":"0.00000100","maxPrice":"100000.00000000","tickSize":"0.00000100"},{"filterType":"LOT_SIZE","minQty":"0.00100000","maxQty":"100000.00000000","stepSize":"0.00100000"},{"minNotional":"10.00000000","filterType":"NOTIONAL"},{"filterType":"MIN_NOTIONAL","minNotional":"0.00100000"},{"filterType":"MAX_NUM_ORDERS","maxNumOrders":25}],"permissions":[]}]}`))
	f.Add([]byte(`{"symbols":[{"symbol":"ETHBTC","filters":[{"filterType":"LOT_SIZE","stepSize":"-1"}]}]}`))
	f.Add([]byte(`{"symbols":[{"symbol":"ETHBTC","filters":[{"filterType":"LOT_SIZE","stepSize":"1e999999999"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		inst, err := parseInfo(data, "ETHBTC")
		if err != nil {
			return
		}
		for _, d := range []interface{ IsNegative() bool }{inst.Tick, inst.Step, inst.MinQuantity, inst.MaxQuantity, inst.MinNotional} {
			if d.IsNegative() {
				t.Fatalf("%q becomes %+v", data, inst)
			}
		}
	})
}

func TestParseInfo_Documented(t *testing.T) {
	t.Parallel()
	inst, err := parseInfo([]byte(`{"symbols":[{"symbol":"OTHER"},{"symbol":"ETHBTC","baseAsset":"ETH","quoteAsset":"BTC","filters":[{"filterType":"PRICE_FILTER","tickSize":"0.00000100"},{"filterType":"LOT_SIZE","minQty":"0.00100000","maxQty":"100000.00000000","stepSize":"0.00100000"},{"filterType":"MARKET_LOT_SIZE","stepSize":"9"},{"filterType":"NOTIONAL","minNotional":"10.00000000"},{"filterType":"MIN_NOTIONAL","minNotional":"0.00100000"}]}]}`), "ETHBTC")
	if err != nil || inst.Tick.String() != "0.000001" || inst.Step.String() != "0.001" || inst.MaxQuantity.String() != "100000" || inst.MinNotional.String() != "10" {
		t.Errorf("%+v, %v", inst, err)
	}
	if _, err := parseInfo([]byte(`{"symbols":[]}`), "ETHBTC"); err == nil {
		t.Error("a symbol that is not there is found")
	}
}

func FuzzParsePoints(f *testing.F) {
	f.Add([]byte(`[{"symbol":"BTCUSDT","fundingRate":"-0.03750000","fundingTime":1570608000000,"markPrice":"34287.54619963"}]`))
	f.Add([]byte(`[{"fundingRate":"1","fundingTime":2000},{"fundingRate":"1","fundingTime":1000}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		points, err := parsePoints(data, "fundingTime", "fundingRate")
		if err != nil {
			return
		}
		for k, p := range points {
			if math.IsNaN(p.V) || math.IsInf(p.V, 0) || k > 0 && p.T <= points[k-1].T {
				t.Fatalf("%q becomes %+v", data, points)
			}
		}
	})
}

// BenchmarkParseMessage is what one update of one stream costs.
func BenchmarkParseMessage(b *testing.B) {
	data := []byte(`{"stream":"bnbbtc@kline_1m","data":{"e":"kline","E":1672515782136,"s":"BNBBTC","k":{"t":1672515780000,"T":1672515839999,"s":"BNBBTC","i":"1m","f":100,"L":200,"o":"0.0010","c":"0.0020","h":"0.0025","l":"0.0010","v":"1000","n":100,"x":false,"q":"1.0000","V":"500","Q":"0.500","B":"123456"}}}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseMessage(data); err != nil {
			b.Fatal(err)
		}
	}
}
