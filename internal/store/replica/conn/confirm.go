package conn

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/kit/sendby"
)

// A Check asks the servers whether a caller may still change something. Its error is a fault of kind
// fault.Unauthorized if not.
type Check func(ctx context.Context, by principal.Caller) error

// confirmedFor is how long the answers to checks count, from the moment at which they were asked for.
// A process that was stopped in between asks again: something may have been revoked since. It is much
// longer than an answer takes from servers far away or on a busy machine: where no answer counts, no
// order is sent.
const confirmedFor = time.Second

// AddCheck adds a check. It must be called before anything is changed over the connection.
func (c *Conn) AddCheck(check Check) { c.checks = append(c.checks, check) }

// Confirm asks the servers, and not what this replica knows, whether a caller may still change
// something: this process may have been stopped while another replica revoked a login. Call it
// directly before the change, which must leave before the time that it returns. more are checks for this
// change. All are asked at once. It tries once.
func (c *Conn) Confirm(ctx context.Context, by principal.Caller, more ...Check) (time.Time, error) {
	until := time.Now().Add(confirmedFor)
	checks := slices.Concat(more, c.checks)
	questions := make([]func() error, len(checks))
	for i, check := range checks {
		questions[i] = func() error { return check(ctx, by) }
	}
	if err := Together(questions...); err != nil {
		return time.Time{}, err
	}
	if sendby.Until(until) <= 0 {
		return time.Time{}, sendby.ErrLate
	}
	return until, nil
}

// Together calls functions at the same time, so that several reads take as long as one. It returns
// the error of the first that has one.
func Together(all ...func() error) error {
	var running sync.WaitGroup
	failed := make([]error, len(all))
	for i, each := range all {
		running.Go(func() { failed[i] = each() })
	}
	running.Wait()
	return cmp.Or(failed...)
}

// AwaitConfirmed is Confirm that tries again while the servers do not answer in time.
func (c *Conn) AwaitConfirmed(ctx context.Context, by principal.Caller, more ...Check) (until time.Time, err error) {
	err = c.RetryRead(ctx, func(ctx context.Context) error {
		until, err = c.Confirm(ctx, by, more...)
		return err
	})
	return until, Unavailable("confirm the login", err)
}

// OutliveConfirmations waits until no answer to a check counts that was given before the call. Call it
// after a revocation was written and before it is acknowledged: what was confirmed before it is done
// by then.
func (c *Conn) OutliveConfirmations(ctx context.Context) {
	_ = retry.Sleep(ctx, confirmedFor+sendby.Travel+confirmedFor*3/10) // more, for clocks that differ
}
