package binance

import "github.com/shopspring/decimal"

// Assumptions are answers to what the venue's documents leave open. The zero value is
// what their words suggest.
type Assumptions struct {
	// TargetKeepsStop leaves the stop of a pair, for what is left, when its target is
	// filled in part. Otherwise the first fill of the target expires the stop.
	TargetKeepsStop bool
	// OTOLocksLegs sets aside what the legs of an OTO need when it is placed. Otherwise
	// that is done when the working order is filled, and legs may lack it.
	OTOLocksLegs bool
	// OPORefusesFOK refuses a working order that is fill-or-kill.
	OPORefusesFOK bool
	// ShowsUnsized shows the quantity of an OPO's leg as zero before it is known.
	// Otherwise REST answers leave it out.
	ShowsUnsized bool
}

// Assume sets how the venue behaves where its documents leave it open.
func (s *Server) Assume(a Assumptions) {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	s.exchange.assumed = a
}

// Lists returns every order list that the venue took, oldest first.
func (s *Server) Lists() []List {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	s.exchange.advance(s.config.Now())
	all := make([]List, 0, len(s.exchange.lists))
	for _, l := range s.exchange.lists {
		all = append(all, *l)
	}
	return all
}

// Move pins the price of a symbol, as Pin does, and lets it meet the orders at once.
func (s *Server) Move(symbol string, price decimal.Decimal) {
	s.Pin(symbol, price)
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	s.exchange.match(s.config.Now(), symbol)
}

// RefuseLeg makes the book refuse a pending order when its working order is filled, and
// reports whether there is one with this id.
func (s *Server) RefuseLeg(clientID string) bool {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	s.exchange.advance(s.config.Now())
	for _, o := range s.exchange.orders {
		if o.ClientID == clientID && o.Status == statusPending {
			o.refused = true
			return true
		}
	}
	return false
}

// Lose makes the next events of a kind, such as listStatus, not reach any client.
func (s *Server) Lose(kind string, events int) {
	s.exchange.mu.Lock()
	defer s.exchange.mu.Unlock()
	s.exchange.lose[kind] = events
}

// Fix holds the price of a symbol from now on, in the bars too, lets so much be traded at it
// there, and lets it meet the orders at once.
func (s *Server) Fix(symbol string, price, volume decimal.Decimal) {
	p, v := price.InexactFloat64(), volume.InexactFloat64()
	s.prices.Fix(symbol, p, v)
	s.Move(symbol, price)
}
