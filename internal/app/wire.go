package app

import (
	"time"

	"candela/internal/chart"
	"candela/internal/config"
	"candela/internal/provider"
	"candela/internal/provider/binance"
	"candela/internal/provider/csv"
	"candela/internal/provider/sample"
	"candela/internal/upstream"
)

// Wired returns what this build can do. A new mode is a line here.
func Wired() Services {
	return Services{
		MCP:     speakMCP,
		Serve:   serveMCP,
		Sources: sources,
		Draw:    chart.NewRenderer().PNG,
	}
}

// sources lists the providers. A new venue is a line here.
func sources(cfg *config.Config) ([]provider.Provider, error) {
	hosts := upstream.NewHosts(nil)
	data := cfg.Data
	all := []provider.Provider{
		sample.New(sample.Config{}),
		binance.New(hosts, binance.Config{URL: data.Binance.URL, StreamURL: data.Binance.StreamURL, FuturesURL: data.Binance.FuturesURL}),
	}
	if cfg.CSVDir != "" {
		files, err := csv.New(csv.Config{Dir: cfg.CSVDir, Now: time.Now})
		if err != nil {
			return nil, err
		}
		all = append(all, files)
	}
	return all, nil
}
