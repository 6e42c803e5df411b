// Package sink carries notifications to people and to programs that are no clients
// of MCP: a signed webhook, and a plain line of text for an ntfy topic. Each sink is
// a reader of the log of notifications with a place of its own, which the store
// remembers, and one goroutine, which its caller gives it. A receiver that is slow
// or gone holds up nobody but itself.
//
// What a sink promises: of the notifications that are younger than MaxAge and among
// the newest MaxWaiting, each is sent until the receiver takes it or refuses it for
// good, in their order; one may be sent more than once, and then has the same seq
// and alert_id. It makes no notification, filters none, and takes no setting from
// anyone but the operator.
package sink

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/retry"
)

const (
	// MaxAge is how long a notification is tried. An alert of yesterday is worth a
	// message after a night without network; an older one is history, and can
	// still be fetched with get_notifications.
	MaxAge = 24 * time.Hour

	// MaxWaiting is how many notifications wait for a receiver, the newest: what
	// it missed must not bury what happens now.
	MaxWaiting = 1000

	firstRetry = time.Second
	maxRetry   = 5 * time.Minute
	patience   = 8               // failures of one notification, some minutes, before the next is tried
	saveEvery  = time.Second     // between writes of the place
	lastMoment = 2 * time.Second // for the request that is under way when the program stops
)

// Store remembers how far readers of the log have come.
type Store interface {
	Cursors(ctx context.Context) (map[string]map[string]uint64, error)
	SaveCursors(ctx context.Context, owner string, cursors map[string]uint64) error
}

// Notifications is the part of notify.Inbox that a sink reads.
type Notifications interface {
	Tail(owner string) notify.Tail
}

// Config is what a sink works with. All of it is required.
type Config struct {
	Owner         string // whose notifications are sent
	Notifications Notifications
	Store         Store
	Log           *slog.Logger
	Now           func() time.Time
	Rand          func() float64 // numbers from 0 to below 1, by which retries are spread
}

// Sink sends the notifications of one owner to one receiver.
type Sink struct {
	to    *Receiver
	cfg   Config
	tally tally
}

// New returns a sink that does nothing until Run.
func New(to *Receiver, cfg Config) *Sink {
	cfg.Log = cfg.Log.With("sink", to.Name(), "host", to.Host())
	return &Sink{to: to, cfg: cfg}
}

// Run sends until ctx ends. It calls ready when the store has its place: whatever
// is appended to the log from then on will be sent, also after a crash. A request
// under way at the end has a moment, and hard bounds all. It must be called once.
func (s *Sink) Run(ctx, hard context.Context, ready func()) error {
	defer s.to.Close()
	tail := s.cfg.Notifications.Tail(s.cfg.Owner)
	defer tail.Close()
	r := &run{Sink: s, tail: tail}
	if err := r.restore(ctx); err != nil {
		return err
	}
	ready()
	for ctx.Err() == nil {
		wait, more := r.step(ctx, hard)
		r.pause(ctx, wait, more)
	}
	return r.write(hard)
}

// run is a sink at work. One goroutine owns it.
type run struct {
	*Sink
	tail  notify.Tail
	done  uint64 // up to here everything was taken, refused or passed over
	saved uint64 // what the store has of it
	ahead uint64 // was taken before its turn; see unblock
	fails int    // attempts in a row that failed

	wrote time.Time // when the place was last written, or could not be
	stale bool      // it could not be
}

// restore finds the place in the log. A sink that the store does not know begins at
// the end: who sets one up wants no flood of what happened before. The store has
// the number of the first notification that is not done, as 0 stands for none.
func (r *run) restore(ctx context.Context) error {
	all, err := r.cfg.Store.Cursors(ctx)
	if err != nil {
		return fmt.Errorf("read the place of %s: %w", r.to.Name(), err)
	}
	head := r.tail.Head()
	next := all[r.cfg.Owner][r.cursor()]
	switch {
	case next == 0:
		r.done = head
		return r.write(ctx)
	case next > head+1:
		r.cfg.Log.WarnContext(ctx, "the sink was ahead of the store and is set back", "last", head)
		r.done = head
		return r.write(ctx)
	}
	r.done, r.saved = next-1, next
	return nil
}

// cursor is the name of the place in the store.
func (r *run) cursor() string { return "sink:" + r.to.Name() }

