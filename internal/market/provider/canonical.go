package provider

import (
	"context"

	"candela/internal/market"
)

// Namer is a Provider whose venue is known to take more than one spelling of a
// symbol, such as BTC/USDT and BTC-USDT for BTCUSDT.
type Namer interface {
	// Canonical returns the symbol as the venue writes it, with the venue. It asks
	// the venue only where the spelling depends on the venue's own list. A symbol
	// that the venue cannot have is an UnknownSymbol fault; that it has it is not
	// promised.
	Canonical(ctx context.Context, s market.Symbol) (market.Symbol, error)
}

// Canonical returns the one name that a symbol has at p: that of p's Namer, or else
// the symbol with p as its venue. Whatever is kept by instrument is kept by this
// name.
func Canonical(ctx context.Context, p Provider, s market.Symbol) (market.Symbol, error) {
	if n, ok := p.(Namer); ok {
		return n.Canonical(ctx, s)
	}
	return market.Symbol{Venue: p.Name(), Name: s.Name}, nil
}

// Canonical returns a symbol as the venue called name writes it.
func (spell SymbolMapper) Canonical(name string, s market.Symbol) (market.Symbol, error) {
	spelled, err := spell(s)
	if err != nil {
		return s, err
	}
	return market.Symbol{Venue: name, Name: spelled}, nil
}
