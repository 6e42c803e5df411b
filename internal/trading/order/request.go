package order

import (
	"github.com/shopspring/decimal"

	"candela/internal/market"
)

// Request is an order as a client asks for it, exact to the last digit.
type Request struct {
	Symbol          market.Symbol   `json:"Symbol"`
	RequestedSymbol market.Symbol   `json:"Asked"` // as the client wrote it, once Symbol is the venue's; else zero
	Side            Side            `json:"Side"`
	Type            Type            `json:"Type"`
	Quantity        decimal.Decimal `json:"Quantity"`
	Price           decimal.Decimal `json:"Price"`  // of a limit order
	Key             string          `json:"Key"`    // of idempotency: the same key gives the same order again; "" for none
	DryRun          bool            `json:"DryRun"` // check everything, send nothing
}

// WithSymbol returns the request for a symbol as its venue writes it. With a key it keeps how
// the client wrote it, so that a repeat is known without the venue.
func (r Request) WithSymbol(s market.Symbol) Request {
	if r.Key != "" && !r.matchesSymbol(s) {
		r.RequestedSymbol = r.Symbol
	}
	r.Symbol = s
	return r
}

// matchesSymbol reports whether the request writes the symbol so, perhaps without the venue.
func (r Request) matchesSymbol(s market.Symbol) bool {
	return r.Symbol.Name == s.Name && (r.Symbol.Venue == "" || r.Symbol.Venue == s.Venue)
}

// Matches reports whether the order is the one that the request asks for. A request
// may leave the venue open, or write the symbol as the first one did.
func (r Request) Matches(o Order) bool {
	return (r.matchesSymbol(o.Symbol) || !o.RequestedSymbol.IsZero() && r.Symbol == o.RequestedSymbol) &&
		r.Side == o.Side && r.Type == o.Type && r.Quantity.Equal(o.Quantity) && r.Price.Equal(o.Price)
}

// PricedPosition is a position with what it is worth now.
type PricedPosition struct {
	Position
	FeesInBase decimal.Decimal `json:"Taken"` // fees that were taken out of Quantity, and are not there to be sold
	Quote      Quote           `json:"Quote"` // its Last is zero when no price is known
	Mode       Mode            `json:"Mode"`
}

// NetQuantity returns what of the position is there: Quantity less what fees took of it.
func (m PricedPosition) NetQuantity() decimal.Decimal { return m.Quantity.Sub(m.FeesInBase) }
