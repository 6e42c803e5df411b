package order

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"candela/lib/fault"
)

// FromReport returns the events that a venue's report adds to an order; Apply accepts
// each of them in turn. A repeated or older report adds nothing, and reports in any
// order end in the same state. A report never reverts anything: the desk decides that a
// cancel failed or that the venue no longer knows an order.
//
// Only fills change the filled quantity. If the venue's cumulative quantity is larger,
// the order has MissingFills. An unknown or contradictory report makes the order
// Doubtful. Both mean that the venue must be queried.
func FromReport(o Order, r Report) []Event { return readReport(o, r, false).events }

// FromAnswer is FromReport for the answer to a query that was sent after everything known
// of the order. It resolves any doubt, even if the time of its last change is older.
func FromAnswer(o Order, r Report) []Event {
	l := readReport(o, r, true)
	if l.understood && !l.doubted && l.order.Doubtful() {
		l.must(Event{Kind: KindConfirmed})
	}
	return l.events
}

func readReport(o Order, r Report, asked bool) reportReader {
	if o.Status == 0 || !sent(o.Status) {
		return reportReader{} // never sent, so the report is about another order
	}
	l := reportReader{order: o, report: r, asked: asked, understood: understood(r.Status)}
	if why := contradiction(o, r); why != "" {
		l.doubt(why)
		return l
	}
	l.group()
	l.resize()
	l.trigger()
	for _, f := range r.Fills {
		l.fill(f)
	}
	l.word()
	l.claim()
	l.overtake()
	return l
}

// understood reports whether this version knows the status.
func understood(s Status) bool {
	switch s {
	case Submitted, Held, Accepted, PartiallyFilled, Filled, PendingCancel, Canceled, Expired, Rejected:
		return true
	default:
		return false
	}
}

// contradiction returns why the report cannot be about the order, or "".
func contradiction(o Order, r Report) string {
	quantity := o.Quantity
	if (o.Group.Name != "" || r.Group.Name != "") && r.Quantity.IsPositive() {
		quantity = r.Quantity // the venue changes it as other orders of the group are filled
	}
	switch {
	case !within(maxFactDigits, r.Quantity, r.Filled):
		return "a number of the venue's is out of all bounds"
	case !r.Symbol.IsZero() && r.Symbol != o.Symbol:
		return fmt.Sprintf("the venue has it in %v, not %v", r.Symbol, o.Symbol)
	case r.Side != 0 && r.Side != o.Side:
		return fmt.Sprintf("the venue has it as %v, not %v", r.Side, o.Side)
	case !r.Quantity.IsZero() && !r.Quantity.Equal(quantity):
		return fmt.Sprintf("the venue has it over %v, not %v", r.Quantity, o.Quantity)
	case r.Filled.IsNegative() || r.Filled.GreaterThan(quantity):
		return fmt.Sprintf("the venue counts %v of %v filled", r.Filled, quantity)
	}
	return ""
}

// reportReader collects the events of a report and applies each to get the next.
type reportReader struct {
	order      Order
	report     Report
	asked      bool // it answers a query that was sent after everything known
	understood bool
	doubted    bool
	events     []Event
}

// add adds an event, or returns why it is not possible.
func (l *reportReader) add(e Event) error {
	e.OrderID, e.VenueID, e.At = l.order.ID, l.report.VenueID, l.report.At
	if l.understood && e.VenueAt.IsZero() {
		e.VenueAt = l.report.At
	}
	if l.order.SentAs == "" {
		e.SentAs = l.report.SentAs
	}
	next, err := Apply(l.order, e)
	if err != nil {
		return err
	}
	l.order, l.events = next, append(l.events, e)
	return nil
}

// must is add for an event that was checked before.
func (l *reportReader) must(e Event) {
	if err := l.add(e); err != nil {
		l.doubt(err.Error())
	}
}

// doubt records that the report is not plausible. A contradiction always counts as new.
func (l *reportReader) doubt(why string) {
	l.doubted = true
	at := l.report.At
	if at.Before(l.order.Seen) {
		at = l.order.Seen
	}
	if l.order.Doubt != "" && !at.After(l.order.Doubted) {
		return
	}
	_ = l.add(Event{Kind: KindDoubted, VenueAt: at, Reason: why})
}

// group records the group of the order, unless it is known.
func (l *reportReader) group() {
	if g := l.report.Group; g.Name != "" && l.order.Group.Name == "" && !l.order.Status.Final() {
		l.must(Event{Kind: KindGrouped, Group: &g})
	}
}

// trigger records when the stop price was reached, and the order that this one became.
func (l *reportReader) trigger() {
	at, known, linked := l.report.Triggered, l.order.Triggered, l.report.Linked
	if linked != "" && l.order.Linked == "" {
		at = cmp.Or(at, known, l.report.At)
	} else if linked = ""; at.IsZero() || !known.IsZero() && !at.Before(known) {
		return
	}
	l.must(Event{Kind: KindTriggered, VenueAt: at, Linked: linked})
}

// resize applies another quantity of an order of a group, unless a newer one is known.
func (l *reportReader) resize() {
	newer := l.order.sized(l.report)
	if newer > 0 || newer == 0 && (l.asked || l.report.Quantity.LessThan(l.order.Quantity)) {
		l.must(Event{Kind: KindResized, Quantity: l.report.Quantity, VenueAt: l.report.At})
	}
}

