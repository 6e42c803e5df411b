package alert

import (
	"cmp"
	"math"
	"slices"
	"time"

	"candela/lib/market"
	"candela/lib/ta"
)

// trigger is a price move or a signal that may fire alerts of a queue.
type trigger struct {
	extremeKey float64 // the key that was reached
	closeKey   float64 // the key that the close of the bar reached
	open       int64   // alerts that count bars from later on, in milliseconds, use closeKey
	closed     int64   // alerts must be created before it
	until      int64   // and expire after it
	firing     Firing  // Value of a signal, At and Late
}

// fullTrigger is a trigger that reaches its key for every alert.
func fullTrigger(key float64, at time.Time) trigger {
	return trigger{extremeKey: key, closeKey: key, open: math.MaxInt64, closed: math.MaxInt64, until: milli(at), firing: Firing{At: at}}
}

// keyFor returns the key that the trigger reached for an alert.
func (m *trigger) keyFor(r *record) float64 {
	if r.countsFrom() > m.open {
		return m.closeKey
	}
	return m.extremeKey
}

// uncommitted is the part of an uncommitted firing that its record does not hold.
type uncommitted struct {
	value   float64
	at      time.Time
	late    bool
	expires time.Time // of the alert, which is not in expiries
	order   uint64
	text    string // of a signal
}

// FirePrice fires the alerts on a price that moved between lo and hi: price_above with a
// threshold of at most hi, price_below with one of at least lo. It appends the firings to
// dst in the order in which the thresholds were reached; the value is hi or lo. Expired
// alerts do not fire. NaN reaches no threshold. last is where the price ended: an alert
// that fires again waits until it was on the other side.
func (b *Index) FirePrice(dst []Firing, instrument market.Symbol, lo, hi, last float64, at time.Time) []Firing {
	w := b.dependencies[Dependency{Instrument: instrument}]
	if w == nil {
		return dst
	}
	if w.above != nil && w.above.reached(hi) {
		dst = b.fire(dst, w.above, fullTrigger(hi, at))
	}
	if w.below != nil && w.below.reached(-lo) {
		dst = b.fire(dst, w.below, fullTrigger(-lo, at))
	}
	if w.price != nil && !w.quiet.holds(lo, hi) {
		m := fullTrigger(0, at)
		dst = b.movePrice(dst, w, move{lo, hi, last}, &m, false)
	}
	return dst
}

// FireLate is FirePrice for a move that was found late.
func (b *Index) FireLate(dst []Firing, instrument market.Symbol, lo, hi, last float64, at time.Time) []Firing {
	w := b.dependencies[Dependency{Instrument: instrument}]
	if w == nil {
		return dst
	}
	m := trigger{open: math.MaxInt64, closed: milli(at), until: milli(at), firing: Firing{At: at, Late: true}}
	dst = b.reach(dst, w, market.Bar{H: hi, L: lo, C: last}, m)
	if w.price != nil {
		dst = b.movePrice(dst, w, move{lo, hi, last}, &m, false)
	}
	return dst
}

// FireBar is FirePrice for a closed bar that was not received while it formed. For an
// alert created during the bar only the close counts, because the high and low may be
// older than the alert, unless the bar opened at BarOpen. For an alert created after the
// close the bar does not count.
func (b *Index) FireBar(dst []Firing, instrument market.Symbol, bar market.Bar, closed time.Time, late bool) []Firing {
	return b.fireBar(dst, instrument, bar, barTrigger(bar, closed, late))
}

// FireMissed is FireBar for a bar that nobody watched. It counts for an alert that expires in
// it, because the price may have been there before; the alert then fires late, at its expiry.
func (b *Index) FireMissed(dst []Firing, instrument market.Symbol, bar market.Bar, closed time.Time, late bool) []Firing {
	m := barTrigger(bar, closed, late)
	m.until = m.open
	return b.fireBar(dst, instrument, bar, m)
}

func barTrigger(bar market.Bar, closed time.Time, late bool) trigger {
	return trigger{open: bar.T * 1000, closed: milli(closed), until: milli(closed), firing: Firing{At: closed, Late: late}}
}

func (b *Index) fireBar(dst []Firing, instrument market.Symbol, bar market.Bar, m trigger) []Firing {
	w := b.dependencies[Dependency{Instrument: instrument}]
	if w == nil {
		return dst
	}
	dst = b.reach(dst, w, bar, m)
	if l := w.price; l != nil && l.missing {
		if m.open < l.through {
			m.open = math.MinInt64 // a longer bar repeats what shorter ones have shown: only its close is new
		}
		l.through = max(l.through, m.closed)
		dst = b.movePrice(dst, w, move{bar.L, bar.H, bar.C}, &m, true)
	}
	return dst
}

// FireBehind is FireBar for a bar that is older than prices that were delivered. Bars that
// follow each other are delivered in order; the next price says where they have ended. An alert
// that a newer price has fired does not fire again.
func (b *Index) FireBehind(dst []Firing, instrument market.Symbol, bar market.Bar, closed time.Time, late bool) []Firing {
	w := b.dependencies[Dependency{Instrument: instrument}]
	if w == nil {
		return dst
	}
	m := barTrigger(bar, closed, late)
	if late {
		m.until = m.open // as in FireMissed
	}
	dst = b.reach(dst, w, bar, m)
	if w.price != nil {
		dst = b.movePrice(dst, w, move{bar.L, bar.H, bar.C}, &m, false)
	}
	return dst
}

// reach fires the alerts that fire once on the range of a bar.
func (b *Index) reach(dst []Firing, w *dependents, bar market.Bar, m trigger) []Firing {
	if w.above != nil && w.above.reached(bar.H) {
		m.extremeKey, m.closeKey = bar.H, bar.C
		dst = b.fire(dst, w.above, m)
	}
	if w.below != nil && w.below.reached(-bar.L) {
		m.extremeKey, m.closeKey = -bar.L, -bar.C
		dst = b.fire(dst, w.below, m)
	}
	return dst
}

