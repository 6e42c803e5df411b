package alpaca

import (
	"cmp"

	"candela/internal/data/provider"
	"candela/internal/kit/setting"
)

// Descriptor declares the venue.
func Descriptor() provider.Descriptor {
	return provider.Descriptor{
		Part: setting.Part{
			Name: name, Title: "Alpaca", Keys: KeySettings(), Licence: "Alpaca licenses its data to the holder of the account",
			Settings: []setting.Spec{
				{
					Name: "alpaca-key-file", Arg: "FILE", Kind: setting.Path(),
					Doc: "file of mode 0600 with the key id and the secret of an Alpaca account, a line each",
				},
				{Name: "alpaca-key-id", Arg: "TEXT", Kind: setting.Secret(), Doc: "the key id itself"},
				{Name: "alpaca-secret-key", Arg: "TEXT", Kind: setting.Secret(), Doc: "the secret that belongs to the key id"},
				{
					Name: "alpaca-feed", Arg: "FEED", Default: IEX, Kind: setting.Choice(IEX, SIP, DelayedSIP),
					Doc: "iex, sip (needs a subscription) or delayed_sip (15 minutes late)",
				},
				{
					Name: "alpaca-adjustment", Arg: "KIND", Default: "split", Kind: setting.Choice("raw", "split", "dividend", "all"),
					Doc: "how Alpaca's prices are adjusted: raw, split, dividend or all",
				},
				setting.Address("alpaca-url", "Alpaca's trading API; the host of paper accounts when not given"),
				setting.Address("alpaca-data-url", "Alpaca's market data API; the public host when not given"),
				setting.StreamAddress("alpaca-stream-url", "Alpaca's market data stream; follows --alpaca-data-url when not given"),
			},
		},
		Kind: provider.Stocks, Example: "AAPL", Listed: listed,
		Open: func(env provider.Env) (provider.Provider, error) {
			c := ConfigOf(env.Values)
			if c.Now = env.Now; env.Live {
				c.URL = cmp.Or(c.URL, LiveURL)
			}
			return New(env.Hosts, c), nil
		},
	}
}

// KeySettings names the settings of an account's keys, which also serve for orders.
func KeySettings() setting.Keys {
	return setting.Keys{File: "alpaca-key-file", ID: "alpaca-key-id", Secret: "alpaca-secret-key"}
}

// ConfigOf returns what the settings say.
func ConfigOf(v setting.Values) Config {
	return Config{
		Keys: NewKeys(v.Secret("alpaca-key-id").Reveal(), v.Secret("alpaca-secret-key").Reveal()),
		URL:  v.Text("alpaca-url"), DataURL: v.Text("alpaca-data-url"), StreamURL: v.Text("alpaca-stream-url"),
		Feed: v.Text("alpaca-feed"), Adjustment: v.Text("alpaca-adjustment"),
	}
}
