package order

import (
	"cmp"
	"slices"
	"time"
)

// UnprotectedFor returns how long a part of a position had no stop because an order ended some, or longer: from
// the cancel of the first, whose answer may be lost, until the venue, or candela, was known to have the next of
// each line. A stop that has no next one counts until now, if its line still asks for one.
func (b *Book) UnprotectedFor(o Order, now time.Time) time.Duration {
	type span struct{ from, to time.Time }
	var spans []span
	lines := b.Lines(o.Symbol)
	ended := b.EndedFor(cmp.Or(o.Group.Name, o.ID))
	for _, old := range ended {
		if !old.IsStop() || !old.Status.Final() {
			continue
		}
		i := lineIndex(lines, old.Line())
		if i >= 0 && !lines[i].Protect.HasStop() {
			continue // the line is to have none
		}
		from := cancelledAt(old, ended)
		if to, ok := b.stoppedAgain(old); ok {
			spans = append(spans, span{from, to})
		} else if i >= 0 {
			spans = append(spans, span{from, now})
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var longest time.Duration
	var gap span
	for _, s := range spans {
		if s.from.After(gap.to) {
			gap = s
		} else if s.to.After(gap.to) { // the position had too few stops all the time
			gap.to = s.to
		}
		longest = max(longest, gap.to.Sub(gap.from))
	}
	return longest
}

// cancelledAt returns when the venue was first asked to end a stop, or another order of its group.
func cancelledAt(old Order, ended []Order) time.Time {
	at := old.Updated
	for _, o := range ended {
		asked := o.CancelRequested
		if same := o.ID == old.ID || o.Group.Name != "" && o.Group.Name == old.Group.Name; same && !asked.IsZero() && asked.Before(at) {
			at = asked
		}
	}
	return at
}

// stoppedAgain returns when the line of a stop that has ended had the next one, or what was sold in its place.
func (b *Book) stoppedAgain(old Order) (time.Time, bool) {
	var at time.Time
	for _, id := range b.families[old.Line()] {
		next := b.orders[id]
		if !next.IsStop() && next.Role != StopLoss || !next.Created.After(old.Created) || !next.standing() {
			continue
		}
		if at.IsZero() || next.Updated.Before(at) {
			at = next.Updated
		}
	}
	return at, !at.IsZero()
}

// standing reports whether the venue, or candela, has or had an order for certain.
func (o Order) standing() bool {
	return o.reached() && o.Status != Submitted && o.Status != Uncertain && o.Status != Rejected
}
