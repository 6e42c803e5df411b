package binance

import (
	"cmp"
	"encoding/json"
	"time"

	"candela/internal/data/provider"
	"candela/internal/kit/setting"
)

// Descriptor declares the venue.
func Descriptor() provider.Descriptor {
	return provider.Descriptor{
		Part: setting.Part{
			Name: name, Title: "Binance",
			Settings: []setting.Spec{
				setting.Address("binance-url", "Binance's REST API; the public market-data host when not given"),
				setting.StreamAddress("binance-stream-url", "Binance's streams; follows --binance-url when not given"),
				setting.Address("binance-futures-url", "Binance's futures API; follows --binance-url when not given"),
				setting.StreamAddress("binance-futures-stream-url", "Binance's streams of futures; follows --binance-futures-url when not given"),
			},
		},
		Kind: provider.Pairs, Perpetuals: true, Example: "BTCUSDT", Listed: listed,
		Time: provider.ServerTime{
			URL:  func(v setting.Values) string { return cmp.Or(v.Text("binance-url"), defaultURL) + "/api/v3/time" },
			Read: readTime,
		},
		Open: func(env provider.Env) (provider.Provider, error) {
			v := env.Values
			return New(env.Hosts, Config{
				URL: v.Text("binance-url"), StreamURL: v.Text("binance-stream-url"),
				FuturesURL: v.Text("binance-futures-url"), FuturesStreamURL: v.Text("binance-futures-stream-url"),
			}), nil
		},
	}
}

func readTime(body []byte) (time.Time, bool) {
	var doc struct {
		Millis int64 `json:"serverTime"`
	}
	err := json.Unmarshal(body, &doc)
	return time.UnixMilli(doc.Millis), err == nil && doc.Millis != 0
}
