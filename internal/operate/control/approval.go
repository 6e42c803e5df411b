package control

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"candela/internal/trading/order"
	"candela/lib/fault"
)

// The names of the owner's decisions in the log and in orders.
const (
	ByApprove = "candela approve"
	ByRefuse  = "candela refuse"
)

// An Approver is a Trader whose orders may wait for the owner.
type Approver interface {
	Pending(ctx context.Context) ([]order.Order, error)
	Approve(ctx context.Context, id, by string) (order.Order, error)
	Refuse(ctx context.Context, id, by, reason string) (order.Order, error)
}

// Pending is an order that waits for the owner. Amounts are exact decimals.
type Pending struct {
	ID         string       `json:"order_id"`
	Mode       string       `json:"mode"`
	Client     string       `json:"client,omitempty"` // as it names itself, not verified
	Symbol     string       `json:"symbol"`
	Side       string       `json:"side"`
	Type       string       `json:"type"`
	Quantity   string       `json:"quantity"`
	Price      string       `json:"price,omitempty"` // of a limit order
	StopPrice  string       `json:"stop_price,omitempty"`
	StopLoss   string       `json:"stop_loss,omitempty"`
	Trail      string       `json:"trail_percent,omitempty"`
	TakeProfit string       `json:"take_profit,omitempty"`
	AskedPrice string       `json:"asked_price"`     // last price when it was asked for
	Value      string       `json:"value"`           // at its price, else at AskedPrice, in the currency of the symbol
	Stake      *order.Stake `json:"stake,omitempty"` // of an order in a perpetual future, when it was asked for
	Asked      time.Time    `json:"asked"`
	Expires    time.Time    `json:"expires"`
}

// PendingOf converts orders of a desk.
func PendingOf(orders []order.Order) []Pending {
	all := make([]Pending, 0, len(orders))
	for _, o := range orders {
		p := Pending{
			ID: o.ID, Mode: string(o.Mode), Client: fault.Clean(o.Client, fault.MaxForeign), Symbol: o.Symbol.String(), Side: o.Side.String(), Type: o.Type.String(),
			Quantity: o.Quantity.String(), AskedPrice: o.Approval.Price.String(), Asked: o.Approval.Asked, Expires: o.Approval.Expires,
			Stake: o.Approval.Stake,
		}
		if o.Price.IsPositive() {
			p.Price = o.Price.String()
		}
		p.Value = o.AskedValue().String()
		if o.StopPrice.IsPositive() {
			p.StopPrice = o.StopPrice.String()
		}
		if o.Protect.StopLoss.IsPositive() {
			p.StopLoss = o.Protect.StopLoss.String()
		}
		if o.Protect.TrailPercent.IsPositive() {
			p.Trail = o.Protect.TrailPercent.String()
		}
		if o.Protect.TakeProfit.IsPositive() {
			p.TakeProfit = o.Protect.TakeProfit.String()
		}
		all = append(all, p)
	}
	return all
}

// Decided is an order after the owner's decision.
type Decided struct {
	ID     string `json:"order_id"`
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"` // why it was denied or rejected
}

// DecidedOf converts an order of a desk.
func DecidedOf(o order.Order) Decided {
	return Decided{ID: o.ID, Status: o.Status.String(), Reason: fault.Clean(o.Reason, fault.MaxForeign)}
}

func (s Server) handleApprovals(mux *http.ServeMux, desk Approver) {
	mux.HandleFunc("GET /approvals", func(w http.ResponseWriter, r *http.Request) {
		orders, err := desk.Pending(r.Context())
		s.answerTrading(w, r, PendingOf(orders), err)
	})
	mux.HandleFunc("POST /approvals/{id}/approve", func(w http.ResponseWriter, r *http.Request) {
		o, err := desk.Approve(r.Context(), r.PathValue("id"), ByApprove)
		s.answerTrading(w, r, DecidedOf(o), err)
	})
	mux.HandleFunc("POST /approvals/{id}/refuse", func(w http.ResponseWriter, r *http.Request) {
		o, err := desk.Refuse(r.Context(), r.PathValue("id"), ByRefuse, r.FormValue("reason"))
		s.answerTrading(w, r, DecidedOf(o), err)
	})
}

// Approvals lists the orders that wait for the owner in the program that trades in a state
// directory. It reports false when none can be reached.
func Approvals(ctx context.Context, home string) (all []Pending, reached bool, err error) {
	return callTrader[[]Pending](ctx, home, http.MethodGet, "/approvals")
}

// Approve sends an order that waits for the owner. It reports false when no program that
// trades in the state directory can be reached.
func Approve(ctx context.Context, home, id string) (d Decided, reached bool, err error) {
	return decide(ctx, home, "/approvals/"+url.PathEscape(id)+"/approve")
}

// Refuse ends an order that waits for the owner. It reports false when no program that
// trades in the state directory can be reached.
func Refuse(ctx context.Context, home, id, reason string) (d Decided, reached bool, err error) {
	return decide(ctx, home, "/approvals/"+url.PathEscape(id)+"/refuse?"+url.Values{"reason": {reason}}.Encode())
}

// decide sends a decision. A program that has the socket open and does not answer may have
// carried it out.
func decide(ctx context.Context, home, path string) (d Decided, reached bool, err error) {
	d, err = call[Decided](ctx, home, http.MethodPost, path)
	f := fault.Of(err)
	switch {
	case errors.Is(err, errNotFound), f != nil && f.Kind == fault.Unavailable && f.Cause == nil:
		return d, false, nil
	case f != nil && f.Kind == fault.Unavailable:
		err = fault.New(fault.Unavailable, "outcome_unknown",
			"the program in state directory %s did not answer, so it is not known what became of the order. Run the command again: an order is sent at most once", home).Because(err)
	}
	return d, true, err
}
