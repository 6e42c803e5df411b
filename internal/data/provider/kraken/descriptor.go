package kraken

import (
	"cmp"

	"candela/internal/data/provider"
	"candela/internal/kit/setting"
)

// Descriptor declares the venue.
func Descriptor() provider.Descriptor {
	return provider.Descriptor{
		Part: setting.Part{
			Name: name, Title: "Kraken",
			Settings: []setting.Spec{
				setting.Address("kraken-url", "Kraken's REST API; the public host when not given"),
				setting.StreamAddress("kraken-stream-url", "Kraken's streams; follows --kraken-url when not given"),
			},
		},
		Kind: provider.Pairs, Example: "BTC/USD", Separator: "/", Listed: listed,
		Time: provider.ServerTime{URL: func(v setting.Values) string { return cmp.Or(v.Text("kraken-url"), defaultURL) + "/0/public/Time" }},
		Open: func(env provider.Env) (provider.Provider, error) {
			return New(env.Hosts, Config{URL: env.Values.Text("kraken-url"), StreamURL: env.Values.Text("kraken-stream-url")}), nil
		},
	}
}
