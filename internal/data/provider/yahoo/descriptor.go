package yahoo

import (
	"candela/internal/data/provider"
	"candela/internal/kit/setting"
)

// Descriptor declares the venue.
func Descriptor() provider.Descriptor {
	return provider.Descriptor{
		Part: setting.Part{
			Name: name, Title: "Yahoo", Licence: "Yahoo's data is for personal use",
			Settings: []setting.Spec{
				{
					Name: name, Default: "true", Kind: setting.Bool(),
					Doc: "read Yahoo, whose chart API is unofficial and for personal use; false turns it off",
				},
				setting.Address("yahoo-url", "Yahoo's chart API; the public host when not given"),
			},
		},
		Kind: provider.Stocks, Example: "AAPL", Listed: listed,
		Enabled: func(v setting.Values) bool { return v.Bool(name) },
		Open: func(env provider.Env) (provider.Provider, error) {
			return New(env.Hosts, Config{URL: env.Values.Text("yahoo-url"), Now: env.Now}), nil
		},
	}
}
