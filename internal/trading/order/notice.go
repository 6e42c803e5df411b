package order

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/lib/market"
)

// The events that notices are about.
const (
	NoticeFilled      = "order_filled"
	NoticePartFilled  = "order_part_filled" // at most one per order in partFillPause
	NoticeEnded       = "order_ended"       // canceled by another than the caller or after a part was filled, expired, or rejected after it was accepted
	NoticeDecided     = "order_decided"     // by the owner, or not in time
	NoticeClosed      = "position_closed"
	NoticeUnprotected = "position_unprotected"
	NoticeProtected   = "position_protected"
	NoticeState       = "trading_state"
)

// Notice is a report to the owner's clients: what happened to an order, a position or the account. It
// follows from an event, and is stored with it.
type Notice struct {
	Owner  principal.Owner
	ID     string        // unique in the account, and the same whenever it is worked out
	Event  string        // one of the names above
	Symbol market.Symbol // zero for the account
	At     time.Time
	Of     int    // index of the event that it follows from, in its list
	Data   []byte // the record for clients: one JSON object without line breaks
}

// NoticeRecord is the record of a notice. Amounts are exact decimals.
type NoticeRecord struct {
	Event    string `json:"event"`
	OrderID  string `json:"order_id,omitempty"`
	Parent   string `json:"parent_id,omitempty"`
	Role     string `json:"role,omitempty"`
	Symbol   string `json:"symbol,omitempty"`
	Venue    string `json:"venue,omitempty"`
	Side     string `json:"side,omitempty"` // of the order; of position_closed that of the position
	Status   string `json:"status,omitempty"`
	Decision string `json:"decision,omitempty"` // approved, refused or expired
	Rule     string `json:"rule,omitempty"`     // that refused it
	Reason   string `json:"reason,omitempty"`

	Quantity    string            `json:"quantity,omitempty"`
	Filled      string            `json:"filled_quantity,omitempty"`
	Average     string            `json:"avg_fill_price,omitempty"`
	Fees        string            `json:"fees,omitempty"`
	FeesByAsset map[string]string `json:"fees_by_asset,omitempty"`
	After       string            `json:"position_after,omitempty"`
	Realised    string            `json:"realized_pnl,omitempty"` // before fees; of an order that made a position smaller

	State  string `json:"trading_state,omitempty"`
	Client string `json:"client,omitempty"`
	Mode   string `json:"mode"`
	At     string `json:"at"`
}

// NewNotice returns the notice of a record. about makes its ID unique among those of its event.
func NewNotice(r NoticeRecord, s market.Symbol, at time.Time, about ...string) Notice {
	r.Symbol, r.Venue, r.At = s.Name, s.Venue, at.UTC().Format("2006-01-02T15:04:05.000Z")
	data, err := json.Marshal(r)
	if err != nil {
		panic("order: texts cannot be marshalled: " + err.Error())
	}
	h := sha256.New()
	for _, part := range append([]string{r.Event}, about...) {
		_, _ = fmt.Fprintf(h, "%d %s", len(part), part) // a hash takes everything
	}
	return Notice{ID: hex.EncodeToString(h.Sum(nil)[:16]), Event: r.Event, Symbol: s, At: at, Data: data}
}

// Notices returns what events report about the account, in their order. The book is that before
// them and stays as it is. An event that it would reject, and a trade that it knows, report
// nothing.
func (b *Book) Notices(events []Event) []Notice {
	p := preview{Book: b, orders: make(map[string]Order), symbols: make(map[market.Symbol]*previewed)}
	var all []Notice
	for i, e := range events {
		for _, n := range p.apply(e) {
			n.Of = i
			all = append(all, n)
		}
	}
	return all
}

// preview is a book with events that are not stored yet.
type preview struct {
	*Book
	orders  map[string]Order
	symbols map[market.Symbol]*previewed
}

// previewed is the position in a symbol after such events.
type previewed struct {
	moves    []move                     // that the book does not have
	now      Position                   // after them
	realised map[string]decimal.Decimal // by them, by order
}

func (p *preview) order(id string) (Order, bool) {
	if o, ok := p.orders[id]; ok {
		return o, true
	}
	return p.Order(id)
}

