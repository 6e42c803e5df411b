package kraken

import (
	"testing"

	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/internal/kit/strictjson"
	"candela/lib/market"
)

// The seeds are the payloads of the venue's documentation.

func FuzzParseOHLC(f *testing.F) {
	f.Add([]byte(`{"error":[],"result":{"XETHXXBT":[[1591475580,"0.02499","0.02499","0.02499","0.02499","0.00000","0.00000000",0]],"last":1591517580}}`))
	f.Add([]byte(`{"error":["EQuery:Unknown asset pair"]}`))
	f.Add([]byte(`{"result":{"XETHXXBT":[[1,"1"]],"last":1}}`))
	p := New(upstream.NewHosts(nil), Config{})
	f.Fuzz(func(t *testing.T, data []byte) {
		bars, err := answerOf(p, data, market.Symbol{Name: "ETH/BTC"}, func(j *strictjson.Reader) (market.Bars, error) {
			return parseOHLC(j, "XETHXXBT", market.Minute1)
		})
		if err != nil {
			return
		}
		if err := provider.CheckAligned(&bars, market.Minute1); err != nil {
			t.Fatalf("%q becomes bars: %v", data, err)
		}
	})
}

func FuzzParsePairs(f *testing.F) {
	f.Add([]byte(`{"XXBTZUSD":{"altname":"XBTUSD","wsname":"XBT/USD","aclass_base":"currency","base":"XXBT","quote":"ZUSD","pair_decimals":1,"lot_decimals":8,"fees":[[0,0.4]],"ordermin":"0.00005","costmin":"0.5","tick_size":"0.1","status":"online"}}`))
	f.Add([]byte(`{"X":{"wsname":"a","lot_decimals":99}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		j := strictjson.NewReader(data)
		all, err := parsePairs(j)
		if err != nil || j.End() != nil {
			return
		}
		for spelled, one := range all {
			if one.symbol == "" || one.instrument.Step.IsNegative() || one.instrument.Tick.IsNegative() {
				t.Fatalf("%q becomes %q: %+v", data, spelled, one)
			}
		}
	})
}

func FuzzParseMessage(f *testing.F) {
	for _, s := range []string{
		`{"channel":"ohlc","type":"update","timestamp":"2023-10-04T16:26:30.524394914Z","data":[{"symbol":"MATIC/USD","open":0.5624,"high":0.5628,"low":0.5622,"close":0.5627,"trades":12,"volume":30927.68066226,"vwap":0.5626,"interval_begin":"2023-10-04T16:25:00.000000000Z","interval":5,"timestamp":"2023-10-04T16:30:00.000000Z"}]}`,
		`{"channel":"heartbeat"}`,
		`{"channel":"status","type":"update","data":[{"version":"2.0.0","system":"online","api_version":"v2","connection_id":12393906104898154338}]}`,
		`{"method":"subscribe","result":{"channel":"ohlc","interval":5,"snapshot":true,"symbol":"MATIC/USD"},"success":true,"time_in":"2023-10-04T16:26:27.000000Z","time_out":"2023-10-04T16:26:27.000001Z","req_id":1}`,
		`{"error":"Currency pair not supported XXX/USD","method":"subscribe","success":false,"symbol":"XXX/USD"}`,
		`{"data":[{"symbol":1}],"channel":"ohlc"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseMessage(data)
		if err != nil || m.channel != "ohlc" {
			return
		}
		for _, c := range m.candles {
			if err := c.bar.Check(); err != nil || m.at.IsZero() {
				t.Fatalf("%q becomes %+v: %v", data, m, err)
			}
		}
	})
}
