package alert

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// MaxPerOwner bounds the active alerts of one owner.
const MaxPerOwner = 10_000

// Index holds the alerts of all owners. Active alerts can fire; inactive ones, which
// another engine evaluates, are only listed. One goroutine uses it: the engine's loop.
// Use NewIndex to create one.
type Index struct {
	pages []*page
	free  uint32 // the first free slot
	byID  map[Key]uint32

	active      int                   // alerts that can fire, and uncommitted ones
	instruments map[market.Symbol]int // dependencies of active alerts, by instrument

	owners        table[principal.Owner, list]
	symbols       table[market.Symbol, struct{}]
	notes         map[uint32]string
	bigThresholds map[uint32]decimal.Decimal

	dependencies map[Dependency]*dependents
	readers      map[Dependency]map[Dependency]int // of longer bars: who needs them, with the number of active alerts
	queues       []*queue
	freeQueues   []uint32
	library      ta.Library
	selections   map[string]selected // by name and parameters
	shared       *Selections         // of a probe; nil for none

	extras      map[uint32]*extra // of extended alerts
	uses        map[ownedGroup]uses
	expiries    heap
	uncommitted map[uint32]uncommitted
	repeated    []repeatedFiring // uncommitted, of alerts that fire again
	fired       uint64           // number of firings, which orders uncommitted ones

	hits  []uint32 // scratch space of fire
	todo  []uint32
	flips []uint32
}

// list holds the alerts of an owner, linked through their records.
type list struct {
	first, last uint32
	effort      effort
}

// NewIndex returns an empty index of alerts on indicators of the catalogue.
func NewIndex() *Index { return NewIndexOf(ta.Library{}) }

// NewIndexOf returns an empty index of alerts on indicators of a library.
func NewIndexOf(l ta.Library) *Index {
	b := &Index{
		library:       l,
		free:          noSlot,
		byID:          make(map[Key]uint32),
		owners:        table[principal.Owner, list]{index: make(map[principal.Owner]uint32)},
		symbols:       table[market.Symbol, struct{}]{index: make(map[market.Symbol]uint32)},
		notes:         make(map[uint32]string),
		bigThresholds: make(map[uint32]decimal.Decimal),
		dependencies:  make(map[Dependency]*dependents),
		readers:       make(map[Dependency]map[Dependency]int),
		selections:    make(map[string]selected),
		uncommitted:   make(map[uint32]uncommitted),
		extras:        make(map[uint32]*extra),
		uses:          make(map[ownedGroup]uses),
		instruments:   make(map[market.Symbol]int),
	}
	b.expiries.position = func(slot uint32) *uint32 { return &b.record(slot).expiry }
	return b
}

// Active returns the number of active alerts, uncommitted ones included.
func (b *Index) Active() int { return b.active }

// Count returns the number of alerts of an owner.
func (b *Index) Count(owner principal.Owner) int {
	n, known := b.owners.index[owner]
	if !known {
		return 0
	}
	return b.owners.rows[n].refs
}

// Check returns the reason why an owner may not create the alert: an error of Add, more
// than MaxPerOwner alerts, or more computations than an owner may have. The engine calls it before it stores the alert, so that
// Add cannot fail afterwards.
func (b *Index) Check(a *Alert) error {
	if err := b.CheckCount(a.Owner); err != nil {
		return err
	}
	if _, err := b.check(a); err != nil {
		return err
	}
	return b.checkEffort(a)
}

// CheckCount returns an error if an owner may not have one more alert.
func (b *Index) CheckCount(owner principal.Owner) error {
	if n := b.Count(owner); n >= MaxPerOwner {
		return &fault.Error{
			Kind: fault.Conflict, Code: "too_many_alerts", Value: strconv.Itoa(n),
			Allowed: fmt.Sprintf("at most %d active alerts", MaxPerOwner),
			Message: fmt.Sprintf("%d alerts are active and at most %d may be; cancel_alert removes one, list_alerts shows them", n, MaxPerOwner),
		}
	}
	return nil
}

