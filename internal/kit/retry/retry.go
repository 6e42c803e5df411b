// Package retry computes the delays between attempts and waits for them. It decides
// nothing about which errors are worth another attempt; the caller knows that.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is an exponential backoff: the delay doubles with every failure in a row, from
// First up to Max.
type Backoff struct {
	First, Max time.Duration
}

// Delay returns the delay after a number of consecutive failures, counted from one, with
// jitter. A nil random draws from math/rand; tests pass their own.
func (b Backoff) Delay(failures int, random func() float64) time.Duration {
	return jitter(b.Bound(failures), random)
}

// Bound returns the delay without jitter.
func (b Backoff) Bound(failures int) time.Duration {
	d := b.First
	for ; failures > 1 && d < b.Max; failures-- {
		d *= 2
	}
	return min(d, b.Max)
}

// jitter returns a duration between half of d and d, so that callers that failed together
// do not retry together. random returns numbers from 0 to below 1; nil draws from math/rand.
func jitter(d time.Duration, random func() float64) time.Duration {
	if random == nil {
		random = rand.Float64
	}
	return d/2 + time.Duration(random()*float64(d/2))
}

// Sleep waits for d, or returns the error of ctx when that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
