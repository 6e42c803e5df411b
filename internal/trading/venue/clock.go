package venue

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"candela/internal/data/provider"
)

const (
	// clockAge is how long a measurement counts: clocks drift by less than 1 ms in it.
	clockAge = 10 * time.Minute
	// clockJump is how far the wall clock may part from the time that passed before
	// the measurement is doubted: somebody has set the clock, or the machine slept.
	clockJump = 250 * time.Millisecond
	// clockTrip is how long an answer may take to be trusted at once. The venue refuses
	// what is a second ahead of it.
	clockTrip = time.Second
)

// Clock computes a venue's time from measurements, for requests that are signed with it. It is safe for
// concurrent use and not copied.
type Clock struct {
	ask  func(context.Context) (venue, sent time.Time, err error)
	memo provider.Cache[*reading]
	last atomic.Pointer[reading]
	age  atomic.Int64 // how many measurements were doubted
}

// NewClock returns a clock that asks the venue for its time. ask also returns when the question went out, by
// our clock.
func NewClock(ask func(context.Context) (venue, sent time.Time, err error)) *Clock {
	return &Clock{ask: ask, memo: provider.Cache[*reading]{Keep: clockAge, Most: 1}}
}

// reading is what the venue's clock showed when ours showed something.
type reading struct {
	venue time.Time
	ours  time.Time
	trip  time.Duration
	age   int64 // of the clock, when it was made
}

// Ready makes sure that Now is known. A measurement that fails does no harm
// when there is an older one that nothing speaks against.
func (c *Clock) Ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	last := c.last.Load()
	if last != nil && last.jumped() {
		c.Doubt()
	}
	age := c.age.Load()
	_, err := c.memo.Get(ctx, time.Now(), strconv.FormatInt(age, 10), c.read)
	if err != nil && (last == nil || last.age != age || ctx.Err() != nil) {
		return err
	}
	return nil
}

// Doubt lets the next request measure again.
func (c *Clock) Doubt() { c.age.Add(1) }

// jumped reports whether the wall clock went another way than time did.
func (r *reading) jumped() bool {
	now := time.Now()
	return (now.Round(0).Sub(r.ours.Round(0)) - now.Sub(r.ours)).Abs() > clockJump
}

// Now returns the venue's time.
func (c *Clock) Now() time.Time {
	if r := c.last.Load(); r != nil {
		return r.venue.Add(time.Since(r.ours))
	}
	return time.Now()
}

// Measure returns how far the venue's clock is ahead of ours.
func (c *Clock) Measure(ctx context.Context) (time.Duration, error) {
	r, err := c.read(ctx)
	if err != nil {
		return 0, err
	}
	return r.venue.Sub(r.ours.Round(0)), nil
}

// read measures up to three times, until an answer is fast, and keeps the fastest.
func (c *Clock) read(ctx context.Context) (*reading, error) {
	var best *reading
	age := c.age.Load()
	for range 3 {
		venue, sent, err := c.ask(ctx)
		if err != nil {
			if best == nil {
				return nil, err
			}
			break
		}
		trip := time.Since(sent)
		if best == nil || trip < best.trip {
			best = &reading{venue: venue, ours: sent.Add(trip / 2), trip: trip, age: age}
		}
		if trip <= clockTrip {
			break
		}
	}
	c.last.Store(best)
	return best, nil
}