// SizeUnclear reports whether a report has a larger quantity than the order, and neither the
// venue's time nor anything else says which is newer. A query shows it.
func (o Order) SizeUnclear(r Report) bool {
	return o.sized(r) == 0 && r.Quantity.GreaterThan(o.Quantity)
}

// sized returns 1 if a report has another quantity of an order of a group that is newer than the
// known one, -1 if it has none or an older one, and 0 if that is not clear. The answer to a
// request and the stream's report of what followed may have the same time and come in any order.
// Then a leg that waits is older than one that works, and what is filled only grows.
func (o Order) sized(r Report) int {
	if o.Group.Name == "" || o.Status.Final() || !r.Quantity.IsPositive() || r.Quantity.Equal(o.Quantity) {
		return -1
	}
	known := o.Seen
	if o.Resized.After(known) {
		known = o.Resized
	}
	if at := r.At.Compare(known); at != 0 {
		return at
	}
	waits := o.Waiting || o.Status == Submitted || o.Status == Uncertain
	switch {
	case waits == (r.Status == Held):
		return r.Filled.Compare(o.Claimed)
	case waits:
		return 1
	default:
		return -1
	}
}

// fill adds a trade. The venue may leave out fields that the order has.
func (l *reportReader) fill(f Fill) {
	f.OrderID = l.order.ID
	f.Symbol, f.Side = cmp.Or(f.Symbol, l.order.Symbol), cmp.Or(f.Side, l.order.Side)
	i := slices.IndexFunc(l.order.Fills, func(known Fill) bool { return known.TradeID == f.TradeID })
	if i < 0 || !within(maxFactDigits, f.Quantity, f.Price) {
		l.must(Event{Kind: KindFill, Fill: &f})
		return
	}
	if known := l.order.Fills[i]; !known.Quantity.Equal(f.Quantity) || !known.Price.Equal(f.Price) {
		l.doubt(fmt.Sprintf("trade %s is %v at %v, and was %v at %v", f.TradeID, f.Quantity, f.Price, known.Quantity, known.Price))
	}
}

// word applies the reported status if it is newer. The fills alone decide Filled.
func (l *reportReader) word() {
	if !l.understood {
		// An unknown status after the end, or older than a known one, does not matter.
		if s := l.order.Status; s == Submitted || !s.Final() && !l.report.At.Before(l.order.Seen) {
			l.doubt(fmt.Sprintf("the venue reports the unknown status %q", fault.Clean(l.report.Reason, fault.MaxForeign)))
		}
		return
	}
	if l.order.Status.Final() {
		return
	}
	if l.report.Status == Submitted { // taken and not judged: only its ID at the venue is new
		if l.order.VenueID == "" && l.report.VenueID != "" {
			l.must(Event{Kind: KindConfirmed})
		}
		return
	}
	reason := fault.Clean(l.report.Reason, fault.MaxForeign)
	switch l.report.Status {
	case Canceled:
		l.must(Event{Kind: KindCanceled, Reason: reason})
		return
	case Expired:
		l.must(Event{Kind: KindExpired, Reason: reason})
		return
	case Rejected:
		l.must(Event{Kind: KindRejected, Reason: reason})
		return
	case Held:
		if l.order.Status == Submitted || l.order.Status == Uncertain {
			l.must(Event{Kind: KindHeld})
		}
		return
	default:
	}
	if l.order.Status == Submitted || l.order.Status == Uncertain || l.order.Status == Held {
		l.must(Event{Kind: KindAccepted})
	}
	if l.report.Status == PendingCancel && l.order.CancelRequested.IsZero() {
		l.must(Event{Kind: KindCancelRequested})
	}
}

// claim compares the reported quantity with the fills.
func (l *reportReader) claim() {
	counted := l.report.Filled
	if l.report.Status == Filled && counted.IsZero() {
		counted = l.order.Quantity
	}
	if counted.GreaterThan(l.order.Claimed) {
		l.must(Event{Kind: KindClaimed, Filled: counted})
	}
}

// overtake resolves a doubt that is older than a plausible report.
func (l *reportReader) overtake() {
	if l.understood && !l.doubted && l.order.Doubtful() && l.report.At.After(l.order.Doubted) {
		l.must(Event{Kind: KindConfirmed})
	}
}

// NewExternal returns the event that records an order found at the venue under a new ID.
func NewExternal(g Origin, r Report, at time.Time) Event {
	g.External = true
	g.Symbol, g.Side, g.Type, g.Quantity, g.Price = r.Symbol, r.Side, r.Type, r.Quantity, r.Price
	g.StopPrice, g.TrailPercent = r.StopPrice, r.TrailPercent
	return Event{Kind: KindCreated, OrderID: g.ID, At: at, VenueAt: r.At, VenueID: r.VenueID, Origin: &g}
}

// Disagreement compares an order with the answer to a query, after FromReport. It
// returns "" if they agree, and otherwise a description for people. FromReport cannot
// see this: an old report looks the same.
func Disagreement(o Order, fresh Report) string {
	open := understood(fresh.Status) && !fresh.Status.Final()
	switch {
	case o.Doubtful():
		return o.Doubt
	case o.MissingFills():
		return fmt.Sprintf("the venue counts %v filled, the known fills sum to %v", o.Claimed, o.Filled)
	case fresh.Filled.LessThan(o.Filled):
		return fmt.Sprintf("the venue counts %v filled, the known fills sum to %v", fresh.Filled, o.Filled)
	case o.Status.Final() == open: // one is open, the other is not
		return fmt.Sprintf("the order is %v here and %v at the venue", o.Status, fresh.Status)
	}
	return ""
}
