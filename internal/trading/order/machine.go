package order

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/lib/market"
)

// Reasons why Apply rejects an event.
var (
	// ErrTransition means that the event is not possible in the order's status.
	ErrTransition = errors.New("not possible in this state")
	// ErrOverfill means that the fill would exceed the order's quantity.
	ErrOverfill = errors.New("more filled than ordered")
	// ErrMalformed means that the event is about another order or incomplete.
	ErrMalformed = errors.New("malformed event")
)

// Apply returns the order after an event; the zero Order accepts KindCreated. A rejected
// event leaves the order unchanged. A repeated event, such as a known fill or a second
// cancel, is no error and changes at most Updated.
//
// The status follows from facts that only grow: sent, known to the venue, filled so far,
// cancel requested, closed. The same facts in another order give the same status; only a
// failed cancel is reverted.
//
//	new              denied, sent, approval asked
//	                 and held, for a stop or target that candela holds
//	pending_approval denied, canceled, approved, which makes it new
//	submitted        accepted, unsent, fill, cancel requested or failed, and the ends:
//	                 gone, canceled, expired, rejected
//	                 and held, for a leg whose entry is not filled
//	uncertain        the same without unsent
//	held             as accepted, and accepted when its entry is filled
//	                 and sent, while candela holds it
//	accepted,
//	partially_filled fill, cancel requested, the ends
//	pending_cancel   fill, cancel requested or failed, the ends
//	canceled,
//	expired          late fill; the full quantity makes it filled
//	denied, filled,
//	rejected         nothing
//
// Gone is also legal after the end: a venue that no longer knows the order will not report
// its missing fills.
//
// Trailed is legal for an order that trails, while it is open.
//
// Lost, claimed, doubted, confirmed, triggered and grouped are legal once the order was sent; resized
// is while an order of a group is open. Lost and doubted
// turn submitted into uncertain; no other status changes. A cancel requested before the
// venue's answer is kept until the answer comes.
func Apply(o Order, e Event) (Order, error) {
	if e.Kind == KindCreated {
		return create(o, e)
	}
	if o.Status == 0 || e.OrderID != o.ID {
		return o, fmt.Errorf("%v for order %q applied to %q: %w", e.Kind, e.OrderID, o.ID, ErrMalformed)
	}
	if !legal(o.Status, e.Kind) && !o.legalHere(e.Kind) || o.Status == Canceled && o.NotSent {
		return o, fmt.Errorf("order %s is %v, %v: %w", o.ID, o.Status, e.Kind, ErrTransition)
	}
	next, err := step(o, e)
	if err != nil {
		return o, err
	}
	if e.VenueID != "" && next.VenueID == "" {
		next.VenueID = e.VenueID
	}
	if e.SentAs != "" && next.SentAs == "" {
		next.SentAs = e.SentAs
	}
	if e.Linked != "" && next.Linked == "" {
		next.Linked = e.Linked
	}
	if e.At.After(next.Updated) {
		next.Updated = e.At
	}
	if e.Kind != KindDoubted && e.VenueAt.After(next.Seen) {
		next.Seen = e.VenueAt
	}
	return normalise(next), nil
}

// normalise drops what later facts made obsolete: the order of events does not matter.
func normalise(o Order) Order {
	if o.Status.Final() {
		o.CancelRequested, o.Waiting = time.Time{}, false
	}
	if !o.Doubtful() {
		o.Doubt, o.Doubted = "", time.Time{}
	}
	return o
}

func create(o Order, e Event) (Order, error) {
	switch g := e.Origin; {
	case o.Status != 0:
		return o, fmt.Errorf("order %s is created twice: %w", o.ID, ErrTransition)
	case g == nil || g.ID == "" || g.ID != e.OrderID || g.Symbol.IsZero() || g.Side.String() == "" || !g.Quantity.IsPositive(),
		g.Type.String() == "" && !g.External, // venues have more types
		!within(maxFactDigits, g.Quantity, g.Price, g.StopPrice, g.TrailPercent, g.Best, g.Edge), !g.Protect.bounded():
		return o, fmt.Errorf("created without id, symbol, side, type or quantity: %w", ErrMalformed)
	case g.External: // the venue has it already
		return Order{Origin: *g, Status: Submitted, VenueID: e.VenueID, Created: e.At, Updated: e.At}, nil
	default:
		return Order{Origin: *g, Status: New, Created: e.At, Updated: e.At}, nil
	}
}

