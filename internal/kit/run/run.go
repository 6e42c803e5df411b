// Package run lets calls that take long go on after their clients were answered, and keeps what they returned for an
// hour. It bounds how many there are, of all owners and of each.
package run

import (
	"context"
	"crypto/rand"
	"errors"
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
	keepFor       = time.Hour // after it has ended
)

// ErrCancelled is the cause of the context of a run that its client has cancelled.
var ErrCancelled = errors.New("the run was cancelled")

// Runs are calls that may go on after their clients were answered. The zero value is ready to use, by any number of
// goroutines.
type Runs[T any] struct {
	Limit *Limit // of several Runs together; nil for one of its own

	mu      sync.Mutex
	kept    []*Run[T] // those that were answered before they ended, the oldest first
	running sync.WaitGroup
}

// Limit bounds the runs that go on without their clients. It is safe for concurrent use.
type Limit struct {
	mu  sync.Mutex
	all int
	of  map[principal.Owner]int
}

func (l *Limit) enter(owner principal.Owner) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= mostRuns || l.of[owner] >= mostRunsOfOne {
		return false
	}
	if l.of == nil {
		l.of = make(map[principal.Owner]int)
	}
	l.all++
	l.of[owner]++
	return true
}

func (l *Limit) leave(owner principal.Owner) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.of[owner]--; l.of[owner] == 0 {
		delete(l.of, owner)
	}
}

// Run is a call that may go on after its client was answered.
type Run[T any] struct {
	ID    string
	Began time.Time
	by    principal.Caller
	done  chan struct{}
	own   context.Context //nolint:containedctx // of the call, which the run lives as long as
	stop  context.CancelCauseFunc

	// Set before done is closed.
	result   T
	err      error
	panicked any
	ended    time.Time

	mu       sync.Mutex
	progress string
	noted    time.Time
	forward  func(done, total int, message string) // nil when the client no longer waits
}

// Do runs a call. It returns nil and the result if the call ends within wait, or if there are
// too many runs already; otherwise it returns the run, which goes on. A negative wait has no
// limit. A call whose ctx ends first is cancelled. The call reports how far it is by the function
// that it gets; forward passes that on while the client waits and may be nil.
func (r *Runs[T]) Do(ctx context.Context, by principal.Caller, wait time.Duration, forward func(done, total int, message string), call func(context.Context, func(done, total int, message string)) (T, error)) (*Run[T], T, error) {
	own, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	began := time.Now()
	run := &Run[T]{ID: rand.Text()[:16], by: by, Began: began, noted: began, done: make(chan struct{}), own: own, stop: stop, forward: forward}
	r.running.Go(func() {
		defer stop(nil)
		defer r.end(run)
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
			if limit = nil; r.keep(run) {
				return run, *new(T), nil
			}
			continue
		}
		result, err := run.Result()
		return nil, result, err
	}
}

// end marks a run as ended, and lets another go on in its place if it was kept.
func (r *Runs[T]) end(run *Run[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run.ended = time.Now()
	close(run.done)
	if slices.Contains(r.kept, run) {
		r.limit().leave(run.by.Subject)
	}
}

// limit is the bound of the runs; the caller holds mu.
func (r *Runs[T]) limit() *Limit {
	if r.Limit == nil {
		r.Limit = &Limit{}
	}
	return r.Limit
}

// Result returns what a run that has ended returned. A panic of the call is one of the caller.
func (r *Run[T]) Result() (T, error) {
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.result, r.err
}

// By returns who began the run.
func (r *Run[T]) By() principal.Caller { return r.by }

// Cancel ends the context of a run, and reports nothing about one that has ended.
func (r *Run[T]) Cancel() { r.stop(ErrCancelled) }

// Cancelled reports whether Cancel was called before the run ended.
func (r *Run[T]) Cancelled() bool { return errors.Is(context.Cause(r.own), ErrCancelled) }

// note remembers how far a run is.
func (r *Run[T]) note(done, total int, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress, r.noted = message, time.Now()
	if r.forward != nil {
		r.forward(done, total, message)
	}
}

// Progress says how far a run is, "" if it has not said so, and for how long it has run.
func (r *Run[T]) Progress() (message string, since time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.progress, time.Since(r.Began)
}

// Changed returns when the run ended, or last said how far it is.
func (r *Run[T]) Changed() time.Time {
	if r.Done() {
		return r.ended
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.noted
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
	return r.Done()
}

// Done reports whether a run has ended.
func (r *Run[T]) Done() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// keep lets a run go on without its client. It reports false if there are too many, or if it has ended.
func (r *Runs[T]) keep(run *Run[T]) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if run.Done() || !r.limit().enter(run.by.Subject) {
		return false
	}
	r.forget()
	run.mu.Lock()
	run.forward = nil
	run.mu.Unlock()
	r.kept = append(r.kept, run)
	time.AfterFunc(longestRun, func() { run.stop(context.DeadlineExceeded) })
	return true
}

// forget drops runs that ended long ago, and while there are too many the oldest of the owner who has most of them, so
// that one who makes many loses his own.
func (r *Runs[T]) forget() {
	r.kept = slices.DeleteFunc(r.kept, func(k *Run[T]) bool { return k.Done() && time.Since(k.ended) > keepFor })
	of, ended := make(map[principal.Owner]int), 0
	for _, k := range r.kept {
		if k.Done() {
			of[k.by.Subject]++
			ended++
		}
	}
	for ; ended >= mostEnded; ended-- {
		most := 0
		for _, n := range of {
			most = max(most, n)
		}
		i := slices.IndexFunc(r.kept, func(k *Run[T]) bool { return k.Done() && of[k.by.Subject] == most })
		of[r.kept[i].by.Subject]--
		r.kept = slices.Delete(r.kept, i, i+1)
	}
}

// Get returns a run of an owner that was answered before it ended.
func (r *Runs[T]) Get(owner principal.Owner, id string) (*Run[T], bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.kept, func(k *Run[T]) bool { return k.by.Subject == owner && k.ID == id })
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
