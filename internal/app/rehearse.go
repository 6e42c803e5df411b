package app

import (
	"context"
	"slices"
	"strings"

	"candela/internal/config"
	"candela/internal/data/provider"
	"candela/internal/operate/rehearse"
	"candela/internal/trading/broker"
	"candela/lib/fault"
)

// Rehearse tries out the broker of a venue with the keys and the network of the settings, never with real money.
func Rehearse(ctx context.Context, in config.Input, deps Deps, venue string, o rehearse.Options) (rehearse.Result, error) {
	i := slices.IndexFunc(deps.Brokers, func(b broker.Descriptor) bool { return b.Name == venue && b.Rehearsal != nil })
	if i < 0 {
		all := rehearsable(deps.Brokers)
		return rehearse.Result{}, fault.Field("rehearse", venue, strings.Join(all, ", "), fault.Nearest(venue, all)...)
	}
	in.Inspect, in.Parts = true, partsOf(deps.Venues, deps.Brokers, deps.Sinks)
	in.Args = append(slices.Clone(in.Args), "--trade", "--broker", venue)
	cfg, err := config.Load(in)
	if err != nil {
		return rehearse.Result{}, err
	}
	o.Broker, o.Values, o.Network = deps.Brokers[i], cfg.Values, cfg.Trading.Network
	if cfg.Trading.Live {
		o.Network = strings.Join(o.Broker.NetworkNames(true), ", ")
	}
	if at := slices.IndexFunc(deps.Venues, func(v provider.Descriptor) bool { return v.Name == venue }); at >= 0 {
		o.Prices = deps.Venues[at]
	}
	return rehearse.Run(ctx, o)
}

func rehearsable(all []broker.Descriptor) []string {
	var names []string
	for _, b := range all {
		if b.Rehearsal != nil {
			names = append(names, b.Name)
		}
	}
	return names
}