// write makes the place durable.
func (r *run) write(ctx context.Context) error {
	if r.saved == r.done+1 {
		return nil
	}
	if err := r.cfg.Store.SaveCursors(ctx, r.cfg.Owner, map[string]uint64{r.cursor(): r.done + 1}); err != nil {
		return fmt.Errorf("write the place of %s: %w", r.to.Name(), err)
	}
	r.saved = r.done + 1
	return nil
}

// save writes the place behind the deliveries. While that fails it goes on: after a
// crash something would be sent twice, and nothing would be lost.
func (r *run) save(ctx context.Context) {
	err := r.write(ctx)
	r.wrote = r.cfg.Now()
	if ctx.Err() != nil || (err != nil) == r.stale {
		return
	}
	r.stale = err != nil
	if r.stale {
		r.cfg.Log.ErrorContext(ctx, "a restart would send alerts again", "error", err)
		return
	}
	r.cfg.Log.InfoContext(ctx, "a restart would send no alert again")
}

// pause waits for the next notification, or where there are more for a time. It
// writes the place when that is due.
func (r *run) pause(ctx context.Context, wait time.Duration, more bool) {
	ready := r.tail.Ready()
	var over, due <-chan time.Time
	if more {
		ready, over = nil, time.After(wait)
	}
	for {
		if due = nil; r.saved != r.done+1 {
			due = time.After(saveEvery - r.cfg.Now().Sub(r.wrote))
		}
		select {
		case <-ctx.Done():
			return
		case <-ready:
			return
		case <-over:
			return
		case <-due:
			r.save(ctx)
		}
	}
}

// step tries the next notification. It returns how long to wait before another
// step, and false when there is nothing to do.
func (r *run) step(ctx, hard context.Context) (wait time.Duration, more bool) {
	e, passed, count := r.tail.Next(r.done, MaxAge, MaxWaiting)
	if count > 0 {
		r.done = passed
		r.tally.dropped.Add(uint64(count))
		r.cfg.Log.WarnContext(ctx, "alerts were not sent: they are too old, or too many came after them", "count", count, "last_seq", passed)
	}
	if e == nil {
		return 0, false
	}
	if e.Seq == r.ahead {
		r.done = e.Seq
		return 0, true
	}
	r.tally.waits.Store(e.At.UnixNano())
	a := r.send(ctx, hard, e)
	if !a.delivered() && !a.final() {
		if ctx.Err() != nil {
			return 0, true
		}
		r.fails++
		r.tally.failed.Add(1)
		if r.fails > patience && a.status >= 500 && r.unblock(ctx, hard, e) {
			return 0, true
		}
		wait = max(retry.Backoff{First: firstRetry, Max: maxRetry}.Delay(r.fails, r.cfg.Rand), a.wait)
		r.cfg.Log.WarnContext(ctx, "alert not sent yet", "seq", e.Seq, "reason", a.reason(), "attempt", r.fails, "retry_in", wait)
		return wait, true
	}
	r.settle(ctx, e, a)
	return 0, true
}

// settle goes on to the next notification.
func (r *run) settle(ctx context.Context, e *notify.Entry, a answer) {
	r.done = e.Seq
	r.tally.settle(a.delivered())
	switch {
	case !a.delivered():
		r.cfg.Log.ErrorContext(ctx, "alert refused; it will not be sent again", "seq", e.Seq, "reason", a.reason())
	case r.fails > 0:
		r.cfg.Log.InfoContext(ctx, "alert sent", "seq", e.Seq, "attempt", r.fails+1)
	default:
		r.cfg.Log.DebugContext(ctx, "alert sent", "seq", e.Seq)
	}
	r.fails = 0
}

// unblock finds out whether a receiver that has failed for long fails at this one
// notification, which must not keep all others back. It tries the next: when that
// is taken the receiver works, and this one gets a last attempt.
func (r *run) unblock(ctx, hard context.Context, e *notify.Entry) bool {
	next, _, _ := r.tail.Next(max(e.Seq, r.ahead), MaxAge, MaxWaiting)
	if next == nil || !r.send(ctx, hard, next).delivered() {
		return false
	}
	r.ahead = next.Seq
	a := r.send(ctx, hard, e)
	if a.status == 0 || a.status == http.StatusTooManyRequests {
		return false // which says nothing about the notification
	}
	r.settle(ctx, e, a)
	return true
}

// send makes one attempt. When ctx ends it has a moment left.
func (r *run) send(ctx, hard context.Context, e *notify.Entry) answer {
	call, cancel := context.WithCancel(hard)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lastMoment, cancel) })
	defer stop()
	return r.to.post(call, r.to.compose(e, r.cfg.Now()))
}
