package cluster

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"candela/e2e/tape"
	"candela/lib/market"
	"candela/lib/ta"
)

// arguments are those of set_alert.
func (a *set) arguments() string {
	if s := a.signal; s != nil {
		return fmt.Sprintf(`{"symbol":%q,"interval":"1m","condition":{"indicator_signal":{"indicator":%q,"signal":%q}},"note":%q}`,
			s.Symbol, s.Indicator, s.Label, a.note)
	}
	if c := a.compound; c != nil {
		var members []string
		for _, part := range c.Parts {
			op := map[bool]string{true: ">", false: "<"}[part.Up]
			members = append(members, fmt.Sprintf(`{"value":{"price":"close","op":%q,"value":{"price":"open"}},"interval":%q}`, op, part.Interval))
		}
		return fmt.Sprintf(`{"symbol":%q,"condition":{"all":[%s]},"note":%q}`, c.Symbol, strings.Join(members, ","), a.note)
	}
	side := "below"
	if a.Above {
		side = "above"
	}
	return fmt.Sprintf(`{"symbol":%q,"condition":{"price_%s":%s},"note":%q}`, a.Symbol, side, strconv.FormatFloat(a.Threshold, 'f', 8, 64), a.note)
}

// dueAt returns when an alert made at a time must have fired, by all that the venue
// shows up to the end; the zero time when it need not have.
func (a *set) dueAt(t *tape.Tape, made, end time.Time) time.Time {
	if !a.onBars() {
		return t.Due(&a.Want, made, end)
	}
	closed, _, _ := a.shown(t, made, end)
	return closed
}

// onBars reports whether it waits for a minute to close.
func (a *set) onBars() bool { return a.signal != nil || a.compound != nil }

// shown returns the first minute after an alert on bars was made that fires it, and the value.
func (a *set) shown(t *tape.Tape, made, end time.Time) (closed time.Time, value float64, found bool) {
	if a.compound != nil {
		return t.FirstOf(a.compound, made, end)
	}
	return t.First(*a.signal, made, end)
}

// caused reports whether what the venue shows gave an alert the reason to fire that
// it reports: one on bars to the last bit of its value.
func (a *set) caused(t *tape.Tape, s *streamedAlert) bool {
	if !a.onBars() {
		return t.Caused(&a.Want, s.Made, s.fired[0])
	}
	closed, value, found := a.shown(t, s.Made, s.fired[0])
	return found && s.triggered.Equal(closed) && math.Float64bits(s.value) == math.Float64bits(value)
}

// soon is how far away in seconds it is at least when an alert is due, so that it is
// set by then when nothing happens.
func soon() int64 {
	if brief() {
		return 3
	}
	return 6
}

// horizon is how far away a price is at most.
func horizon() int64 {
	if brief() {
		return soon() + 2*tape.Step
	}
	return 30
}

// plan chooses what an alert waits for, and reports whether it found something. The
// first of somebody is on a signal or a compound, so that any minute that closes shows some.
func (p *people) plan(a *set, rng *rand.Rand, now int64, first bool) bool {
	switch n := rng.IntN(20); {
	case first && n%3 > 0, n > 0 && n <= 2:
		return p.planSignal(a, rng, now)
	case first, n > 2 && n <= 4:
		return p.planCompound(a, rng, now)
	case n == 0:
		a.never, a.Want = true, tape.Want{Symbol: p.symbol(rng.IntN(p.symbols)), Above: true, Threshold: 1e9}
		return true
	default:
		return p.planPrice(a, rng, now)
	}
}

// planPrice chooses a price that the tape reaches at some step, not too soon, and that
// it has not reached in any minute that an alert made now looks at.
func (p *people) planPrice(a *set, rng *rand.Rand, now int64) bool {
	a.Symbol, a.Above = p.symbol(rng.IntN(p.symbols)), rng.IntN(2) == 0
	var found []float64
	best := 0.0
	for at := now - now%60; at <= now+horizon(); at += tape.Step {
		bar := p.tape.At(a.Symbol, at)
		reach := bar.H
		if !a.Above {
			reach = -bar.L
		}
		if at == now-now%60 {
			best = reach
		}
		if reach <= best {
			continue
		}
		if at > now+soon() {
			found = append(found, best+(reach-best)*(0.2+0.6*rng.Float64()))
		}
		best = reach
	}
	if len(found) == 0 {
		return false
	}
	a.Threshold = found[rng.IntN(len(found))]
	if !a.Above {
		a.Threshold = -a.Threshold
	}
	return true
}

// charted is on how many symbols signals are waited for. Each costs the judge a chart
// of every indicator for every minute.
const charted = 8

// nextClose returns when one of the next minutes closes, mostly the very next.
func nextClose(rng *rand.Rand, now int64) int64 {
	closed := now + soon()
	closed += 60 - closed%60
	if rng.IntN(4) == 0 {
		closed += 60
	}
	return closed
}

// planCompound chooses two or three intervals whose bars are so when one of the next minutes closes.
func (p *people) planCompound(a *set, rng *rand.Rand, now int64) bool {
	closed := nextClose(rng, now)
	longer := [][]market.Interval{{market.Minute3}, {market.Minute5}, {market.Minute15}, {market.Minute3, market.Minute15}, {market.Minute5, market.Minute15}}
	c := &tape.Compound{Symbol: p.symbol(rng.IntN(p.symbols))}
	for _, i := range append([]market.Interval{market.Minute1}, longer[rng.IntN(len(longer))]...) {
		bar, _ := p.tape.ClosedBy(c.Symbol, i, closed)
		if bar.C == bar.O {
			return false
		}
		c.Parts = append(c.Parts, tape.Part{Interval: i, Up: bar.C > bar.O})
	}
	a.Symbol, a.compound = c.Symbol, c
	return true
}

// planSignal chooses a signal that the tape shows when one of the next minutes closes.
func (p *people) planSignal(a *set, rng *rand.Rand, now int64) bool {
	closed := nextClose(rng, now)
	a.Symbol = p.symbol(rng.IntN(charted))
	var found []tape.Signal
	for _, def := range ta.All() {
		if len(def.Signals) == 0 {
			continue
		}
		values := p.tape.Signals(a.Symbol, def.Name, closed)
		for _, label := range def.Labels() { // in their order, so that a seed means something
			if _, shown := values[label]; shown {
				found = append(found, tape.Signal{Symbol: a.Symbol, Indicator: def.Name, Label: label})
			}
		}
	}
	if len(found) == 0 {
		return false
	}
	a.signal = &found[rng.IntN(len(found))]
	return true
}
