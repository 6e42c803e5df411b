package alert

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"candela/lib/market"
	"candela/lib/ta"
)

// Dependency is what an alert needs: the bars of an interval, or only the price if
// Interval is zero.
type Dependency struct {
	Instrument market.Symbol
	Interval   market.Interval
}

// Dependency returns the dependency of the alert.
func (a *Alert) Dependency() Dependency { return Dependency{a.Instrument, a.Interval} }

// DependsOn reports whether an active alert, uncommitted or not, depends on n.
func (b *Index) DependsOn(n Dependency) bool {
	return b.dependencies[n] != nil && b.dependencies[n].active > 0
}

// ActiveOn returns the number of active alerts that depend on n.
func (b *Index) ActiveOn(n Dependency) int {
	if w := b.dependencies[n]; w != nil {
		return w.active
	}
	return 0
}

// Group is an indicator that alerts depend on.
type Group struct {
	Key       string // of the selection, with Longer
	Selection *ta.Selection
	Longer    market.Interval // of longer bars than those of the dependency; 0 for those
}

// Groups yields the indicators to evaluate when a bar of n closes, ordered by their keys.
// Each is yielded once, however many active alerts depend on it. During
// the iteration the index may be changed by FireSignal only.
func (b *Index) Groups(n Dependency) iter.Seq[Group] {
	return func(yield func(Group) bool) {
		w := b.dependencies[n]
		if w == nil {
			return
		}
		for _, g := range w.groups {
			if g.active > 0 && !yield(Group{g.key, g.selection, g.on}) {
				return
			}
		}
	}
}

// Ticking yields the indicators of n that alerts compare while a bar forms.
func (b *Index) Ticking(n Dependency) iter.Seq2[string, *ta.Selection] {
	return func(yield func(string, *ta.Selection) bool) {
		w := b.dependencies[n]
		if w == nil {
			return
		}
		for _, g := range w.groups {
			if g.ticks > 0 && g.active > 0 && !yield(g.key, g.selection) {
				return
			}
		}
	}
}

// Ticks reports whether an alert on n is evaluated while a bar forms.
func (b *Index) Ticks(n Dependency) bool {
	w := b.dependencies[n]
	return w != nil && w.active > 0 &&
		(slices.ContainsFunc(w.lines, func(l *line) bool { return l.tick }) || slices.ContainsFunc(w.rules, func(r *rule) bool { return r.tick }))
}

// dependents holds the alerts of one dependency.
type dependents struct {
	above, below *queue // of a price
	price        *line  // of extended alerts: the traded price
	quiet        quiet  // of price

	dependency Dependency
	active     int
	groups     []*indicatorGroup // of an interval, ordered by key

	// Of extended alerts.
	lines []*line // values that are compared with numbers
	rules []*rule // all other conditions
}

// indicatorGroup is an indicator over the bars of an interval.
type indicatorGroup struct {
	key       string
	selection *ta.Selection
	on        market.Interval // of the bars; 0 for those of the dependency
	active    int
	queues    []*queue // one per signal with alerts; a handful
	refs      int      // queues of extended alerts that use it
	ticks     int      // of these, the ones on ticks

	row   *Row  // of the bar or tick with that stamp
	stamp int64 // in milliseconds

	script bool           // a script computes it, see [Index.FireScript]
	owners map[uint32]int // of a script: the owners whose alerts use it, with their number
}

// queue holds the alerts on the same event: price_above ordered by threshold, price_below
// by negated threshold, a signal by creation.
type queue struct {
	heap
	number     uint32 // index in Index.queues
	refs       int    // alerts in the heap, uncommitted and inactive ones
	kind       Type
	dependents *dependents
	group      *indicatorGroup // nil for a price
	signal     string

	// Of extended alerts.
	line   *line // with up
	up     bool
	idle   heap // of line: alerts that wait for the other side of their number, by negated key
	rule   *rule
	groups []*indicatorGroup
}

