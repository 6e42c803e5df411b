// Package meter counts durations and events for monitoring. It knows neither a monitoring format nor a
// clock.
package meter

import (
	"sync/atomic"
	"time"
)

// Bounds returns the upper ends of the buckets, ascending: from a commit on a fast
// disk to a venue that does not answer. One more bucket has what is above the last.
func Bounds() [16]time.Duration {
	const us, ms, s = time.Microsecond, time.Millisecond, time.Second
	return [...]time.Duration{
		100 * us, 250 * us, 500 * us, 1 * ms, 2500 * us, 5 * ms, 10 * ms, 25 * ms,
		50 * ms, 100 * ms, 250 * ms, 500 * ms, 1 * s, 2500 * ms, 5 * s, 10 * s,
	}
}

// Histogram counts durations. The zero value is ready, it is safe for concurrent
// use, and to observe costs two additions: no lock, no memory.
type Histogram struct {
	counts [17]atomic.Uint64
	sum    atomic.Int64 // nanoseconds
}

// Observe counts one duration.
func (h *Histogram) Observe(took time.Duration) {
	h.counts[bucket(took)].Add(1)
	h.sum.Add(int64(took))
}

// bucket finds the bucket of a duration.
func bucket(took time.Duration) int {
	bounds := Bounds()
	for i, bound := range bounds {
		if took <= bound {
			return i
		}
	}
	return len(bounds)
}

// Reading is what a histogram had counted at one moment.
type Reading struct {
	Buckets [17]uint64 // each by itself
	Sum     time.Duration
}

// Count returns how many were observed.
func (r *Reading) Count() uint64 {
	var n uint64
	for _, b := range r.Buckets {
		n += b
	}
	return n
}

// Read returns what was counted so far. What is observed meanwhile may be in a part
// of it.
func (h *Histogram) Read() Reading {
	var r Reading
	for i := range h.counts {
		r.Buckets[i] = h.counts[i].Load()
	}
	r.Sum = time.Duration(h.sum.Load())
	return r
}

// Counters counts events by kind, of those that NewCounters was given. It is safe for
// concurrent use.
type Counters map[string]*atomic.Uint64

// NewCounters returns a counter for each kind.
func NewCounters(kinds ...string) Counters {
	c := make(Counters, len(kinds))
	for _, kind := range kinds {
		c[kind] = new(atomic.Uint64)
	}
	return c
}

// Add counts one event and reports whether its kind is known.
func (c Counters) Add(kind string) bool {
	n := c[kind]
	if n != nil {
		n.Add(1)
	}
	return n != nil
}

// Read returns the counts.
func (c Counters) Read() map[string]uint64 {
	values := make(map[string]uint64, len(c))
	for kind, n := range c {
		values[kind] = n.Load()
	}
	return values
}
