// Package sink sends notifications to receivers that are not MCP clients. It owns the
// delivery: the order, the retries, the bounds and the addresses that may be connected to.
// The receivers are packages below it, each declared by a Descriptor. Each sink reads the
// log with its own stored cursor and runs in its caller's goroutine. A slow or absent
// receiver delays nobody else.
//
// A sink sends each notification that is younger than MaxAge and among the newest
// MaxWaiting, in order, until the receiver accepts it or refuses it permanently. A
// notification may be sent more than once, with the same seq and alert_id.
package sink

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
)

const (
	// MaxAge is how long a notification is retried: long enough for a night without
	// network. Older ones can still be polled with get_notifications.
	MaxAge = 24 * time.Hour

	// MaxWaiting bounds the notifications that wait for a receiver. The newest are kept.
	MaxWaiting = 1000

	firstRetry = time.Second
	maxRetry   = 5 * time.Minute
	patience   = 8               // failures of one notification, some minutes, before the next is tried
	saveEvery  = time.Second     // between writes of the cursor
	lastMoment = 2 * time.Second // for the request in progress at shutdown
)

// HeaderSeq is the HTTP header with the sequence number of a notification.
const HeaderSeq = "Candela-Seq"

// Store keeps the cursors of sinks.
type Store interface {
	Cursors(ctx context.Context) (map[principal.Owner]map[string]uint64, error)
	SaveCursors(ctx context.Context, owner principal.Owner, cursors map[string]uint64) error
}

// Notifications is the part of notify.Inbox that a sink reads.
type Notifications interface {
	Tail(owner principal.Owner, kinds notify.Kinds) notify.Tail
}

// Config configures a sink. All fields but Post are required.
type Config struct {
	Owner         principal.Owner // whose notifications are sent
	Notifications Notifications
	Kinds         notify.Kinds // of the notifications that are sent; zero for alerts
	Store         Store
	Log           *slog.Logger
	Now           func() time.Time
	Rand          func() float64     // from 0 to below 1, for the jitter of retries
	Post          func(Notice) error // notifies the owner; nil: nobody is notified
}

// Sink sends the notifications of one owner to one receiver.
type Sink struct {
	to  Target
	cfg Config

	mu     sync.Mutex
	status Status
	times  []delivery // of the newest notifications, oldest first
}

// New returns a sink. It sends nothing before Run.
func New(to Target, cfg Config) *Sink {
	cfg.Log = cfg.Log.With("sink", to.Name, "host", to.Host())
	return &Sink{to: to, cfg: cfg, status: Status{Name: to.Name}}
}

// Run sends until ctx ends. It calls ready once the cursor is stored: entries appended later
// are sent even after a crash. The request in progress at the end gets lastMoment, and hard
// bounds everything. Run must be called once.
func (s *Sink) Run(ctx, hard context.Context, ready func()) error {
	defer s.to.Close()
	tail := s.cfg.Notifications.Tail(s.cfg.Owner, s.cfg.Kinds)
	defer tail.Close()
	r := &run{Sink: s, tail: tail}
	if p, ok := s.to.Receiver.(Paced); ok {
		r.paced = &paced{Pace: p.Pace()}
	}
	if err := r.restore(ctx); err != nil {
		return err
	}
	ready()
	for ctx.Err() == nil && !r.stopped {
		wait, more := r.step(ctx, hard)
		r.pause(ctx, wait, more)
	}
	<-ctx.Done()
	return r.write(hard)
}

// Test makes one attempt to deliver a test message. The counters do not change.
func (s *Sink) Test(ctx context.Context) Answer { return s.to.Send(ctx, Message{Now: s.cfg.Now()}) }

// run is the state of Run. One goroutine owns it.
type run struct {
	*Sink
	tail  notify.Tail
	done  uint64 // everything up to here was accepted, refused or skipped
	saved uint64 // the stored value of done
	ahead uint64 // accepted out of order; see unblock
	fails int    // consecutive failures

	stopped bool   // the receiver wants nothing more
	paced   *paced // of a receiver that is paced; nil for others

	wrote time.Time // of the last attempt to store the cursor
	stale bool      // that attempt failed
}

