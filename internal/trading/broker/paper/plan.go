package paper

import (
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/trading/order"
)

// Why orders of a group end without being asked to.
const (
	reasonOther   = "the other order of the pair was filled"
	reasonEntry   = "its entry ended without a fill"
	reasonExit    = "its leg closed the position"
	reasonCash    = "the account cannot pay for the rest"
	reasonAtOnce  = "it could not be filled at once"
	reasonSession = "the session ended"
	reasonVolume  = "less was traded than it needs"
	reasonTheRest = "the rest could not be filled at once"
)

// plan is what is about to happen: entries of the journal, and a copy of the open orders and
// the money as they will be after them.
type plan struct {
	book
	now     time.Time
	clock   func(venue string) provider.Clock
	entries []entry
}

// plan begins a plan that changes nothing yet. The caller holds the lock.
func (b *Broker) plan() *plan {
	from := &b.book
	p := &plan{now: b.cfg.Now(), clock: b.cfg.Clock, book: book{
		deposits: from.deposits, rates: from.rates, last: from.last, flows: maps.Clone(from.flows), held: maps.Clone(from.held),
		assets: maps.Clone(from.assets), perps: maps.Clone(from.perps), tickets: make(map[string]*ticket, len(from.open)), open: make([]*ticket, len(from.open)),
	}}
	for i, t := range from.open {
		c := *t
		c.Fills = slices.Clip(c.Fills)
		p.open[i], p.tickets[c.ID] = &c, &c
	}
	return p
}

// do adds an entry and returns the order it is about.
func (p *plan) do(e entry) *ticket {
	e.At = p.now
	p.entries = append(p.entries, e)
	return p.apply(e)
}

// fill lets an order trade, with what follows for the others of its group.
func (p *plan) fill(t *ticket, f order.Fill) {
	if t.Perp && !p.within(t, &f) {
		return
	}
	f.TradeID, f.OrderID, f.VenueID, f.Symbol, f.Side = p.id(), t.ID, t.VenueID, t.Symbol, t.Side
	f.Fee, f.FeeAsset, f.At = f.Quantity.Mul(f.Price).Mul(p.feeOf(t, f.Maker)), t.Currency, p.now
	p.do(entry{Fill: &f})
	switch {
	case t.Role == order.Entry:
		p.protect(t, f)
	case t.Group.Name != "":
		p.shrink(t, f.Quantity)
	}
	if t.Perp {
		p.closed(t)
	}
}

// feeOf returns what a trade of an order costs, as a part of its worth.
func (b *book) feeOf(t *ticket, maker bool) decimal.Decimal {
	switch {
	case t.Perp && maker:
		return b.rates.PerpMaker
	case t.Perp:
		return b.rates.PerpTaker
	case maker:
		return b.rates.Maker
	}
	return b.rates.Taker
}

// others returns the open orders of a group, but t.
func (p *plan) others(t *ticket, g order.Group) []*ticket {
	var found []*ticket
	for _, o := range p.open {
		if g.Name != "" && o.Group == g && o != t {
			found = append(found, o)
		}
	}
	return found
}

// legs returns the open legs of an entry.
func (p *plan) legs(t *ticket) []*ticket {
	return p.others(t, order.Group{Name: t.Group.Name, Leg: true})
}

// protect lets the legs of an entry work for what was filled of it.
func (p *plan) protect(t *ticket, f order.Fill) {
	for _, leg := range p.legs(t) {
		a := amended{ID: leg.ID, Quantity: leg.Quantity.Add(f.Quantity)}
		if leg.Status == order.Held {
			a.Quantity = f.Quantity
			a.Best, a.StopPrice = leg.start(f.Price)
		}
		p.do(entry{Amended: &a})
	}
}

// shrink takes what one order of a pair filled from the other. When nothing is left of the
// position, the rest of the entry is cancelled too: it would have no protection.
func (p *plan) shrink(t *ticket, filled decimal.Decimal) {
	for _, o := range p.others(t, t.Group) {
		if o.Side != t.Side {
			continue
		}
		if o.left().LessThanOrEqual(filled) {
			p.do(entry{Cancel: o.ID, Reason: reasonOther})
		} else {
			p.do(entry{Amended: &amended{ID: o.ID, Quantity: o.Quantity.Sub(filled)}})
		}
	}
	if t.Status == order.Filled {
		p.endEntry(t)
	}
}

// endEntry cancels what is left of the entry of a leg.
func (p *plan) endEntry(leg *ticket) {
	if !leg.Group.Leg {
		return
	}
	for _, entryOrder := range p.others(leg, order.Group{Name: leg.Group.Name}) {
		p.end(entryOrder, order.Canceled, reasonExit)
	}
}

// end closes an order, and the legs that protect nothing because it was their entry.
func (p *plan) end(t *ticket, status order.Status, reason string) {
	if status == order.Expired {
		p.do(entry{Expire: t.ID, Reason: reason})
	} else {
		p.do(entry{Cancel: t.ID, Reason: reason})
	}
	if t.Role != order.Entry {
		return
	}
	for _, leg := range p.legs(t) {
		if leg.Status == order.Held {
			p.do(entry{Cancel: leg.ID, Reason: reasonEntry})
		}
	}
}

// trigger records that the stop price of an order was reached. The rest of its entry is
// cancelled: the position is being closed.
func (p *plan) trigger(t *ticket, rests bool) {
	p.do(entry{Triggered: &triggered{ID: t.ID, Rests: rests}})
	p.endEntry(t)
}

// trail returns the stop price that follows a price, zero for an order that does not trail.
// It is rounded away from the price, so it is never nearer than was asked for.
func (t *ticket) trail(price decimal.Decimal) decimal.Decimal {
	if !t.TrailPercent.IsPositive() {
		return decimal.Zero
	}
	distance := t.TrailPercent.Shift(-2).Mul(decimal.NewFromInt(t.Side.Sign()))
	return onTick(t.Side, price.Add(price.Mul(distance)), t.Tick)
}

// start returns the best price and the stop price of a trail that begins at a price, or goes on
// from a better one; zero for an order that does not trail.
func (t *ticket) start(price decimal.Decimal) (best, stop decimal.Decimal) {
	if !t.TrailPercent.IsPositive() {
		return decimal.Zero, decimal.Zero
	}
	if t.Best.IsPositive() && t.Best.Sub(price).Sign() == -int(t.Side.Sign()) {
		price = t.Best
	}
	return price, t.trail(price)
}

// follows returns the stop price after a price that the order has seen, and whether it moved.
func (t *ticket) follows(price decimal.Decimal) (decimal.Decimal, bool) {
	stop := t.trail(price)
	return stop, stop.IsPositive() && stop.Sub(t.StopPrice).Sign() == -int(t.Side.Sign())
}

// expire ends the orders whose session is over.
func (p *plan) expire(at time.Time) {
	for _, t := range slices.Clone(p.open) {
		if t.over(at) && !t.Status.Final() {
			p.end(t, order.Expired, reasonSession)
		}
	}
}

// over reports whether the session of a day order is.
func (t *ticket) over(at time.Time) bool { return !t.Ends.IsZero() && !at.Before(t.Ends) }
