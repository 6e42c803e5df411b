package alert

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/analysis/indicator"
	"candela/internal/kit/fault"
	"candela/internal/market"
)

// MaxPerOwner is how many alerts one owner may have active.
const MaxPerOwner = 10_000

// Book holds the alerts of all owners. Active alerts can fire; inactive ones, which
// another engine evaluates, are only listed. One goroutine uses it: the engine's loop.
// Use NewBook to create one.
type Book struct {
	pages []*page
	free  uint32 // the first free slot
	byID  map[[16]byte]uint32

	active int // alerts that can fire and those that have, uncommitted

	owners  table[string, list]
	symbols table[market.Symbol, struct{}]
	notes   map[uint32]string
	wide    map[uint32]decimal.Decimal

	needs      map[Need]*watched
	queues     []*queue
	freeQueues []uint32
	selections map[string]selected // by name; no more than the catalogue has

	expiries heap
	pending  map[uint32]pending
	fired    uint64 // counts firings, to keep pending ones in order

	hits []uint32 // scratch of fire
	todo []uint32
}

// list is the alerts of an owner, chained through their records.
type list struct{ first, last uint32 }

// NewBook returns an empty book.
func NewBook() *Book {
	b := &Book{
		free:       nowhere,
		byID:       make(map[[16]byte]uint32),
		owners:     table[string, list]{index: make(map[string]uint32)},
		symbols:    table[market.Symbol, struct{}]{index: make(map[market.Symbol]uint32)},
		notes:      make(map[uint32]string),
		wide:       make(map[uint32]decimal.Decimal),
		needs:      make(map[Need]*watched),
		selections: make(map[string]selected),
		pending:    make(map[uint32]pending),
	}
	b.expiries.cell = func(slot uint32) *uint32 { return &b.record(slot).expiry }
	return b
}

// Len returns the number of alerts, inactive ones included.
func (b *Book) Len() int { return len(b.byID) }

// Active returns the number of active alerts, pending ones included.
func (b *Book) Active() int { return b.active }

// Count returns how many of them are the owner's.
func (b *Book) Count(owner string) int {
	n, known := b.owners.index[owner]
	if !known {
		return 0
	}
	return b.owners.rows[n].refs
}

// Check tells why an owner may not set the alert: everything that Add refuses,
// and one more alert than MaxPerOwner. The engine asks before it commits, so that
// Add cannot fail after.
func (b *Book) Check(a *Alert) error {
	if err := b.CheckCount(a.Owner); err != nil {
		return err
	}
	_, err := b.check(a)
	return err
}

// CheckCount tells why an owner may not have one more alert.
func (b *Book) CheckCount(owner string) error {
	if n := b.Count(owner); n >= MaxPerOwner {
		return &fault.Error{
			Kind: fault.Conflict, Code: "too_many_alerts", Value: strconv.Itoa(n),
			Allowed: fmt.Sprintf("at most %d active alerts", MaxPerOwner),
			Message: fmt.Sprintf("%d alerts are active and at most %d may be; cancel_alert removes one, list_alerts shows them", n, MaxPerOwner),
		}
	}
	return nil
}

// check tells what is wrong with an alert and returns its id in binary.
func (b *Book) check(a *Alert) ([16]byte, error) {
	id, ok := parseID(a.ID)
	if !ok {
		return id, fmt.Errorf("alert id %q is not of the form that package id makes", a.ID)
	}
	if _, there := b.byID[id]; there {
		return id, fmt.Errorf("alert %s is in the book already", a.ID)
	}
	if a.Owner == "" || a.Symbol.IsZero() || a.Instrument.IsZero() {
		return id, fmt.Errorf("alert %s lacks owner, symbol or instrument", a.ID)
	}
	return id, b.checkCondition(a)
}

func (b *Book) checkCondition(a *Alert) error {
	c := &a.Condition
	switch c.Type {
	case PriceAbove, PriceBelow:
		if a.Interval != 0 {
			return fault.Field("interval", a.Interval.String(), "none for a price condition")
		}
		if math.IsInf(nearest(c.Threshold), 0) {
			return fault.Field("condition."+c.Type.String(), string(appendDigits(nil, c.Threshold)), "a number below 1.8e308")
		}
		return nil
	case IndicatorSignal:
		if !a.Interval.Valid() {
			return fault.Missing("interval", "the interval of the bars that the indicator is computed from")
		}
		s, err := b.selectionOf(c.Indicator)
		if err != nil {
			return err
		}
		return indicator.CheckSignal(s.selection.Def, c.Signal)
	}
	return errors.New("alert of no known type")
}