// queueFor returns the queue of a valid alert and creates it if it is missing.
func (b *Index) queueFor(a *Alert) *queue {
	need := a.Dependency()
	w := b.dependencies[need]
	if w == nil {
		w = &dependents{dependency: need}
		b.dependencies[need] = w
	}
	if a.Extended() {
		return b.extendedQueue(w, a)
	}
	switch a.Condition.Type {
	case PriceAbove:
		return b.queueAt(&w.above, queue{kind: PriceAbove, dependents: w})
	case PriceBelow:
		return b.queueAt(&w.below, queue{kind: PriceBelow, dependents: w})
	default:
		s, _ := b.selectionOf(a.Condition.Indicator, a.Condition.Params) // it was found by check
		g := w.group(s, 0)
		for _, q := range g.queues {
			if q.signal == a.Condition.Signal {
				return q
			}
		}
		g.queues = append(g.queues, nil)
		return b.queueAt(&g.queues[len(g.queues)-1],
			queue{kind: IndicatorSignal, dependents: w, group: g, signal: a.Condition.Signal})
	}
}

// queueAt returns the queue at dst, or stores q there.
func (b *Index) queueAt(dst **queue, q queue) *queue {
	if *dst == nil {
		q.position = func(slot uint32) *uint32 { return &b.record(slot).pos }
		if last := len(b.freeQueues) - 1; last >= 0 {
			q.number = b.freeQueues[last]
			b.freeQueues = b.freeQueues[:last]
		} else {
			q.number = toUint32(len(b.queues))
			b.queues = append(b.queues, nil)
		}
		b.queues[q.number] = &q
		*dst = &q
	}
	return *dst
}

// releaseQueue releases one reference to the queue; with the last one it deletes the queue
// and whatever only the queue used.
func (b *Index) releaseQueue(q *queue) {
	if q.refs--; q.refs > 0 {
		return
	}
	b.queues[q.number] = nil
	b.freeQueues = append(b.freeQueues, q.number)
	w := q.dependents
	switch q.kind {
	case PriceAbove:
		w.above = nil
	case PriceBelow:
		w.below = nil
	case IndicatorSignal:
		g := q.group
		g.queues = slices.DeleteFunc(g.queues, func(o *queue) bool { return o == q })
		w.dropGroups()
	default:
		w.releaseExtended(q)
	}
	if w.above == nil && w.below == nil && w.price == nil && len(w.groups) == 0 && len(w.lines) == 0 && len(w.rules) == 0 {
		delete(b.dependencies, w.dependency)
	}
}

// group returns the group of a selection over the bars of the dependency, or over longer ones, and
// creates it if it is missing.
func (w *dependents) group(s selected, on market.Interval) *indicatorGroup {
	key := s.key
	if on != 0 {
		key += " on " + on.String()
	}
	i, found := w.find(key)
	if !found {
		w.groups = slices.Insert(w.groups, i, &indicatorGroup{key: key, on: on, selection: s.selection, row: &Row{}, script: UsesScript(s.selection)})
	}
	return w.groups[i]
}

func (w *dependents) find(key string) (int, bool) {
	return slices.BinarySearchFunc(w.groups, key, func(g *indicatorGroup, key string) int { return strings.Compare(g.key, key) })
}

// maxSelections bounds the indicators that are kept resolved.
const maxSelections = 4096

// selectionOf resolves an indicator and keeps it.
func (b *Index) selectionOf(name, params string) (selected, error) {
	key := name + params // a name has no brace
	if s, known := b.selections[key]; known {
		return s, nil
	}
	s, err := b.shared.find(b.library, name, params)
	if err != nil {
		return s, err
	}
	if len(b.selections) >= maxSelections {
		clear(b.selections)
	}
	b.selections[key] = s
	return s, nil
}

// Selections keeps the resolved indicators of a library for conditions that are probed again and
// again. The zero value is ready, and nil keeps none. It is safe for concurrent use.
type Selections struct {
	mu    sync.Mutex
	known map[string]selected
}

// find resolves an indicator, or returns what it has resolved before.
func (k *Selections) find(l ta.Library, name, params string) (selected, error) {
	if k == nil {
		return selectSource(l, name, params)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if s, known := k.known[name+params]; known {
		return s, nil
	}
	s, err := selectSource(l, name, params)
	if err != nil {
		return s, err
	}
	if k.known == nil || len(k.known) >= maxSelections {
		k.known = map[string]selected{}
	}
	k.known[name+params] = s
	return s, nil
}

// Scripts returns the scripts that active alerts use, by name and version.
func (b *Index) Scripts() map[string]bool {
	used := map[string]bool{}
	for _, w := range b.dependencies {
		for _, g := range w.groups {
			if g.selection.Def.Version != "" {
				used[g.selection.Def.Pinned()] = true
			}
		}
	}
	return used
}
