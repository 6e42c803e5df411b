package binance

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
)

func (e *exchange) assets() []string { return slices.Sorted(maps.Keys(e.balances)) }

// Orders returns every order that the venue took, oldest first.
func (s *Server) Orders() []Order {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	s.exchange.advance(s.config.Now())
	all := make([]Order, 0, len(s.exchange.orders))
	for _, o := range s.exchange.orders {
		all = append(all, *o)
	}
	return all
}

// Trades returns every trade, oldest first.
func (s *Server) Trades() []Trade {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	s.exchange.advance(s.config.Now())
	return slices.Clone(s.exchange.trades)
}

// Balances returns what the account has, by asset.
func (s *Server) Balances() map[string]Balance {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	s.exchange.advance(s.config.Now())
	all := make(map[string]Balance, len(s.exchange.balances))
	for asset, b := range s.exchange.balances {
		all[asset] = *b
	}
	return all
}

// Price returns the last price of a symbol.
func (s *Server) Price(symbol string) decimal.Decimal {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	price, _ := s.exchange.market(symbol, s.config.Now())
	return price
}

// Pin holds the price of a symbol where orders are matched, whatever the bars say.
// Zero lets go of it.
func (s *Server) Pin(symbol string, price decimal.Decimal) {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	s.exchange.advance(s.config.Now())
	if price.IsZero() {
		delete(s.exchange.pinned, symbol)
	} else {
		s.exchange.pinned[symbol] = price
	}
}

// Trade fills some of the order with a client's id at its own price, and reports whether
// there was one on the book or before its trigger. One that waits is triggered.
func (s *Server) Trade(clientID string, quantity decimal.Decimal) bool {
	e, now := s.exchange, s.config.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.advance(now)
	for _, o := range e.orders {
		if o.ClientID != clientID || !o.placed() {
			continue
		}
		price, _ := e.market(o.Symbol, now)
		if o.StopPrice.IsPositive() {
			price = o.StopPrice
		}
		if o.waits() && !e.activate(o, price, now) {
			return false
		}
		e.fill(o, decimal.Min(quantity, o.left()), o.restPrice(price), true, now)
		e.ripen(now)
		return true
	}
	return false
}

// Place puts a limit order in as another client of the account would, and returns
// the venue's id of it, 0 when it is refused.
func (s *Server) Place(clientID, symbol, side string, quantity, price decimal.Decimal) int64 {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	o := &Order{ClientID: clientID, Symbol: symbol, Side: side, Type: typeLimit, TimeInForce: timeInForceOpen, Quantity: quantity, Price: price}
	if no := s.exchange.place(o, s.config.Now()); no != nil {
		return 0
	}
	return o.ID
}

// Expire ends an open order as the venue does on its own account, such as for
// maintenance.
func (s *Server) Expire(clientID string) { s.end(clientID, statusExpired) }

// Cancel cancels an open order as another client of the account would.
func (s *Server) Cancel(clientID string) { s.end(clientID, statusCanceled) }

func (s *Server) end(clientID, status string) {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	s.exchange.advance(s.config.Now())
	for _, o := range s.exchange.orders {
		if o.ClientID == clientID && o.Open() {
			if status == statusCanceled {
				s.exchange.cancel(o, "by-somebody-else", s.config.Now())
				continue
			}
			s.exchange.expire(o, s.config.Now())
		}
	}
}

// Call shows an order with another status from now on, known or not, and reports
// it. The empty word ends that.
func (s *Server) Call(clientID, word string) {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	for _, o := range s.exchange.orders {
		if o.ClientID == clientID {
			o.word = word
			s.exchange.report(o, statusNew, "", nil, s.config.Now())
		}
	}
}

// Wipe forgets all orders, trades and balances and cuts the streams, as a testnet
// does about once a month.
func (s *Server) Wipe() {
	s.exchange.mu.Lock()
	s.exchange.wipe()
	s.exchange.mu.Unlock()
	s.User.Drop()
}

// Terminate ends the subscriptions to the account and leaves the connections.
func (s *Server) Terminate() {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	s.exchange.terminate(s.config.Now())
}

