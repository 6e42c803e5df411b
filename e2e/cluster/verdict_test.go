package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"candela/e2e/tape"
)

// fate is what became of one alert, from everyone's view, at the time of asking.
type fate struct {
	*set
	stream *streamedAlert // nil when the stream never had it
	due    time.Time
	first  time.Time // when the first of the clients knew that it fired
	last   time.Time // when every listener did
}

// fates puts together what people asked for and what the stream says, for all that
// was shown up to the end.
func (p *people) fates(end time.Time) (all []*fate) {
	o := p.observer
	o.mu.Lock()
	defer o.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	known := map[string]string{} // ids by note
	for id, a := range o.alerts {
		if p.sets[a.Note] == nil {
			p.Errorf("alert %s with the note %q was set by nobody", id, a.Note)
		} else if other := known[a.Note]; other != "" {
			p.Errorf("the alert %s was made twice: %s and %s", a.Note, id, other)
		}
		known[a.Note] = id
	}
	for note, a := range p.sets {
		id := known[note]
		if a.id != "" {
			id = a.id
		}
		if id == "" {
			continue // not acknowledged, and never there
		}
		asked := *a
		f := &fate{set: &asked, stream: o.alerts[id].copy()}
		made := a.made
		if f.stream != nil && made.IsZero() {
			made = f.stream.Made
		}
		f.due = a.dueAt(p.tape, made, end)
		p.arrivals(f, id)
		all = append(all, f)
	}
	return all
}

// arrivals finds out when clients knew.
func (p *people) arrivals(f *fate, id string) {
	heard := p.heard
	if p.apart {
		heard = p.heard[f.owner : f.owner+1]
	}
	for _, listener := range heard {
		if len(listener[id]) == 0 {
			f.last = time.Time{}
			break
		}
		if at := listener[id][0].at; at.After(f.last) {
			f.last = at
		}
	}
	earlier := func(at time.Time) {
		if f.first.IsZero() || at.Before(f.first) {
			f.first = at
		}
	}
	for _, listener := range heard {
		if got := listener[id]; len(got) > 0 {
			earlier(got[0].at)
		}
	}
	if got := p.polls[id]; len(got) > 0 {
		earlier(got[0])
	}
}

// missing returns what is not yet as it should be.
func (p *people) missing(end time.Time) (unfired, unheard, unpolled int) {
	for _, f := range p.fates(end) {
		switch {
		case f.stream == nil: // who watches the stream has not come to it yet
			unfired++
			continue
		case len(f.stream.fired) == 0:
			if !f.due.IsZero() && !f.cancelled {
				unfired++
			}
			continue
		case f.last.IsZero():
			unheard++
		}
		p.mu.Lock()
		if len(p.polls[f.idOf()]) == 0 {
			unpolled++
		}
		p.mu.Unlock()
	}
	return unfired, unheard, unpolled
}

// idOf returns the alert's id, from its subject where no client was notified.
func (f *fate) idOf() string {
	if f.id != "" {
		return f.id
	}
	return f.stream.Subject[strings.LastIndexByte(f.stream.Subject, '.')+1:]
}

// awaitDue waits until so many alerts have fallen due, so many of them on bars. In a
// long run what was set last, perhaps after the last fault alone, has the time to fall
// due. It gives up in the end: whether there were enough is for others to say.
func (p *people) awaitDue(want, signals int) {
	p.Helper()
	if !brief() {
		p.pause(time.Duration(horizon()) * time.Second)
	}
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); p.pause(time.Second) {
		due, shown := 0, 0
		for _, f := range p.fates(time.Now()) {
			if f.due.IsZero() {
				continue
			}
			due++
			if f.onBars() {
				shown++
			}
		}
		if due >= want && shown >= signals {
			return
		}
	}
}

// settle waits until all that was due by now has arrived everywhere, and returns
// up to when that is.
func (p *people) settle() (end time.Time) {
	p.Helper()
	end = time.Now()
	if !brief() {
		end = end.Add((tape.Step + 1) * time.Second)
		p.pause(time.Until(end))
	}
	for deadline := time.Now().Add(3 * time.Minute); ; {
		unfired, unheard, unpolled := p.missing(end)
		if unfired+unheard+unpolled == 0 {
			return end
		}
		if time.Now().After(deadline) {
			p.Errorf("%d have not fired, %d were not pushed to everyone, %d not polled, three minutes after the end", unfired, unheard, unpolled)
			return end
		}
		p.pause(200 * time.Millisecond)
	}
}

