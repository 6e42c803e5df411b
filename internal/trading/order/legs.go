package order

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"candela/lib/market"
)

// Cover compares a line with the orders that protect it.
type Cover struct {
	Line
	Want   Protection      // the prices that its orders should have now; the venue may not take all that the line asks for
	Legs   []Order         // its open orders, by creation
	Has    decimal.Decimal // how much of Quantity working stops at this price would close, or targets if it has no stop
	Lacks  decimal.Decimal // how much of it none would
	Over   decimal.Decimal // how much more than Quantity its stops would close; the entry's fee does not count
	Wrong  []Order         // working orders with other prices, or a target without its stop
	Waits  bool            // an answer about one of its orders is awaited
	Fills  bool            // its entry is open and may bring more
	Newest Order           // its newest stop with these prices, or target of a line without a stop, open or not; zero if there was none
}

// Covers compares the plan of a symbol with its orders, and returns the open orders that no line
// asks for. want returns the prices that the orders of a line should have. busy reports whether a
// request about an order is on its way.
func (b *Book) Covers(s market.Symbol, want func(Line) Protection, busy func(id string) bool) (covers []Cover, orphans []Order) {
	lines, legs := b.Due(s), b.Legs(s)
	elsewhere := b.stopsElsewhere(s)
	for _, l := range slices.Backward(lines) {
		c := Cover{Line: l, Want: want(l), Fills: b.filling(l.ID)}
		for i := range legs {
			if legs[i].Line() == l.ID {
				c.Legs = append(c.Legs, legs[i])
			}
		}
		entry := b.orders[l.ID]
		c.compare(entry, busy)
		c.Newest = b.newestLeg(c.Line, c.Want)
		if used := decimal.Min(c.Lacks, elsewhere); used.IsPositive() && c.Want.HasStop() {
			c.Has, c.Lacks, elsewhere = c.Has.Add(used), c.Lacks.Sub(used), elsewhere.Sub(used)
			if c.Lacks.IsZero() {
				c.Wrong = nil
			}
		}
		covers = append(covers, c)
	}
	slices.Reverse(covers)
	for _, o := range legs {
		if lineIndex(lines, o.Line()) < 0 {
			orphans = append(orphans, o)
		}
	}
	return covers, orphans
}

// compare sets what the orders of a line do for it.
func (c *Cover) compare(entry Order, busy func(string) bool) {
	var stops decimal.Decimal // what all working stops would close
	seen := make(map[string]bool)
	for _, o := range c.Legs {
		if o.NeedsQuery() || busy(o.ID) || o.Status == New {
			c.Waits = true
		}
		if o.Group.Name != "" && seen[o.Group.Name] {
			continue
		}
		seen[o.Group.Name] = true
		stop, target := c.group(o, entry.Status == Filled)
		c.count(stop, target)
		if stop != nil {
			stops = stops.Add(stop.Remaining())
		}
	}
	c.Lacks = decimal.Max(c.Quantity.Sub(c.Has), decimal.Zero)
	if c.Want.IsZero() {
		c.Lacks = decimal.Zero
	}
	c.Over = stops.Sub(c.Quantity)
	if entry.Role == Entry { // a venue may size legs before its fee
		c.Over = c.Over.Sub(entry.feesInBase())
	}
	c.Over = decimal.Max(c.Over, decimal.Zero)
}

// count counts the working stop and target of a group, nil for none, for the line or as wrong.
func (c *Cover) count(stop, target *Order) {
	working := stop
	if !c.Want.HasStop() {
		working = target
	}
	if working != nil && (stop == nil || stop.IsStopOf(c.Want)) {
		c.Has = c.Has.Add(working.Remaining())
	}
	if !c.fits(stop, target) && (stop == nil || !stop.Begun()) {
		c.Wrong = append(c.Wrong, present(stop, target)...)
	}
}

// group returns the working stop and target of the group of an order.
func (c *Cover) group(o Order, filled bool) (stop, target *Order) {
	for i := range c.Legs {
		leg := &c.Legs[i]
		if leg.ID != o.ID && (o.Group.Name == "" || leg.Group.Name != o.Group.Name) || !leg.works(filled) {
			continue
		}
		if leg.IsStop() {
			stop = leg
		} else {
			target = leg
		}
	}
	return stop, target
}

// fits reports whether the stop and the target of a group are those of the line.
func (c *Cover) fits(stop, target *Order) bool {
	if stop == nil && target == nil {
		return true
	}
	if (stop != nil) != c.Want.HasStop() || (target != nil) != c.Want.TakeProfit.IsPositive() {
		return false
	}
	return (stop == nil || stop.IsStopOf(c.Want)) && (target == nil || target.Price.Equal(c.Want.TakeProfit))
}

// Begun reports whether a stop has reached its price: it is closing what it is for.
func (o Order) Begun() bool { return !o.Triggered.IsZero() || o.Filled.IsPositive() || o.Fired }

// IsStopOf reports whether the order is the stop that is asked for.
func (o Order) IsStopOf(p Protection) bool {
	if o.TrailPercent.IsPositive() || p.TrailPercent.IsPositive() {
		return o.TrailPercent.Equal(p.TrailPercent)
	}
	limit := decimal.Zero
	if o.Type == Limit {
		limit = o.Price
	}
	return o.StopPrice.Equal(p.StopLoss) && limit.Equal(p.StopLossLimit)
}

// stopsElsewhere returns how much of a position stops would close that were not placed here.
func (b *Book) stopsElsewhere(s market.Symbol) decimal.Decimal {
	held, sum := b.Position(s).Quantity, decimal.Zero
	for _, m := range b.open {
		if o := b.orders[m.ID]; o.Symbol == s && o.External && o.IsStop() && o.Protects(held) && o.works(true) {
			sum = sum.Add(o.Remaining())
		}
	}
	return sum
}

func present(orders ...*Order) []Order {
	var all []Order
	for _, o := range orders {
		if o != nil {
			all = append(all, *o)
		}
	}
	return all
}

// newestLeg returns the newest order that was to be the stop of a line, or its target if it has no
// stop, at these prices.
func (b *Book) newestLeg(l Line, want Protection) Order {
	for _, o := range slices.Backward(b.OrdersOf(l)) {
		asked := o.IsStop() && o.IsStopOf(want)
		if !want.HasStop() {
			asked = o.Role == TakeProfit && o.Price.Equal(want.TakeProfit)
		}
		if asked && o.Status != Denied {
			return o
		}
	}
	return Order{}
}

// OrdersOf returns the orders that were to protect a line since its prices last changed, by creation.
func (b *Book) OrdersOf(l Line) []Order {
	changed := b.orders[l.By].Created
	var all []Order
	for _, id := range append([]string{l.ID}, b.families[l.ID]...) {
		o, ok := b.orders[id]
		if ok && o.Role != Entry && o.Line() == l.ID && !o.Created.Before(changed) {
			all = append(all, o)
		}
	}
	return all
}

// Refused returns why the venue refused an order, "" if it did not. A refusal that may pass, and
// one of an order that never left this machine, is none.
func (o Order) Refused() string {
	if o.Status == Rejected && !o.NotSent && !o.Passing || o.Status == Expired && o.Filled.IsZero() && strings.Contains(o.Reason, "REJECTED") {
		return o.Reason
	}
	return ""
}
