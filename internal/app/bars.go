package app

import (
	"context"
	"io"
	"slices"
	"time"

	"candela/internal/alerting/engine"
	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/data/upstream"
	"candela/internal/kit/setting"
)

// bars serves the tools from the market data service. It owns the providers and the
// connections they share.
type bars struct {
	*marketdata.Service
	hosts     *upstream.Hosts
	providers []provider.Provider
	engine    *engine.Engine // nil without --trade
}

// openBars builds the service over the configured sources. The caller closes it.
func (rt Runtime) openBars() (*bars, error) {
	b := &bars{hosts: upstream.NewHosts(nil)}
	b.hosts.OnClockSkew = rt.skewed
	if rt.Config.Trade {
		b.hosts.Apart = rt.Apart
	}
	env := provider.Env{Hosts: b.hosts, Now: time.Now}
	providers, series, err := openVenues(rt.Venues, rt.Config, env)
	if err != nil {
		return nil, err // no request was sent, so nothing is open
	}
	b.providers = providers
	data := rt.Config.Data
	cfg := marketdata.Config{
		Providers: providers, Series: series,
		Routes: marketdata.Routes{Preferred: fileSources(rt.Venues), Crypto: data.CryptoVenue, Other: data.StockVenue, Venues: rt.Venues, Locked: rt.lockedVenues(), Withheld: rt.withheldVenues()},
		Log:    rt.Log, Now: time.Now,
	}
	if b.Service, err = marketdata.New(cfg); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// lockedVenues lists the venues that need keys that are not set.
func (rt Runtime) lockedVenues() []string {
	var names []string
	for _, v := range rt.Venues {
		if v.Keys != (setting.Keys{}) && !v.HasKeys(rt.Config.Values) {
			names = append(names, v.Name)
		}
	}
	return names
}

// withheldVenues lists the venues that are off because their data may not be shown to the owners, and logs them.
func (rt Runtime) withheldVenues() []string {
	var names []string
	for _, v := range rt.Venues {
		if v.On(rt.Config.Values) && rt.Config.Withheld(v.Part) {
			names = append(names, v.Name)
			rt.Log.Info("venue off: its data may not be shown to others without a licence", "venue", v.Name, "licence", v.Licence, "flag", "--licensed-venues")
		}
	}
	return names
}

// fileSources lists the sources of the user's own files. A replay is declared after the
// files that it plays and comes before them.
func fileSources(venues []provider.Descriptor) []string {
	var names []string
	for _, v := range slices.Backward(venues) {
		if v.Kind == provider.Files {
			names = append(names, v.Name)
		}
	}
	return names
}

// skewed logs when this machine's clock differs from a venue's.
func (rt Runtime) skewed(venue string, skew time.Duration) {
	if skew == 0 {
		rt.Log.Info("clock skew ended", "venue", venue)
		return
	}
	rt.Log.Warn("clock skew detected: set the clock of this machine; alerts on bars may fire late, or on bars from before they were set",
		"venue", venue, "venue_ahead_by", skew.Round(100*time.Millisecond))
}

// close cancels reads and closes the sources. They are only read from, so an error here
// loses nothing.
func (b *bars) close() {
	if b.Service != nil {
		b.Close()
	}
	closeAll(b.providers)
	_ = b.hosts.Close()
}

// closeAll closes sources, which are only read from.
func closeAll(providers []provider.Provider) {
	for _, p := range providers {
		if c, ok := p.(io.Closer); ok {
			_ = c.Close()
		}
	}
}

// followed returns bars from the engine's rolling window, if it follows the series.
func (b *bars) followed(ctx context.Context, r marketdata.Request) (marketdata.BarSet, bool) {
	if b.engine == nil || r.Symbol.IsZero() {
		return marketdata.BarSet{}, false
	}
	instrument, err := b.canonical(ctx, r.Symbol)
	if err != nil {
		return marketdata.BarSet{}, false // the read reports the error
	}
	shown := r.Symbol
	r.Symbol = instrument
	set, ok := b.engine.Bars(r)
	set.Symbol = shown
	return set, ok
}

// Bars returns bars from the engine's rolling window, or reads them.
func (b *bars) Bars(ctx context.Context, r marketdata.Request) (marketdata.BarSet, error) {
	if set, ok := b.followed(ctx, r); ok {
		return set, nil
	}
	return b.Service.Bars(ctx, r)
}
