package feed

import (
	"slices"
	"time"

	"candela/internal/kit/retry"
	"candela/internal/market"
	"candela/internal/market/provider"
)

const (
	// overdue is how long after its end a streamed bar may take before it is read.
	overdue = 10 * time.Second
	// settle is how long after its end a bar that was read counts as final: venues
	// take a moment to add the last trades.
	settle = 2 * time.Second
	// gapWait is how long a gap may close by itself, as when messages overtake each
	// other, before it is read.
	gapWait = time.Second
	// holeWait is how long a hole that the venue shows must stay one to be believed,
	// when it is younger than holeOld.
	holeWait = 5 * time.Second
	holeOld  = 2 * time.Minute
	// maxIdle bounds the time between reads that bring nothing.
	maxIdle = 5 * time.Minute
)

// track is one subscription: what was handed on and what must come next. It does
// no I/O; the loop owns it.
type track struct {
	sub    provider.Sub
	order  order
	cal    market.Calendar
	clock  provider.Clock
	next   market.Span  // the bar that must come next
	line   *line        // nil for a venue without streams
	behind []market.Bar // closed bars beyond a gap, ascending

	due     time.Time // when to read what is missing
	tries   int       // reads since the last one that brought something
	queued  bool
	filling bool
	gone    bool // unsubscribed

	hole     int64 // open of the bar that a read did not show though it showed later ones
	holeSeen time.Time

	waits  bool // held has not found room yet
	held   Event
	seenAt time.Time // the venue's time of the newest forming bar
	seenT  int64
}

// begin sets what must come next at the start.
func (t *track) begin(now time.Time) {
	t.cal = t.order.calendar
	switch span, trading := t.cal.Bucket(t.sub.Interval, t.clock.Unix(now)); {
	case t.order.since != 0:
		t.next = t.cal.Next(t.sub.Interval, t.order.since)
	case trading:
		t.next = span
	default:
		t.next = t.cal.Next(t.sub.Interval, t.clock.Unix(now))
	}
}

// ends returns when the bar that must come next is over, by the clock on the wall.
func (t *track) ends() time.Time { return t.clock.Wall(t.next.Close) }

// verdict says what to do with a closed bar of a stream.
type verdict uint8

const (
	repeated verdict = iota + 1 // it was handed on before
	expected                    // it is the next one
	ahead                       // bars before it are missing
	offGrid                     // it is no bar of this interval
)

// judge places a closed bar.
func (t *track) judge(bar market.Bar) verdict {
	switch {
	case bar.T < t.next.Open:
		return repeated
	case bar.T == t.next.Open:
		return expected
	}
	if span, ok := t.cal.Bucket(t.sub.Interval, bar.T); !ok || span.Open != bar.T {
		return offGrid
	}
	return ahead
}

// keep puts a bar behind the gap. When there is no room it is left out: the read
// that closes the gap brings it.
func (t *track) keep(bar market.Bar) {
	i, there := slices.BinarySearchFunc(t.behind, bar.T, func(b market.Bar, at int64) int { return int(b.T - at) })
	if !there && len(t.behind) < maxPending {
		t.behind = slices.Insert(t.behind, i, bar)
	}
}

// passed moves on behind a bar that was handed on.
func (t *track) passed(bar market.Bar) {
	t.next = t.cal.Next(t.sub.Interval, bar.T)
	t.tries = 0
	n := 0
	for n < len(t.behind) && t.behind[n].T <= bar.T {
		n++
	}
	t.behind = slices.Delete(t.behind, 0, n)
	if len(t.behind) == 0 {
		t.behind = nil
	}
	if t.held.Bar.T <= bar.T {
		t.waits = false
	}
}

// ready returns the bar behind the gap that has become the next one.
func (t *track) ready() (market.Bar, bool) {
	if len(t.behind) == 0 || t.behind[0].T != t.next.Open {
		return market.Bar{}, false
	}
	return t.behind[0], true
}

// believe reports whether a hole at the next bar, which a read has just shown,
// is one. A young hole must show twice: the venue may still be writing.
func (t *track) believe(now time.Time) bool {
	if now.Sub(t.ends()) > holeOld {
		return true
	}
	if t.hole != t.next.Open {
		t.hole, t.holeSeen = t.next.Open, now
		return false
	}
	return now.Sub(t.holeSeen) >= holeWait
}

// over reports whether the next bar has ended and settled.
func (t *track) over(now time.Time) bool {
	return !now.Before(t.ends().Add(settle))
}

// soon makes the read due no later than at.
func (t *track) soon(at time.Time) {
	if at.Before(t.due) {
		t.due = at
	}
}

// schedule sets when the next bar is missed: a while after its end for a stream,
// shortly after it for a venue that is read by the clock, spread by a number from
// 0 to 1 so that not all symbols are read at once.
func (t *track) schedule(spread float64) {
	end := t.ends()
	if t.line != nil {
		t.due = end.Add(overdue + time.Duration(spread*float64(overdue/2)))
		return
	}
	window := min(t.sub.Interval.Duration()/10, 15*time.Second)
	t.due = end.Add(settle + time.Duration(spread*float64(window)))
}

// idle sets when to read again after a read that brought nothing.
func (t *track) idle(now time.Time, random func() float64) {
	t.tries++
	t.due = now.Add(retry.Backoff{First: 2 * time.Second, Max: maxIdle}.Delay(t.tries, random))
}