// check validates an alert and returns its ID in binary.
func (b *Index) check(a *Alert) (Key, error) {
	id, ok := parseID(a.ID)
	if !ok {
		return id, fmt.Errorf("alert id %q is not of the form that package id makes", a.ID)
	}
	if _, there := b.byID[id]; there {
		return id, fmt.Errorf("alert %s is in the index already", a.ID)
	}
	if a.Owner == "" || a.Symbol.IsZero() || a.Instrument.IsZero() {
		return id, fmt.Errorf("alert %s lacks owner, symbol or instrument", a.ID)
	}
	return id, b.checkCondition(a)
}

// CheckCondition returns an error if an alert cannot be evaluated.
func (b *Index) CheckCondition(a *Alert) error { return b.checkCondition(a) }

func (b *Index) checkCondition(a *Alert) error {
	c := &a.Condition
	if a.Extended() {
		return b.checkExtended(a)
	}
	switch c.Type {
	case PriceAbove, PriceBelow:
		if a.Interval != 0 {
			return fault.Field("interval", a.Interval.String(), "none for a price condition")
		}
		if math.IsInf(toFloat(c.Threshold), 0) {
			return fault.Field("condition."+c.Type.String(), string(appendDigits(nil, c.Threshold)), "a number below 1.8e308")
		}
		return nil
	case IndicatorSignal:
		if !a.Interval.Valid() {
			return fault.Missing("interval", "the interval of the bars that the indicator is computed from")
		}
		s, err := b.selectionOf(c.Indicator, c.Params)
		if err != nil {
			return err
		}
		return ta.CheckSignal(s.selection.Def, c.Signal)
	default:
	}
	return errors.New("alert of no known type")
}

// Add adds an active alert. It rejects an alert that the index has, one with a malformed
// ID, and one whose condition can never come true, and changes nothing then. It does not
// fire: for an alert that may be true already the engine calls FirePrice with the current
// price.
func (b *Index) Add(a Alert) error {
	slot, err := b.add(&a)
	if err == nil {
		b.activate(slot, &a.Condition)
	}
	return err
}

// AddInactive is Add for an alert that another engine evaluates.
func (b *Index) AddInactive(a Alert) error {
	_, err := b.add(&a)
	return err
}

func (b *Index) add(a *Alert) (uint32, error) {
	id, err := b.check(a)
	if err != nil {
		return 0, err
	}
	slot, q := b.allocSlot(), b.queueFor(a)
	if a.Extended() {
		b.extras[slot] = &extra{condition: a.Condition, onTick: a.OnTick, repeat: a.Repeat, state: a.State, committed: a.State}
	} else {
		b.keepThreshold(b.record(slot), slot, &a.Condition)
	}
	r := b.record(slot)
	r.id, r.created, r.barOpen = id, milli(a.Created), packBarOpen(a)
	r.queue, r.symbol, r.pos = q.number, b.symbols.acquire(a.Symbol), noSlot
	b.byID[id] = slot
	b.linkOwner(slot, a.Owner)
	b.countUse(r.owner, q, 1)
	if a.Note != "" {
		b.notes[slot] = a.Note
	}
	if r.expiry = noSlot; !a.Expires.IsZero() {
		b.expiries.push(float64(milli(a.Expires)), slot)
	}
	q.refs++
	return slot, nil
}

// Activate lets an inactive alert fire. It reports whether the index has the alert and it
// was inactive.
func (b *Index) Activate(id string) bool {
	raw, ok := parseID(id)
	if ok {
		_, ok = b.ActivateKey(raw)
	}
	return ok
}

// ActivateKey is Activate by key, and returns the alert.
func (b *Index) ActivateKey(key Key) (Alert, bool) {
	slot, there := b.byID[key]
	if !there || b.isActive(slot) {
		return Alert{}, false
	}
	a := b.alert(slot)
	b.activate(slot, &a.Condition)
	return a, true
}

