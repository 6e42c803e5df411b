package provider

import (
	"context"
	"time"

	"candela/internal/market"
)

// SymbolMapper returns a symbol as a venue writes it, or the fault that it has none
// such.
type SymbolMapper func(market.Symbol) (string, error)

// Prepare returns q as the venue called name must answer it, and how it spells the
// symbol. There is nothing to ask for when ask is false: q is wrong, its range is
// empty, or ctx has ended.
func (c Caps) Prepare(ctx context.Context, name string, q BarQuery, spell SymbolMapper) (accepted BarQuery, spelled string, ask bool, err error) {
	if spelled, err = spell(q.Symbol); err != nil {
		return q, "", false, err
	}
	if q, err = c.Normalize(name, q); err != nil {
		return q, spelled, false, err
	}
	err = ctx.Err()
	return q, spelled, err == nil && !q.Empty(), err
}

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
