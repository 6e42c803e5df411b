package order

import (
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/market"
)

// Cover compares the protection that the position of an entry should have with what it has.
type Cover struct {
	Entry   Order
	Exits   []Order         // that protect its position or close it, by creation
	Held    decimal.Decimal // what the entry brought and nothing has closed, unsigned
	Due     decimal.Decimal // how much of Held should have a stop and has none
	Over    decimal.Decimal // how much more than Held its working stops would close; the entry's fee does not count
	Wish    Protection      // what it should have; zero if nothing was asked for, or somebody ended it
	Settled bool            // the outcome of every exit is known, and no leg waits: Due can be acted on
	Refused string          // why the venue refused the newest stop, "" if it did not
	Passing string          // why the newest stop was not sent or refused for the moment, "" if it was not
	Holder  Holder          // of the newest stop
	Best    decimal.Decimal // that the newest trail held by candela has followed; zero if there is none
}

// Bare returns how much of Held no exit of the entry would close.
func (c Cover) Bare() decimal.Decimal {
	left := c.Held
	for _, o := range c.Exits {
		if o.IsStop() && !o.Status.Final() {
			left = left.Sub(o.Remaining())
		}
	}
	return left
}

// Excess returns how much more the exits have closed than was filled of the entry. Its fee
// does not count: a venue that takes it from what is free of the asset lets the exits close
// all that was filled.
func (c Cover) Excess() decimal.Decimal {
	return decimal.Max(c.closed().Sub(c.Entry.Filled), decimal.Zero)
}

func (c Cover) closed() decimal.Decimal {
	var sum decimal.Decimal
	for _, o := range c.Exits {
		sum = sum.Add(o.Filled)
	}
	return sum
}

// Brought returns what is filled, less the fees taken from it.
func (o Order) Brought(base string) decimal.Decimal {
	if o.Side == Sell {
		return o.Filled
	}
	return o.Filled.Sub(o.Fees[base])
}

// Working returns the exits that work.
func (c Cover) Working() []Order {
	return slices.DeleteFunc(slices.Clone(c.Exits), func(o Order) bool { return !o.works(c.Entry.Status == Filled) })
}

// Loose returns the exits that work without a stop beside them, such as a target whose stop
// ended when a part of it was filled.
func (c Cover) Loose() []Order {
	var loose []Order
	for _, o := range c.Exits {
		if o.Role == TakeProfit && o.works(c.Entry.Status == Filled) && !c.hasStop(o) {
			loose = append(loose, o)
		}
	}
	return loose
}

// hasStop reports whether a stop of the same group works.
func (c Cover) hasStop(target Order) bool {
	for _, o := range c.Exits {
		if o.IsStop() && o.Group.Name != "" && o.Group.Name == target.Group.Name && o.works(c.Entry.Status == Filled) {
			return true
		}
	}
	return false
}

// Entries returns the entries in a symbol that have fills or legs, newest first.
func (b *Book) Entries(s market.Symbol) []Order {
	var all []Order
	for _, id := range slices.Backward(b.entries[s]) {
		all = append(all, b.orders[id])
	}
	return all
}

// EntrySymbols returns the symbols that have entries, or pairs without one.
func (b *Book) EntrySymbols() []market.Symbol {
	all := slices.Collect(maps.Keys(b.entries))
	for s := range b.pairs {
		if len(b.entries[s]) == 0 {
			all = append(all, s)
		}
	}
	return all
}

// Covers returns the cover of each entry in a symbol that is open, has open exits, or whose
// position is held, newest first. A position that is smaller than its entries brought is
// what is left of the newest: whatever closed the rest is taken to have closed the oldest. An
// open entry comes before those that have ended: nothing closes what it brought while more of
// it may come.
// Stops that protect no entry in particular count for what no entry brought. What they close
// beyond that, and what other stops close beyond what is held of theirs, counts for the newest
// that need it. A pair that protects no entry and whose stop the venue ended when a
// part of the target was filled has a cover too; Entry then stands for what the pair protected.
func (b *Book) Covers(s market.Symbol, base string) []Cover {
	all, _ := b.covers(s, base)
	return all
}

// Unclaimed returns how much of a position no entry brought and no stop closes: a client's next
// stop is for that.
func (b *Book) Unclaimed(s market.Symbol, base string) decimal.Decimal {
	_, unclaimed := b.covers(s, base)
	return unclaimed
}

func (b *Book) covers(s market.Symbol, base string) (all []Cover, unclaimed decimal.Decimal) {
	held := b.Position(s).Held(base)
	left, spare := held.Abs(), decimal.Zero
	var lacks, asked []decimal.Decimal // by cover: how much of Held its own stops do not close, and should
	for _, c := range b.protected(s) {
		entry := c.Entry
		if left.IsZero() && entry.Status.Final() && !b.needed(entry) {
			continue
		}
		if held.Sign() == int(entry.Side.Sign()) {
			c.Held = decimal.Min(decimal.Max(entry.Brought(base).Sub(c.closed()), decimal.Zero), left)
			left = left.Sub(c.Held)
		}
		if c.Held.IsZero() && entry.Status.Final() && !b.needed(entry) {
			continue
		}
		c.Wish, c.Refused = c.wish()
		had := c.inspect()
		over, fee := had.Sub(c.Held), entry.Filled.Sub(entry.Brought(base))
		c.Over = decimal.Max(over.Sub(fee), decimal.Zero) // a venue may size legs before its fee
		spare = spare.Add(decimal.Max(over, decimal.Zero))
		all, lacks = append(all, c), append(lacks, decimal.Max(c.Held.Sub(had), decimal.Zero))
		asked = append(asked, decimal.Max(c.part().Sub(had), decimal.Zero))
	}
	stops := b.spareStops(s, held)
	spare = spare.Add(decimal.Max(stops.Sub(left), decimal.Zero))
	// An entry that is open gets stops of its own when it is filled, so the others come first.
	for _, ended := range []bool{true, false} {
		for i, lack := range lacks {
			if all[i].Entry.Status.Final() != ended {
				continue
			}
			used := decimal.Min(lack, spare)
			spare = spare.Sub(used)
			if all[i].Wish.HasStop() {
				all[i].Due = decimal.Min(lack.Sub(used), asked[i])
			}
		}
	}
	return all, decimal.Max(left.Sub(stops), decimal.Zero)
}