// FireSignal fires the alerts on a signal of the indicator with a key, confirmed by the
// bar that closed at the given time. Alerts created at the close or later do not fire. It
// appends the firings to dst in the order of creation.
func (b *Index) FireSignal(dst []Firing, n Dependency, key string, signal ta.Signal, closed time.Time, late bool) []Firing {
	w := b.dependencies[n]
	if w == nil {
		return dst
	}
	i, found := w.find(key)
	if !found {
		return dst
	}
	end := float64(milli(closed))
	for _, q := range w.groups[i].queues {
		if q.signal == signal.Label && q.reached(end) {
			m := fullTrigger(end, closed)
			m.closed, m.firing.Value, m.firing.Text, m.firing.Late = milli(closed), signal.Y, signal.Text, late
			return b.fire(dst, q, m)
		}
	}
	return dst
}

// fire removes the alerts that m triggers from the queue.
func (b *Index) fire(dst []Firing, q *queue, m trigger) []Firing {
	b.hits = b.hits[:0]
	b.walk(&q.heap, m.extremeKey, func(e entry) {
		if r := b.record(e.slot); e.key <= m.keyFor(r) && r.created < m.closed && !b.expired(r, m.until) {
			b.hits = append(b.hits, e.slot)
		}
	})
	slices.SortFunc(b.hits, func(x, y uint32) int {
		r, s := b.record(x), b.record(y)
		return cmp.Or(cmp.Compare(q.entries[r.pos].key, q.entries[s.pos].key), r.compare(s))
	})
	for _, slot := range b.hits {
		r := b.record(slot)
		f := m.firing
		f.Alert = b.alert(slot)
		f.capAt()
		switch q.kind {
		case PriceAbove:
			f.Value = m.keyFor(r)
		case PriceBelow:
			f.Value = -m.keyFor(r)
		default: // the value of the signal
		}
		q.remove(r.pos)
		if r.expiry != noSlot {
			b.expiries.remove(r.expiry)
		}
		b.fired++
		b.uncommitted[slot] = uncommitted{f.Value, f.At, f.Late, f.Expires, b.fired, f.Text}
		dst = append(dst, f)
	}
	return dst
}

// walk visits the entries of a heap with keys of at most limit, none for NaN. It stops at
// keys beyond it, so it looks at these entries and at most two children of each.
func (b *Index) walk(h *heap, limit float64, visit func(entry)) {
	b.todo = append(b.todo[:0], 0)
	for len(b.todo) > 0 {
		i := b.todo[len(b.todo)-1]
		b.todo = b.todo[:len(b.todo)-1]
		if int(i) < len(h.entries) && h.entries[i].key <= limit {
			visit(h.entries[i])
			b.todo = append(b.todo, 2*i+1, 2*i+2)
		}
	}
}

// expired reports whether an alert has expired at a time in milliseconds.
func (b *Index) expired(r *record, at int64) bool {
	return r.expiry != noSlot && b.expiries.entries[r.expiry].key <= float64(at)
}

// capAt dates a firing that was found after the alert expired.
func (f *Firing) capAt() {
	if !f.Expires.IsZero() && f.At.After(f.Expires) {
		f.At, f.Late = f.Expires, true
	}
}

// Uncommitted appends the uncommitted firings in the order in which they fired. The engine
// retries them after a failed commit.
func (b *Index) Uncommitted(dst []Firing) []Firing {
	all := make([]orderedFiring, 0, len(b.uncommitted)+len(b.repeated))
	for slot, p := range b.uncommitted {
		f := Firing{Alert: b.alert(slot), Value: p.value, At: p.at, Late: p.late, Text: p.text}
		if x := b.extras[slot]; x != nil {
			f.State = x.state
		}
		all = append(all, orderedFiring{p.order, f})
	}
	for _, p := range b.repeated {
		all = append(all, orderedFiring{p.order, p.firing})
	}
	slices.SortFunc(all, func(x, y orderedFiring) int { return cmp.Compare(x.order, y.order) })
	for i := range all {
		dst = append(dst, all[i].firing)
	}
	return dst
}

type orderedFiring struct {
	order  uint64
	firing Firing
}

// isRepeating reports whether an alert has uncommitted firings and stays.
func (b *Index) isRepeating(slot uint32) bool {
	x := b.extras[slot]
	return x != nil && x.pending > 0
}

// Expire removes expired alerts and appends them to dst, earliest first. It keeps inactive
// and uncommitted ones, and those whose dependency mayStillFire selects: they may have
// come true in a bar that is still missing. A nil mayStillFire selects none.
func (b *Index) Expire(dst []Alert, now time.Time, mayStillFire func(Dependency) bool) []Alert {
	limit := float64(milli(now))
	if !b.expiries.reached(limit) {
		return dst
	}
	b.hits = b.hits[:0]
	b.walk(&b.expiries, limit, func(e entry) {
		if r := b.record(e.slot); r.pos != noSlot && !b.isRepeating(e.slot) && (mayStillFire == nil || !mayStillFire(b.queues[r.queue].dependents.dependency)) {
			b.hits = append(b.hits, e.slot)
		}
	})
	slices.SortFunc(b.hits, func(x, y uint32) int {
		r, s := b.record(x), b.record(y)
		return cmp.Or(cmp.Compare(b.expiries.entries[r.expiry].key, b.expiries.entries[s.expiry].key), r.compare(s))
	})
	for _, slot := range b.hits {
		dst = append(dst, b.alert(slot))
		b.deleteRecord(slot)
	}
	return dst
}
