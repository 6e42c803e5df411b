package app

import (
	"time"

	"candela/internal/config"
	"candela/internal/market/provider"
	"candela/internal/market/provider/alpaca"
	"candela/internal/market/provider/binance"
	"candela/internal/market/provider/coinbase"
	"candela/internal/market/provider/csv"
	"candela/internal/market/provider/feargreed"
	"candela/internal/market/provider/kraken"
	"candela/internal/market/provider/replay"
	"candela/internal/market/provider/sample"
	"candela/internal/market/provider/yahoo"
	"candela/internal/market/upstream"
	"candela/internal/picture/chart"
)

// Wired returns what this build can do. A new mode is a line here.
func Wired() Services {
	return Services{
		MCP:     speakMCP,
		Serve:   serveMCP,
		Sources: sources,
		Series:  series,
		Draw:    chart.NewRenderer(),
	}
}

// sources lists the providers. A new venue is a line here.
func sources(cfg *config.Config, hosts *upstream.Hosts) ([]provider.Provider, error) {
	data := cfg.Data
	all := []provider.Provider{
		sample.New(sample.Config{}),
		binance.New(hosts, binance.Config{URL: data.Binance.URL, StreamURL: data.Binance.StreamURL, FuturesURL: data.Binance.FuturesURL}),
		coinbase.New(hosts, coinbase.Config{URL: data.Coinbase.URL, StreamURL: data.Coinbase.StreamURL}),
		kraken.New(hosts, kraken.Config{URL: data.Kraken.URL, StreamURL: data.Kraken.StreamURL}),
	}
	if data.Yahoo.On {
		all = append(all, yahoo.New(hosts, yahoo.Config{URL: data.Yahoo.URL, Now: time.Now}))
	}
	all = append(all, alpaca.New(hosts, alpaca.Config{
		Keys: alpaca.NewKeys(data.Alpaca.KeyID.Reveal(), data.Alpaca.SecretKey.Reveal()), Feed: data.Alpaca.Feed, Adjustment: data.Alpaca.Adjustment,
		URL: alpacaURL(cfg), DataURL: data.Alpaca.DataURL, StreamURL: data.Alpaca.StreamURL, Now: time.Now,
	}))
	if cfg.CSVDir != "" {
		files, err := csv.New(csv.Config{Dir: cfg.CSVDir, Now: time.Now})
		if err != nil {
			return nil, err
		}
		all = append(all, files)
	}
	if !data.ReplayFrom.IsZero() {
		played, err := play(cfg)
		if err != nil {
			return nil, err
		}
		all = append(all, played)
	}
	return all, nil
}

// play starts the replay of the files. It reads them through a provider of its own,
// for which every bar has closed.
func play(cfg *config.Config) (provider.Provider, error) {
	files, err := csv.New(csv.Config{Dir: cfg.CSVDir})
	if err != nil {
		return nil, err
	}
	return replay.New(replay.Config{Source: files, Start: cfg.Data.ReplayFrom, Speed: float64(cfg.Data.ReplaySpeed), Now: time.Now})
}

// series lists the sources of values that come with no venue.
func series(cfg *config.Config, hosts *upstream.Hosts) []provider.SeriesSource {
	return []provider.SeriesSource{feargreed.New(hosts, cfg.Data.FearGreedURL, time.Now)}
}
