package sink

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"candela/internal/alerting/notify"
)

// Paced is a receiver that is given several notifications at once, not too often and not too many times a day, because
// each time costs something.
type Paced interface {
	Receiver
	Pace() Pace
}

// Pace is how often a paced receiver is called.
type Pace struct {
	Most   int           // notifications at once
	Every  time.Duration // between two calls, at least
	PerDay int           // calls on a day in UTC
}

// Batch is what a paced receiver is given.
type Batch struct {
	Entries   []*notify.Entry // oldest first, at least one
	More      int             // that wait for the next call
	LeftToday int             // calls after this one
}

// paced is the state of a sink whose receiver is paced.
type paced struct {
	Pace

	called time.Time // the last time
	full   int64     // the day whose calls are used up; 0 for none
}

const day = 24 * time.Hour

// stepPaced gives the receiver what waits, if it is time. It returns the delay before the next step, and false if
// nothing waits.
func (r *run) stepPaced(ctx, hard context.Context) (wait time.Duration, more bool) {
	b := r.collect(ctx)
	if len(b.Entries) == 0 {
		return 0, false
	}
	r.count(func(s *Status) { s.Waits = b.Entries[0].At })
	now := r.cfg.Now()
	if early := r.paced.called.Add(r.paced.Every).Sub(now); early > 0 {
		return early, true
	}
	left, err := r.takeCall(ctx, now)
	if err != nil {
		return r.failed(ctx, b.Entries[0].Seq, Answer{Text: err.Error()}), true
	}
	if left < 0 {
		return r.used(ctx, now), true
	}
	r.paced.called, b.LeftToday = now, left
	call, cancel := LastMoment(ctx, hard)
	defer cancel()
	a := r.to.Send(call, Message{Now: now, Batch: b})
	if left == 0 {
		r.lastOfDay(ctx, now)
	}
	if a.Outcome != Delivered && a.Outcome != Refused {
		return max(r.failed(ctx, b.Entries[0].Seq, a), r.paced.Every), true
	}
	for _, e := range b.Entries {
		r.settle(ctx, e, a)
	}
	return 0, true
}

// collect returns what the receiver is given next.
func (r *run) collect(ctx context.Context) *Batch {
	b := &Batch{}
	for e := r.next(ctx); e != nil; e, _, _ = r.tail.Next(e.Seq, MaxAge, MaxWaiting) {
		if len(b.Entries) < r.paced.Most {
			b.Entries = append(b.Entries, e)
		} else {
			b.More++
		}
	}
	return b
}

// used notes that the calls of the day are used up and returns how long the day lasts.
func (r *run) used(ctx context.Context, now time.Time) time.Duration {
	text := fmt.Sprintf("%d calls today, the most there may be; the next is after midnight UTC", r.paced.PerDay)
	r.count(func(s *Status) { s.Problem = text })
	if r.paced.full != dayOf(now) {
		r.paced.full = dayOf(now)
		r.cfg.Log.WarnContext(ctx, "sink rests until midnight UTC", "reason", text)
	}
	return now.Truncate(day).Add(day).Sub(now)
}

// dayOf counts the days in UTC.
func dayOf(at time.Time) int64 { return at.Unix() / int64(day/time.Second) }

// callsADay separates the day from its calls in the stored number.
const callsADay = 1_000_000

// takeCall counts a call before it is made, so that no crash refills the day. It returns how many are left, -1 if this
// is one too many.
func (r *run) takeCall(ctx context.Context, now time.Time) (left int, err error) {
	all, err := r.cfg.Store.Cursors(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the calls of today: %w", err)
	}
	today := uint64(dayOf(now)) * callsADay //nolint:gosec // G115: it is after 1970
	calls := max(all[r.cfg.Owner][r.callsCursor()], today)
	if left = r.paced.PerDay - int(calls-today) - 1; left < 0 { //nolint:gosec // G115: below a million
		return -1, nil
	}
	if err := r.cfg.Store.SaveCursors(ctx, r.cfg.Owner, map[string]uint64{r.callsCursor(): calls + 1}); err != nil {
		return 0, fmt.Errorf("count a call of today: %w", err)
	}
	return left, nil
}

// callsSuffix ends the names under which the calls of a day are stored.
const callsSuffix = ":calls"

func (r *run) callsCursor() string { return r.cursor() + callsSuffix }

// CountsCalls reports whether a stored cursor is no place in the log but counts the calls of a day.
func CountsCalls(reader string) bool { return strings.HasSuffix(reader, callsSuffix) }

// lastOfDay notifies the owner that there are no more calls today.
func (r *run) lastOfDay(ctx context.Context, now time.Time) {
	if r.cfg.Post == nil {
		return
	}
	err := r.cfg.Post(Notice{
		ID: "calls-" + r.to.Name + "-" + strconv.FormatInt(dayOf(now), 10), Title: "No more calls of " + r.to.Host() + " today",
		Text:  fmt.Sprintf("%s was called %d times today, the most there may be. It is called again after midnight UTC; until then what happens waits.", r.to.Host(), r.paced.PerDay),
		Until: now.Truncate(day).Add(day),
	})
	if err != nil {
		r.cfg.Log.ErrorContext(ctx, "notice about the last call of today not posted", "error", err)
	}
}
