package order

import (
	"fmt"
	"slices"
	"time"

	"candela/internal/kit/fault"
)

// FromReport returns the events that a venue's report adds to what is known of an
// order, each of which Apply takes in turn. A report that was seen before, or that
// is older than what is known, adds nothing; reports in any order end in the same
// state. A report never takes anything back: that a cancel failed, or that the
// venue no longer knows an order, is for whoever asked to tell.
//
// Fills are taken one by one. The cumulative quantity is compared and never
// becomes a fill: where the venue counts more, the order is Behind. What cannot be
// understood or contradicts what is known makes the order Doubtful. Both mean that
// the venue must be asked again.
func FromReport(o Order, r Report) []Event {
	if o.Status == 0 || o.Status == New || o.Status == Denied {
		return nil // never sent, so the report speaks of another order
	}
	return readReport(o, r).events
}

// FromAnswer is FromReport for what the venue has just answered to a question
// about the order that was asked after all that is known of it. Such an answer is
// newer than any doubt, whatever the time it bears: what the venue says last
// changed may lie long before.
func FromAnswer(o Order, r Report) []Event {
	if o.Status == 0 || o.Status == New || o.Status == Denied {
		return nil
	}
	l := readReport(o, r)
	if l.understood && !l.doubted && l.order.Doubtful() {
		l.must(Event{Kind: KindConfirmed})
	}
	return l.events
}

func readReport(o Order, r Report) reportReader {
	l := reportReader{order: o, report: r, understood: understood(r.Status)}
	if why := contradiction(o, r); why != "" {
		l.doubt(why)
		return l
	}
	for _, f := range r.Fills {
		l.fill(f)
	}
	l.word()
	l.claim()
	l.overtake()
	return l
}

// understood reports whether the word is one that a venue may say of an order.
func understood(s Status) bool {
	switch s {
	case Accepted, PartiallyFilled, Filled, PendingCancel, Canceled, Expired, Rejected:
		return true
	default:
		return false
	}
}

// contradiction tells in which point the report cannot be about the order.
func contradiction(o Order, r Report) string {
	switch {
	case !within(maxFactDigits, r.Quantity, r.Filled):
		return "a number of the venue's is out of all bounds"
	case !r.Symbol.IsZero() && r.Symbol != o.Symbol:
		return fmt.Sprintf("the venue has it in %v, not %v", r.Symbol, o.Symbol)
	case r.Side != 0 && r.Side != o.Side:
		return fmt.Sprintf("the venue has it as %v, not %v", r.Side, o.Side)
	case !r.Quantity.IsZero() && !r.Quantity.Equal(o.Quantity):
		return fmt.Sprintf("the venue has it over %v, not %v", r.Quantity, o.Quantity)
	case r.Filled.IsNegative() || r.Filled.GreaterThan(o.Quantity):
		return fmt.Sprintf("the venue counts %v of %v filled", r.Filled, o.Quantity)
	}
	return ""
}

// reportReader collects the events of one report, applying each to know the next.
type reportReader struct {
	order      Order
	report     Report
	understood bool
	doubted    bool
	events     []Event
}

// tell adds an event, and returns why it cannot be.
func (l *reportReader) tell(e Event) error {
	e.OrderID, e.VenueID, e.At = l.order.ID, l.report.VenueID, l.report.At
	if l.understood && e.VenueAt.IsZero() {
		e.VenueAt = l.report.At
	}
	next, err := Apply(l.order, e)
	if err != nil {
		return err
	}
	l.order, l.events = next, append(l.events, e)
	return nil
}

// must is tell where the state was looked at before.
func (l *reportReader) must(e Event) {
	if err := l.tell(e); err != nil {
		l.doubt(err.Error())
	}
}

// doubt says that the report cannot be believed. A contradiction is as new as
// anything that is known, whatever the time it bears.
func (l *reportReader) doubt(why string) {
	l.doubted = true
	at := l.report.At
	if at.Before(l.order.Seen) {
		at = l.order.Seen
	}
	if l.order.Doubt != "" && !at.After(l.order.Doubted) {
		return
	}
	e := Event{
		Kind: KindDoubted, OrderID: l.order.ID, VenueID: l.report.VenueID, At: l.report.At, VenueAt: at, Reason: why,
	}
	if next, err := Apply(l.order, e); err == nil {
		l.order, l.events = next, append(l.events, e)
	}
}