// legal is the table in the comment of Apply.
func legal(s Status, k Kind) bool {
	switch k {
	case KindSent, KindApprovalAsked:
		return s == New
	case KindDenied:
		return s == New || s == PendingApproval
	case KindApproved:
		return s == PendingApproval
	case KindHeld:
		return s == Submitted || s == Uncertain
	case KindNotSent:
		return s == Submitted
	case KindAccepted:
		return s == Submitted || s == Uncertain || s == Held
	case KindCancelFailed:
		return s == PendingCancel || s == Submitted || s == Uncertain
	case KindCanceled:
		return s != New && !s.Final()
	case KindCancelRequested, KindExpired, KindRejected:
		return sent(s) && !s.Final()
	case KindFill:
		// A known fill may be repeated in any status; step rejects a new one.
		return sent(s)
	case KindLost, KindClaimed, KindDoubted, KindConfirmed, KindGrouped, KindGone, KindTriggered:
		return sent(s)
	case KindResized:
		return sent(s) && !s.Final()
	case KindCreated, KindAdjusted, KindVenueReset, KindPlanned, KindTrailed, KindFunded, KindAssigned:
	}
	return false
}

// legalHere is what is possible beside legal while candela holds the order, or follows its trail.
func (o Order) legalHere(k Kind) bool {
	switch k {
	case KindHeld:
		return o.Local() && o.Status == New
	case KindSent:
		return o.Local() && o.Status == Held
	case KindTrailed:
		return o.TrailPercent.IsPositive() && !o.Fired && sent(o.Status) && !o.Status.Final()
	default:
		return false
	}
}

// sent reports whether the order has left, or may have left, this machine.
func sent(s Status) bool { return s != New && s != Denied && s != PendingApproval }

// step applies a legal event.
func step(o Order, e Event) (Order, error) {
	switch e.Kind {
	case KindDenied, KindApprovalAsked, KindApproved, KindSent:
		return decide(o, e)
	case KindAccepted:
		o.Waiting = false
		o.Status = openStatus(o)
	case KindHeld:
		o.Waiting = !o.Local() || o.Group.Leg
		o.Status = openStatus(o)
	case KindTrailed:
		return trail(o, e)
	case KindTriggered:
		if o.Triggered.IsZero() || e.VenueAt.Before(o.Triggered) {
			o.Triggered = e.VenueAt
		}
	case KindLost:
		o = uncertain(o)
	case KindFill:
		return fill(o, e)
	case KindClaimed:
		return claim(o, e)
	case KindCancelRequested:
		o = requestCancel(o, e)
	case KindCancelFailed:
		o.CancelRequested = time.Time{} // CancelFor stays: the venue may carry it out yet
		if o.Status == PendingCancel {
			o.Status = openStatus(o)
		}
	case KindNotSent, KindRejected:
		o.Status, o.Reason, o.NotSent, o.Passing = Rejected, e.Reason, e.Kind == KindNotSent, e.Passing
	case KindCanceled:
		o.NotSent = o.Status == PendingApproval
		o.Status, o.Reason = Canceled, e.Reason
	case KindGone:
		if !o.Status.Final() {
			o.Status, o.Reason = Canceled, e.Reason
		}
		o.Claimed, o.Doubt, o.Doubted = o.Filled, "", time.Time{}
	case KindExpired:
		o.Status, o.Reason = Expired, e.Reason
	case KindDoubted:
		o = uncertain(o)
		if o.Doubt == "" || e.VenueAt.After(o.Doubted) {
			o.Doubt, o.Doubted = e.Reason, e.VenueAt
		}
	case KindConfirmed:
		o.Doubt, o.Doubted = "", time.Time{}
	case KindGrouped:
		return group(o, e)
	case KindResized:
		return resize(o, e)
	case KindCreated, KindAdjusted, KindVenueReset, KindPlanned, KindFunded, KindAssigned: // never legal
	}
	return o, nil
}

// requestCancel applies that the order is to be cancelled.
func requestCancel(o Order, e Event) Order {
	// A report that a cancel is pending does not say what it is for.
	if e.Reason != "" || o.CancelRequested.IsZero() && e.VenueID == "" {
		o.CancelFor, o.CancelByOwner = e.Reason, e.ByOwner
	}
	o.CancelTried = o.CancelTried || e.VenueID == ""
	if o.CancelRequested.IsZero() {
		o.CancelRequested = e.At
	}
	if o.Status == Accepted || o.Status == PartiallyFilled || o.Status == Held {
		o.Status = PendingCancel
	}
	return o
}

// uncertain changes the status of an order that the venue has not answered.
func uncertain(o Order) Order {
	if o.Status == Submitted {
		o.Status = Uncertain
	}
	return o
}

// openStatus returns the status of an open order that the venue has accepted.
func openStatus(o Order) Status {
	switch {
	case !o.CancelRequested.IsZero():
		return PendingCancel
	case o.Filled.IsPositive():
		return PartiallyFilled
	case o.Waiting || o.Local():
		return Held
	default:
		return Accepted
	}
}

