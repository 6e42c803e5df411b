package alpaca

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// Truth is what the venue knows of an account, read apart from its API.
type Truth struct {
	Cash      decimal.Decimal            `json:"cash"`
	Orders    []order.Report             `json:"orders"`    // every one ever taken, oldest first
	Fills     []order.Fill               `json:"fills"`     // oldest first
	Positions map[string]decimal.Decimal `json:"positions"` // signed, by symbol
	Reserved  map[string]decimal.Decimal `json:"reserved"`  // of what is held, by symbol; an order of several counts once
	Groups    []Group                    `json:"groups"`    // orders of several that were placed as one, oldest first
}

// Group is an order of several: the entry of a bracket or an oto with its legs, or the target
// of an oco with its stop.
type Group struct {
	Class  string `json:"class"`
	Parent Leg    `json:"parent"`
	Legs   []Leg  `json:"legs"` // a replacement in the place of what it replaced
}

// Leg is one order of a group in the venue's own words.
type Leg struct {
	VenueID  string          `json:"venue_id"`
	ClientID string          `json:"client_id"`
	Type     string          `json:"type"`
	Status   string          `json:"status"` // a stop that works beside a target is held, too
	Waits    bool            `json:"waits"`  // for the entry
	Quantity decimal.Decimal `json:"quantity"`
	Filled   decimal.Decimal `json:"filled"`
	Limit    decimal.Decimal `json:"limit,omitzero"`
	Stop     decimal.Decimal `json:"stop,omitzero"`
}

// Truth returns what is so now of the account of KeyID.
func (s *Server) Truth() Truth {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.advance()
	a := d.accounts[KeyID]
	out := Truth{Cash: a.cash, Positions: make(map[string]decimal.Decimal), Reserved: make(map[string]decimal.Decimal)}
	for symbol, p := range a.held {
		out.Positions[symbol] = p.quantity
		if n := d.reserved(a, symbol, p.closing(), nil); n.IsPositive() {
			out.Reserved[symbol] = n
		}
	}
	for _, t := range a.orders {
		out.Orders = append(out.Orders, t.truth())
		if len(t.legs) > 0 {
			g := Group{Class: t.orderClass, Parent: t.leg()}
			for _, leg := range t.legs {
				g.Legs = append(g.Legs, leg.leg())
			}
			out.Groups = append(out.Groups, g)
		}
	}
	for _, e := range a.trades {
		r := e.order.truth()
		out.Fills = append(out.Fills, order.Fill{
			TradeID: e.id, OrderID: r.ID, VenueID: r.VenueID, Symbol: r.Symbol, Side: r.Side, Quantity: e.quantity, Price: e.price, At: e.at,
		})
	}
	return out
}

// Events returns what the venue reported of the account of KeyID, oldest first.
func (s *Server) Events() []Event {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.advance()
	all := d.accounts[KeyID].events
	out := make([]Event, len(all))
	for i, e := range all {
		out[i] = e.Event
	}
	return out
}

func (t *ticket) leg() Leg {
	return Leg{
		VenueID: t.id, ClientID: t.clientID, Type: t.kind, Status: t.status, Waits: t.dormant && t.open(), Quantity: t.quantity, Filled: t.filled,
		Limit: t.limit, Stop: t.stop,
	}
}

// truth is an order in our terms. An order that waits or trades is accepted, and one with a
// trigger is what it becomes.
func (t *ticket) truth() order.Report {
	side, _ := order.ParseSide(t.side)
	r := order.Report{
		Spec: order.Spec{
			ID: t.clientID, Symbol: market.Symbol{Venue: "alpaca", Name: t.symbol}, Side: side, Type: order.Market, Quantity: t.quantity, Price: t.limit, StopPrice: t.stop,
		},
		VenueID: t.id, Status: order.Accepted, Filled: t.filled, At: t.updated,
	}
	if t.priced() {
		r.Type = order.Limit
	}
	if t.orderClass != "" {
		r.Group = order.Group{Name: t.root().id, Leg: t.parent != nil && t.orderClass != "oco"}
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

// with lets do have the open order with the client's id or the venue's, and reports whether
// there is one.
func (s *Server) with(id string, do func(*account, *ticket)) bool {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.advance()
	a := d.accounts[KeyID]
	t := a.find(id, id)
	if t == nil || !t.open() {
		return false
	}
	do(a, t)
	return true
}

// Trade fills some of the open order with the client's id or the venue's, at its own price,
// and reports whether there is one. A leg that waits for its entry cannot be filled.
func (s *Server) Trade(id string, quantity decimal.Decimal) bool {
	done := false
	return s.with(id, func(a *account, t *ticket) {
		if done = !t.dormant; done {
			s.desk.take(a, t, quantity)
		}
	}) && done
}

// Reject lets the exchanges reject the open order with the client's id.
func (s *Server) Reject(clientID string) bool {
	return s.with(clientID, func(a *account, t *ticket) { s.desk.end(a, t, "rejected") })
}

// Cancel cancels the open order with the client's id, as another program would.
func (s *Server) Cancel(clientID string) bool {
	return s.with(clientID, func(a *account, t *ticket) { s.desk.end(a, t, "canceled") })
}

// FillBoth fills every exit of the group of an order, at its own price, as can happen in a
// fast market, and reports whether the order is open or filled and has exits that are open.
func (s *Server) FillBoth(id string) bool {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	d.advance()
	a := d.accounts[KeyID]
	t, done := a.find(id, id), false
	if t == nil {
		return false
	}
	for _, o := range t.group() {
		if o.open() && !o.dormant && len(o.rivals()) > 0 {
			o.triggered, done = true, true
			d.fill(a, o, o.left(), d.fair(o))
		}
	}
	return done
}

// RejectLegs lets the exchanges reject legs of a role, stop_loss or take_profit or both of
// them, when their entry is filled. No role ends that. It reports whether there is such a role.
func (s *Server) RejectLegs(role string) bool {
	if !slices.Contains([]string{"", "stop_loss", "take_profit", "both"}, role) {
		return false
	}
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	s.desk.rejects = role
	return true
}

// SetCancelDelay lets cancels be pending for so long. 0 ends that.
func (s *Server) SetCancelDelay(delay time.Duration) {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	s.desk.cancelDelay = delay
}

// SetRelease lets what a canceled order claimed be free only after a while.
func (s *Server) SetRelease(after time.Duration) {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	s.desk.letGo = after
}

// SetFlatEntries lets the venue refuse an entry with legs wherever the symbol is held, not
// only where the entry would close what is held.
func (s *Server) SetFlatEntries(flat bool) {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	s.desk.flat = flat
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
