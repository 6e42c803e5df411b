package conn

import (
	"context"
	"errors"
	"slices"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
)

// A Check asks the servers whether a caller may still change something. Its error is a fault of kind
// fault.Unauthorized if not.
type Check func(ctx context.Context, by principal.Caller) error

// confirmedFor is how long the answers to checks count, from the moment at which they were asked for.
// A process that was stopped in between asks again: something may have been revoked since.
const confirmedFor = 250 * time.Millisecond

// errOutdated means that the answers to checks came too late to count.
var errOutdated = errors.New("the confirmation of the login is out of date")

// AddCheck adds a check. It must be called before anything is changed over the connection.
func (c *Conn) AddCheck(check Check) { c.checks = append(c.checks, check) }

// Confirm asks the servers, and not what this replica knows, whether a caller may still change
// something: this process may have been stopped while another replica revoked a login. Call it
// directly before the change. more are checks for this change. It tries once.
func (c *Conn) Confirm(ctx context.Context, by principal.Caller, more ...Check) error {
	asked := time.Now()
	for _, check := range slices.Concat(more, c.checks) {
		if err := check(ctx, by); err != nil {
			return err
		}
	}
	if Elapsed(asked, time.Now()) > confirmedFor {
		return errOutdated
	}
	return nil
}

// AwaitConfirmed is Confirm that tries again while the servers do not answer in time.
func (c *Conn) AwaitConfirmed(ctx context.Context, by principal.Caller, more ...Check) error {
	return Unavailable("confirm the login", c.RetryRead(ctx, func(ctx context.Context) error { return c.Confirm(ctx, by, more...) }))
}

// OutliveConfirmations waits until no answer to a check counts that was given before the call. Call it
// after a revocation was written and before it is acknowledged: what was confirmed before it is done
// by then.
func (c *Conn) OutliveConfirmations(ctx context.Context) {
	_ = retry.Sleep(ctx, confirmedFor+confirmedFor/5) // more, for what follows a confirmation
}

// Elapsed returns the time between two readings of the clock, and counts a standstill of the machine,
// in which the monotonic clock does not advance, and a step of the wall clock backwards as none.
func Elapsed(from, to time.Time) time.Duration {
	return max(to.Sub(from), to.Round(0).Sub(from.Round(0)))
}