// decide applies what happens before the order leaves this machine.
func decide(o Order, e Event) (Order, error) {
	switch e.Kind {
	case KindDenied:
		o.Status, o.Reason = Denied, e.Reason
		if e.Denial != nil {
			o.Denial = *e.Denial
		}
	case KindSent:
		o.Fired = o.Local()
		o.Status, o.Waiting = Submitted, false
	default:
		if e.Approval == nil || !within(maxFactDigits, e.Approval.Price) {
			return o, fmt.Errorf("order %s: %v without an approval: %w", o.ID, e.Kind, ErrMalformed)
		}
		if e.Kind == KindApprovalAsked {
			o.Status, o.Approval = PendingApproval, *e.Approval
		} else {
			o.Status, o.Approval.Decided, o.Approval.By = New, e.Approval.Decided, e.Approval.By
		}
	}
	return o, nil
}

// group records the group of an order, once.
func group(o Order, e Event) (Order, error) {
	if e.Group == nil || e.Group.Name == "" {
		return o, fmt.Errorf("order %s: grouped without a group: %w", o.ID, ErrMalformed)
	}
	if o.Group.Name == "" {
		o.Group = *e.Group
	}
	return o, nil
}

// resize changes the quantity of an order of a group, as a venue does when another order
// of the group is filled in part. An older report changes nothing.
func resize(o Order, e Event) (Order, error) {
	switch {
	case o.Group.Name == "" && o.Holder == "":
		return o, fmt.Errorf("order %s is in no group, %v: %w", o.ID, e.Kind, ErrTransition)
	case !within(maxFactDigits, e.Quantity) || !e.Quantity.IsPositive() || e.Quantity.LessThan(decimal.Max(o.Filled, o.Claimed)):
		return o, fmt.Errorf("order %s: resized to less than %v: %w", o.ID, decimal.Max(o.Filled, o.Claimed), ErrMalformed)
	case e.VenueAt.Before(o.Resized):
		return o, nil
	}
	o.Quantity, o.Resized = e.Quantity, e.VenueAt
	if o.Filled.Equal(o.Quantity) {
		o.Status, o.Reason = Filled, ""
	}
	return o, nil
}

// hasFill reports whether a trade is known.
func (o Order) hasFill(f Fill) bool {
	return slices.ContainsFunc(o.Fills, func(known Fill) bool { return known.TradeID == f.TradeID })
}

// fill adds a new trade.
func fill(o Order, e Event) (Order, error) {
	if e.Fill == nil {
		return o, fmt.Errorf("order %s: fill without a trade: %w", o.ID, ErrMalformed)
	}
	f := *e.Fill
	if !within(maxFactDigits, f.Quantity, f.Price, f.Fee) {
		return o, fmt.Errorf("order %s: a number of trade %q is out of bounds: %w", o.ID, f.TradeID, ErrMalformed)
	}
	if f.TradeID == "" || f.OrderID != o.ID || f.Symbol != o.Symbol || f.Side != o.Side || !f.Quantity.IsPositive() {
		return o, fmt.Errorf("order %s: trade %q is %v %v of %v for order %q: %w", o.ID, f.TradeID, f.Side, f.Quantity, f.Symbol, f.OrderID, ErrMalformed)
	}
	if o.hasFill(f) {
		return o, nil
	}
	if o.Status == Filled || o.Filled.Add(f.Quantity).GreaterThan(o.Quantity) {
		return o, fmt.Errorf("order %s: trade %s of %v over %v of %v filled: %w", o.ID, f.TradeID, f.Quantity, o.Filled, o.Quantity, ErrOverfill)
	}
	if o.Status == Rejected {
		return o, fmt.Errorf("order %s is %v, trade %s: %w", o.ID, o.Status, f.TradeID, ErrTransition)
	}
	at, _ := slices.BinarySearchFunc(o.Fills, f, earlier)
	o.Fills = slices.Insert(slices.Clip(o.Fills), at, f)
	o.Filled, o.Waiting = o.Filled.Add(f.Quantity), false
	o.Cost = o.Cost.Add(f.Quantity.Mul(f.Price))
	o.Fees = o.Fees.add(f.FeeAsset, f.Fee)
	if o.Filled.GreaterThan(o.Claimed) {
		o.Claimed = o.Filled
	}
	switch {
	case o.Filled.Equal(o.Quantity):
		o.Status, o.Reason = Filled, ""
	case !o.Status.Final():
		o.Status = openStatus(o)
	}
	return o, nil
}

// claim records the quantity that the venue counts as filled.
func claim(o Order, e Event) (Order, error) {
	if !within(maxFactDigits, e.Filled) || e.Filled.GreaterThan(o.Quantity) || e.Filled.IsNegative() {
		return o, fmt.Errorf("order %s: the venue counts more than %v: %w", o.ID, o.Quantity, ErrOverfill)
	}
	if e.Filled.GreaterThan(o.Claimed) {
		o.Claimed = e.Filled
	}
	return o, nil
}

