package upstream

import "time"

const (
	breakAfter  = 5 // failures in a row
	minOpenTime = 5 * time.Second
	maxOpenTime = time.Minute
)

// breaker keeps requests from a host that does not answer. After breakAfter
// failures in a row it opens; when the break is over one request goes through as
// a probe, and its fate decides. The gate's lock guards it.
type breaker struct {
	failures int
	open     bool
	until    time.Time
	pause    time.Duration // of the break that runs or ran last
	probing  bool
}

// wait returns how long no request may go out, 0 when one may.
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

// begin takes note of a request that goes out and reports whether it is a probe.
func (b *breaker) begin(time.Time) bool {
	b.probing = b.open
	return b.probing
}

// record takes note of how a request went.
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

// cancelProbe lets another request probe.
func (b *breaker) cancelProbe(probe bool) {
	if probe {
		b.probing = false
	}
}
