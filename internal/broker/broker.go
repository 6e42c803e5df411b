// Package broker is the contract between candela and a place to trade: what it
// may be told, what comes back, and which errors say what is known of an order's
// fate. It holds no broker; each has a package of its own below this one and
// passes the suite in brokertest.
package broker

import (
	"context"
	"errors"

	"candela/internal/market"
	"candela/internal/order"
	"candela/internal/provider"
)

// The fates of a request. Every error of Submit and Cancel wraps exactly one of
// them; an error that wraps none is a defect and treated as ErrUnknown.
var (
	// ErrNotSent means that nothing left this machine.
	ErrNotSent = errors.New("not sent")
	// ErrRefused means that the venue answered and did not do it.
	ErrRefused = errors.New("refused by the venue")
	// ErrUnknown means that the venue may or may not have done it: a timeout, a 5xx,
	// an answer that cannot be read. The same order is never sent again; it is asked
	// for by its id.
	ErrUnknown = errors.New("outcome unknown")
	// ErrNotFound is the answer of Query and Cancel for an id that the venue does
	// not know. It counts only after a grace period, since an order may be on its way.
	ErrNotFound = errors.New("no such order at the venue")
)

// Broker trades on one account at one venue. It is safe for concurrent use, keeps
// no state of orders, and leaves no goroutine behind when a call returns. Errors
// are also fault.Errors where a client can act on them.
type Broker interface {
	// Name is the venue prefix of the symbols it trades, such as "binance".
	Name() string
	Mode() order.Mode
	// Instrument tells the venue's rules for orders in a symbol.
	Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error)
	// Submit sends an order once.
	Submit(ctx context.Context, o order.Spec) (order.Report, error)
	// Cancel asks the venue to cancel. A report with Filled or Canceled is no error.
	Cancel(ctx context.Context, o order.Spec) (order.Report, error)
	// Query asks for an order by our id.
	Query(ctx context.Context, o order.Spec) (order.Report, error)
	// Open lists the open orders of the account, ours and others'.
	Open(ctx context.Context) ([]order.Report, error)
	// Fills lists the account's trades in a symbol after the one with trade id
	// after, oldest first; "" for as far back as the venue goes.
	Fills(ctx context.Context, s market.Symbol, after string) ([]order.Fill, error)
	Holdings(ctx context.Context) ([]order.Holding, error)
	// Stream sends what happens to the account's orders until ctx ends or the
	// connection is lost, and returns why. ready is called once when reports flow:
	// whatever happened before must be read.
	Stream(ctx context.Context, ready func(), out chan<- order.Report) error
}
