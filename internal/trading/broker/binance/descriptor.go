package binance

import (
	"candela/internal/kit/setting"
	"candela/internal/trading/broker"
)

// Descriptor declares the broker.
func Descriptor() broker.Descriptor {
	return broker.Descriptor{
		Part: setting.Part{
			Name: name, Title: "Binance", Networks: networks(),
			Keys: setting.Keys{File: "binance-key-file", ID: "binance-api-key", Secret: "binance-api-secret", LongSecret: true}, //nolint:gosec // G101: names of settings
			Settings: []setting.Spec{
				{
					Name: "binance-key-file", Arg: "FILE", Kind: setting.Path(),
					Doc: "file of mode 0600 with the API key in a line, then the secret or an Ed25519 key",
				},
				{Name: "binance-api-key", Arg: "TEXT", Kind: setting.Secret(), Doc: "the API key itself"},
				{Name: "binance-api-secret", Arg: "TEXT", Kind: setting.Secret(), Doc: "the secret that belongs to the API key"},
				setting.Address("binance-trade-url", "Binance's REST API for orders; by --binance-network when not given"),
				setting.StreamAddress("binance-trade-stream-url", "Binance's stream of order reports; follows --binance-trade-url when not given"),
			},
		},
		Assets: true,
		Rehearsal: &broker.Rehearsal{Symbol: "BTCUSDT", Void: recvWindow, Routes: func(v setting.Values, network string) []broker.Route {
			rest, stream, _ := settle(Config{Environment: Environment(network), URL: v.Text("binance-trade-url"), StreamURL: v.Text("binance-trade-stream-url")})
			// Prices of the same network: those of the exchange differ.
			return []broker.Route{{Address: rest, Settings: []string{"binance-trade-url", "binance-url"}}, {Address: stream, Settings: []string{"binance-trade-stream-url"}}}
		}},
		Open: func(env broker.Env) (broker.Broker, error) {
			v := env.Values
			return New(env.Hosts, Config{
				Environment: Environment(env.Network), URL: v.Text("binance-trade-url"), StreamURL: v.Text("binance-trade-stream-url"),
				Key: v.Secret("binance-api-key"), Secret: v.Secret("binance-api-secret"),
			})
		},
	}
}

// networks lists the environments, the test networks first.
func networks() []setting.Network {
	return []setting.Network{{Name: string(Testnet)}, {Name: string(Demo)}, {Name: string(Live), Live: true}}
}
