package feed

import (
	"slices"
	"time"

	"candela/internal/kit/retry"
	"candela/internal/market"
	"candela/internal/market/provider"
)

const (
	// streamGrace is how long after its end a streamed bar may take before it is read.
	streamGrace = 10 * time.Second
	// finalDelay is how long after its end a bar that was read counts as final: venues
	// take a moment to add the last trades.
	finalDelay = 2 * time.Second
	// gapGrace is how long a gap may close by itself, as when messages overtake each
	// other, before it is read.
	gapGrace = time.Second
	// holeRecheck is how long a hole that the venue shows must stay one to be believed,
	// when it is younger than holeOld.
	holeRecheck = 5 * time.Second
	holeAge     = 2 * time.Minute
	// maxRetryInterval bounds the time between reads that bring nothing.
	maxRetryInterval = 5 * time.Minute
)

// subscription is one subscription: what was handed on and what must come next. It does
// no I/O; the loop owns it.
type subscription struct {
	sub     provider.Sub
	request request
	cal     market.Calendar
	clock   provider.Clock
	next    market.Span  // the bar that must come next
	group   *streamGroup // nil for a venue without streams
	ahead   []market.Bar // closed bars beyond a gap, ascending

	due        time.Time // when to read what is missing
	emptyReads int       // reads since the last one that brought something
	queued     bool
	reading    bool
	gone       bool // unsubscribed

	hole     int64 // open of the bar that a read did not show though it showed later ones
	holeSeen time.Time

	hasLatest bool // held has not found room yet
	latest    Event
	seenAt    time.Time // the venue's time of the newest forming bar
	seenT     int64
}

// begin sets what must come next at the start.
func (t *subscription) begin(now time.Time) {
	t.cal = t.request.calendar
	switch span, trading := t.cal.Bucket(t.sub.Interval, t.clock.Unix(now)); {
	case t.request.since != 0:
		t.next = t.cal.Next(t.sub.Interval, t.request.since)
	case trading:
		t.next = span
	default:
		t.next = t.cal.Next(t.sub.Interval, t.clock.Unix(now))
	}
}

// ends returns when the bar that must come next is over, by the clock on the wall.
func (t *subscription) ends() time.Time { return t.clock.Wall(t.next.Close) }

// barPosition says what to do with a closed bar of a stream.
type barPosition uint8

const (
	duplicate barPosition = iota + 1 // it was handed on before
	expected                         // it is the next one
	afterGap                         // bars before it are missing
	offGrid                          // it is no bar of this interval
)

// classify places a closed bar.
func (t *subscription) classify(bar market.Bar) barPosition {
	switch {
	case bar.T < t.next.Open:
		return duplicate
	case bar.T == t.next.Open:
		return expected
	}
	if span, ok := t.cal.Bucket(t.sub.Interval, bar.T); !ok || span.Open != bar.T {
		return offGrid
	}
	return afterGap
}

// bufferAhead puts a bar behind the gap. When there is no room it is left out: the read
// that closes the gap brings it.
func (t *subscription) bufferAhead(bar market.Bar) {
	i, there := slices.BinarySearchFunc(t.ahead, bar.T, func(b market.Bar, at int64) int { return int(b.T - at) })
	if !there && len(t.ahead) < maxPending {
		t.ahead = slices.Insert(t.ahead, i, bar)
	}
}

// advance moves on behind a bar that was handed on.
func (t *subscription) advance(bar market.Bar) {
	t.next = t.cal.Next(t.sub.Interval, bar.T)
	t.emptyReads = 0
	n := 0
	for n < len(t.ahead) && t.ahead[n].T <= bar.T {
		n++
	}
	t.ahead = slices.Delete(t.ahead, 0, n)
	if len(t.ahead) == 0 {
		t.ahead = nil
	}
	if t.latest.Bar.T <= bar.T {
		t.hasLatest = false
	}
}

// nextBuffered returns the bar behind the gap that has become the next one.
func (t *subscription) nextBuffered() (market.Bar, bool) {
	if len(t.ahead) == 0 || t.ahead[0].T != t.next.Open {
		return market.Bar{}, false
	}
	return t.ahead[0], true
}

// confirmHole reports whether a hole at the next bar, which a read has just shown,
// is one. A young hole must show twice: the venue may still be writing.
func (t *subscription) confirmHole(now time.Time) bool {
	if now.Sub(t.ends()) > holeAge {
		return true
	}
	if t.hole != t.next.Open {
		t.hole, t.holeSeen = t.next.Open, now
		return false
	}
	return now.Sub(t.holeSeen) >= holeRecheck
}

// hasClosed reports whether the next bar has ended and settled.
func (t *subscription) hasClosed(now time.Time) bool {
	return !now.Before(t.ends().Add(finalDelay))
}

// readBy makes the read due no later than at.
func (t *subscription) readBy(at time.Time) {
	if at.Before(t.due) {
		t.due = at
	}
}

// schedule sets when the next bar is missed: a while after its end for a stream,
// shortly after it for a venue that is read by the clock, spread by a number from
// 0 to 1 so that not all symbols are read at once.
func (t *subscription) schedule(spread float64) {
	end := t.ends()
	if t.group != nil {
		t.due = end.Add(streamGrace + time.Duration(spread*float64(streamGrace/2)))
		return
	}
	window := min(t.sub.Interval.Duration()/10, 15*time.Second)
	t.due = end.Add(finalDelay + time.Duration(spread*float64(window)))
}

// retryLater sets when to read again after a read that brought nothing.
func (t *subscription) retryLater(now time.Time, random func() float64) {
	t.emptyReads++
	t.due = now.Add(retry.Backoff{First: 2 * time.Second, Max: maxRetryInterval}.Delay(t.emptyReads, random))
}
