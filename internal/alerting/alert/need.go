package alert

import (
	"iter"
	"slices"
	"strings"

	"candela/internal/analysis/indicator"
	"candela/internal/market"
)

// Need is what must be followed for some alert to fire: the bars of an interval,
// or the price alone where Interval is zero.
type Need struct {
	Instrument market.Symbol
	Interval   market.Interval
}

// Need returns what the alert depends on.
func (a *Alert) Need() Need { return Need{a.Instrument, a.Interval} }

// Needed reports whether an active alert depends on n. A pending one still does.
func (b *Book) Needed(n Need) bool { return b.needs[n] != nil && b.needs[n].active > 0 }

// Groups yields the indicators to evaluate when a bar of n closes, each once
// however many active alerts wait for it, ordered by key. Key is the selection's. The
// book may change meanwhile only by Signal.
func (b *Book) Groups(n Need) iter.Seq2[string, *indicator.Selection] {
	return func(yield func(string, *indicator.Selection) bool) {
		w := b.needs[n]
		if w == nil {
			return
		}
		for _, g := range w.groups {
			if g.active > 0 && !yield(g.key, g.selection) {
				return
			}
		}
	}
}

// watched is a need with the alerts that have it.
type watched struct {
	need         Need
	active       int
	above, below *queue   // of a price
	groups       []*group // of an interval, ordered by key
}

// group is an indicator over the bars of an interval.
type group struct {
	key       string
	selection *indicator.Selection
	active    int
	queues    []*queue // one per signal that somebody waits for; a handful
}

// queue holds the alerts that wait for the same: a price from below by
// threshold, a price from above by negated threshold, a signal by creation.
type queue struct {
	heap
	number  uint32 // in Book.queues
	refs    int    // alerts in the heap, pending and inactive ones
	kind    Type
	watched *watched
	group   *group // nil for a price
	signal  string
}

// queueFor returns the queue for the alerts like a, which was checked.
func (b *Book) queueFor(a *Alert) *queue {
	need := a.Need()
	w := b.needs[need]
	if w == nil {
		w = &watched{need: need}
		b.needs[need] = w
	}
	switch a.Condition.Type {
	case PriceAbove:
		return b.queueAt(&w.above, queue{kind: PriceAbove, watched: w})
	case PriceBelow:
		return b.queueAt(&w.below, queue{kind: PriceBelow, watched: w})
	default:
		s, _ := b.selectionOf(a.Condition.Indicator) // found when the alert was checked
		g := w.group(s)
		for _, q := range g.queues {
			if q.signal == a.Condition.Signal {
				return q
			}
		}
		g.queues = append(g.queues, nil)
		return b.queueAt(&g.queues[len(g.queues)-1],
			queue{kind: IndicatorSignal, watched: w, group: g, signal: a.Condition.Signal})
	}
}

// queueAt returns the queue at place, or puts the one described there.
func (b *Book) queueAt(place **queue, q queue) *queue {
	if *place == nil {
		q.cell = func(slot uint32) *uint32 { return &b.record(slot).pos }
		if last := len(b.freeQueues) - 1; last >= 0 {
			q.number = b.freeQueues[last]
			b.freeQueues = b.freeQueues[:last]
		} else {
			q.number = small(len(b.queues))
			b.queues = append(b.queues, nil)
		}
		b.queues[q.number] = &q
		*place = &q
	}
	return *place
}

// leave counts one alert of the queue less, and forgets with the last one what
// only it depended on.
func (b *Book) leave(q *queue) {
	if q.refs--; q.refs > 0 {
		return
	}
	b.queues[q.number] = nil
	b.freeQueues = append(b.freeQueues, q.number)
	w := q.watched
	switch q.kind {
	case PriceAbove:
		w.above = nil
	case PriceBelow:
		w.below = nil
	default:
		g := q.group
		g.queues = slices.DeleteFunc(g.queues, func(o *queue) bool { return o == q })
		if len(g.queues) == 0 {
			w.groups = slices.DeleteFunc(w.groups, func(o *group) bool { return o == g })
		}
	}
	if w.above == nil && w.below == nil && len(w.groups) == 0 {
		delete(b.needs, w.need)
	}
}

// group returns the group of a selection and makes it if it is not there.
func (w *watched) group(s selected) *group {
	i, found := w.find(s.key)
	if !found {
		w.groups = slices.Insert(w.groups, i, &group{key: s.key, selection: s.selection})
	}
	return w.groups[i]
}

func (w *watched) find(key string) (int, bool) {
	return slices.BinarySearchFunc(w.groups, key, func(g *group, key string) int { return strings.Compare(g.key, key) })
}

// selected is an indicator of the catalogue as alerts use it, with its key.
type selected struct {
	key       string
	selection *indicator.Selection
}

// selectionOf resolves an indicator, once for all alerts that call it by its name.
// An alias is resolved each time, so that spellings do not fill the map.
func (b *Book) selectionOf(name string) (selected, error) {
	if s, known := b.selections[name]; known {
		return s, nil
	}
	selection, err := indicator.ResolveAlert(name)
	if err != nil {
		return selected{}, err
	}
	s := selected{selection.Key(), selection}
	b.selections[selection.Def.Name] = s
	return s, nil
}
