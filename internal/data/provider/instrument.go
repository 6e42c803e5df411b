package provider

import (
	"context"
	"time"

	"candela/lib/market"
)

// SymbolMapper returns a symbol as a venue writes it, or the fault that it has none
// such.
type SymbolMapper func(market.Symbol) (string, error)

// Instruments keeps the instruments of a venue for an hour. It is safe for
// concurrent use and not copied.
type Instruments struct {
	spell SymbolMapper
	now   func() time.Time
	load  Loader
	memo  Cache[Instrument]
}

// Loader asks a venue about a symbol, given as it was named and as it is spelled.
type Loader func(ctx context.Context, s market.Symbol, spelled string) (Instrument, error)

// NewInstruments returns an Instruments that is empty.
func NewInstruments(spell SymbolMapper, now func() time.Time, load Loader) *Instruments {
	return &Instruments{spell: spell, now: now, load: load, memo: Cache[Instrument]{Keep: time.Hour, Most: 20_000}}
}

// Get returns the instrument of a symbol.
func (i *Instruments) Get(ctx context.Context, s market.Symbol) (Instrument, error) {
	spelled, err := i.spell(s)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return Instrument{}, err
	}
	return i.memo.Get(ctx, i.now(), spelled, func(ctx context.Context) (Instrument, error) { return i.load(ctx, s, spelled) })
}

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
