package alert

import (
	"math"
	"slices"
)

// extra is the part of an extended alert that its record does not hold.
type extra struct {
	condition Condition
	onTick    bool
	repeat    Repeat
	state     State // with the firings that are not committed yet
	committed State // as the store has it
	pending   int   // firings that are not committed yet and not the last
	fired     int64 // when it last fired in this process, in nanoseconds: a state has milliseconds; 0 for not

	key   float64 // in the heap of its queue
	idle  bool    // it waits for the value to be on the other side of its number
	fresh bool    // of a price: the bars that it has missed are still to come
}

// isEdge reports whether the alert fires only when the value comes from the other side of
// its number. Before the first firing only a cross does.
func (x *extra) isEdge() bool {
	if x.condition.Type == PriceCrosses {
		return false // its queue says from where
	}
	return x.state.Fires > 0 || x.condition.Op.Event()
}

// isLast reports whether the alert ends with the firings that it has.
func (x *extra) isLast() bool { return x.state.Fires >= max(1, x.repeat.MaxFires) }

// line holds the alerts that compare one value with numbers: a column of an indicator, a
// price of the bar or, if term is zero, the traded price.
type line struct {
	term     term
	tick     bool // also while a bar forms
	primed   bool // of a tick: the value before the first one was taken
	last     float64
	up, down *queue // of alerts that wait for a value at or above, or at or below

	// Of the price, while missed bars are delivered.
	missing bool
	through int64 // the close of the newest one, in milliseconds
}

// lineOf returns the line of a value and creates it if it is missing.
func (w *dependents) lineOf(t term, tick bool) *line {
	for _, l := range w.lines {
		if l.term == t && l.tick == tick {
			return l
		}
	}
	l := &line{term: t, tick: tick, last: math.NaN()}
	w.lines = append(w.lines, l)
	return l
}

// quiet is a range of prices, without its ends, in which no extended alert on the price is
// concerned: most ticks compare nothing else.
type quiet struct{ lo, hi float64 }

// noQuiet is the range that has no price in it.
func noQuiet() quiet { return quiet{math.Inf(1), math.Inf(-1)} }

// holds reports whether a move stays in the range; for NaN it is false.
func (q *quiet) holds(lo, hi float64) bool { return lo > q.lo && hi < q.hi }

// quietRange returns the range in which the price concerns no alert.
func (l *line) quietRange() quiet {
	r := quiet{math.Inf(-1), math.Inf(1)}
	if q := l.up; q != nil {
		if len(q.entries) > 0 {
			r.hi = min(r.hi, q.first)
		}
		if len(q.idle.entries) > 0 {
			r.lo = max(r.lo, math.Nextafter(-q.idle.first, math.Inf(-1)))
		}
	}
	if q := l.down; q != nil {
		if len(q.entries) > 0 {
			r.lo = max(r.lo, -q.first)
		}
		if len(q.idle.entries) > 0 {
			r.hi = min(r.hi, math.Nextafter(q.idle.first, math.Inf(1)))
		}
	}
	return r
}

// upward reports whether the alert waits for a value at or above its number.
func upward(c *Condition, side int8) bool {
	switch c.Type {
	case PriceAbove:
		return true
	case PriceCrosses:
		return side <= 0
	default:
		return c.Op == Greater || c.Op == GreaterEqual || c.Op == CrossesAbove
	}
}

// lineKey returns the key at which the value reaches the number of a condition, negated
// for a downward one. A value beyond the number reaches the float64 next to it.
func lineKey(c *Condition, up bool) float64 {
	number := c.Threshold
	if c.Type == Value {
		number = c.Right.Number
	}
	x, beyond := toFloat(number), c.Type == PriceCrosses || c.Op == Greater || c.Op == Less || c.Op.Event()
	switch {
	case up && beyond:
		return math.Nextafter(x, math.Inf(1))
	case up:
		return x
	case beyond:
		return -math.Nextafter(x, math.Inf(-1))
	default:
		return -x
	}
}

