package strategies

import (
	"cmp"
	"context"

	"github.com/shopspring/decimal"

	"candela/internal/trading/deploy"
)

// Book is what a strategy holds in its account and what it earned there.
type Book struct {
	Quantity decimal.Decimal `json:"quantity"` // below zero for a short
	Average  decimal.Decimal `json:"average_price,omitzero"`
	Trades   int             `json:"trades"` // the newest 500 at most
	Realised decimal.Decimal `json:"realized_pnl"`
	Net      decimal.Decimal `json:"net"` // after fees and funding
}

// bookOf returns the book of a strategy, nil at the stage shadow.
func bookOf(ctx context.Context, own deploy.Own, d *deploy.Deployment) (*Book, error) {
	made, held, err := own.Book(ctx, d)
	if err != nil || made.Deployment == "" {
		return nil, err
	}
	p := made.Position(d.Terms.Symbol)
	out := &Book{Quantity: held, Trades: len(made.Trades), Realised: p.Realised}
	out.Net, _ = p.Net(cmp.Or(made.Currency, d.Terms.Quote))
	if price, open := p.Average(); open {
		out.Average = price
	}
	return out, nil
}
