package order

import (
	"github.com/shopspring/decimal"

	"candela/internal/market"
)

// Request is an order as a client requests it, exact to the last digit.
type Request struct {
	Symbol          market.Symbol   `json:"Symbol"`
	RequestedSymbol market.Symbol   `json:"Asked"` // as the client wrote it, if Symbol is the venue's spelling; else zero
	Side            Side            `json:"Side"`
	Type            Type            `json:"Type"`
	Quantity        decimal.Decimal `json:"Quantity"`
	Price           decimal.Decimal `json:"Price"`  // of a limit order
	Key             string          `json:"Key"`    // idempotency key: repeating it returns the same order; "" for none
	DryRun          bool            `json:"DryRun"` // check everything, send nothing
}

// WithSymbol returns the request with the venue's spelling. With a key it keeps the
// client's spelling, so that a repeat is recognised without the venue.
func (r Request) WithSymbol(s market.Symbol) Request {
	if r.Key != "" && !r.matchesSymbol(s) {
		r.RequestedSymbol = r.Symbol
	}
	r.Symbol = s
	return r
}

// matchesSymbol reports whether the request names the symbol, perhaps without the venue.
func (r Request) matchesSymbol(s market.Symbol) bool {
	return r.Symbol.Name == s.Name && (r.Symbol.Venue == "" || r.Symbol.Venue == s.Venue)
}

// Matches reports whether the order is the one requested. The request may omit the venue
// or use the original spelling.
func (r Request) Matches(o Order) bool {
	return (r.matchesSymbol(o.Symbol) || !o.RequestedSymbol.IsZero() && r.Symbol == o.RequestedSymbol) &&
		r.Side == o.Side && r.Type == o.Type && r.Quantity.Equal(o.Quantity) && r.Price.Equal(o.Price)
}

// PricedPosition is a position with its current price.
type PricedPosition struct {
	Position
	FeesInBase decimal.Decimal `json:"Taken"` // fees taken out of Quantity
	Quote      Quote           `json:"Quote"` // Last is zero if unknown
	Mode       Mode            `json:"Mode"`
}

// NetQuantity returns Quantity less the fees taken from it.
func (m PricedPosition) NetQuantity() decimal.Decimal { return m.Quantity.Sub(m.FeesInBase) }
