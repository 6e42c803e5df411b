package broker

import (
	"context"
	"fmt"

	"candela/internal/data/provider"
	"candela/lib/fault"
	"candela/lib/market"
)

// OwnSymbols completes the symbol of an order at a real venue, which trades its own symbols.
func OwnSymbols(b Broker) func(context.Context, market.Symbol) (market.Symbol, error) {
	return func(ctx context.Context, s market.Symbol) (market.Symbol, error) {
		name := b.Name()
		if s.Venue != "" && s.Venue != name {
			return s, fault.Field("symbol", s.String(), fmt.Sprintf("symbols of %s, where orders go, such as %s", name, market.Symbol{Venue: name, Name: s.Name}))
		}
		s.Venue = name
		if n, ok := b.(provider.Namer); ok {
			return n.Canonical(ctx, s)
		}
		return s, nil
	}
}

// ChartSymbols completes the symbol of an order with paper money: it trades those of the venues that charts read.
func ChartSymbols(route func(context.Context, market.Symbol) (provider.Provider, error)) func(context.Context, market.Symbol) (market.Symbol, error) {
	return func(ctx context.Context, s market.Symbol) (market.Symbol, error) {
		source, err := route(ctx, s)
		if err != nil {
			return s, err
		}
		if caps := source.Capabilities(); caps.Synthetic && !caps.Live {
			return s, fault.Field("symbol", s.String(), "a symbol of a real market: sample bars stand still")
		}
		return provider.Canonical(ctx, source, s)
	}
}