func (b *Index) activate(slot uint32, c *Condition) {
	r := b.record(slot)
	q := b.queues[r.queue]
	if x := b.extras[slot]; x != nil {
		b.place(slot, x)
	} else {
		q.push(keyOf(r, c), slot)
	}
	b.count(q, 1)
}

// isActive reports whether the alert in a slot can fire or is uncommitted.
func (b *Index) isActive(slot uint32) bool {
	if b.record(slot).pos != noSlot {
		return true
	}
	_, fired := b.uncommitted[slot]
	return fired
}

// count adds n to the active alerts of a queue.
func (b *Index) count(q *queue, n int) {
	d := q.dependents
	wasActive := d.active > 0
	b.active += n
	d.active += n
	if q.group != nil {
		q.group.active += n
	}
	for _, g := range q.groups {
		g.active += n
	}
	b.countReaders(q, n)
	instrument := d.dependency.Instrument
	switch isActive := d.active > 0; {
	case isActive && !wasActive:
		b.instruments[instrument]++
	case !isActive && wasActive:
		if b.instruments[instrument]--; b.instruments[instrument] == 0 {
			delete(b.instruments, instrument)
		}
	}
}

// keepThreshold stores the threshold of a price condition.
func (b *Index) keepThreshold(r *record, slot uint32, c *Condition) {
	if c.Type == IndicatorSignal {
		return
	}
	var fits bool
	if r.coef, r.exp, fits = packDecimal(c.Threshold); !fits {
		r.exp = wide
		b.bigThresholds[slot] = c.Threshold
	}
}

// keyOf returns the key by which the alert's queue is ordered. Milliseconds are exact in
// a float64 for 285,000 years.
func keyOf(r *record, c *Condition) float64 {
	switch c.Type {
	case IndicatorSignal:
		return float64(r.created)
	case PriceBelow:
		return -toFloat(c.Threshold)
	default:
		return toFloat(c.Threshold)
	}
}

// linkOwner appends the record to the list of its owner.
func (b *Index) linkOwner(slot uint32, owner principal.Owner) {
	r := b.record(slot)
	r.owner = b.owners.acquire(owner)
	row := &b.owners.rows[r.owner]
	r.prev, r.next = noSlot, noSlot
	if row.refs == 1 {
		row.data = list{first: slot, last: slot}
		return
	}
	r.prev = row.data.last
	b.record(r.prev).next = slot
	row.data.last = slot
}

// unlinkOwner removes the record from the list of its owner.
func (b *Index) unlinkOwner(slot uint32) {
	r := b.record(slot)
	alerts := &b.owners.rows[r.owner].data
	if r.prev == noSlot {
		alerts.first = r.next
	} else {
		b.record(r.prev).next = r.next
	}
	if r.next == noSlot {
		alerts.last = r.prev
	} else {
		b.record(r.next).prev = r.prev
	}
	b.owners.release(r.owner)
}

// deleteRecord deletes an alert.
func (b *Index) deleteRecord(slot uint32) {
	r := b.record(slot)
	q := b.queues[r.queue]
	if b.isActive(slot) {
		b.count(q, -1)
	}
	if r.pos != noSlot {
		b.take(q, slot)
	}
	if x := b.extras[slot]; x != nil {
		b.dropRepeated(slot, x)
		delete(b.extras, slot)
	}
	if r.expiry != noSlot {
		b.expiries.remove(r.expiry)
	}
	b.countUse(r.owner, q, -1)
	b.releaseQueue(q)
	b.unlinkOwner(slot)
	b.symbols.release(r.symbol)
	delete(b.byID, r.id)
	delete(b.notes, slot)
	delete(b.bigThresholds, slot)
	delete(b.uncommitted, slot)
	b.freeSlot(slot)
}

// slot returns the slot of an alert.
func (b *Index) slot(id string) (slot uint32, there bool) {
	raw, ok := parseID(id)
	if ok {
		slot, there = b.byID[raw]
	}
	return slot, there
}