// Add adds an active alert. It refuses an alert that the book has, one with a malformed
// ID, and one whose condition can never come true, and changes nothing then. It does not
// fire: for an alert that may be true already the engine calls Touch with the current
// price.
func (b *Book) Add(a Alert) error {
	slot, err := b.add(&a)
	if err == nil {
		b.activate(slot, &a.Condition)
	}
	return err
}

// AddInactive is Add for an alert that another engine evaluates.
func (b *Book) AddInactive(a Alert) error {
	_, err := b.add(&a)
	return err
}

func (b *Book) add(a *Alert) (uint32, error) {
	id, err := b.check(a)
	if err != nil {
		return 0, err
	}
	slot, q := b.slot(), b.queueFor(a)
	r := b.record(slot)
	r.id, r.created, r.since = id, milli(a.Created), sinceOf(a)
	r.queue, r.symbol, r.pos = q.number, b.symbols.hold(a.Symbol), nowhere
	b.byID[id] = slot
	b.own(slot, a.Owner)
	b.keepThreshold(r, slot, &a.Condition)
	if a.Note != "" {
		b.notes[slot] = a.Note
	}
	if r.expiry = nowhere; !a.Expires.IsZero() {
		b.expiries.push(float64(milli(a.Expires)), slot)
	}
	q.refs++
	return slot, nil
}

// Activate lets an inactive alert fire. It reports whether the book has the alert and it
// was inactive.
func (b *Book) Activate(id string) bool {
	raw, ok := parseID(id)
	if !ok {
		return false
	}
	slot, there := b.byID[raw]
	if !there || b.isActive(slot) {
		return false
	}
	a := b.alert(slot)
	b.activate(slot, &a.Condition)
	return true
}

func (b *Book) activate(slot uint32, c *Condition) {
	r := b.record(slot)
	q := b.queues[r.queue]
	q.push(keyOf(r, c), slot)
	b.count(q, 1)
}

// Deactivate keeps the alerts that depend on something for which gone returns true from
// firing. Firings of theirs that are pending are forgotten.
func (b *Book) Deactivate(gone func(Need) bool) {
	for _, slot := range b.byID {
		r := b.record(slot)
		q := b.queues[r.queue]
		if !b.isActive(slot) || !gone(q.watched.need) {
			continue
		}
		if p, fired := b.pending[slot]; fired {
			delete(b.pending, slot)
			if !p.expires.IsZero() {
				b.expiries.push(float64(milli(p.expires)), slot)
			}
		} else {
			q.remove(r.pos)
		}
		b.count(q, -1)
	}
}

// isActive reports whether the alert in a slot can fire, or has and is pending.
func (b *Book) isActive(slot uint32) bool {
	if b.record(slot).pos != nowhere {
		return true
	}
	_, fired := b.pending[slot]
	return fired
}

// count adds n to the active alerts of a queue.
func (b *Book) count(q *queue, n int) {
	b.active += n
	q.watched.active += n
	if q.group != nil {
		q.group.active += n
	}
}

// keepThreshold stores the threshold of a price condition.
func (b *Book) keepThreshold(r *record, slot uint32, c *Condition) {
	if c.Type == IndicatorSignal {
		return
	}
	var fits bool
	if r.coef, r.exp, fits = split(c.Threshold); !fits {
		r.exp = wide
		b.wide[slot] = c.Threshold
	}
}

// keyOf returns the key by which the alert's queue is ordered. Milliseconds are exact in
// a float64 for 285,000 years.
func keyOf(r *record, c *Condition) float64 {
	switch c.Type {
	case IndicatorSignal:
		return float64(r.created)
	case PriceBelow:
		return -nearest(c.Threshold)
	default:
		return nearest(c.Threshold)
	}
}

// own puts the record at the end of its owner's list.
func (b *Book) own(slot uint32, owner string) {
	r := b.record(slot)
	r.owner = b.owners.hold(owner)
	row := &b.owners.rows[r.owner]
	r.prev, r.next = nowhere, nowhere
	if row.refs == 1 {
		row.data = list{slot, slot}
		return
	}
	r.prev = row.data.last
	b.record(r.prev).next = slot
	row.data.last = slot
}

// disown takes the record out of its owner's list.
func (b *Book) disown(slot uint32) {
	r := b.record(slot)
	alerts := &b.owners.rows[r.owner].data
	if r.prev == nowhere {
		alerts.first = r.next
	} else {
		b.record(r.prev).next = r.next
	}
	if r.next == nowhere {
		alerts.last = r.prev
	} else {
		b.record(r.next).prev = r.prev
	}
	b.owners.drop(r.owner)
}