// extendedQueue returns the queue of an extended alert and creates it if it is missing.
func (b *Index) extendedQueue(w *dependents, a *Alert) *queue {
	c := &a.Condition
	switch {
	case c.Type.OnPrice():
		if w.price == nil {
			w.price = &line{last: math.NaN()}
		}
		return b.lineQueue(w, w.price, upward(c, a.State.Side))
	case c.againstNumber():
		n := b.compile(w, c)
		return b.lineQueue(w, w.lineOf(n.left, a.OnTick), upward(c, 0))
	}
	key := c.key(b.selectionOf)
	if a.OnTick {
		key += " tick"
	}
	for _, r := range w.rules {
		if r.key == key {
			return r.queue
		}
	}
	r := &rule{key: key, node: b.compile(w, c), longer: c.Longer(), tick: a.OnTick}
	w.rules = append(w.rules, r)
	q := b.queueAt(&r.queue, queue{dependents: w, rule: r, groups: r.node.groups(nil)})
	q.retain()
	return q
}

func (b *Index) lineQueue(w *dependents, l *line, up bool) *queue {
	dst := &l.down
	if up {
		dst = &l.up
	}
	if *dst != nil {
		return *dst
	}
	q := queue{dependents: w, line: l, up: up}
	if l.term.group != nil {
		q.groups = []*indicatorGroup{l.term.group}
	}
	b.queueAt(dst, q)
	(*dst).idle.position = (*dst).position
	(*dst).retain()
	return *dst
}

// retain counts the queue as a user of its indicators.
func (q *queue) retain() {
	for _, g := range q.groups {
		g.refs++
		if q.ticks() {
			g.ticks++
		}
	}
}

// ticks reports whether the alerts of the queue are evaluated while a bar forms.
func (q *queue) ticks() bool { return q.line != nil && q.line.tick || q.rule != nil && q.rule.tick }

// releaseExtended removes an unused queue of extended alerts from its dependents.
func (w *dependents) releaseExtended(q *queue) {
	switch {
	case q.rule != nil:
		w.rules = slices.DeleteFunc(w.rules, func(r *rule) bool { return r == q.rule })
	case q.up:
		q.line.up = nil
	default:
		q.line.down = nil
	}
	if l := q.line; l != nil && l.up == nil && l.down == nil {
		w.lines = slices.DeleteFunc(w.lines, func(o *line) bool { return o == l })
		if w.price == l {
			w.price = nil
		}
	}
	for _, g := range q.groups {
		if g.refs--; q.ticks() {
			g.ticks--
		}
	}
	w.dropGroups()
}

// dropGroups removes the indicators that no queue uses.
func (w *dependents) dropGroups() {
	w.groups = slices.DeleteFunc(w.groups, func(g *indicatorGroup) bool { return g.refs == 0 && len(g.queues) == 0 })
}

// place puts an active extended alert into its queue.
func (b *Index) place(slot uint32, x *extra) {
	r := b.record(slot)
	q := b.queues[r.queue]
	q.dependents.quiet = noQuiet()
	x.idle = false
	if q.rule != nil {
		x.key = float64(r.created)
		q.push(x.key, slot)
		return
	}
	x.key = lineKey(&x.condition, q.up)
	if x.isEdge() && (x.state.Fires > 0 || !(q.signed(q.line.last) < x.key)) {
		x.idle = true
		q.idle.push(-x.key, slot)
		return
	}
	q.push(x.key, slot)
}

// signed returns a value as the keys of the queue are: negated for a downward one.
func (q *queue) signed(v float64) float64 {
	if q.up {
		return v
	}
	return -v
}

// take removes an alert from the heap that it is in.
func (b *Index) take(q *queue, slot uint32) {
	r := b.record(slot)
	q.dependents.quiet = noQuiet()
	if x := b.extras[slot]; x != nil && x.idle {
		q.idle.remove(r.pos)
		x.idle = false
		return
	}
	q.remove(r.pos)
}