// earlier orders fills by time, then by key.
func earlier(a, b Fill) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Key(), b.Key()))
}

// Kind is the kind of an event.
type Kind uint8

// The kinds. Accepted, Fill, Claimed, Canceled, Expired, Rejected, Doubted, Confirmed,
// Grouped, Resized, Held and Triggered come from the venue through FromReport, the others from the desk.
const (
	KindCreated Kind = iota + 1 // Origin
	KindDenied                  // the guard denied it: Reason, Denial
	KindSent                    // stored before the order is sent
	KindNotSent                 // nothing left this machine: Reason
	KindLost                    // no answer, or an inconclusive one: Reason
	KindGone                    // the venue does not know it after the grace period: Reason
	KindAccepted
	KindFill            // Fill
	KindClaimed         // the venue counts more than the known fills: Filled
	KindCancelRequested // a cancel is about to be sent, or is pending at the venue: Reason, the ID of the order it is for
	KindCancelFailed    // the order is still open after a cancel: Reason
	KindCanceled
	KindExpired
	KindRejected      // by the venue: Reason, Passing
	KindDoubted       // the venue reported something unknown or contradictory: Reason
	KindConfirmed     // a later report resolved the doubt
	KindGrouped       // the venue handles it together with other orders: Group
	KindResized       // the venue changed the quantity of an order of a group: Quantity
	KindHeld          // the venue has the leg, which waits for its entry
	KindTriggered     // the stop price was reached: VenueAt, and Linked where the venue makes another order of it
	KindApprovalAsked // the owner must approve it before it is sent: Approval
	KindApproved      // by the owner: Approval, with By and Decided
	KindTrailed       // a trail held here followed the price: Price
	KindPlanned       // what protects the position in a symbol: Plan
	KindAdjusted      // a position changed without an order: Adjustment
	KindVenueReset    // the venue deleted the account's history: Survivors
	KindFunded        // a position in a perpetual future paid or received: Funding
	KindAssigned      // units passed between the book of a deployment and what no deployment holds: Assignment
)

// Event is one change of an order or position. Stored events never change, and folding
// them in stored order always gives the same book.
type Event struct {
	Kind       Kind            `json:"kind"`
	OrderID    string          `json:"order_id,omitempty"` // "" for KindAdjusted, KindVenueReset, KindPlanned, KindFunded and KindAssigned
	At         time.Time       `json:"at"`                 // local time; FromReport sets the venue's time
	VenueAt    time.Time       `json:"venue_at,omitzero"`  // venue's time, of its reports
	VenueID    string          `json:"venue_id,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	Passing    bool            `json:"passing,omitempty"`
	Filled     decimal.Decimal `json:"filled,omitzero"`
	Quantity   decimal.Decimal `json:"quantity,omitzero"`
	Price      decimal.Decimal `json:"price,omitzero"`
	Group      *Group          `json:"group,omitempty"`
	Origin     *Origin         `json:"origin,omitempty"`
	Fill       *Fill           `json:"fill,omitempty"`
	Denial     *Denial         `json:"refusal,omitempty"`
	Approval   *Approval       `json:"approval,omitempty"`
	SentAs     string          `json:"sent_as,omitempty"` // of the venue's first report
	Linked     string          `json:"linked,omitempty"`  // the venue's ID of the order that this one became
	Adjustment *Adjustment     `json:"adjustment,omitempty"`
	Plan       *Plan           `json:"plan,omitempty"`
	Funding    *Funding        `json:"funding,omitempty"`
	Assignment *Assignment     `json:"assignment,omitempty"`
	ByOwner    bool            `json:"by_owner,omitempty"` // of a cancel: the owner asked for it, not a client
	Survivors  []string        `json:"kept,omitempty"`     // IDs of the orders that the venue still has
}

// About returns what an event is about: its order, or the symbol of a position.
func (e Event) About() string {
	switch {
	case e.Adjustment != nil:
		return e.Adjustment.Symbol.String()
	case e.Plan != nil:
		return e.Plan.Symbol.String()
	case e.Funding != nil:
		return e.Funding.Symbol.String()
	case e.Assignment != nil:
		return "deployment " + e.Assignment.Deployment
	default:
		return e.OrderID
	}
}

// Adjustment changes a position by something no order explains, such as a deposit, a
// withdrawal or a venue reset. It counts as a trade at Price, so it makes no profit or
// loss at that price.
type Adjustment struct {
	Symbol   market.Symbol   `json:"symbol"`
	Quantity decimal.Decimal `json:"quantity"` // signed
	Price    decimal.Decimal `json:"price"`
}
