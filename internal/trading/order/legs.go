package order

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/market"
)

// Cover compares a line with the orders that protect it.
type Cover struct {
	Line
	Want   Protection      // the prices that its orders should have now; the venue may not take all that the line asks for
	Legs   []Order         // its open orders, by creation
	Has    decimal.Decimal // how much of Quantity working orders with these prices would close
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
	for _, l := range lines {
		c := Cover{Line: l, Want: want(l), Fills: b.filling(l.ID)}
		c.Legs = slices.DeleteFunc(slices.Clone(legs), func(o Order) bool { return o.Line() != l.ID })
		entry := b.orders[l.ID]
		c.compare(entry, busy)
		c.Newest = b.newestLeg(c.Line, c.Want)
		covers = append(covers, c)
	}
	for _, o := range legs {
		if lineIndex(lines, o.Line()) < 0 {
			orphans = append(orphans, o)
		}
	}
	return covers, orphans
}

// compare sets what the orders of a line do for it.
func (c *Cover) compare(entry Order, busy func(string) bool) {
	filled := entry.Status == Filled
	var stops decimal.Decimal // what all working stops would close
	seen := make(map[string]bool)
	for _, o := range c.Legs {
		if o.NeedsQuery() || busy(o.ID) || o.Status == New {
			c.Waits = true
		}
		if name := o.Group.Name; name == "" || !seen[name] {
			seen[name] = true
			stop, target := c.group(o, filled)
			working := stop
			if !c.Want.HasStop() {
				working = target
			}
			switch {
			case stop == nil && target == nil:
			case c.fits(stop, target):
				c.Has = c.Has.Add(working.Remaining())
			default:
				c.Wrong = append(c.Wrong, present(stop, target)...)
			}
			if stop != nil {
				stops = stops.Add(stop.Remaining())
			}
		}
	}
	c.Lacks = decimal.Max(c.Quantity.Sub(c.Has), decimal.Zero)
	fee := decimal.Zero
	if entry.Role == Entry { // a venue may size legs before its fee
		for _, f := range entry.Fills {
			fee = fee.Add(f.FeeInBase())
		}
	}
	c.Over = decimal.Max(stops.Sub(c.Quantity).Sub(fee), decimal.Zero)
	if c.Want.IsZero() {
		c.Lacks = decimal.Zero
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
	if (stop != nil) != c.Want.HasStop() || (target != nil) != c.Want.TakeProfit.IsPositive() {
		return false
	}
	return (stop == nil || stop.IsStopOf(c.Want)) && (target == nil || target.Price.Equal(c.Want.TakeProfit))
}

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
	own := append([]string{l.ID}, b.families[l.ID]...)
	for _, id := range slices.Backward(own) {
		o, ok := b.orders[id]
		asked := o.IsStop() && o.IsStopOf(want)
		if !want.HasStop() {
			asked = o.Role == TakeProfit && o.Price.Equal(want.TakeProfit)
		}
		if ok && o.Role != Entry && asked && o.Status != Denied && o.Line() == l.ID {
			return o
		}
	}
	return Order{}
}

// Refused returns why the venue refused an order, "" if it did not. A refusal that may pass, and
// one of an order that never left this machine, is none.
func (o Order) Refused() string {
	if o.Status == Rejected && !o.NotSent && !o.Passing || o.Status == Expired && o.Filled.IsZero() && strings.Contains(o.Reason, "REJECTED") {
		return o.Reason
	}
	return ""
}