// requeue moves an alert that is in no heap to the queue of the side that it waits on.
func (b *Index) requeue(slot uint32, x *extra) *queue {
	r := b.record(slot)
	q := b.queues[r.queue]
	if x.condition.Type != PriceCrosses || upward(&x.condition, x.state.Side) == q.up {
		return q
	}
	other := b.lineQueue(q.dependents, q.line, !q.up)
	r.queue = other.number
	other.refs++
	b.releaseQueue(q)
	return other
}

// turn moves an alert between the heaps of its queue.
func (b *Index) turn(q *queue, slot uint32, x *extra, idle bool) {
	if x.idle == idle {
		return
	}
	b.take(q, slot) // which ends what is quiet
	if x.idle = idle; idle {
		q.idle.push(-x.key, slot)
	} else {
		q.push(x.key, slot)
	}
}

// mayFire reports whether an extended alert may fire by a trigger.
func (b *Index) mayFire(slot uint32, x *extra, m *trigger) bool {
	r := b.record(slot)
	if r.created >= m.closed || b.expired(r, m.until) {
		return false
	}
	last, at := x.state.LastFired, m.firing.At
	again := at.UnixNano() <= x.fired // a bar may be evaluated again
	if x.fired == 0 {
		again = milli(at) <= milli(last)
	}
	return last.IsZero() || !again && !at.Before(last.Add(x.repeat.Cooldown))
}

// fireExtended fires an alert and returns the firing. It is removed with its last one.
func (b *Index) fireExtended(slot uint32, x *extra, value float64, m *trigger) Firing {
	f := m.firing
	f.Alert, f.Value = b.alert(slot), value
	f.capAt()
	x.state.Fires++
	x.state.LastFired, x.fired = fromMilli(milli(f.At)), f.At.UnixNano()
	f.State = x.state
	b.fired++
	if !x.isLast() {
		x.pending++
		b.repeated = append(b.repeated, repeatedFiring{slot, b.fired, f})
		return f
	}
	r := b.record(slot)
	b.take(b.queues[r.queue], slot)
	if r.expiry != noSlot {
		b.expiries.remove(r.expiry)
	}
	b.uncommitted[slot] = uncommitted{f.Value, f.At, f.Late, f.Expires, b.fired, f.Text}
	return f
}

// repeatedFiring is an uncommitted firing of an alert that fires again.
type repeatedFiring struct {
	slot   uint32
	order  uint64
	firing Firing
}

// dropRepeated forgets the uncommitted firings of an alert that fires again.
func (b *Index) dropRepeated(slot uint32, x *extra) {
	if x.pending > 0 {
		b.repeated = slices.DeleteFunc(b.repeated, func(p repeatedFiring) bool { return p.slot == slot })
	}
	x.pending, x.state, x.fired = 0, x.committed, 0
}

// Committed records that a firing was stored, or that the store no longer has its alert.
// An alert that may fire again stays. An unknown ID is ignored: it was removed meanwhile.
func (b *Index) Committed(f *Firing) {
	slot, there := b.slot(f.ID)
	if !there {
		return
	}
	x := b.extras[slot]
	if x == nil || f.State.Fires >= max(1, x.repeat.MaxFires) {
		b.deleteRecord(slot)
		return
	}
	if i := slices.IndexFunc(b.repeated, func(p repeatedFiring) bool { return p.slot == slot && p.firing.State.Fires == f.State.Fires }); i >= 0 {
		b.repeated = slices.Delete(b.repeated, i, i+1)
		x.pending--
		x.committed = f.State
	}
}

// Update takes the state of an alert from the store, if it is newer: another engine has
// fired the alert.
func (b *Index) Update(id string, s State) {
	slot, there := b.slot(id)
	if !there {
		return
	}
	if x := b.extras[slot]; x != nil && s.Fires > x.committed.Fires && x.pending == 0 {
		active := b.record(slot).pos != noSlot
		if active {
			b.take(b.queues[b.record(slot).queue], slot)
		}
		x.state, x.committed = s, s
		b.requeue(slot, x)
		if active {
			b.place(slot, x)
		}
	}
}
