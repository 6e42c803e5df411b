package feed

import (
	"cmp"
	"slices"
	"time"

	"candela/internal/data/provider"
	"candela/internal/kit/retry"
	"candela/lib/market"
)

const (
	// streamGrace is how long after its end a bar may arrive by stream before it is read.
	streamGrace = 10 * time.Second
	// finalDelay is how long after its end a bar read over REST is final: venues add
	// the last trades with a delay.
	finalDelay = 2 * time.Second
	// gapGrace is how long a gap may close by itself, because messages can arrive out of
	// order, before it is read.
	gapGrace = time.Second
	// holeRecheck is the time between two reads that confirm a hole younger than holeAge.
	holeRecheck = 5 * time.Second
	holeAge     = 2 * time.Minute
	// maxRetryInterval bounds the time between reads without new bars.
	maxRetryInterval = 5 * time.Minute
)

// subscription is the state of one subscription: its next bar, the bars after a gap and
// the next read. It does no I/O; the loop owns it.
type subscription struct {
	sub     provider.Sub
	request request
	cal     market.Calendar
	clock   provider.Clock
	next    market.Span  // the next bar to deliver
	group   *streamGroup // nil for a venue without streams
	ahead   []market.Bar // closed bars after a gap, ascending
	unkept  market.Span  // opens of the first and the last closed bar that found no room in ahead
	newest  int64        // open of the newest bar delivered ahead

	due        time.Time // of the next read
	emptyReads int       // consecutive reads without new bars
	queued     bool
	reading    bool
	gone       bool // unsubscribed

	hole     int64 // open of a bar that a read lacked although it had later ones
	holeSeen time.Time

	hasLatest bool // latest waits for room
	latest    Event
	seenAt    time.Time // time of the newest forming bar, by the venue
	seenT     int64
}

// begin sets the first bar to deliver.
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

// ends returns the wall time at which the next bar closes.
func (t *subscription) ends() time.Time { return t.clock.Wall(t.next.Close) }

// barPosition relates a closed bar to the next one.
type barPosition uint8

const (
	duplicate barPosition = iota + 1 // it was delivered before
	expected                         // it is the next one
	afterGap                         // bars before it are missing
	offGrid                          // its time does not fit the interval
)

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

// bufferAhead buffers a bar after the gap and reports whether it is new. When the buffer is
// full the bar is not kept: the read that closes the gap returns it.
func (t *subscription) bufferAhead(bar market.Bar) bool {
	if t.wasAhead(bar.T) {
		return false
	}
	if len(t.ahead) < maxPending {
		i, _ := t.searchAhead(bar.T)
		t.ahead = slices.Insert(t.ahead, i, bar)
		return true
	}
	if t.unkept.Open == 0 {
		t.unkept.Open = bar.T
	}
	t.unkept.Close = bar.T
	return true
}

func (t *subscription) searchAhead(open int64) (int, bool) {
	return slices.BinarySearchFunc(t.ahead, open, func(b market.Bar, at int64) int { return cmp.Compare(b.T, at) })
}

// wasAhead reports whether the closed bar was delivered ahead.
func (t *subscription) wasAhead(open int64) bool {
	_, kept := t.searchAhead(open)
	return kept || t.unkept.Open != 0 && t.unkept.Open <= open && open <= t.unkept.Close
}

// isLate reports whether the next bar was missing when a newer one was delivered, and not
// only because the two were swapped on their way.
func (t *subscription) isLate(now time.Time) bool {
	return t.next.Open < t.newest && now.After(t.ends().Add(t.wait(gapGrace)))
}

// advance moves on after a bar was delivered.
func (t *subscription) advance(bar market.Bar) {
	t.next = t.cal.Next(t.sub.Interval, bar.T)
	t.emptyReads = 0
	t.ahead = slices.DeleteFunc(t.ahead, func(b market.Bar) bool { return b.T <= bar.T })
	if len(t.ahead) == 0 {
		t.ahead = nil
	}
	if t.unkept.Close <= bar.T {
		t.unkept = market.Span{}
	}
	t.dropLatest(bar.T)
}

// dropLatest drops the waiting event if a closed bar says more.
func (t *subscription) dropLatest(closed int64) {
	if t.latest.Bar.T <= closed {
		t.hasLatest = false
	}
}

// wait returns how long to wait for a venue: not at all for a replay, whose time is not that
// of the wall and whose bars are all recorded.
func (t *subscription) wait(d time.Duration) time.Duration {
	if t.clock.Speed != 0 {
		return 0
	}
	return d
}

// confirmHole reports whether the missing bar is a real hole. A recent one must be seen
// twice, because the venue may still be writing it. A replay writes nothing.
func (t *subscription) confirmHole(now time.Time) bool {
	if now.Sub(t.ends()) > t.wait(holeAge) {
		return true
	}
	if t.hole != t.next.Open {
		t.hole, t.holeSeen = t.next.Open, now
		return false
	}
	return now.Sub(t.holeSeen) >= holeRecheck
}

// hasClosed reports whether the next bar has ended and is final.
func (t *subscription) hasClosed(now time.Time) bool { return t.isFinal(t.next.Close, now) }

// isFinal reports whether a bar that closes at a time of the venue has ended and is final.
func (t *subscription) isFinal(closes int64, now time.Time) bool {
	return !now.Before(t.clock.Wall(closes).Add(t.wait(finalDelay)))
}

// readBy makes the next read due no later than at.
func (t *subscription) readBy(at time.Time) {
	if at.Before(t.due) {
		t.due = at
	}
}

// schedule sets when the next bar is read: well after its end for a stream, shortly after
// it for a polled venue. spread, from 0 to 1, distributes the reads of many symbols.
func (t *subscription) schedule(spread float64) {
	end := t.ends()
	if t.group != nil {
		t.due = end.Add(streamGrace + time.Duration(spread*float64(streamGrace/2)))
		return
	}
	window := min(t.sub.Interval.Duration()/10, 15*time.Second)
	t.due = end.Add(finalDelay + time.Duration(spread*float64(window)))
}

// retryLater schedules the next read after one without new bars.
func (t *subscription) retryLater(now time.Time, random func() float64) {
	t.emptyReads++
	t.due = now.Add(retry.Backoff{First: 2 * time.Second, Max: maxRetryInterval}.Delay(t.emptyReads, random))
}