// restore loads the cursor. A new sink begins at the head, so that its receiver is not
// flooded. The stored number is that of the first unfinished notification; 0 means none.
func (r *run) restore(ctx context.Context) error {
	all, err := r.cfg.Store.Cursors(ctx)
	if err != nil {
		return fmt.Errorf("read cursor of %s: %w", r.to.Name, err)
	}
	head := r.tail.Head()
	next := all[r.cfg.Owner][r.cursor()]
	if next > 0 && next <= head+1 {
		r.done, r.saved = next-1, next
		return nil
	}
	if next > 0 {
		r.cfg.Log.WarnContext(ctx, "sink cursor rewound: ahead of the store", "head", head)
	}
	r.done = head
	return r.write(ctx)
}

// cursor is the name of the stored cursor.
func (r *run) cursor() string { return "sink:" + r.to.Name }

// write stores the cursor.
func (r *run) write(ctx context.Context) error {
	if r.saved == r.done+1 {
		return nil
	}
	if err := r.cfg.Store.SaveCursors(ctx, r.cfg.Owner, map[string]uint64{r.cursor(): r.done + 1}); err != nil {
		return fmt.Errorf("write cursor of %s: %w", r.to.Name, err)
	}
	r.saved = r.done + 1
	return nil
}

// save stores the cursor from time to time. While that fails, sending continues: a crash
// would repeat notifications but lose none.
func (r *run) save(ctx context.Context) {
	err := r.write(ctx)
	r.wrote = r.cfg.Now()
	if ctx.Err() != nil || (err != nil) == r.stale {
		return
	}
	r.stale = err != nil
	if r.stale {
		r.cfg.Log.ErrorContext(ctx, "saving the sink cursor failed; a restart would repeat alerts", "error", err)
		return
	}
	r.cfg.Log.InfoContext(ctx, "saving the sink cursor recovered")
}

// pause waits for the next notification, or for a retry. It stores the cursor when due.
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

// step tries the next notification. It returns the delay before the next step, and false if
// none is waiting.
func (r *run) step(ctx, hard context.Context) (wait time.Duration, more bool) {
	if r.paced != nil {
		return r.stepPaced(ctx, hard)
	}
	e := r.next(ctx)
	if e == nil {
		return 0, false
	}
	if e.Seq == r.ahead {
		r.done = e.Seq
		return 0, true
	}
	r.count(func(s *Status) { s.Waits = e.At })
	a := r.send(ctx, hard, e)
	if a.Stop {
		r.stopped = true
		r.count(func(s *Status) { s.Failed, s.Problem = s.Failed+1, a.Text })
		r.cfg.Log.ErrorContext(ctx, "sink stopped: the receiver wants nothing more", "seq", e.Seq, "reason", a.Text)
		return 0, true
	}
	if a.Outcome != Delivered && a.Outcome != Refused {
		if ctx.Err() != nil {
			return 0, true
		}
		wait = r.failed(ctx, e.Seq, a)
		if r.fails > patience && a.Outcome == Failed && r.unblock(ctx, hard, e) {
			return 0, true
		}
		return wait, true
	}
	r.settle(ctx, e, a)
	return 0, true
}

// next returns the first notification that waits, nil if there is none, and passes over those that are too old or too
// many.
func (r *run) next(ctx context.Context) *notify.Entry {
	e, passed, count := r.tail.Next(r.done, MaxAge, MaxWaiting)
	if count > 0 {
		r.done = passed
		dropped := uint64(count)
		r.count(func(s *Status) { s.Dropped += dropped })
		r.cfg.Log.WarnContext(ctx, "alerts dropped: too old or too many", "count", count, "last_seq", passed)
	}
	return e
}

