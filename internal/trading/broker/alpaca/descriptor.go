package alpaca

import (
	"cmp"

	stocks "candela/internal/data/provider/alpaca"
	"candela/internal/kit/setting"
	"candela/internal/trading/broker"
)

// Descriptor declares the broker. Its settings are those of the venue.
func Descriptor() broker.Descriptor {
	return broker.Descriptor{
		Part: setting.Part{
			Name: name, Title: "Alpaca", Keys: stocks.KeySettings(),
			Networks: []setting.Network{{Name: "paper"}, {Name: "live", Live: true}},
		},
		Rehearsal: &broker.Rehearsal{Symbol: "AAPL", Routes: func(v setting.Values, _ string) []broker.Route {
			return []broker.Route{{Address: cmp.Or(v.Text("alpaca-url"), PaperURL), Settings: []string{"alpaca-url"}}}
		}},
		Open: func(env broker.Env) (broker.Broker, error) {
			c := stocks.ConfigOf(env.Values)
			return New(env.Hosts, Config{Keys: c.Keys, Live: env.Live, URL: c.URL, DataURL: c.DataURL, Feed: c.Feed, Now: env.Now})
		},
	}
}
