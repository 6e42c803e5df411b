package order

import (
	"fmt"

	"github.com/shopspring/decimal"
)

// Holder is who holds the stop and the target of an order until their price is reached. It is
// empty for the venue.
type Holder string

// HolderCandela is candela: it watches the price and then sends the order. Nothing watches
// while candela does not run.
const HolderCandela Holder = "candela"

// HolderNote returns what every answer says about an order that candela holds, or whose legs it
// holds. It is "" for any other.
func (o Order) HolderNote() string {
	switch {
	case o.Holder == "":
		return ""
	case o.Role == Entry:
		return "candela holds the legs; they protect only while candela runs"
	case o.Role == TakeProfit && o.Group.Name == o.ID:
		return "candela holds this pair; it protects only while candela runs"
	case o.Role == TakeProfit:
		return "candela holds this target; it is sent only while candela runs"
	default:
		return "candela holds this stop; it protects only while candela runs"
	}
}

// Local reports whether candela has the order and the venue does not: a stop or target that
// waits for its price here.
func (o Order) Local() bool { return o.Holder != "" && o.Role != Entry && !o.Fired }

// Departure returns the event that ends the checks of an order: it is sent, or held here.
func (g *Origin) Departure() Kind {
	if g.Holder != "" && g.Role != Entry {
		return KindHeld
	}
	return KindSent
}

// Outgoing returns the order as the venue gets it. It knows nothing of legs that candela
// holds, nor of the trigger that candela watches: such an order is sent when its price is
// reached.
func (g *Origin) Outgoing() Spec {
	s := g.Spec
	if g.Holder == "" {
		return s
	}
	s.Protect, s.Group, s.Edge = Protection{}, Group{}, decimal.Zero
	if s.Role == Entry {
		s.Role = 0
		return s
	}
	s.Role, s.StopPrice, s.TrailPercent, s.Best, s.TimeInForce = Exit, decimal.Zero, decimal.Zero, decimal.Zero, 0
	return s
}

// trail records how far the price went in favour of a trail that candela holds.
func trail(o Order, e Event) (Order, error) {
	if !within(maxFactDigits, e.Price) || !e.Price.IsPositive() {
		return o, fmt.Errorf("order %s: trailed without a price: %w", o.ID, ErrMalformed)
	}
	if !o.Best.IsPositive() || e.Price.Cmp(o.Best) == -int(o.Side.Sign()) {
		o.Best = e.Price
	}
	return o, nil
}

// Trigger decides when an order that candela holds is sent. Prices are those of the feed;
// they are compared as the nearest float64, which is exact for prices that a venue writes.
// Its methods do not allocate.
type Trigger struct {
	falls bool    // it is reached by a price at or below the level
	level float64 // zero for a trail that has seen no price
	trail float64 // the distance as a fraction of the best price; zero for a level that stays
	best  float64
}

// NewTrigger returns the trigger of an order that candela holds. A stop that sells waits for
// a lower price, a target that sells for a higher one; of purchases it is the other way round.
func NewTrigger(o Order) Trigger {
	t := Trigger{falls: o.Side == Sell, level: o.StopPrice.InexactFloat64()}
	if !o.IsStop() {
		t.falls, t.level = !t.falls, o.Price.InexactFloat64()
	}
	if o.TrailPercent.IsPositive() {
		t.trail, t.level = o.TrailPercent.InexactFloat64()/100, 0
		t.Follow(o.Best.InexactFloat64())
	}
	return t
}

// Level returns the price that the trigger waits for, and zero if none is known yet.
func (t *Trigger) Level() float64 { return t.level }

// Best returns the best price that a trail has followed, and zero for other triggers.
func (t *Trigger) Best() float64 { return t.best }

// See passes the lowest and the highest price since the last call, and reports whether the
// trigger is reached. The worse of the two is tried before the better one moves a trail.
func (t *Trigger) See(low, high float64) bool {
	worst, best := low, high
	if !t.falls {
		worst, best = high, low
	}
	if t.level > 0 && (worst == t.level || (worst < t.level) == t.falls) {
		return true
	}
	t.Follow(best)
	return false
}

// Follow moves a trail when the price is better than any before.
func (t *Trigger) Follow(price float64) {
	if t.trail == 0 || price <= 0 || t.best > 0 && (price == t.best || (price > t.best) != t.falls) {
		return
	}
	t.best = price
	if t.falls {
		t.level = price * (1 - t.trail)
	} else {
		t.level = price * (1 + t.trail)
	}
}