// result is the outcome of a run.
type result struct {
	acked, unknown, due, fired, cancelled int
	signals, compounds                    int // due and fired on signals and on several intervals, among them
	errors, lost, doubled, causeless      int
	pushedTwice, polledTwice              int
	fires, first, last                    []time.Duration // stalls, ascending
}

// judge compares all evidence and returns what is wrong.
func (p *people) judge(end time.Time, faults []fault) *result {
	p.Helper()
	r := &result{}
	worst := map[string]*[3]time.Duration{}
	for _, f := range p.fates(end) {
		p.judgeOne(r, f)
		if f.due.IsZero() || f.first.IsZero() || f.stream == nil || len(f.stream.fired) == 0 {
			continue
		}
		from := f.due
		if f.acked.After(from) {
			from = f.acked
		}
		fired, first := f.stream.fired[0].Sub(from), f.first.Sub(from)
		r.fires = append(r.fires, max(0, fired))
		r.first = append(r.first, max(0, first))
		if !f.last.IsZero() {
			r.last = append(r.last, max(0, f.last.Sub(from)))
		}
		for _, one := range faults {
			if f.first.Before(one.began) || from.After(one.healed) {
				continue
			}
			w := worst[one.kind]
			if w == nil {
				w = &[3]time.Duration{}
				worst[one.kind] = w
			}
			w[0], w[1], w[2] = max(w[0], fired), max(w[1], first), max(w[2], f.last.Sub(from))
		}
	}
	slices.Sort(r.fires)
	slices.Sort(r.first)
	slices.Sort(r.last)
	for kind, w := range worst {
		p.Logf("%-80s longest from due to fired %5.1f s, to the first client %5.1f s, to the last listener %5.1f s", kind, w[0].Seconds(), w[1].Seconds(), w[2].Seconds())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Logf("calls that failed: %v", p.fails)
	return r
}

// judgeOne judges one alert.
func (p *people) judgeOne(r *result, f *fate) {
	p.Helper()
	fires := 0
	if f.stream != nil {
		fires = len(f.stream.fired)
	}
	if f.id == "" {
		r.unknown++
	} else {
		r.acked++
	}
	if f.cancelled {
		r.cancelled++
	}
	if !f.due.IsZero() {
		r.due++
	}
	if fires > 0 {
		r.fired++
	}
	if !f.due.IsZero() && fires > 0 && f.signal != nil {
		r.signals++
	}
	if !f.due.IsZero() && fires > 0 && f.compound != nil {
		r.compounds++
	}
	if f.stream == nil || !f.due.IsZero() && fires == 0 || fires > 0 && f.last.IsZero() {
		r.lost++
		r.complain(p, "LOST: %s made %v, due %v, fired %d times", f.arguments(), f.made, f.due, fires)
	}
	if fires > 1 {
		r.doubled++
	}
	if f.never && fires > 0 || fires > 0 && !f.caused(p.tape, f.stream) {
		r.causeless++
		r.complain(p, "fired without a cause: %s made %v, fired at %v with %v", f.arguments(), f.stream.Made, f.stream.triggered, f.stream.value)
	}
	if fires == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, listener := range p.heard {
		r.pushedTwice += max(0, len(listener[f.idOf()])-1)
	}
	r.polledTwice += max(0, len(p.polls[f.idOf()])-1)
}

// complain is an error, and after some of them only counts.
func (r *result) complain(p *people, format string, args ...any) {
	p.Helper()
	if r.errors++; r.errors <= 10 {
		p.Errorf(format, args...)
	} else {
		p.Fail()
	}
}

func (r *result) String() string {
	return fmt.Sprintf("%d alerts acknowledged (%d more without an answer are there too), %d due, %d fired (%d on signals, %d on several intervals), %d cancelled; %d lost, %d doubled; pushed twice %d times, polled twice %d times; "+
		"from due to fired: p50 %.2f s, p99 %.2f s, longest %.2f s; to the first client: p50 %.2f s, p99 %.2f s, longest %.2f s; to every listener: p50 %.2f s, p99 %.2f s, longest %.2f s",
		r.acked, r.unknown, r.due, r.fired, r.signals, r.compounds, r.cancelled, r.lost, r.doubled, r.pushedTwice, r.polledTwice,
		at(r.fires, 0.5), at(r.fires, 0.99), at(r.fires, 1), at(r.first, 0.5), at(r.first, 0.99), at(r.first, 1), at(r.last, 0.5), at(r.last, 0.99), at(r.last, 1))
}

// at returns a quantile in seconds.
func at(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))].Seconds()
}
