// Package sendby carries the time by which a request must leave: what allowed it counts until then. A
// process may stand still between the moment at which it asked and the moment at which it sends, so
// the sender looks at the clock again.
package sendby

import (
	"context"
	"errors"
	"math"
	"time"
)

// ErrLate means that a request did not leave, or was not carried out, because its time had passed. What
// allowed it can be asked for again.
var ErrLate = errors.New("the confirmation that allowed the request is out of date")

// Travel is how long a request that left in time may be under way. A request that can carry the time at
// which its receiver must refuse it carries this.
const Travel = 700 * time.Millisecond

// key is the key of the time in a context.
type key struct{}

// With returns a context whose requests must leave before by, ctx itself if by is zero.
func With(ctx context.Context, by time.Time) context.Context {
	if by.IsZero() {
		return ctx
	}
	return context.WithValue(ctx, key{}, by)
}

// Left returns how long a request of ctx may still leave, and false if it may at any time.
func Left(ctx context.Context) (time.Duration, bool) {
	by, ok := ctx.Value(key{}).(time.Time)
	if !ok {
		return math.MaxInt64, false
	}
	return Until(by), true
}

// Until returns the time until by. It counts a standstill of the machine, in which the monotonic clock
// does not advance, and a step of the wall clock backwards as none.
func Until(by time.Time) time.Duration {
	now := time.Now()
	return min(by.Sub(now), by.Round(0).Sub(now.Round(0)))
}