// apply adds an event and returns what it reports.
func (p *preview) apply(e Event) []Notice {
	switch e.Kind {
	case KindAdjusted:
		a := e.Adjustment
		if a == nil {
			return nil
		}
		before, after := p.move(a.Symbol, move{At: e.At, Key: "adjusted", Quantity: a.Quantity, Price: a.Price})
		return p.closed(before, after, NoticeRecord{Reason: ByAdjustment}, e.At, "adjusted")
	case KindVenueReset, KindPlanned, KindFunded:
		return nil
	default:
	}
	was, known := p.order(e.OrderID)
	if e.Kind == KindFill && e.Fill != nil && (p.trades[e.Fill.Key()] != "" || was.hasFill(*e.Fill)) {
		return nil
	}
	o, err := Apply(was, e)
	if err != nil || !known && e.Kind != KindCreated {
		return nil
	}
	p.orders[o.ID] = o
	if len(o.Fills) > len(was.Fills) {
		return p.filled(was, o, *e.Fill)
	}
	return p.changed(was, o, e)
}

// changed returns what an event other than a fill reports of an order.
func (p *preview) changed(was, o Order, e Event) []Notice {
	switch {
	case o.Status == was.Status && e.Kind != KindApproved:
		return nil
	case o.Status == Filled: // resized to what was filled
		return []Notice{p.notice(o, NoticeRecord{Event: NoticeFilled}, e.At, o.ID)}
	case was.Status == PendingApproval && o.Status != Canceled:
		if o.Group.Name != "" && o.Group.Name != o.ID {
			return nil // decided with the first of its group
		}
		return []Notice{p.notice(o, decision(o), e.At, o.ID)}
	case p.endedAlone(was, o):
		return p.ended(o, e.At)
	default:
		return nil
	}
}

// The rule of an order that the owner did not decide on in time.
const expiredRule = "approval_expired"

func decision(o Order) NoticeRecord {
	r := NoticeRecord{Event: NoticeDecided, Decision: "approved"}
	if o.Status == Denied {
		r.Decision, r.Rule, r.Reason = "refused", o.Denial.Rule, o.Reason
		if r.Rule == expiredRule {
			r.Decision = "expired"
		}
	}
	return r
}

// filled returns what a new fill reports.
func (p *preview) filled(was, o Order, f Fill) []Notice {
	m := moveOf(f)
	m.Order, m.Reason = o.ID, cmp.Or(f.Cause, o.closes())
	before, after := p.move(f.Symbol, m)
	r := NoticeRecord{After: after.Quantity.String(), Reason: f.Cause}
	reduced := before.Quantity.Sign()*m.Quantity.Sign() < 0
	earned := p.realised(o)
	if reduced || !earned.IsZero() {
		r.Realised = earned.String()
	}
	r.Role = roleOf(o, reduced)
	var all []Notice
	switch {
	case o.Status == Filled:
		r.Event = NoticeFilled
		all = append(all, p.notice(o, r, f.At, o.ID))
	case reportPart(was.Fills, f):
		r.Event = NoticePartFilled
		all = append(all, p.notice(o, r, f.At, o.ID, f.Key()))
	}
	return append(all, p.closed(before, after, NoticeRecord{OrderID: o.ID, Role: r.Role, Client: o.Client, Mode: string(o.Mode), Reason: m.Reason}, f.At, f.Key())...)
}

// closed returns the notice of a position that a change closed.
func (p *preview) closed(before, after Position, r NoticeRecord, at time.Time, key string) []Notice {
	if before.Quantity.IsZero() || before.Quantity.Sign() == after.Quantity.Sign() {
		return nil
	}
	r.Event, r.Side, r.After = NoticeClosed, before.Side().String(), after.Quantity.String()
	sum := after.Earlier.Realised // when it was zero, since that was last so
	r.Realised = sum.Sub(before.Earlier.Realised).String()
	if r.Mode == "" {
		r.Mode = string(p.mode())
	}
	return []Notice{NewNotice(r, before.Symbol, at, before.Symbol.String(), key, at.UTC().Format(time.RFC3339Nano))}
}

// mode returns the mode of the account, that of any order.
func (p *preview) mode() Mode {
	for _, o := range p.orders {
		return o.Mode
	}
	if n := len(p.sequence); n > 0 {
		return p.Book.orders[p.sequence[n-1]].Mode
	}
	return ""
}

