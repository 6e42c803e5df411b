package soak

import (
	"fmt"
	"slices"
	"time"
)

// drain polls until nothing more comes and all that is due has come.
func (o *operator) drain() {
	empty := 0
	within(o.ctx, 40*time.Second, func() bool {
		answer, err := o.try(o.ctx, "get_notifications", `{"wait_seconds":1}`)
		if err != nil {
			return false
		}
		o.w.take(answer)
		if empty++; string(answer) != "[]" {
			empty = 0
		}
		return empty >= 2 && len(o.missing()) == 0
	})
}

// missing returns the alerts on prices that are due and have not come.
func (o *operator) missing() (all []*alert) {
	o.w.mu.Lock()
	defer o.w.mu.Unlock()
	for id, one := range o.w.alerts {
		if _, came := o.w.fired[id]; !one.due.IsZero() && !came {
			all = append(all, one)
		}
	}
	return all
}

// judge holds every alert against the prices, and every notification against the alerts.
func (o *operator) judge() {
	end := time.Now()
	var left []listed
	if err := o.read(o.ctx, "list_alerts", `{}`, &left); err != nil {
		o.w.violate("alerts", "", "list_alerts: %v", err)
		return
	}
	o.drain()
	active := map[string]bool{}
	for _, l := range left {
		active[l.ID] = true
	}
	prices := map[string][]priced{}
	for _, m := range o.w.markets {
		prices[m.symbol] = m.past()
	}
	o.w.mu.Lock()
	var wrong []string
	for id, one := range o.w.alerts {
		f, came := o.w.fired[id]
		if text := o.w.fate(one, f, came, active[id], prices[one.symbol], end); text != "" {
			wrong = append(wrong, fmt.Sprintf("alert %s, %s %s %s, made %s: %s", id, one.symbol, one.kind, one.at, clock(one.made), text))
		}
		if text := repeated(o.w.polled[id], o.w.faults); text != "" {
			wrong = append(wrong, fmt.Sprintf("alert %s was polled: it %s", id, text))
		}
	}
	for id, f := range o.w.fired {
		if o.w.alerts[id] == nil && !o.w.notes[f.Note] {
			wrong = append(wrong, fmt.Sprintf("alert %s fired and nobody set it: %+v", id, f))
		}
	}
	o.w.mu.Unlock()
	wrong = append(wrong, o.pushed()...)
	for _, text := range wrong {
		o.w.violate("alerts", "", "%s", text)
	}
}

// pushed returns what is wrong with what all logins got, once nothing more comes that makes it
// right.
func (o *operator) pushed() (wrong []string) {
	within(o.ctx, time.Minute, func() bool {
		o.w.mu.Lock()
		defer o.w.mu.Unlock()
		wrong = nil
		for _, l := range o.w.logins {
			wrong = append(wrong, o.w.heard(l)...)
		}
		return len(wrong) == 0
	})
	return wrong
}

// fate returns what is wrong with what became of an alert, "" for nothing.
func (w *world) fate(one *alert, f firing, came, active bool, prices []priced, end time.Time) string {
	if one.kind == closes {
		due := closedDue(one, prices, end.Add(-15*time.Second))
		switch {
		case one.either && active:
			return "it was cancelled or fired, and is listed"
		case one.either && !came:
			return ""
		case !one.cancelled.IsZero() && came && one.cancelled.Before(f.Triggered):
			return "it was cancelled and fired at " + clock(f.Triggered)
		case came && !closedCause(one, prices, f.Triggered):
			return "it fired at " + clock(f.Triggered) + ", and no minute closed above it"
		case !came && !due.IsZero() && (one.cancelled.IsZero() || one.cancelled.After(due.Add(10*time.Second))):
			return "MISSED: a minute closed above it at " + clock(due)
		case !came && !active && one.cancelled.IsZero() && due.IsZero() && end.Sub(end.Truncate(time.Minute)) > 10*time.Second:
			return "it is neither listed nor fired nor cancelled"
		}
		return ""
	}
	switch {
	case !one.due.IsZero() && !came:
		return "the price passed it at " + clock(one.due) + " and no poll returned it"
	case one.due.IsZero() && came:
		return "it fired at " + clock(f.Triggered) + " and no price passed it"
	case !one.due.IsZero() && active:
		return "it fired and is listed"
	case one.due.IsZero() && one.cancelled.IsZero() && !active:
		return "it is neither listed nor fired nor cancelled"
	case !one.cancelled.IsZero() && active:
		return "it was cancelled and is listed"
	}
	return ""
}

