package alpaca

import (
	"net/http"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/market"
	"candela/internal/testkit/fake"
	"candela/internal/trading/order"
)

// Truth is what the venue knows of an account, read apart from its API.
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

// with lets do have the open order with the client's id, and reports whether
// there is one.
func (s *Server) with(clientID string, do func(*account, *ticket)) bool {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.advance()
	a := d.accounts[KeyID]
	t := a.find("-", clientID)
	if t == nil || !t.open() {
		return false
	}
	do(a, t)
	return true
}

// Trade fills some of the open order with the client's id, at its limit, and
// reports whether there is one.
func (s *Server) Trade(clientID string, quantity decimal.Decimal) bool {
	return s.with(clientID, func(a *account, t *ticket) {
		s.desk.execute(a, t, decimal.Min(quantity, t.left()), s.desk.fair(t))
	})
}

// Reject lets the exchanges reject the open order with the client's id.
func (s *Server) Reject(clientID string) bool {
	return s.with(clientID, func(a *account, t *ticket) { s.desk.end(a, t, "rejected") })
}

// Cancel cancels the open order with the client's id, as another program would.
func (s *Server) Cancel(clientID string) bool {
	return s.with(clientID, func(a *account, t *ticket) { s.desk.end(a, t, "canceled") })
}

// Wipe forgets all orders, trades and positions, as the reset of a paper account
// does, and cuts the streams.
func (s *Server) Wipe() {
	s.desk.mu.Lock()
	s.desk.open()
	s.desk.mu.Unlock()
	s.Updates.Drop()
}

// SetLag makes queries by the client's id learn of a new order only after a while.
func (s *Server) SetLag(lag time.Duration) {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	s.desk.lag = lag
}

// SetHours lets stocks trade around the clock, or by the hours of New York again.
func (s *Server) SetHours(always bool) {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	s.desk.always, s.desk.looked = always, 0
	clear(s.desk.hours)
}

// Changes reports whether a request places or cancels an order.
func Changes(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/v2/orders") && r.Method != http.MethodGet
}

// OrderFaults are the ways in which placing and cancelling go wrong, by name. What
// ends in "done" is carried out nevertheless.
func OrderFaults() map[string]fake.Fault {
	const (
		server = `{"code":50010000,"message":"internal server error occurred"}`
		page   = "<html><body>Request blocked.</body></html>"
	)
	out := map[string]fake.Fault{"hang": {Hang: true}, "hang, done": {Stall: true}, "half, done": fake.HalfJSON(), "cut, done": {Status: 200, Body: `{"id":"`, Cut: true}}
	for name, f := range map[string]fake.Fault{
		"broken": {Status: 500, Body: server}, "gateway": {Status: 502}, "outage": {Status: 503, Body: page}, "timeout": {Status: 504}, "client timeout": {Status: 408},
		"reset": {Reset: true}, "page": fake.Page(), "wall": {Status: 403, Body: page}, "redirect": {Status: 302},
	} {
		out[name+", done"] = f
		f.Skip = true
		out[name] = f
	}
	for name, f := range map[string]fake.Fault{
		"throttled": {Status: 429, Body: `{"code":42910000,"message":"rate limit exceeded"}`, RetryAfter: 30 * time.Second},
		"region":    {Status: 451}, "key": {Status: 401, Body: `{"message":"unauthorized."}`}, "forbidden": {Status: 403, Body: `{"message":"forbidden."}`},
		"balance":    {Status: 403, Body: `{"code":40310000,"message":"insufficient buying power"}`},
		"restricted": {Status: 403, Body: `{"code":40310000,"message":"account is restricted to liquidation only"}`},
		"wash":       {Status: 403, Body: `{"code":40310000,"message":"potential wash trade detected. use complex orders"}`},
		"invalid":    {Status: 422, Body: `{"code":42210000,"message":"invalid limit_price"}`},
	} {
		f.Skip = true
		out[name] = f
	}
	for name, f := range out {
		f.On = Changes
		out[name] = f
	}
	return out
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
