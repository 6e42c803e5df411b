package order

import (
	"strings"

	"github.com/shopspring/decimal"
)

// isPair reports whether an order is the target of a pair that protects no entry, and so the
// first order of it.
func (o Order) isPair() bool {
	return !o.External && o.Role == TakeProfit && o.Parent == "" && o.Group.Name == o.ID && o.Protect.HasStop()
}

// lostPair returns the cover of a pair without an entry that lost its stop, though nobody ended it:
// the venue ended the stop when a part of the target was filled, as Binance does, or the desk
// cancelled it for an exit, or for a replacement that never came. The orders that took its place
// have the target as Parent. It returns false if the pair is as it was placed or was replaced.
func (b *Book) lostPair(target Order) (Cover, bool) {
	if target.Status == Filled {
		return Cover{}, false
	}
	c, lost := Cover{Exits: []Order{target}}, false
	for _, id := range b.families[target.ID] {
		o := b.orders[id]
		c.Exits = append(c.Exits, o)
		if o.Group.Name == target.ID && o.IsStop() {
			lost = b.lostStop(target, o)
		}
	}
	entry := Order{Origin: target.Origin, Status: Filled, Filled: target.Quantity, Claimed: target.Quantity, Created: target.Created, Updated: target.Updated}
	entry.Role, entry.Side, entry.Protect.TakeProfit = Entry, target.Side.Opposite(), target.Price
	c.Entry = entry
	return c, lost
}

// lostStop reports whether a pair without an entry lost its stop, though nobody ended it.
func (b *Book) lostStop(target, stop Order) bool {
	switch stop.Status {
	case Expired:
		ended := target.Status == Canceled && target.CancelFor == ""
		return !target.Claimed.IsZero() && !ended && !strings.Contains(stop.Reason, "REJECTED")
	case Canceled:
		other, known := b.orders[stop.CancelFor]
		return known && stop.reached() && (other.Replaces == "" || !other.reached() || other.Status == Rejected)
	default:
		return false
	}
}

// part returns how much of the position was asked to have a stop: all of it, unless the entry asked
// for none or somebody ended its protection. Then it is what stops that clients placed since are
// for, less what these orders have closed.
func (c *Cover) part() decimal.Decimal {
	all, asked, first := c.Entry.Protect.HasStop(), decimal.Zero, len(c.Exits)
	for i, o := range c.Exits {
		if !o.IsStop() || !o.reached() || o.Status == Rejected {
			continue
		}
		if !all && !o.ByDesk() {
			if asked = asked.Add(c.added(o)); first > i {
				first = i
			}
		}
		switch {
		case !c.ended(o):
		case all:
			all = false
		default:
			asked = asked.Sub(o.Remaining())
		}
	}
	if all {
		return c.Held
	}
	for i, o := range c.Exits {
		beside := first < len(c.Exits) && o.Group.Name != "" && o.Group.Name == c.Exits[first].Group.Name
		if o.Role != Exit && (i >= first || beside) {
			asked = asked.Sub(o.Filled)
		}
	}
	return decimal.Min(decimal.Max(asked, decimal.Zero), c.Held)
}

// ByDesk reports whether the desk placed the order, to restore what was asked for before.
func (o Order) ByDesk() bool { return o.Client == deskClient && o.Token == "" }

// deskClient is Origin.Client of the orders that the desk places by itself.
const deskClient = "candela"

// added returns for how much more a client's stop is than what it replaces. A venue may have made
// the stop smaller, but not the target beside it.
func (c *Cover) added(stop Order) decimal.Decimal {
	quantity, replaces := stop.Quantity, stop.Replaces
	for _, o := range c.Exits {
		if o.ID == stop.Group.Name {
			quantity, replaces = decimal.Max(quantity, o.Quantity), o.Replaces
		}
	}
	for _, o := range c.Exits {
		if replaces != "" && o.ID == replaces {
			quantity = decimal.Max(quantity.Sub(o.Remaining()), decimal.Zero)
		}
	}
	return quantity
}