// failed notes a failure that passes and returns when to try again.
func (r *run) failed(ctx context.Context, seq uint64, a Answer) time.Duration {
	r.fails++
	r.count(func(s *Status) { s.Failed, s.Problem = s.Failed+1, a.Text })
	wait := max(retry.Backoff{First: firstRetry, Max: maxRetry}.Delay(r.fails, r.cfg.Rand), a.Wait)
	r.cfg.Log.WarnContext(ctx, "sending alert failed; retrying", "seq", seq, "reason", a.Text, "attempt", r.fails, "retry_in", wait)
	return wait
}

// settle finishes a notification.
func (r *run) settle(ctx context.Context, e *notify.Entry, a Answer) {
	r.done = e.Seq
	if a.Outcome == Delivered {
		r.noteTime(e.Seq, r.cfg.Now().Sub(e.At))
	}
	r.count(func(s *Status) {
		s.Waits = time.Time{}
		if a.Outcome == Delivered {
			s.Delivered, s.Problem = s.Delivered+1, ""
		} else {
			s.Refused, s.Problem = s.Refused+1, a.Text
		}
	})
	switch {
	case a.Outcome != Delivered:
		r.cfg.Log.ErrorContext(ctx, "alert refused; not retried", "seq", e.Seq, "reason", a.Text)
	case r.fails > 0:
		r.cfg.Log.InfoContext(ctx, "alert sent", "seq", e.Seq, "attempt", r.fails+1)
	default:
		r.cfg.Log.DebugContext(ctx, "alert sent", "seq", e.Seq)
	}
	r.fails = 0
}

// unblock checks whether a receiver fails because of this one notification, which must not
// block the others. It tries the next: if that is accepted, the receiver works and this one
// gets a last attempt.
func (r *run) unblock(ctx, hard context.Context, e *notify.Entry) bool {
	next, _, _ := r.tail.Next(max(e.Seq, r.ahead), MaxAge, MaxWaiting)
	if next == nil || r.send(ctx, hard, next).Outcome != Delivered {
		return false
	}
	r.ahead = next.Seq
	a := r.send(ctx, hard, e)
	if a.Outcome == Unreachable {
		return false // not the fault of the notification
	}
	r.settle(ctx, e, a)
	return true
}

// send makes one attempt. After ctx ends it gets lastMoment.
func (r *run) send(ctx, hard context.Context, e *notify.Entry) Answer {
	call, cancel := LastMoment(ctx, hard)
	defer cancel()
	return r.to.Send(call, Message{Now: r.cfg.Now(), Alert: e})
}

// LastMoment returns a context for a request that must not end half done: it ends two
// seconds after ctx, or with hard. The caller must call cancel.
func LastMoment(ctx, hard context.Context) (_ context.Context, cancel func()) {
	call, end := context.WithCancel(hard)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lastMoment, end) })
	return call, func() {
		stop()
		end()
	}
}

// Status describes a sink. The counters only grow.
type Status struct {
	Name      string
	Delivered uint64
	Refused   uint64    // permanently, by the receiver
	Failed    uint64    // attempts that are retried
	Dropped   uint64    // too old or too many
	Waits     time.Time // commit time of the notification being tried; zero for none
	Problem   string    // why the last attempt failed; "" after a delivery
}

// maxTimes is how many delivery times a sink remembers.
const maxTimes = 200

// delivery is how long a notification took from its commit to its receiver.
type delivery struct {
	seq  uint64
	took time.Duration
}

func (s *Sink) noteTime(seq uint64, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.times) == maxTimes {
		s.times = slices.Delete(s.times, 0, 1)
	}
	s.times = append(s.times, delivery{seq, took})
}

// Took returns how long after its commit a notification was delivered, false if it was not
// delivered since the start or too many were since.
func (s *Sink) Took(seq uint64) (time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.times, func(d delivery) bool { return d.seq == seq })
	if at < 0 {
		return 0, false
	}
	return s.times[at].took, true
}

// Status returns the current status.
func (s *Sink) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

func (s *Sink) count(change func(*Status)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.status)
}
