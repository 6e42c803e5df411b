package sample

import (
	"candela/internal/data/provider"
	"candela/internal/kit/setting"
)

// Descriptor declares the source.
func Descriptor(c Config) provider.Descriptor {
	return provider.Descriptor{
		Part: setting.Part{Name: name, Title: "sample data"},
		Open: func(provider.Env) (provider.Provider, error) { return New(c), nil },
	}
}
