package alert

import (
	"iter"
	"slices"
	"time"

	"candela/lib/market"
)

// A compound condition may have members on longer bars than those of the alert. It is evaluated at
// the close of each bar of the alert; a member on longer bars then says what it said of the newest
// of them that had closed by then. So such a condition waits for a longer bar that closes at the
// same time, and no condition knows a bar that had not closed.

// LongerBar is the newest bar of a longer interval that closed no later than a bar of the alert.
type LongerBar struct {
	Interval  market.Interval
	Bar, Prev market.Bar // with T zero if there is none
	Closed    time.Time
	New       bool // it had not closed when the bar before of the alert did
}

// frame returns the bar as a node reads it.
func (b *LongerBar) frame() frame {
	return frame{bar: b.Bar, prev: b.Prev, hasPrev: b.Prev.T != 0, stamp: milli(b.Closed), on: b.Interval, stale: !b.New}
}

// Closing is a closed bar at which conditions are evaluated.
type Closing struct {
	Bar, Prev market.Bar // Prev has T zero if there is none
	Opened    time.Time  // of the bar, for alerts that fire once in it; zero: by its open
	Closed    time.Time
	Late      bool
	Longer    []LongerBar // nil if they are not known yet
}

func (c *Closing) frame() *frame {
	f := &frame{bar: c.Bar, prev: c.Prev, hasPrev: c.Prev.T != 0, stamp: milli(c.Closed), opened: c.Bar.T * 1000}
	if !c.Opened.IsZero() {
		f.opened = milli(c.Opened)
	}
	for i := range c.Longer {
		f.longer = append(f.longer, c.Longer[i].frame())
	}
	return f
}

// trigger returns what the bar triggers.
func (c *Closing) trigger() trigger {
	m := fullTrigger(0, c.Closed)
	m.closed, m.firing.Late = milli(c.Closed), c.Late
	return m
}

// longerBars returns the frame of longer bars, nil if they are not known.
func (f *frame) longerBars(on market.Interval) *frame {
	for i := range f.longer {
		if f.longer[i].on == on {
			return &f.longer[i]
		}
	}
	return nil
}

// knows reports whether the frame has all bars and rows that the condition needs.
func (r *rule) knows(f *frame) bool {
	for _, on := range r.longer {
		if f.longerBars(on) == nil {
			return false
		}
	}
	return known(r.queue.groups, f)
}

// known reports whether indicators have rows of the frame.
func known(groups []*indicatorGroup, f *frame) bool {
	for _, g := range groups {
		of := f
		if g.on != 0 {
			of = f.longerBars(g.on)
		}
		if noBar := of == nil || g.on != 0 && of.bar.T == 0; !noBar && g.stamp != of.stamp {
			return false
		}
	}
	return true
}

// Longer returns the intervals of the members that are on longer bars than the alert's, ascending.
func (c *Condition) Longer() (all []market.Interval) {
	for i := range c.Members {
		if on := c.Members[i].Interval; on != 0 && !slices.Contains(all, on) {
			all = append(all, on)
		}
	}
	slices.Sort(all)
	return all
}

// Dependencies returns all that the alert needs: its dependency, and longer bars.
func (a *Alert) Dependencies() []Dependency {
	longer := a.Condition.Longer()
	all := append(make([]Dependency, 0, 1+len(longer)), a.Dependency())
	for _, on := range longer {
		all = append(all, Dependency{a.Instrument, on})
	}
	return all
}

// FireLonger is FireClose for the alerts that need longer bars, after SetRow gave the rows of their
// indicators. Those that need a script that has not answered do not fire.
func (b *Index) FireLonger(dst []Firing, n Dependency, c *Closing) []Firing {
	w := b.dependencies[n]
	if w == nil {
		return dst
	}
	f, m := c.frame(), c.trigger()
	for _, r := range w.rules {
		if len(r.longer) > 0 {
			dst = b.fireRule(dst, r, f, &m)
		}
	}
	return dst
}

// LongerThan returns the longer intervals that active alerts on n need, ascending.
func (b *Index) LongerThan(n Dependency) (all []market.Interval) {
	if b.dependencies[n] == nil {
		return nil
	}
	for _, r := range b.dependencies[n].rules {
		for _, on := range r.longer {
			if r.active > 0 && !slices.Contains(all, on) {
				all = append(all, on)
			}
		}
	}
	slices.Sort(all)
	return all
}

// Readers yields the dependencies whose active alerts need the bars of n as longer ones.
func (b *Index) Readers(n Dependency) iter.Seq[Dependency] {
	return func(yield func(Dependency) bool) {
		for of := range b.readers[n] {
			if !yield(of) {
				return
			}
		}
	}
}

// IsRead reports whether active alerts need the bars of n as longer ones.
func (b *Index) IsRead(n Dependency) bool { return len(b.readers[n]) > 0 }

// countReaders adds n to the active alerts of a queue that need longer bars.
func (b *Index) countReaders(q *queue, n int) {
	if q.rule == nil {
		return
	}
	q.rule.active += n
	of := q.dependents.dependency
	for _, on := range q.rule.longer {
		longer := Dependency{of.Instrument, on}
		if b.readers[longer] == nil {
			b.readers[longer] = make(map[Dependency]int)
		}
		if b.readers[longer][of] += n; b.readers[longer][of] <= 0 {
			delete(b.readers[longer], of)
		}
		if len(b.readers[longer]) == 0 {
			delete(b.readers, longer)
		}
	}
}