// SetLag makes reads learn of a new order only after a while.
func (s *Server) SetLag(lag time.Duration) {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	s.exchange.lag = lag
}

// SetSkew sets the venue's clock ahead of ours, or behind.
func (s *Server) SetSkew(d time.Duration) { s.skew.Store(int64(d)) }

// AllowLate lets requests arrive after their recvWindow, or no longer. No venue does: it is for
// a test in which a request is on its way for as long as the machine needs for something else.
func (s *Server) AllowLate(allowed bool) { s.late.Store(allowed) }

// Changes reports whether a request places or cancels an order or a list.
func Changes(r *http.Request) bool {
	one, list := "/api/v3/order", "/api/v3/orderList"
	path := r.URL.Path
	return r.Method != http.MethodGet && path != one+"/test" && (path == one || path == list || strings.HasPrefix(path, one+"/") || strings.HasPrefix(path, list+"/"))
}

// OrderFaults are the ways in which placing and cancelling go wrong, by name. What
// ends in "done" is carried out nevertheless.
func OrderFaults() map[string]fake.Fault {
	const timeout = "Timeout waiting for response from backend server. Send status unknown; execution status unknown."
	all := map[string]fake.Fault{
		"timeout":        Coded(http.StatusGatewayTimeout, -1007, timeout),
		"unexpected":     Coded(http.StatusInternalServerError, -1006, "An unexpected response was received from the message bus. Execution status unknown."),
		"disconnected":   Coded(http.StatusBadRequest, -1001, "Internal error; unable to process your request. Please try again."),
		"outage":         {Status: http.StatusServiceUnavailable, Body: "<html>upstream connect error</html>"},
		"gateway":        {Status: http.StatusBadGateway},
		"reset":          {Reset: true},
		"page":           fake.Page(),
		"empty":          {Status: http.StatusOK},
		"garbled":        {Change: func(b []byte) []byte { return []byte(strings.Replace(string(b), `":`, `"`, 1)) }},
		"half":           fake.HalfJSON(),
		"cut":            fake.Truncated(),
		"unknown code":   Coded(http.StatusBadRequest, -1999, "Something that no documentation knows."),
		"no code":        {Status: http.StatusBadRequest, Body: "Bad Request"},
		"client timeout": {Status: http.StatusRequestTimeout},
	}
	out := map[string]fake.Fault{"hang": {Hang: true}, "hang, done": {Stall: true}}
	for name, f := range all {
		out[name+", done"] = f
		f.Skip = true
		if name == "garbled" || name == "half" || name == "cut" {
			continue // of an answer that there would not be
		}
		out[name] = f
	}
	for name, f := range map[string]fake.Fault{
		"throttled": TooMany(http.StatusTooManyRequests, 30*time.Second), "banned": TooMany(http.StatusTeapot, 2*time.Minute), "region": Restricted(),
		"wall":        {Status: http.StatusForbidden, Body: "<html>Request blocked.</html>"},
		"balance":     Coded(http.StatusBadRequest, -2010, "Account has insufficient balance for requested action."),
		"closed":      Coded(http.StatusBadRequest, -2010, "Market is closed."),
		"filter":      Coded(http.StatusBadRequest, -1013, "Filter failure: LOT_SIZE"),
		"precision":   Coded(http.StatusBadRequest, -1111, "Parameter 'quantity' has too much precision."),
		"clock":       Coded(http.StatusBadRequest, -1021, "Timestamp for this request is outside of the recvWindow."),
		"signature":   Coded(http.StatusBadRequest, -1022, "Signature for this request is not valid."),
		"key":         Coded(http.StatusUnauthorized, -2015, "Invalid API-key, IP, or permissions for action."),
		"many orders": Coded(http.StatusTooManyRequests, -1015, "Too many new orders; current limit is 100 orders per 10 SECOND."),
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

// Subscriptions returns how many clients listen to the account.
func (s *Server) Subscriptions() int {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	return len(s.exchange.sessions)
}