// forget takes an alert out of the book for good.
func (b *Book) forget(slot uint32) {
	r := b.record(slot)
	q := b.queues[r.queue]
	if b.isActive(slot) {
		b.count(q, -1)
	}
	if r.pos != nowhere {
		q.remove(r.pos)
	}
	if r.expiry != nowhere {
		b.expiries.remove(r.expiry)
	}
	b.leave(q)
	b.disown(slot)
	b.symbols.drop(r.symbol)
	delete(b.byID, r.id)
	delete(b.notes, slot)
	delete(b.wide, slot)
	delete(b.pending, slot)
	b.release(slot)
}

// find returns the slot of an alert of that owner.
func (b *Book) find(owner, id string) (uint32, bool) {
	raw, ok := parseID(id)
	if !ok {
		return 0, false
	}
	slot, there := b.byID[raw]
	return slot, there && b.owners.rows[b.record(slot).owner].key == owner
}

// Has reports whether an alert of that id is in the book, pending or not.
func (b *Book) Has(id string) bool {
	raw, ok := parseID(id)
	if !ok {
		return false
	}
	_, there := b.byID[raw]
	return there
}

// Instruments returns what the alerts are on.
func (b *Book) Instruments() map[market.Symbol]bool {
	all := make(map[market.Symbol]bool)
	for n := range b.needs {
		all[n.Instrument] = true
	}
	return all
}

// ActiveInstruments counts the instruments that active alerts depend on.
func (b *Book) ActiveInstruments() int {
	all := make(map[market.Symbol]struct{})
	for n, w := range b.needs {
		if w.active > 0 {
			all[n.Instrument] = struct{}{}
		}
	}
	return len(all)
}

// Discard takes the alerts out of the book, pending or not, that depend on something
// of which gone says so.
func (b *Book) Discard(gone func(Need) bool) {
	for _, slot := range b.byID { // an entry may go while the map is walked
		if gone(b.queues[b.record(slot).queue].watched.need) {
			b.forget(slot)
		}
	}
}

// Select returns the alerts, pending ones included, that depend on something of
// which keep says so, in no order.
func (b *Book) Select(keep func(Need) bool) []Alert {
	var alerts []Alert
	for _, slot := range b.byID {
		if keep(b.queues[b.record(slot).queue].watched.need) {
			alerts = append(alerts, b.alert(slot))
		}
	}
	return alerts
}

// Remove takes the owner's alert of that id out of the book, pending or not, and
// returns it. It returns false when the owner has none.
func (b *Book) Remove(owner, id string) (Alert, bool) {
	slot, there := b.find(owner, id)
	if !there {
		return Alert{}, false
	}
	a := b.alert(slot)
	b.forget(slot)
	return a, true
}

// List returns the owner's alerts by creation, pending ones included. Those of
// one millisecond are ordered by id.
func (b *Book) List(owner string) []Alert {
	return b.list(owner, func(*record) bool { return true })
}

// ListOf is List of the alerts on one instrument.
func (b *Book) ListOf(owner string, instrument market.Symbol) []Alert {
	return b.list(owner, func(r *record) bool {
		return b.queues[r.queue].watched.need.Instrument == instrument
	})
}

func (b *Book) list(owner string, keep func(*record) bool) []Alert {
	n, known := b.owners.index[owner]
	if !known {
		return nil
	}
	var slots []uint32
	for slot := b.owners.rows[n].data.first; slot != nowhere; slot = b.record(slot).next {
		if keep(b.record(slot)) {
			slots = append(slots, slot)
		}
	}
	slices.SortFunc(slots, func(x, y uint32) int { return b.record(x).compare(b.record(y)) })
	alerts := make([]Alert, len(slots))
	for i, slot := range slots {
		alerts[i] = b.alert(slot)
	}
	return alerts
}

// alert puts an alert together again.
func (b *Book) alert(slot uint32) Alert {
	r := b.record(slot)
	q := b.queues[r.queue]
	a := Alert{
		ID: formatID(r.id), Owner: b.owners.rows[r.owner].key,
		Symbol: b.symbols.rows[r.symbol].key, Instrument: q.watched.need.Instrument, Interval: q.watched.need.Interval,
		Condition: Condition{Type: q.kind, Signal: q.signal},
		Created:   fromMilli(r.created), Expires: b.expires(slot), Note: b.notes[slot],
	}
	if r.since != 0 {
		a.Since = fromMilli(r.from())
	}
	switch {
	case q.group != nil:
		a.Condition.Indicator = q.group.selection.Def.Name
	case r.exp == wide:
		a.Condition.Threshold = b.wide[slot]
	default:
		a.Condition.Threshold = decimal.New(r.coef, int32(r.exp))
	}
	return a
}

// expires returns when the alert expires, the zero time for never.
func (b *Book) expires(slot uint32) time.Time {
	at := b.record(slot).expiry
	if at == nowhere {
		return b.pending[slot].expires
	}
	return fromMilli(int64(b.expiries.entries[at].key))
}
