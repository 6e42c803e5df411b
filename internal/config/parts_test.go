package config

import (
	"candela/internal/kit/setting"
	"candela/internal/market/provider"
	"candela/internal/market/provider/alpaca"
	"candela/internal/market/provider/binance"
	"candela/internal/market/provider/coinbase"
	"candela/internal/market/provider/csv"
	"candela/internal/market/provider/kraken"
	"candela/internal/market/provider/replay"
	"candela/internal/market/provider/yahoo"
)

// parts returns the venues, and brokers as they are declared in packages above this one.
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
	}
	for _, d := range []provider.Descriptor{
		binance.Descriptor(), coinbase.Descriptor(), kraken.Descriptor(), yahoo.Descriptor(), alpaca.Descriptor(), csv.Descriptor(), replay.Descriptor(csv.Setting, csv.Open),
	} {
		p.Venues = append(p.Venues, d.Part)
	}
	return p
}
