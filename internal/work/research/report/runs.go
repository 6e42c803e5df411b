package report

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"candela/internal/kit/principal"
)

// Bounds of runs that go on after their call was answered.
const (
	mostRuns      = 8
	mostRunsOfOne = 2
	mostEnded     = 32
	longestRun    = 15 * time.Minute
)

// Runs lets calls that take long go on after their clients were answered. The zero value is
// ready to use, by any number of goroutines.
type Runs[T any] struct {
	mu      sync.Mutex
	kept    []*Run[T] // those that were answered before they ended, the oldest first
	running sync.WaitGroup
}

// Run is a call that may go on after its client was answered.
type Run[T any] struct {
	ID    string
	owner principal.Owner
	began time.Time
	done  chan struct{}
	stop  context.CancelCauseFunc

	// Set before done is closed.
	result   T
	err      error
	panicked any

	mu       sync.Mutex
	progress string
	forward  func(done, total int, message string) // nil when the client no longer waits
}

// Do runs a call. It returns nil and the result if the call ends within wait, or if there are
// too many runs already; otherwise it returns the run, which goes on. A negative wait has no
// limit. A call whose ctx ends first is cancelled. The call reports how far it is by the function
// that it gets; forward passes that on while the client waits and may be nil.
func (r *Runs[T]) Do(ctx context.Context, owner principal.Owner, wait time.Duration, forward func(done, total int, message string), call func(context.Context, func(done, total int, message string)) (T, error)) (*Run[T], T, error) {
	own, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	run := &Run[T]{ID: rand.Text()[:16], owner: owner, began: time.Now(), done: make(chan struct{}), stop: stop, forward: forward}
	r.running.Go(func() {
		defer stop(nil)
		defer close(run.done)
		defer func() { run.panicked = recover() }()
		run.result, run.err = call(own, run.note)
	})
	var limit <-chan time.Time
	if wait >= 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		limit = timer.C
	}
	for {
		select {
		case <-run.done:
		case <-ctx.Done():
			stop(context.Cause(ctx))
			<-run.done
		case <-limit:
			if limit = nil; r.keep(run) { //nolint:contextcheck // a run that is kept outlives the call
				return run, *new(T), nil
			}
			continue
		}
		result, err := run.Result()
		return nil, result, err
	}
}

// Result returns what a run that has ended returned. A panic of the call is one of the caller.
func (r *Run[T]) Result() (T, error) {
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.result, r.err
}

// note remembers how far a run is.
func (r *Run[T]) note(done, total int, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = message
	if r.forward != nil {
		r.forward(done, total, message)
	}
}

// Progress says how far a run is, "" if it has not said so, and for how long it has run.
func (r *Run[T]) Progress() (message string, since time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress, time.Since(r.began)
}

// Wait waits until a run has ended, and reports whether it has.
func (r *Run[T]) Wait(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-r.done:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (r *Run[T]) isDone() bool { return r.Wait(context.Background(), 0) }

// keep lets a run go on without its client. It reports false if there are too many.
func (r *Runs[T]) keep(run *Run[T]) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, own, over := 0, 0, 0
	for _, k := range r.kept {
		if k.isDone() {
			over++
			continue
		}
		all++
		if k.owner == run.owner {
			own++
		}
	}
	if all >= mostRuns || own >= mostRunsOfOne {
		return false
	}
	r.kept = slices.DeleteFunc(r.kept, func(k *Run[T]) bool {
		gone := k.isDone() && (over > mostEnded || time.Since(k.began) > longestRun+keepFor)
		if gone {
			over--
		}
		return gone
	})
	run.mu.Lock()
	run.forward = nil
	run.mu.Unlock()
	r.kept = append(r.kept, run)
	time.AfterFunc(longestRun, func() { run.stop(context.DeadlineExceeded) })
	return true
}

// Get returns a run of an owner that was answered before it ended.
func (r *Runs[T]) Get(owner principal.Owner, id string) (*Run[T], bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.kept, func(k *Run[T]) bool { return k.owner == owner && k.ID == id })
	if i < 0 {
		return nil, false
	}
	return r.kept[i], true
}

// Close cancels the runs and waits for them.
func (r *Runs[T]) Close() {
	r.mu.Lock()
	for _, k := range r.kept {
		k.stop(context.Canceled)
	}
	r.mu.Unlock()
	r.running.Wait()
}
