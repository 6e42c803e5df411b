package order

import "time"

// endedAlone reports whether an order ended without a fill of its rest, and nobody who knows of it
// ended it: neither its caller, nor the desk for another order, nor the venue with the rest of its
// group. A caller who canceled an order that was filled in part does not know how much was.
func (p *preview) endedAlone(was, o Order) bool {
	switch o.Status {
	case Expired:
	case Rejected:
		if was.Status == New || was.Status == Submitted { // the caller's own answer says so
			return false
		}
	case Canceled:
		if was.CancelTried && !was.CancelByOwner && o.Filled.IsZero() || was.Status == PendingApproval {
			return false
		}
	default:
		return false
	}
	return o.CancelFor == "" && !p.endedWithGroup(o)
}

// endedWithGroup reports whether another order ended this one: a leg of its group that was filled,
// or its entry, which ended without a fill.
func (p *preview) endedWithGroup(o Order) bool {
	for _, other := range p.beside(o) {
		if other.Role != Entry && other.Filled.IsPositive() || other.Role == Entry && other.Status.Final() && other.Filled.IsZero() || other.CancelTried {
			return true
		}
	}
	return false
}

// beside returns the other orders of the group of an order.
func (p *preview) beside(o Order) (all []Order) {
	if o.Group.Name == "" {
		return nil
	}
	for _, other := range p.Group(o.Group.Name) {
		if other.ID != o.ID {
			other, _ = p.order(other.ID)
			all = append(all, other)
		}
	}
	return all
}

// endedForPair reports whether the venue ended a leg. It ends one of two when the other begins to fill, and
// the report of that fill may come later; it ends both when their entry ends.
func endedForPair(o Order) bool {
	return o.Role != Entry && (o.Status == Expired || o.Status == Canceled && !o.CancelTried)
}

// ended returns what the end of an order reports. That of a leg of two is reported when the other ends
// without a fill, too.
func (p *preview) ended(o Order, at time.Time) (all []Notice) {
	report := func(o Order) {
		all = append(all, p.notice(o, NoticeRecord{Event: NoticeEnded, Reason: o.Reason}, at, o.ID))
	}
	if endedForPair(o) {
		for _, other := range p.beside(o) {
			switch {
			case other.Role == Entry && other.Filled.IsZero(), other.Role != Entry && !other.Status.Final():
				return nil
			case other.Role != Entry && endedForPair(other):
				report(other)
			}
		}
	}
	report(o)
	return all
}
