package coinbase

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
			Name: name, Title: "Coinbase Exchange",
			Settings: []setting.Spec{
				setting.Address("coinbase-url", "Coinbase Exchange's REST API; the public host when not given"),
				setting.StreamAddress("coinbase-stream-url", "Coinbase Exchange's streams; follows --coinbase-url when not given"),
			},
		},
		Kind: provider.Pairs, Example: "BTC-USD", Separator: "-", Listed: listed,
		Time: provider.ServerTime{
			URL:  func(v setting.Values) string { return cmp.Or(v.Text("coinbase-url"), defaultURL) + "/time" },
			Read: readTime,
		},
		Open: func(env provider.Env) (provider.Provider, error) {
			return New(env.Hosts, Config{URL: env.Values.Text("coinbase-url"), StreamURL: env.Values.Text("coinbase-stream-url")}), nil
		},
	}
}

func readTime(body []byte) (time.Time, bool) {
	var doc struct {
		ISO time.Time `json:"iso"`
	}
	err := json.Unmarshal(body, &doc)
	return doc.ISO, err == nil && !doc.ISO.IsZero()
}
