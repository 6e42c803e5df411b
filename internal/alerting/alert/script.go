package alert

import (
	"iter"
	"slices"
	"time"

	"candela/internal/kit/principal"
	"candela/lib/market"
	"candela/lib/ta"
)

// Scripts are evaluated beside the engine's loop, so their rows come later than those of other
// indicators. The alerts on a script fire when its row is there; no other alert waits for it.

// UsesScript reports whether a script computes an indicator, or what it is computed from.
func UsesScript(s *ta.Selection) bool {
	for ; s != nil; s = s.Inner {
		if s.Def.Version != "" {
			return true
		}
	}
	return false
}

// onScript reports whether a script computes the value.
func (l *line) onScript() bool { return l.term.group != nil && l.term.group.script }

// onScript reports whether the condition needs a script.
func (r *rule) onScript() bool {
	return slices.ContainsFunc(r.queue.groups, func(g *indicatorGroup) bool { return g.script })
}

// use adds n alerts of an owner to those that use a script.
func (g *indicatorGroup) use(owner uint32, n int) {
	if g.owners == nil {
		g.owners = make(map[uint32]int)
	}
	if g.owners[owner] += n; g.owners[owner] <= 0 {
		delete(g.owners, owner)
	}
}

// ScriptOwner returns the owner on whose budget a script runs: of those whose alerts use it, the
// first in alphabetical order.
func (b *Index) ScriptOwner(n Dependency, key string) (first principal.Owner) {
	w := b.dependencies[n]
	if w == nil {
		return ""
	}
	i, found := w.find(key)
	if !found {
		return ""
	}
	for owner := range w.groups[i].owners {
		if name := b.owners.rows[owner].key; first == "" || name < first {
			first = name
		}
	}
	return first
}

// Beside yields the keys of the indicators of n that a condition needs together with a script or with
// longer bars.
func (b *Index) Beside(n Dependency) iter.Seq[string] {
	return func(yield func(string) bool) {
		w := b.dependencies[n]
		if w == nil {
			return
		}
		for _, r := range w.rules {
			if !r.onScript() && len(r.longer) == 0 {
				continue
			}
			for _, g := range r.queue.groups {
				if !g.script && g.on == 0 && !yield(g.key) {
					return
				}
			}
		}
	}
}

// FireScript is FireClose for the alerts on a script, after SetRow gave its row and the rows of the
// indicators beside it. Those that need longer bars which are not known do not fire.
func (b *Index) FireScript(dst []Firing, n Dependency, key string, c *Closing) []Firing {
	w := b.dependencies[n]
	if w == nil {
		return dst
	}
	f, m := c.frame(), c.trigger()
	for _, l := range w.lines {
		if l.of(key) {
			dst = b.fireLine(dst, l, f, &m)
		}
	}
	for _, r := range w.rules {
		if slices.ContainsFunc(r.queue.groups, func(g *indicatorGroup) bool { return g.key == key }) {
			dst = b.fireRule(dst, r, f, &m)
		}
	}
	return dst
}

// FireScriptTick is FireTick for the alerts on a script, among them those on its signals. A signal fires once in a
// bar, which opened at a time, unless the script wants it each time.
func (b *Index) FireScriptTick(dst []Firing, n Dependency, key string, bar market.Bar, opened, at time.Time) []Firing {
	dst = b.fireTick(dst, n, bar, at, func(l *line) bool { return l.of(key) })
	w := b.dependencies[n]
	if w == nil {
		return dst
	}
	f := &frame{bar: bar, stamp: milli(at), opened: milli(opened)}
	if first := opened.Add(time.Millisecond); at.Before(first) {
		at = first // a firing at the open belongs to this bar and not to the one before
	}
	m := fullTrigger(0, at)
	for _, r := range w.rules {
		if r.tick && slices.ContainsFunc(r.queue.groups, func(g *indicatorGroup) bool { return g.key == key }) {
			dst = b.fireRule(dst, r, f, &m)
		}
	}
	return dst
}

// of reports whether the value is that of an indicator.
func (l *line) of(key string) bool { return l.term.group != nil && l.term.group.key == key }