// roleOf says what an order was for. One without a role is an exit if it made a position smaller.
func roleOf(o Order, reduced bool) string {
	switch {
	case o.Role == StopLoss && o.TrailPercent.IsPositive():
		return "trail"
	case o.Role != 0:
		return o.Role.String()
	case o.TrailPercent.IsPositive():
		return "trail"
	case o.IsStop() && (o.ReduceOnly || reduced):
		return StopLoss.String()
	case o.ReduceOnly || reduced:
		return Exit.String()
	default:
		return Entry.String()
	}
}

// notice returns a notice with what there is to say of every order.
func (p *preview) notice(o Order, r NoticeRecord, at time.Time, about ...string) Notice {
	r.OrderID, r.Side, r.Status, r.Client, r.Mode = o.ID, o.Side.String(), o.Status.String(), o.Client, string(o.Mode)
	if r.Parent = o.Parent; r.Parent == "" {
		r.Parent = o.Group.Name
	}
	if r.Parent == o.ID || o.External {
		r.Parent = ""
	}
	if r.Role == "" {
		r.Role = roleOf(o, false)
	}
	r.Quantity, r.Filled = o.Quantity.String(), o.Filled.String()
	if average, ok := o.Average(); ok {
		r.Average = average.String()
		r.Fees, r.FeesByAsset = o.Fees.Texts()
	}
	return NewNotice(r, o.Symbol, at, about...)
}

// Texts returns fees as one amount and by asset. Amounts of several assets have no sum, so the one
// amount is that of the first asset by name.
func (f Fees) Texts() (string, map[string]string) {
	if len(f) == 0 {
		return "0", nil
	}
	by := make(map[string]string, len(f))
	for asset, amount := range f {
		by[asset] = amount.String()
	}
	return by[slices.Min(slices.Collect(maps.Keys(by)))], by
}

// move adds a move to the position in a symbol and returns it before and after that.
func (p *preview) move(s market.Symbol, m move) (before, after Position) {
	at := p.symbols[s]
	if at == nil {
		at = &previewed{now: p.Position(s), realised: make(map[string]decimal.Decimal)}
		p.symbols[s] = at
	}
	before = at.now
	var made *Trade
	if p.isNewest(s, m) {
		at.now, made = m.apply(at.now)
		at.moves = append(at.moves, m)
	} else {
		at.now, made = p.replay(s, m)
	}
	if made != nil {
		at.realised[m.Order] = at.realised[m.Order].Add(made.Realised)
	}
	return before, at.now
}

// isNewest reports whether a move comes after all others of its symbol.
func (p *preview) isNewest(s market.Symbol, m move) bool {
	var last move
	if t := p.positions[s]; t != nil && len(t.Recent) > 0 {
		last = t.Recent[len(t.Recent)-1]
	}
	if n := len(p.symbols[s].moves); n > 0 {
		last = p.symbols[s].moves[n-1]
	}
	return byTime(last, m) <= 0
}

// replay applies all moves of a symbol again, with one that came late, and returns the position and
// what the late one took out of it.
func (p *preview) replay(s market.Symbol, m move) (Position, *Trade) {
	at, now := p.symbols[s], Position{Symbol: s}
	var recent []move
	if t := p.positions[s]; t != nil {
		now, recent = t.Base, t.Recent
	}
	at.moves = append(at.moves, m)
	slices.SortStableFunc(at.moves, byTime)
	all := slices.Concat(recent, at.moves)
	slices.SortStableFunc(all, byTime)
	var made *Trade
	for i := range all {
		var closed *Trade
		if now, closed = all[i].apply(now); all[i].Key == m.Key {
			made = closed
		}
	}
	return now, made
}

// realised returns what an order realised so far.
func (p *preview) realised(o Order) decimal.Decimal {
	sum := p.symbols[o.Symbol].realised[o.ID]
	if len(o.Fills) < 2 {
		return sum
	}
	known, _ := p.earlier(o)
	return sum.Add(known)
}

// earlier returns what an order realised by the moves that the book has, and false if it took nothing
// out of a position.
func (p *preview) earlier(o Order) (sum decimal.Decimal, reduced bool) {
	t := p.positions[o.Symbol]
	if t == nil {
		return sum, false
	}
	for _, trades := range [][]*Trade{t.earned().Trades, t.Past.Trades} {
		for _, known := range slices.Backward(trades) {
			if known.OrderID == o.ID {
				sum, reduced = sum.Add(known.Realised), true
				break
			}
		}
	}
	return sum, reduced
}
