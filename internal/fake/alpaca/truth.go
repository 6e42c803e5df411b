package alpaca

import (
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/market"
	"candela/internal/order"
)

// Truth is what the venue knows of an account, told apart from its API.
type Truth struct {
	Cash      decimal.Decimal            `json:"cash"`
	Orders    []order.Report             `json:"orders"`    // every one ever taken, oldest first
	Fills     []order.Fill               `json:"fills"`     // oldest first
	Positions map[string]decimal.Decimal `json:"positions"` // signed, by symbol
}

// Truth returns what is so now of the account of KeyID.
func (s *Server) Truth() Truth {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.advance()
	a := d.accounts[KeyID]
	out := Truth{Cash: a.cash, Positions: make(map[string]decimal.Decimal)}
	for symbol, p := range a.held {
		out.Positions[symbol] = p.quantity
	}
	for _, t := range a.orders {
		out.Orders = append(out.Orders, t.truth())
	}
	for _, e := range a.trades {
		r := e.order.truth()
		out.Fills = append(out.Fills, order.Fill{
			TradeID: e.id, OrderID: r.ID, VenueID: r.VenueID, Symbol: r.Symbol, Side: r.Side, Quantity: e.quantity, Price: e.price, At: e.at,
		})
	}
	return out
}

// truth is an order in our terms. An order that waits or trades is accepted.
func (t *ticket) truth() order.Report {
	side, _ := order.ParseSide(t.side)
	kind, _ := order.ParseType(t.kind)
	r := order.Report{
		Spec:    order.Spec{ID: t.clientID, Symbol: market.Symbol{Venue: "alpaca", Name: t.symbol}, Side: side, Type: kind, Quantity: t.quantity, Price: t.limit},
		VenueID: t.id, Status: order.Accepted, Filled: t.filled, At: t.updated,
	}
	switch {
	case t.status == "replaced":
		r.Status = order.Canceled
	case !t.open() || t.status == "pending_cancel" || t.status == "partially_filled":
		r.Status, _ = order.ParseStatus(t.status)
	}
	return r
}

// SetQuote fixes the best prices of a symbol, and fills what is marketable at
// them. Two empty texts let them follow the tape again.
func (s *Server) SetQuote(symbol, bid, ask string) {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.advance()
	delete(d.quotes, symbol)
	if bid != "" || ask != "" {
		d.quotes[symbol] = quote{decimal.RequireFromString(bid), decimal.RequireFromString(ask)}
	}
	d.looked = 0
	d.advance()
}

// Quote returns the best prices of a symbol.
func (s *Server) Quote(symbol string) (bid, ask decimal.Decimal) {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.quoteAt(symbol, d.now().Unix())
	return q.bid, q.ask
}

// Trade fills some of the order with the client's id, at its limit.
func (s *Server) Trade(clientID string, quantity decimal.Decimal) {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.advance()
	if a := d.accounts[KeyID]; a.find("-", clientID) != nil {
		if t := a.find("-", clientID); t.open() {
			d.execute(a, t, decimal.Min(quantity, t.left()), d.fair(t))
		}
	}
}

// Reject lets the exchanges reject the order with the client's id.
func (s *Server) Reject(clientID string) {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.accounts[KeyID]
	if t := a.find("-", clientID); t != nil && t.open() {
		d.end(a, t, "rejected")
	}
}

// Place takes an order that another program sent, and returns the venue's id, or
// why it was refused.
func (s *Server) Place(o order.Spec) (id, why string) {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.advance()
	in := ask{Symbol: o.Symbol.Name, Quantity: &o.Quantity, Side: o.Side.String(), Type: o.Type.String(), TimeInForce: "day", ClientOrderID: o.ID}
	if strings.Contains(in.Symbol, "/") {
		in.TimeInForce = "gtc"
	}
	if o.Type == order.Limit {
		in.LimitPrice = &o.Price
	}
	a := d.accounts[KeyID]
	if _, bad := d.submit(a, in, nil); bad != nil {
		return "", bad.message
	}
	return a.orders[len(a.orders)-1].id, ""
}