// heard returns what is wrong with what a login got.
func (w *world) heard(l *login) (wrong []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, one := range w.alerts {
		f, came := w.fired[id]
		got := l.got[id]
		at := one.due
		if one.kind == closes {
			at = f.Triggered
		}
		expected := came && l.hears(one) && at.After(l.since.Add(time.Second)) && (l.revoking.IsZero() || w.pushedBy(at).Before(l.revoking))
		switch {
		case expected && len(got) == 0:
			wrong = append(wrong, fmt.Sprintf("alert %s, %s %s, fired at %s and was not pushed to %s, subscribed since %s, revoked %s", id, one.symbol, one.kind, clock(at), l.Name, clock(l.since), clock(l.revoking)))
		case len(got) > 0 && !l.hears(one):
			wrong = append(wrong, fmt.Sprintf("alert %s, %s %s, was pushed to %s, who asked for %v %v", id, one.symbol, one.kind, l.Name, l.symbols, l.kinds))
		}
		if text := repeated(got, w.faults); text != "" {
			wrong = append(wrong, fmt.Sprintf("alert %s was pushed to %s: it %s", id, l.Name, text))
		}
	}
	return append(wrong, w.ordered(l)...)
}

// repair is how long after a fault something may still be late: replicas find out that one is gone, take its
// alerts over and connect again.
const repair = 10 * time.Second

// pushedBy returns when an alert that was due at a time must have been pushed at the latest. While a NATS server
// is replaced nothing can be committed, so an alert may fire seconds after its price. The caller has locked w.
func (w *world) pushedBy(due time.Time) time.Time {
	by := due.Add(w.patience(grace))
	for _, s := range w.faults { // in their order, so one after the other may delay it
		switch {
		case !s.touches(due.Add(-repair), by):
		case s.ended.IsZero():
			return by.Add(never)
		default:
			by = later(by, s.ended.Add(w.patience(repair)))
		}
	}
	return by
}

// delays returns the longest time from a price to the push of its alert: beside faults, and otherwise.
func (w *world) delays() (faulty, plain time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.logins {
		l.mu.Lock()
		for id, got := range l.got {
			one := w.alerts[id]
			if one == nil || one.kind == closes || one.due.IsZero() {
				continue
			}
			took := got[0].at.Sub(one.due)
			if slices.ContainsFunc(w.faults, func(s span) bool { return s.touches(one.due.Add(-repair), got[0].at) }) {
				faulty = max(faulty, took)
			} else {
				plain = max(plain, took)
			}
		}
		l.mu.Unlock()
	}
	return faulty, plain
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// ordered checks that what a login got of one symbol came in the order of the prices. The
// caller has locked both.
func (w *world) ordered(l *login) (wrong []string) {
	last, seen := map[string]time.Time{}, map[string]bool{}
	for _, id := range l.order {
		one := w.alerts[id]
		if one == nil || one.kind == closes || one.due.IsZero() || seen[id] {
			continue
		}
		seen[id] = true
		if one.due.Before(last[one.symbol]) {
			wrong = append(wrong, fmt.Sprintf("alert %s of %s, due at %s, was pushed to %s after one due at %s", id, one.symbol, clock(one.due), l.Name, clock(last[one.symbol])))
		}
		last[one.symbol] = one.due
	}
	return wrong
}

// silenced checks that the streams of revoked tokens have ended.
func (o *operator) silenced() {
	o.w.mu.Lock()
	logins := slices.Clone(o.w.logins)
	o.w.mu.Unlock()
	for _, l := range logins {
		revoked, ended := l.ends()
		if !revoked.IsZero() && ended.IsZero() && time.Since(revoked) > silence+10*time.Second {
			o.w.violate("revocation", "", "the stream of %s is open, and its token was revoked at %s", l.Name, clock(revoked))
		}
	}
}
