package core

import (
	"context"
	"slices"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/records"
	"candela/internal/kit/shutdown"
)

// Poll calls take when the polling queue has entries, until take returns some or fails, or
// the wait is over.
func (o *Owner) Poll(ctx context.Context, wait time.Duration, take func() (*notify.Batch, error)) (*notify.Batch, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for expired := wait <= 0; ; {
		turn, ready, err := o.addWaiter(ctx, expired)
		switch {
		case err != nil:
			return nil, err
		case ready:
			b, err := take()
			if err != nil || len(b.Entries) > 0 {
				return b, err
			}
			continue // another caller was faster
		case expired:
			return &notify.Batch{}, nil
		}
		select {
		case <-turn:
			continue
		case <-ctx.Done():
		case <-timer.C:
			expired = true
		case <-shutdown.Context(ctx).Done():
			expired = true
		}
		o.removeWaiter(turn)
	}
}

// addWaiter reports whether the queue has entries. If it has none, and unless the wait is
// over, it returns a channel that receives once there may be some.
func (o *Owner) addWaiter(ctx context.Context, expired bool) (turn chan struct{}, ready bool, err error) {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	if err := ctx.Err(); err != nil {
		o.WakeOne() // this caller may have been the one that was woken
		return nil, false, err
	}
	if ready = o.Pollable(); ready || expired {
		return nil, ready, nil
	}
	turn = make(chan struct{}, 1)
	o.waiters = append(o.waiters, turn)
	return turn, false, nil
}

// removeWaiter removes a waiter. One that was woken meanwhile is not in the list; addWaiter,
// which comes next, passes the signal on.
func (o *Owner) removeWaiter(turn chan struct{}) {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	o.waiters = slices.DeleteFunc(o.waiters, func(other chan struct{}) bool { return other == turn })
}

// WakeOne wakes the first waiter. It takes everything or wakes the next, so one is enough.
// Mu is held.
func (o *Owner) WakeOne() {
	if len(o.waiters) > 0 {
		o.waiters[0] <- struct{}{} // has room, and is in the list once
		o.waiters = slices.Delete(o.waiters, 0, 1)
	}
}

// Pollable reports whether the polling queue has entries. Mu is held.
func (o *Owner) Pollable() bool {
	v, now := o.view.Load(), o.now().UnixNano()
	if rest := v.after(o.Queue.Cursor); len(rest) > 0 && rest[len(rest)-1].youngerThan(notify.PollTTL, now) {
		return true
	}
	return slices.ContainsFunc(o.Queue.Returned, func(seq uint64) bool {
		e := v.find(seq)
		return e != nil && e.youngerThan(notify.PollTTL, now)
	})
}

// Dequeue takes the newest MaxPolled entries out of a queue as far as limit allows, and
// returns how many are left. Returned entries that this log does not hold yet stay.
func (o *Owner) Dequeue(q *records.Queue, limit notify.Bound) (taken []notify.Entry, left int) {
	v, now := o.view.Load(), o.now().UnixNano()
	var ahead records.SeqDeltas
	for _, seq := range q.Returned {
		if seq > v.head {
			ahead = append(ahead, seq)
		} else if e := v.find(seq); e != nil && e.youngerThan(notify.PollTTL, now) {
			taken = append(taken, e.entry(o.Name))
		}
	}
	rest := v.after(q.Cursor)
	rest = rest[max(0, len(rest)-notify.MaxPolled):]
	for i := range rest {
		if e := &rest[i]; e.youngerThan(notify.PollTTL, now) {
			taken = append(taken, e.entry(o.Name))
		}
	}
	taken = taken[max(0, len(taken)-notify.MaxPolled):]
	n := limit.Fit(taken)
	q.Returned, q.Cursor = append(records.SeqDeltas(Seqs(taken[n:])), ahead...), max(q.Cursor, v.head)
	return taken[:n], len(taken) - n
}

// Entries returns those of the entries that the log holds.
func (o *Owner) Entries(seqs []uint64) []notify.Entry {
	v := o.view.Load()
	entries := make([]notify.Entry, 0, len(seqs))
	for _, seq := range seqs {
		if e := v.find(seq); e != nil {
			entries = append(entries, e.entry(o.Name))
		}
	}
	return entries
}

// Seqs returns the sequence numbers of entries.
func Seqs(entries []notify.Entry) []uint64 {
	seqs := make([]uint64, len(entries))
	for i, e := range entries {
		seqs[i] = e.Seq
	}
	return seqs
}
