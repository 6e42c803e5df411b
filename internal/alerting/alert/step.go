package alert

import (
	"math"
	"slices"
	"time"

	"candela/lib/market"
)

// SetRow gives the values of an indicator at the bar that closes at a time, or at the
// moment of a tick. FireClose or FireTick with the same time uses them.
func (b *Index) SetRow(n Dependency, key string, row Row, at time.Time) {
	if w := b.dependencies[n]; w != nil {
		if i, found := w.find(key); found {
			*w.groups[i].row, w.groups[i].stamp = row, milli(at)
		}
	}
}

// FireClose fires the alerts whose condition a closed bar makes true, for all that needs
// more than FireSignal, but not those on scripts or on longer bars. prev is the bar before, with T zero if there
// is none. An indicator without a row for the bar makes no condition true.
func (b *Index) FireClose(dst []Firing, n Dependency, bar, prev market.Bar, closed time.Time, late bool) []Firing {
	w := b.dependencies[n]
	if w == nil || len(w.lines) == 0 && len(w.rules) == 0 {
		return dst
	}
	c := Closing{Bar: bar, Prev: prev, Closed: closed, Late: late}
	f, m := c.frame(), c.trigger()
	for _, l := range w.lines {
		if !l.onScript() {
			dst = b.fireLine(dst, l, f, &m)
		}
	}
	for _, r := range w.rules {
		if !r.onScript() && len(r.longer) == 0 {
			dst = b.fireRule(dst, r, f, &m)
		}
	}
	return dst
}

// FireTick is FireClose for a bar that still forms. Only alerts on ticks count, and none on scripts.
func (b *Index) FireTick(dst []Firing, n Dependency, bar market.Bar, at time.Time) []Firing {
	return b.fireTick(dst, n, bar, at, func(l *line) bool { return !l.onScript() })
}

func (b *Index) fireTick(dst []Firing, n Dependency, bar market.Bar, at time.Time, counts func(*line) bool) []Firing {
	w := b.dependencies[n]
	if w == nil {
		return dst
	}
	f := &frame{bar: bar, stamp: milli(at)}
	m := fullTrigger(0, at)
	for _, l := range w.lines {
		if l.tick && counts(l) {
			dst = b.fireLine(dst, l, f, &m)
		}
	}
	return dst
}

// fireLine fires the alerts on a value.
func (b *Index) fireLine(dst []Firing, l *line, f *frame, m *trigger) []Firing {
	if g := l.term.group; g != nil && g.stamp != f.stamp {
		return dst
	}
	now, before := l.term.at(f), l.term.before(f)
	if math.IsNaN(now) {
		return dst
	}
	if (!l.tick || !l.primed) && !math.IsNaN(before) {
		b.sync(l, before)
	}
	l.primed, l.last = true, now
	for _, q := range []*queue{l.up, l.down} {
		if q != nil {
			v := q.signed(now)
			dst = b.step(dst, q, move{v, v, v}, m, func(*extra) bool { return true })
		}
	}
	return dst
}

// sync places the alerts that wait for the other side by the value at the bar before, so
// that what fires depends on two bars and not on when the engine started.
func (b *Index) sync(l *line, before float64) {
	for _, q := range []*queue{l.up, l.down} {
		if q == nil {
			continue
		}
		v := q.signed(before)
		for _, slot := range b.collect(&q.heap, v) {
			if x := b.extras[slot]; x.isEdge() {
				b.turn(q, slot, x, true)
			}
		}
		for _, slot := range b.collect(&q.idle, -math.Nextafter(v, math.Inf(1))) {
			if x := b.extras[slot]; !l.tick || x.state.Fires == 0 {
				b.turn(q, slot, x, false)
			}
		}
	}
}

// collect returns the slots of a heap with keys of at most limit, in the order of
// creation.
func (b *Index) collect(h *heap, limit float64) []uint32 {
	if !h.reached(limit) {
		return nil
	}
	var slots []uint32
	b.walk(h, limit, func(e entry) { slots = append(slots, e.slot) })
	slices.SortFunc(slots, func(x, y uint32) int { return b.record(x).compare(b.record(y)) })
	return slots
}

// move is what a value did since the last step, signed as the keys of a queue.
type move struct{ lo, hi, last float64 }

// within returns the move as an alert sees it: one created, or fired, during the bar sees
// only how it ended.
func (v move) within(m *trigger, r *record, x *extra) move {
	from := r.countsFrom()
	if !x.state.LastFired.IsZero() {
		from = max(from, milli(x.state.LastFired))
	}
	if from > m.open {
		return move{v.last, v.last, v.last}
	}
	return v
}

