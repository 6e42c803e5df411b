package upstream

import "time"

const (
	breakAfter  = 5 // failures in a row
	minOpenTime = 5 * time.Second
	maxOpenTime = time.Minute
)

// breaker is a circuit breaker. It opens after breakAfter consecutive failures; after the
// open time one request is sent as a probe, and its result decides. The lock of the
// limiter guards it.
type breaker struct {
	failures int
	open     bool
	until    time.Time
	pause    time.Duration // the present or last open time
	probing  bool
}

// wait returns how long no request may be sent, 0 if one may.
func (b *breaker) wait(now time.Time) time.Duration {
	switch {
	case !b.open:
		return 0
	case b.probing:
		return max(b.until.Sub(now), time.Second)
	default:
		return b.until.Sub(now)
	}
}

// begin records a sent request and reports whether it is a probe.
func (b *breaker) begin() bool {
	b.probing = b.open
	return b.probing
}

// record records the result of a request.
func (b *breaker) record(now time.Time, probe, ok bool) {
	if probe {
		b.probing = false
	}
	switch {
	case ok:
		*b = breaker{probing: b.probing}
	case probe:
		b.trip(now, min(2*b.pause, maxOpenTime))
	case !b.open:
		if b.failures++; b.failures >= breakAfter {
			b.trip(now, minOpenTime)
		}
	}
}

func (b *breaker) trip(now time.Time, pause time.Duration) {
	b.open, b.pause, b.until = true, pause, now.Add(pause)
}
