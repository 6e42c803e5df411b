package config

import (
	"errors"

	"candela/internal/data/provider"
	"candela/internal/data/provider/alpaca"
	"candela/internal/data/provider/binance"
	"candela/internal/data/provider/coinbase"
	"candela/internal/data/provider/csv"
	"candela/internal/data/provider/kraken"
	"candela/internal/data/provider/replay"
	"candela/internal/data/provider/yahoo"
	"candela/internal/kit/setting"
)

// parts returns the venues, and brokers and sinks as they are declared in packages above
// this one.
func parts() Parts {
	p := Parts{
		CryptoVenues: []string{"binance", "coinbase", "kraken"}, StockVenues: []string{"yahoo", "alpaca"},
		Brokers: []setting.Part{
			{Name: "paper", Networks: []setting.Network{{}}, Settings: []setting.Spec{{Name: "paper-size", Arg: "N", Default: "5", NeedsTrade: true, Doc: "a size", Kind: setting.Int(1, 9)}}},
			{
				Name: "binance", Title: "Binance", Networks: []setting.Network{{Name: "testnet"}, {Name: "demo"}, {Name: "live", Live: true}},
				Keys: setting.Keys{File: "binance-key-file", ID: "binance-api-key", Secret: "binance-api-secret", LongSecret: true},
				Settings: []setting.Spec{
					{Name: "binance-key-file", Arg: "FILE", Doc: "a file", Kind: setting.Path()},
					{Name: "binance-api-key", Arg: "TEXT", Doc: "a key", Kind: setting.Secret()},
					{Name: "binance-api-secret", Arg: "TEXT", Doc: "a secret", Kind: setting.Secret()},
				},
			},
			{Name: "alpaca", Title: "Alpaca", Keys: alpaca.KeySettings(), Networks: []setting.Network{{Name: "paper"}, {Name: "live", Live: true}}},
		},
		Sinks: []setting.Part{
			{
				Name: "webhook", EnabledBy: "webhook-url",
				Secrets: []setting.FileSecret{{
					Name: "webhook-secret", File: "webhook-secret-file", MinLength: 16, Purpose: "a secret to sign with",
					Needed: func(setting.Values) bool { return true },
				}},
				Settings: []setting.Spec{
					{Name: "webhook-url", Arg: "URL", Doc: "a URL", Kind: setting.Endpoint()},
					{Name: "webhook-secret-file", Arg: "FILE", Doc: "a file", Kind: setting.Path()},
					{Name: "webhook-secret", Arg: "TEXT", Doc: "a secret", Kind: setting.Secret()},
				},
			},
			{
				Name: "ntfy", EnabledBy: "ntfy-url", Secrets: []setting.FileSecret{{Name: "ntfy-token", File: "ntfy-token-file"}},
				Settings: []setting.Spec{
					{Name: "ntfy-url", Arg: "URL", Doc: "a URL", Kind: setting.Endpoint()},
					{Name: "ntfy-size", Arg: "N", Default: "1", Doc: "a size", Kind: setting.Int(1, 9)},
					{Name: "ntfy-token-file", Arg: "FILE", Doc: "a file", Kind: setting.Path()},
					{Name: "ntfy-token", Arg: "TEXT", Doc: "a token", Kind: setting.Secret()},
				},
				Check: func(v setting.Values) error {
					if v.Int("ntfy-size") == 3 {
						return errors.New("three is too many")
					}
					return nil
				},
			},
		},
	}
	for _, d := range []provider.Descriptor{
		binance.Descriptor(), coinbase.Descriptor(), kraken.Descriptor(), yahoo.Descriptor(), alpaca.Descriptor(), csv.Descriptor(), replay.Descriptor(csv.Setting, csv.Open),
	} {
		p.Venues = append(p.Venues, d.Part)
	}
	return p
}