// step fires the alerts of a queue that a move reaches, and notes on which side of their
// numbers the others are then.
func (b *Index) step(dst []Firing, q *queue, v move, m *trigger, counts func(*extra) bool) []Firing {
	armed, idle := b.collect(&q.heap, v.hi), b.collect(&q.idle, -math.Nextafter(v.lo, math.Inf(1)))
	for _, slot := range armed {
		x := b.extras[slot]
		seen := v.within(m, b.record(slot), x)
		if !counts(x) || seen.hi < x.key || b.record(slot).created >= m.closed {
			continue
		}
		crossed := x.condition.Type == PriceCrosses && seen.last >= x.key
		if crossed {
			x.state.Side = q.side()
			b.flips = append(b.flips, slot)
		}
		if b.mayFire(slot, x, m) {
			dst = append(dst, b.fireExtended(slot, x, q.signed(seen.hi), m))
		}
		if b.record(slot).pos != noSlot && x.isEdge() && seen.last >= x.key {
			b.turn(q, slot, x, true)
		}
	}
	for _, slot := range idle {
		x := b.extras[slot]
		seen := v.within(m, b.record(slot), x)
		switch {
		case !counts(x) || seen.lo >= x.key || b.record(slot).created >= m.closed:
		case seen.last < x.key:
			b.turn(q, slot, x, false)
		case b.mayFire(slot, x, m):
			dst = append(dst, b.fireExtended(slot, x, q.signed(seen.last), m))
		}
	}
	return dst
}

// side is where a price is after it reached the number of an alert in the queue.
func (q *queue) side() int8 {
	if q.up {
		return 1
	}
	return -1
}

// fireRule fires the alerts that share a condition.
func (b *Index) fireRule(dst []Firing, r *rule, f *frame, m *trigger) []Firing {
	if !r.knows(f) {
		return dst
	}
	said := r.node.evaluate(f)
	if !said.holds {
		return dst
	}
	for _, slot := range b.collect(&r.queue.heap, float64(f.stamp)) {
		x := b.extras[slot]
		if r.tick && !r.node.isAgain() && x.firedWithin(f) {
			continue
		}
		if (said.rises || x.state.Fires == 0) && b.mayFire(slot, x, m) {
			own := *m
			own.firing.Text = r.node.text()
			dst = append(dst, b.fireExtended(slot, x, said.value, &own))
		}
	}
	return dst
}

// firedWithin reports whether an alert fired after a bar opened: the close of the bar before is no part of it.
func (x *extra) firedWithin(f *frame) bool {
	return !x.state.LastFired.IsZero() && milli(x.state.LastFired) > f.opened
}

// movePrice fires the extended alerts on the traded price, and then moves those whose
// price has crossed to the queue of the other side.
func (b *Index) movePrice(dst []Firing, w *dependents, v move, m *trigger, fresh bool) []Firing {
	counts := func(x *extra) bool { return x.fresh == fresh }
	b.flips = b.flips[:0]
	if q := w.price.up; q != nil {
		dst = b.step(dst, q, v, m, counts)
	}
	if q := w.price.down; q != nil {
		dst = b.step(dst, q, move{-v.hi, -v.lo, -v.last}, m, counts)
	}
	for _, slot := range b.flips {
		if r := b.record(slot); r.pos != noSlot {
			b.flip(slot, b.extras[slot])
		}
	}
	w.quiet = w.price.quietRange()
	return dst
}

// flip moves an alert on a crossing to the queue of the other direction.
func (b *Index) flip(slot uint32, x *extra) {
	b.take(b.queues[b.record(slot).queue], slot)
	b.requeue(slot, x)
	b.place(slot, x)
}

// Resume says that an alert on the price has missed bars. What the price does before they
// are delivered does not count for it: the bars are older and say on which side it was.
func (b *Index) Resume(id string) {
	slot, there := b.slot(id)
	if !there {
		return
	}
	q := b.queues[b.record(slot).queue]
	if x := b.extras[slot]; x != nil && q.line != nil && q.line == q.dependents.price {
		x.fresh = true
	}
}

// BeginMissed says that FireBar now delivers the missed bars of a price, oldest first.
func (b *Index) BeginMissed(instrument market.Symbol) {
	if w := b.dependencies[Dependency{Instrument: instrument}]; w != nil && w.price != nil {
		w.price.missing, w.price.through = true, 0
	}
}

// EndMissed says that the missed bars of a price were delivered.
func (b *Index) EndMissed(instrument market.Symbol) {
	w := b.dependencies[Dependency{Instrument: instrument}]
	if w == nil || w.price == nil {
		return
	}
	w.price.missing = false
	for _, q := range []*queue{w.price.up, w.price.down} {
		if q == nil {
			continue
		}
		for _, h := range []*heap{&q.heap, &q.idle} {
			for _, e := range h.entries {
				b.extras[e.slot].fresh = false
			}
		}
	}
}
