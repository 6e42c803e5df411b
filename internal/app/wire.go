package app

import (
	"candela/internal/chart"
	"candela/internal/config"
	"candela/internal/fault"
	"candela/internal/provider"
	"candela/internal/provider/sample"
)

// Wired returns what this build can do. A new mode is a line here.
func Wired() Services {
	return Services{
		Sources: sources,
		Draw:    chart.NewRenderer().PNG,
	}
}

// sources lists the providers. A new venue is a line here.
func sources(cfg *config.Config) ([]provider.Provider, error) {
	if cfg.CSVDir != "" {
		return nil, &fault.Error{Kind: fault.Unsupported, Code: "not_in_build", Message: "--csv-dir is not available in this build"}
	}
	return []provider.Provider{sample.New(sample.Config{})}, nil
}