// find returns the slot of an alert of an owner.
func (b *Index) find(owner principal.Owner, id string) (uint32, bool) {
	slot, there := b.slot(id)
	return slot, there && b.owners.rows[b.record(slot).owner].key == owner
}

// Has reports whether the index has an alert with the ID.
func (b *Index) Has(id string) bool {
	_, there := b.slot(id)
	return there
}

// ActiveInstruments returns the number of instruments that active alerts depend on.
func (b *Index) ActiveInstruments() int { return len(b.instruments) }

// RemoveWhere removes the alerts whose dependency gone selects, uncommitted ones included.
func (b *Index) RemoveWhere(gone func(Dependency) bool) {
	for _, slot := range b.byID { // deleting during iteration is safe
		if gone(b.queues[b.record(slot).queue].dependents.dependency) {
			b.deleteRecord(slot)
		}
	}
}

// Where returns the alerts whose dependency keep selects, uncommitted ones included, in no
// order.
func (b *Index) Where(keep func(Dependency) bool) []Alert {
	var alerts []Alert
	for _, slot := range b.byID {
		if keep(b.queues[b.record(slot).queue].dependents.dependency) {
			alerts = append(alerts, b.alert(slot))
		}
	}
	return alerts
}

// Remove removes and returns an alert of an owner, uncommitted or not. It returns false if
// the owner has no such alert.
func (b *Index) Remove(owner principal.Owner, id string) (Alert, bool) {
	slot, there := b.find(owner, id)
	if !there {
		return Alert{}, false
	}
	a := b.alert(slot)
	b.deleteRecord(slot)
	return a, true
}

// List returns the alerts of an owner ordered by creation and then ID, uncommitted ones
// included.
func (b *Index) List(owner principal.Owner) []Alert {
	return b.list(owner, func(*record) bool { return true })
}

// ListOn returns the alerts of an owner on one instrument, ordered as by List.
func (b *Index) ListOn(owner principal.Owner, instrument market.Symbol) []Alert {
	return b.list(owner, func(r *record) bool {
		return b.queues[r.queue].dependents.dependency.Instrument == instrument
	})
}

func (b *Index) list(owner principal.Owner, keep func(*record) bool) []Alert {
	n, known := b.owners.index[owner]
	if !known {
		return nil
	}
	var slots []uint32
	for slot := b.owners.rows[n].data.first; slot != noSlot; slot = b.record(slot).next {
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

// alert rebuilds the alert in a slot.
func (b *Index) alert(slot uint32) Alert {
	r := b.record(slot)
	q := b.queues[r.queue]
	a := Alert{
		ID: formatID(r.id), Owner: b.owners.rows[r.owner].key,
		Symbol: b.symbols.rows[r.symbol].key, Instrument: q.dependents.dependency.Instrument, Interval: q.dependents.dependency.Interval,
		Condition: Condition{Type: q.kind, Signal: q.signal},
		Created:   fromMilli(r.created), Expires: b.expires(slot), Note: b.notes[slot],
	}
	if r.barOpen != 0 {
		a.BarOpen = fromMilli(r.countsFrom())
	}
	if x := b.extras[slot]; x != nil {
		a.Condition, a.OnTick, a.Repeat, a.State = x.condition, x.onTick, x.repeat, x.committed
		return a
	}
	switch {
	case q.group != nil:
		a.Condition.Indicator = q.group.selection.Def.Name
	case r.exp == wide:
		a.Condition.Threshold = b.bigThresholds[slot]
	default:
		a.Condition.Threshold = decimal.New(r.coef, int32(r.exp))
	}
	return a
}

// expires returns the expiry of the alert, the zero time for never.
func (b *Index) expires(slot uint32) time.Time {
	at := b.record(slot).expiry
	if at == noSlot {
		return b.uncommitted[slot].expires
	}
	return fromMilli(int64(b.expiries.entries[at].key))
}