// fill takes a trade that is not known. The venue may leave out what the order
// says already.
func (l *reportReader) fill(f Fill) {
	f.OrderID = l.order.ID
	if f.Symbol.IsZero() {
		f.Symbol = l.order.Symbol
	}
	if f.Side == 0 {
		f.Side = l.order.Side
	}
	i := slices.IndexFunc(l.order.Fills, func(known Fill) bool { return known.TradeID == f.TradeID })
	if i < 0 || !within(maxFactDigits, f.Quantity, f.Price) {
		l.must(Event{Kind: KindFill, Fill: &f})
		return
	}
	if known := l.order.Fills[i]; !known.Quantity.Equal(f.Quantity) || !known.Price.Equal(f.Price) {
		l.doubt(fmt.Sprintf("trade %s is %v at %v, and was %v at %v", f.TradeID, f.Quantity, f.Price, known.Quantity, known.Price))
	}
}

// word takes the state that the venue names, as far as it goes beyond what is
// known. That an order is filled or in part is told by its fills alone.
func (l *reportReader) word() {
	if !l.understood {
		// An unknown word after the end, or older than one that was understood, says
		// nothing that matters.
		if s := l.order.Status; s == Submitted || !s.Final() && !l.report.At.Before(l.order.Seen) {
			l.doubt(fmt.Sprintf("the venue says %q of it, a word that is not known here", fault.Clean(l.report.Reason, fault.MaxForeign)))
		}
		return
	}
	if l.order.Status.Final() {
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
	default:
	}
	if l.order.Status == Submitted || l.order.Status == Uncertain {
		l.must(Event{Kind: KindAccepted})
	}
	if l.report.Status == PendingCancel && l.order.CancelRequested.IsZero() {
		l.must(Event{Kind: KindCancelRequested})
	}
}

// claim compares what the venue counts with the fills.
func (l *reportReader) claim() {
	counted := l.report.Filled
	if l.report.Status == Filled && counted.IsZero() {
		counted = l.order.Quantity
	}
	if counted.GreaterThan(l.order.Claimed) {
		l.must(Event{Kind: KindClaimed, Filled: counted})
	}
}

// overtake ends a doubt that is older than a report without one.
func (l *reportReader) overtake() {
	if l.understood && !l.doubted && l.order.Doubtful() && l.report.At.After(l.order.Doubted) {
		l.must(Event{Kind: KindConfirmed})
	}
}

// NewExternal returns the event that makes an order of ours out of one that was found
// at the venue, under an id that the caller gives it. FromReport then adds what
// the report tells.
func NewExternal(g Origin, r Report, at time.Time) Event {
	g.External = true
	g.Symbol, g.Side, g.Type, g.Quantity, g.Price = r.Symbol, r.Side, r.Type, r.Quantity, r.Price
	return Event{Kind: KindCreated, OrderID: g.ID, At: at, VenueAt: r.At, VenueID: r.VenueID, Origin: &g}
}

// Disagreement compares an order with an answer that the venue has just given to
// a question about it. It returns "" when the two agree after FromReport has
// added its events, and otherwise in what they do not, for a person. FromReport
// cannot see this: a report that is merely old looks the same.
func Disagreement(o Order, fresh Report) string {
	open := understood(fresh.Status) && !fresh.Status.Final()
	switch {
	case o.Doubtful():
		return o.Doubt
	case o.MissingFills():
		return fmt.Sprintf("the venue counts %v filled, the fills that are known sum to %v", o.Claimed, o.Filled)
	case fresh.Filled.LessThan(o.Filled):
		return fmt.Sprintf("the venue counts %v filled, the fills that are known sum to %v", fresh.Filled, o.Filled)
	case o.Status.Final() && open:
		return fmt.Sprintf("it is %v here and %v at the venue", o.Status, fresh.Status)
	case !o.Status.Final() && !open:
		return fmt.Sprintf("it is %v here and %v at the venue", o.Status, fresh.Status)
	}
	return ""
}
