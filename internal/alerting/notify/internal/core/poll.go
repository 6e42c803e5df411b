package core

import (
	"cmp"
	"context"
	"slices"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/records"
	"candela/internal/kit/shutdown"
)

// A waiter waits for entries of some kinds in the polling queue.
type waiter struct {
	turn  chan struct{}
	kinds notify.Kinds
}

// Poll calls take when the polling queue has entries of some kinds, until take returns some or
// fails, or the wait is over.
func (o *Owner) Poll(ctx context.Context, wait time.Duration, kinds notify.Kinds, take func() (*notify.Batch, error)) (*notify.Batch, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for expired := wait <= 0; ; {
		turn, ready, err := o.addWaiter(ctx, kinds, expired)
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
func (o *Owner) addWaiter(ctx context.Context, kinds notify.Kinds, expired bool) (turn chan struct{}, ready bool, err error) {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	if err := ctx.Err(); err != nil {
		o.WakeOne() // this caller may have been the one that was woken
		return nil, false, err
	}
	if ready = o.Pollable(kinds); ready || expired {
		return nil, ready, nil
	}
	turn = make(chan struct{}, 1)
	o.waiters = append(o.waiters, waiter{turn, kinds})
	return turn, false, nil
}

// removeWaiter removes a waiter. One that was woken meanwhile is not in the list; addWaiter,
// which comes next, passes the signal on.
func (o *Owner) removeWaiter(turn chan struct{}) {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	o.waiters = slices.DeleteFunc(o.waiters, func(other waiter) bool { return other.turn == turn })
}

// WakeOne wakes the first waiter for which there is something, of those that wait for the same
// kinds. It takes everything or wakes the next, so one is enough. Mu is held.
func (o *Owner) WakeOne() {
	var woken []notify.Kinds
	o.waiters = slices.DeleteFunc(o.waiters, func(w waiter) bool {
		if slices.Contains(woken, w.kinds) || !o.Pollable(w.kinds) {
			return false
		}
		woken = append(woken, w.kinds)
		w.turn <- struct{}{} // has room, and is in the list once
		return true
	})
}

// Pollable reports whether the polling queue has entries of some kinds. Mu is held.
func (o *Owner) Pollable(kinds notify.Kinds) bool {
	v, now := o.view.Load(), o.now().UnixNano()
	for _, kind := range []notify.Kind{notify.Alert, notify.Order} {
		if !kinds.Has(kind) {
			continue
		}
		for _, e := range slices.Backward(v.after(o.Queue.CursorOf(kind))) {
			if !e.youngerThan(notify.PollTTL, now) {
				break
			}
			if e.kind == kind {
				return true
			}
		}
	}
	return slices.ContainsFunc(o.Queue.Returned, func(seq uint64) bool {
		e := v.find(seq)
		return e != nil && kinds.Has(e.kind) && e.youngerThan(notify.PollTTL, now)
	})
}

// Dequeue takes the newest MaxPolled entries of the kinds of limit out of a queue as far as that
// allows, and returns how many are left. Returned entries that this log does not hold yet stay,
// and so do those of other kinds.
func (o *Owner) Dequeue(q *records.Queue, limit notify.Bound) (taken []notify.Entry, left int) {
	v, now := o.view.Load(), o.now().UnixNano()
	var kept records.SeqDeltas
	for _, seq := range q.Returned {
		e := v.find(seq)
		switch {
		case seq > v.head, e != nil && !limit.Kinds.Has(e.kind):
			kept = append(kept, seq)
		case e != nil && e.youngerThan(notify.PollTTL, now):
			taken = append(taken, e.entry(o.Name))
		}
	}
	for _, kind := range []notify.Kind{notify.Alert, notify.Order} {
		if !limit.Kinds.Has(kind) {
			continue
		}
		rest := v.after(q.CursorOf(kind))
		skip := countOf(rest, kind) - notify.MaxPolled
		for i := range rest {
			if e := &rest[i]; e.kind == kind {
				if skip--; skip < 0 && e.youngerThan(notify.PollTTL, now) {
					taken = append(taken, e.entry(o.Name))
				}
			}
		}
		q.Advance(kind, v.head)
	}
	slices.SortFunc(taken, func(a, b notify.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	taken = taken[max(0, len(taken)-notify.MaxPolled):]
	n := limit.Fit(taken)
	q.Returned = append(records.SeqDeltas(Seqs(taken[n:])), kept...)
	slices.Sort(q.Returned)
	return taken[:n], len(taken) - n
}

// countOf counts the entries of a kind.
func countOf(entries []logEntry, kind notify.Kind) int {
	n := 0
	for i := range entries {
		if entries[i].kind == kind {
			n++
		}
	}
	return n
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