// protected returns the covers to judge, with entries and exits alone: first the entries that are
// open, then those that have ended and the pairs that lost their stop, newest first.
func (b *Book) protected(s market.Symbol) []Cover {
	var all []Cover
	for _, entry := range b.Entries(s) {
		all = append(all, Cover{Entry: entry, Exits: b.Exits(entry.ID)})
	}
	for _, id := range slices.Backward(b.pairs[s]) {
		if c, lost := b.lostPair(b.orders[id]); lost {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(x, y Cover) int {
		switch {
		case x.Entry.Status.Final() == y.Entry.Status.Final():
			return y.Entry.Created.Compare(x.Entry.Created)
		case x.Entry.Status.Final():
			return 1
		default:
			return -1
		}
	})
	return all
}

// spareStops returns what working stops close that protect no entry in particular.
func (b *Book) spareStops(s market.Symbol, held decimal.Decimal) decimal.Decimal {
	var sum decimal.Decimal
	for id := range b.open {
		if o := b.orders[id]; o.Symbol == s && o.Parent == "" && !o.Group.Leg && o.IsStop() && o.Protects(held) && o.works(true) {
			sum = sum.Add(o.Remaining())
		}
	}
	return sum
}

// inspect sets Settled and returns what the working stops would close.
func (c *Cover) inspect() (had decimal.Decimal) {
	filled := c.Entry.Status == Filled
	c.Settled = c.Entry.Status.Final() && !c.Entry.NeedsQuery()
	for _, o := range c.Exits {
		switch {
		case o.Status.Final() && !o.NeedsQuery():
		case !o.works(filled) || o.NeedsQuery() || o.Role == Exit:
			c.Settled = false
		case o.IsStop():
			had = had.Add(o.Remaining())
		}
	}
	return had
}

// wish returns what the newest orders that protect the entry asked for, and why the venue
// refused their stop. An order that never reached the venue or was refused for the moment, and a
// replacement that the venue refused, leave what was before.
func (c *Cover) wish() (Protection, string) {
	for _, o := range slices.Backward(c.Exits) {
		if !o.IsStop() || !o.reached() || o.Status == Rejected && (o.Passing && o.Holder == "" || c.replaces(o)) {
			if o.IsStop() && o.Status == Rejected && c.Passing == "" {
				c.Passing = o.Reason
			}
			continue
		}
		if c.ended(o) {
			return Protection{}, ""
		}
		c.Holder, c.Best = o.Holder, o.Best
		refused := ""
		if o.Status == Rejected && !o.NotSent || o.Status == Expired && strings.Contains(o.Reason, "REJECTED") {
			refused = o.Reason
		}
		return c.asked(o), refused
	}
	return c.Entry.Protect, ""
}

// replaces reports whether an exit, or the first order of its group, takes the place of another.
func (c *Cover) replaces(exit Order) bool {
	return slices.ContainsFunc(c.Exits, func(o Order) bool {
		return o.Replaces != "" && (o.ID == exit.ID || o.ID == exit.Group.Name)
	})
}

// reached reports whether the venue had the order, or may have it.
func (o Order) reached() bool {
	switch {
	case o.Status == New, o.Status == Denied, o.Status == PendingApproval:
		return false
	case o.Holder != "": // candela had it
		return true
	}
	switch o.Status {
	case Rejected:
		return !o.NotSent
	case Canceled:
		return o.VenueID != ""
	default:
		return true
	}
}

// ended reports whether somebody ended the protection: a stop that was cancelled neither for
// another order nor because its entry ended before it was filled, or was filled while its own
// cancel, which ends the legs, was on its way; nor by the venue because the target beside it was
// filled.
func (c *Cover) ended(stop Order) bool {
	late := c.Entry.CancelTried && !stop.CancelTried
	cut := stop.Group.Leg && c.Entry.Status.Final() && (c.Entry.Status != Filled || late)
	lost := stop.Fired && stop.VenueID == "" // candela stopped before it was sent
	return stop.Status == Canceled && stop.CancelFor == "" && !cut && !lost && (stop.CancelTried || !c.reachedTarget(stop))
}

// reachedTarget reports whether the target beside a stop was filled.
func (c *Cover) reachedTarget(stop Order) bool {
	return slices.ContainsFunc(c.Exits, func(o Order) bool {
		return o.Role == TakeProfit && o.Status == Filled && o.Group.Name != "" && o.Group.Name == stop.Group.Name
	})
}

// asked returns the protection that a stop is part of.
func (c *Cover) asked(stop Order) Protection {
	if stop.Group.Name == c.Entry.ID {
		return c.Entry.Protect
	}
	p := Protection{StopLoss: stop.StopPrice, TrailPercent: stop.TrailPercent}
	if stop.Type == Limit {
		p.StopLossLimit = stop.Price
	}
	for _, o := range c.Exits {
		if o.ID == stop.Group.Name && o.Role == TakeProfit {
			p.TakeProfit = o.Price
		}
	}
	return p
}
