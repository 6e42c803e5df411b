package alert

import (
	"cmp"
	"fmt"
	"strconv"

	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// Bounds of what the alerts of one owner make the engine compute. A computation is an
// indicator with parameters over the bars of one symbol and interval, however many alerts
// share it. Signals with default parameters do not count: the catalogue bounds them.
const (
	MaxComputations = 1000
	MaxWhole        = 100 // that compute all bars for each value
	MaxTicking      = 100 // while a bar forms
	MaxScripts      = 64  // of Pine scripts, with default parameters too
)

// effort is what an owner has the engine compute.
type effort struct{ all, whole, ticking, scripts int }

// ownedGroup is an indicator and an owner whose extended alerts use it.
type ownedGroup struct {
	owner uint32
	group *indicatorGroup
}

// uses counts the alerts of an owner that use an indicator.
type uses struct{ all, ticking int }

// countUse adds n alerts of an owner to those that use the indicators of a queue.
func (b *Index) countUse(owner uint32, q *queue, n int) {
	e := &b.owners.rows[owner].data.effort
	for _, g := range q.computed() {
		key := ownedGroup{owner, g}
		was := b.uses[key]
		now := uses{was.all + n, was.ticking}
		if q.line != nil && q.line.tick {
			now.ticking += n
		}
		change := changed(was.all, now.all)
		e.all += change
		if g.script {
			e.scripts += change
			g.use(owner, n)
		}
		if change != 0 && isWhole(g.selection, cmp.Or(g.on, q.dependents.dependency.Interval)) {
			e.whole += change
		}
		e.ticking += changed(was.ticking, now.ticking)
		if b.uses[key] = now; now.all == 0 {
			delete(b.uses, key)
		}
	}
}

// computed returns the indicators that count: those of extended alerts, and scripts.
func (q *queue) computed() []*indicatorGroup {
	if q.group != nil && q.group.script {
		return []*indicatorGroup{q.group}
	}
	return q.groups
}

// changed returns 1 if a count has left zero, -1 if it has come to zero, otherwise 0.
func changed(was, now int) int {
	switch {
	case was == 0 && now > 0:
		return 1
	case was > 0 && now == 0:
		return -1
	}
	return 0
}

// checkEffort returns an error if an alert needs computations beyond those that its owner
// may have.
func (b *Index) checkEffort(a *Alert) error {
	if a.Interval == 0 || !a.Extended() && len(a.Condition.Scripts()) == 0 {
		return nil
	}
	var e effort
	owner, known := b.owners.index[a.Owner]
	if known {
		e = b.owners.rows[owner].data.effort
	}
	before := e
	for g := range NewProbe(b.library, a).Groups() {
		var has uses
		if w := b.dependencies[a.Dependency()]; known && w != nil {
			if i, found := w.find(g.Key); found {
				has = b.uses[ownedGroup{owner, w.groups[i]}]
			}
		}
		if has.all == 0 {
			e.all++
		}
		if has.all == 0 && UsesScript(g.Selection) {
			e.scripts++
		}
		if has.all == 0 && isWhole(g.Selection, cmp.Or(g.Longer, a.Interval)) {
			e.whole++
		}
		if has.ticking == 0 && a.OnTick {
			e.ticking++
		}
	}
	switch {
	case e.all > MaxComputations && e.all > before.all:
		return tooMuch(before.all, MaxComputations, "indicators")
	case e.whole > MaxWhole && e.whole > before.whole:
		return tooMuch(before.whole, MaxWhole, "indicators that compute all bars for each value")
	case e.scripts > MaxScripts && e.scripts > before.scripts:
		return tooMuch(before.scripts, MaxScripts, "Pine scripts")
	case e.ticking > MaxTicking && e.ticking > before.ticking:
		return tooMuch(before.ticking, MaxTicking, `indicators with "on":"tick"`)
	}
	return nil
}

func tooMuch(n, limit int, what string) error {
	return &fault.Error{
		Kind: fault.Conflict, Code: "too_many_indicators", Value: strconv.Itoa(n),
		Allowed: fmt.Sprintf("at most %d different %s", limit, what),
		Message: fmt.Sprintf("the active alerts use %d different %s, and at most %d may be used; "+
			"an indicator counts once for each symbol, interval and set of parameters, so use the same parameters, or remove alerts with cancel_alert", n, what, limit),
	}
}

// isWhole reports whether an indicator computes all bars for each value. A script does not; it is not
// compiled to find that out.
func isWhole(s *ta.Selection, on market.Interval) bool {
	return s.Def.Version == "" && s.Stream(ta.Env{Interval: on}) == nil
}
