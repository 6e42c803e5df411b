package feargreed

import (
	"candela/internal/data/provider"
	"candela/internal/kit/setting"
)

// Descriptor declares the source.
func Descriptor() provider.Descriptor {
	return provider.Descriptor{
		Part: setting.Part{
			Name: name, Title: name,
			Settings: []setting.Spec{setting.Address("fear-greed-url", "the fear and greed index; the publisher's host when not given")},
		},
		OpenSeries: func(env provider.Env) provider.SeriesSource {
			return New(env.Hosts, env.Values.Text("fear-greed-url"), env.Now)
		},
	}
}
