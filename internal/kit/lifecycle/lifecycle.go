// Package lifecycle starts the parts of a program in order and stops them in reverse. It knows nothing of what
// they do. Package app builds the parts.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// Work is the Run of a Part.
type Work = func(ctx, hard context.Context, ready func()) error

// Part is a long-running piece of the program.
type Part struct {
	Name string

	// Run does the part's work in its own goroutine. It calls ready when the next part
	// may start, and returns soon after ctx ends. Requests in flight may finish until
	// hard ends. Returning nil earlier means that the work is done; returning an error
	// means that the program cannot continue. Either stops all other parts.
	Run Work

	// Ending returns when the part began to finish on its own, or zero if it has not.
	// The grace of the stop counts from then. nil: the part returns as soon as its work
	// is done.
	Ending func() time.Time
}

// killTimeout is how long parts may take to return after the grace of a stop is over and
// their contexts are cancelled.
const killTimeout = 500 * time.Millisecond

// running is a part with its goroutine.
type running struct {
	name  string
	stop  context.CancelFunc
	ready chan struct{}
	done  chan struct{} // closed when Run has returned
	err   error         // valid once done is closed
}

// Run starts the parts in order, each when the one before is ready, waits until ctx
// ends or a part returns, and stops them in reverse. The stop takes at most grace plus
// killTimeout. The error names the part that failed or did not stop.
func Run(ctx context.Context, parts []Part, grace time.Duration, log *slog.Logger) error {
	hard, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	work, over := context.WithCancelCause(ctx) // ends with ctx, or when a part returns
	defer over(nil)
	started := startAll(work, hard, parts, over)
	if work.Err() == nil {
		log.InfoContext(ctx, "ready")
		<-work.Done()
	}
	log.InfoContext(ctx, "stopping", "cause", context.Cause(work))
	return stopAll(started, begun(parts), grace, kill)
}

// begun returns when the current stop began.
func begun(parts []Part) time.Time {
	first := time.Now()
	for _, p := range parts {
		if p.Ending == nil {
			continue
		}
		if since := p.Ending(); !since.IsZero() && since.Before(first) {
			first = since
		}
	}
	return first
}

// startAll starts parts until all are ready or work has ended.
func startAll(work, hard context.Context, parts []Part, over context.CancelCauseFunc) []*running {
	started := make([]*running, 0, len(parts))
	for _, p := range parts {
		r := start(hard, p, over)
		started = append(started, r)
		select {
		case <-r.ready:
		case <-work.Done():
			return started
		}
	}
	return started
}

// start runs the part under a context that only stopAll cancels, so that the end of the
// program's context does not stop all parts at the same time.
func start(hard context.Context, p Part, over context.CancelCauseFunc) *running {
	ctx, stop := context.WithCancel(hard)
	r := &running{name: p.Name, stop: stop, ready: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer stop()
		r.err = p.Run(ctx, hard, sync.OnceFunc(func() { close(r.ready) }))
		close(r.done)
		over(fmt.Errorf("%s has returned", p.Name))
	}()
	return r
}

// stopAll stops in reverse, each part after the one that was started later has
// returned. When grace is over it cancels everything at once.
func stopAll(started []*running, begun time.Time, grace time.Duration, kill context.CancelFunc) error {
	deadline := time.NewTimer(time.Until(begun.Add(grace)))
	defer deadline.Stop()
	for _, r := range slices.Backward(started) {
		r.stop()
		select {
		case <-r.done:
		case <-deadline.C:
			late := overdue(started, grace)
			kill()
			awaitKilled(started)
			return errors.Join(late, failures(started))
		}
	}
	return failures(started)
}

// overdue names the parts that still run.
func overdue(started []*running, grace time.Duration) error {
	var late []string
	for _, r := range started {
		if !r.returned() {
			late = append(late, r.name)
		}
	}
	return fmt.Errorf("not stopped within %v: %s", grace, strings.Join(late, ", "))
}

// awaitKilled waits for the parts to return, killTimeout for all together.
func awaitKilled(started []*running) {
	limited, cancel := context.WithTimeout(context.Background(), killTimeout)
	defer cancel()
	for _, r := range started {
		select {
		case <-r.done:
		case <-limited.Done():
		}
	}
}

func (r *running) returned() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// failures joins the errors of the returned parts, except for cancellation.
func failures(started []*running) error {
	var errs []error
	for _, r := range started {
		if !r.returned() || r.err == nil || errors.Is(r.err, context.Canceled) {
			continue
		}
		if _, named := errors.AsType[*partError](r.err); !named {
			r.err = &partError{r.name, r.err}
		}
		errs = append(errs, r.err)
	}
	return errors.Join(errs...)
}

// partError is the error of a part. The error of a part that runs others names these alone.
type partError struct {
	part string
	err  error
}

func (e *partError) Error() string { return e.part + ": " + e.err.Error() }

func (e *partError) Unwrap() error { return e.err }
