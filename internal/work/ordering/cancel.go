package ordering

import (
	"context"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// Bounds of a cancel of all orders.
const (
	maxCancels = 50               // in one call
	cancelTime = 20 * time.Second // after which no further one begins
	maxKept    = 100              // that are named
)

// Cancelled is what became of a cancel of all orders, as clients see it.
type Cancelled struct {
	Status string  `json:"-"`
	Orders []Brief `json:"cancelled,omitempty"` // whose cancel was sent, as they are now
	Kept   []Brief `json:"kept,omitempty"`      // stops and targets
	Failed []Brief `json:"failed,omitempty"`
	Left   int     `json:"left,omitempty"` // that the next call cancels
	Next   string  `json:"next,omitempty"` // what the client may do now
}

// Brief is an order of such an answer.
type Brief struct {
	OrderID string          `json:"order_id"`
	Symbol  string          `json:"symbol"`
	Role    string          `json:"role,omitempty"`
	Status  string          `json:"status"`
	Filled  decimal.Decimal `json:"filled_quantity,omitzero"`
	Reason  string          `json:"reason,omitempty"` // why it could not be cancelled
}

func brief(o order.Order) Brief {
	return Brief{OrderID: o.ID, Symbol: o.Symbol.Name, Role: o.Role.String(), Status: o.Status.String(), Filled: o.Filled}
}

// CancelAll cancels the open orders of a symbol, or of all if it is zero, one after the other. Stops and targets
// stay: a position loses its protection only by name.
func CancelAll(ctx context.Context, account Orders, caller principal.Caller, s market.Symbol) (Cancelled, error) {
	var c Cancelled
	open, err := account.Orders(ctx, caller, true)
	if err != nil {
		return c, err
	}
	if open, err = openIn(open, s); err != nil {
		return c, err
	}
	open = slices.DeleteFunc(open, func(o order.Order) bool { return protective(o) || !o.CancelRequested.IsZero() })
	running, stop := context.WithTimeout(ctx, cancelTime)
	defer stop()
	confirmed := true
	for i, o := range open {
		if i == maxCancels || running.Err() != nil {
			c.Left = len(open) - i
			break
		}
		done, err := account.Cancel(ctx, caller, o.ID)
		switch f := fault.Of(err); {
		case err == nil || f != nil && f.Code == "order_closed": // it was filled meanwhile
			confirmed = confirmed && done.Status.Final()
			c.Orders = append(c.Orders, brief(done))
		case f == nil || f.Kind == fault.Unauthorized:
			return c, err
		default:
			failed := brief(o)
			failed.Reason = f.Public()
			c.Failed = append(c.Failed, failed)
		}
	}
	after, err := account.Orders(ctx, caller, true)
	for _, o := range after {
		if order.Named(s, o.Symbol) && protective(o) && len(c.Kept) < maxKept {
			c.Kept = append(c.Kept, brief(o))
		}
	}
	c.say(confirmed)
	return c, err
}

// say sets the words of the answer.
func (c *Cancelled) say(confirmed bool) {
	switch {
	case c.Left > 0:
		c.Status, c.Next = "incomplete", "Call again for the rest."
	case len(c.Failed) > 0:
		c.Status, c.Next = "incomplete", "Orders in failed are still open; reason says why."
	case len(c.Orders) == 0:
		c.Status = "nothing_open"
	case confirmed:
		c.Status = order.Canceled.String()
	default:
		c.Status = order.PendingCancel.String()
	}
	if len(c.Kept) > 0 && c.Next == "" {
		c.Next = "Orders in kept protect a position or an entry; cancel_order with order_id ends one of them."
	}
}

// protective reports whether an order is a stop or a target, placed here or found at the venue.
func protective(o order.Order) bool {
	return o.Role == order.StopLoss || o.Role == order.TakeProfit || o.Group.Leg || o.ReduceOnly && o.IsStop()
}

// Positions is what the account holds.
type Positions interface {
	Positions(ctx context.Context, caller principal.Caller) ([]order.PricedPosition, error)
}

// WithoutStop returns how much of a position no stop closes, "" if that is nothing or unknown.
func WithoutStop(ctx context.Context, account Positions, caller principal.Caller, s market.Symbol) string {
	positions, err := account.Positions(ctx, caller)
	if err != nil {
		return "" // the cancel counts, and get_positions shows it
	}
	for _, p := range positions {
		if left := p.Quantity.Abs().Sub(p.Protected); p.Symbol == s && left.IsPositive() {
			return left.String()
		}
	}
	return ""
}
