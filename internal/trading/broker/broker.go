// Package broker defines the interface of an account at a venue, and the errors that say
// what is known of an order's outcome. Each broker has its own package below this one and
// passes the suite in brokertest.
package broker

import (
	"context"
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// The outcomes of a request. Every error of Submit and Cancel wraps exactly one of them;
// an error that wraps none is a defect and treated as ErrUnknown. A failed read says
// nothing about an order: it wraps ErrNotFound, when it is a Query's, or none of them.
var (
	// ErrNotSent means that nothing left this machine.
	ErrNotSent = errors.New("not sent")
	// ErrRejected means that the venue answered and did not do it.
	ErrRejected = errors.New("refused by the venue")
	// ErrUnknown means that the venue may or may not have done it: a timeout, a 5xx,
	// an answer that cannot be read, an id that it says it has already. The same
	// order is never sent again; it is asked for by its id.
	ErrUnknown = errors.New("outcome unknown")
	// ErrNotFound is the answer of Query and Cancel for an id that the venue does
	// not know. It counts only after a grace period, since an order may be on its way.
	ErrNotFound = errors.New("no such order at the venue")
)

// ErrCursorLost is the answer of Fills for a cursor that the venue does not have: it
// was reset, as testnets are about once a month, and numbers its trades from 1. It
// counts only after a grace period, since reads may lag behind reports.
var ErrCursorLost = errors.New("the venue does not have the trade")

// Cursor is a place in the trades of a symbol, as the broker that returned it writes it; nobody
// else reads it. The empty one is as far back as the venue goes. It is stored, so a broker
// reads what earlier versions of it returned.
type Cursor string

// ErrNoFee is the answer of FeePercent in a symbol for which the policy's fee is the account's.
var ErrNoFee = errors.New("no fee of its own")

// Outcome returns the one of the four that err wraps, and nil for nil. An error that
// wraps none or several of them is ErrUnknown.
func Outcome(err error) error {
	if err == nil {
		return nil
	}
	outcome, found := ErrUnknown, 0
	for _, one := range []error{ErrNotSent, ErrRejected, ErrUnknown, ErrNotFound} {
		if errors.Is(err, one) {
			outcome = one
			found++
		}
	}
	if found != 1 {
		return ErrUnknown
	}
	return outcome
}

// Passing reports whether a refusal is not about the order but about the moment: a clock that
// differs, a rate limit, too many open orders, a refused key, address or region. A new order
// with the same terms may be accepted later.
func Passing(err error) bool {
	if !errors.Is(Outcome(err), ErrRejected) {
		return false
	}
	f := fault.Of(err)
	return f != nil && (f.Retryable || f.Kind == fault.Unauthorized || f.Kind == fault.Unavailable && f.Code != "venue_refused")
}

// Broker trades on one account at one venue. It is safe for concurrent use, keeps
// no state of orders, and leaves no goroutine behind when a call returns. Errors
// are also fault.Errors where a client can act on them.
type Broker interface {
	// Name is the venue prefix of the symbols it trades, such as "binance". Paper
	// alone trades the symbols of other venues.
	Name() string
	Mode() order.Mode
	// Instrument returns the venue's rules for orders in a symbol.
	Instrument(ctx context.Context, s market.Symbol) (provider.Instrument, error)
	// Submit sends an order once. The id must be new: where the venue says that it
	// has it already, the error is ErrUnknown, because an order of that id is there.
	Submit(ctx context.Context, o order.Spec) (order.Report, error)
	// Capabilities returns which other orders the venue takes in a symbol.
	Capabilities(ctx context.Context, s market.Symbol) (order.Capabilities, error)
	// SubmitGroup sends the orders of one group once, as one request: an entry and then
	// its legs, or the target of a pair and then its stop. All have IDs and the first
	// one's as the name of their group. The reports are those of the orders in the same
	// sequence, and an error is about all of them.
	SubmitGroup(ctx context.Context, orders []order.Spec) ([]order.Report, error)
	// Cancel asks the venue to cancel; where that ends the whole group, the reports of the
	// others follow on the stream. A report with Filled or Canceled is no error.
	Cancel(ctx context.Context, o order.Handle) (order.Report, error)
	// Query asks for an order by our id, or by the venue's.
	Query(ctx context.Context, o order.Handle) (order.Report, error)
	// Open lists the open orders of the account, ours and others'.
	Open(ctx context.Context) ([]order.Report, error)
	// Fills lists the account's trades in a symbol after a cursor, oldest first, each
	// once, and returns the cursor after them. OrderID is empty also where the venue
	// returns only its own id of the order. A cursor that the venue does not have is
	// ErrCursorLost.
	Fills(ctx context.Context, s market.Symbol, after Cursor) ([]order.Fill, Cursor, error)
	Holdings(ctx context.Context) ([]order.Holding, error)
	// Stream sends what happens to the account's orders until ctx ends or the connection
	// is lost, and returns why. ready is called once when reports flow: whatever happened
	// before must be read. It blocks while out is full, never closes out and sends
	// nothing after it has returned. A report may come twice and out of order.
	Stream(ctx context.Context, ready func(), out chan<- order.Report) error
}

// Swapper is a Broker that ends orders and places others in one step.
type Swapper interface {
	// Swap cancels orders and submits groups, or does nothing: no price is seen between the
	// two, and what the cancels free serves the new orders. Each group is one order as Submit
	// takes it, or the orders of a group as SubmitGroup does. An order of ended that is not
	// open, such as after a fill, refuses all (ErrRejected), and so does a group that would
	// be refused on its own.
	Swap(ctx context.Context, ended []order.Handle, groups [][]order.Spec) (Swapped, error)
}

// Swapped has the reports of a Swap, in the sequence of its arguments.
type Swapped struct {
	Ended  []order.Report
	Placed [][]order.Report
}

// Funded is a Broker whose venue pays and takes funding for positions in perpetual futures.
type Funded interface {
	// Funding lists what was paid after a time, oldest first, each payment once.
	Funding(ctx context.Context, after time.Time) ([]order.Funding, error)
}

// Fees is a Broker whose venue says what it takes of a trade.
type Fees interface {
	// FeePercent returns the most that a trade of the account in a symbol costs, in percent.
	// It may be some minutes old.
	FeePercent(ctx context.Context, s market.Symbol) (decimal.Decimal, error)
}

// Moded is a Broker whose venue lets the owner choose how positions in perpetual futures are held.
type Moded interface {
	// Modes returns what is chosen for a symbol. Nothing here changes it.
	Modes(ctx context.Context, s market.Symbol) (order.Modes, error)
}

// Clock is a Broker whose venue publishes the time.
type Clock interface {
	// Skew measures how far the venue's clock is ahead, to half the answer's time.
	Skew(ctx context.Context) (time.Duration, error)
}
