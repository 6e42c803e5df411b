package notify

import (
	"context"
	"slices"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/kit/shutdown"
)

// queue is how far an owner's polling callers have come, all together: each entry
// goes to one of them. The owner's mu guards it.
type queue struct {
	cursor  uint64   // up to here all was taken
	back    []uint64 // of those, what was given back; ascending
	out     []*Batch // taken, and not known to have arrived
	waiters []chan struct{}

	polled // what several replicas have to know besides, in place of out
}

// Batch is what one call took out of the polling queue.
type Batch struct {
	Entries []Entry // oldest first
	Left    int     // how many more there were, which stay in the queue

	log   *Log
	owner *owner

	id      string             // among those of a shared queue
	share   func(arrived bool) // settles it there; nil on one node
	settled bool
}

// Bound is how much one call takes at most: entries, and bytes of their data. It takes
// one entry in any case. Zero is no bound.
type Bound struct{ Entries, Bytes int }

// cut returns how many of the entries, oldest first, are within the bound.
func (b Bound) cut(entries []Entry) int {
	bytes := 0
	for i := range entries {
		bytes += len(entries[i].Data)
		if i > 0 && (b.Entries > 0 && i >= b.Entries || b.Bytes > 0 && bytes > b.Bytes) {
			return i
		}
	}
	return len(entries)
}

// Poll takes what the polling queue of the caller's owner holds, the oldest first, as
// far as most allows; the rest stays. With a wait
// above zero it waits so long for something to come. What it returns must be
// settled. When ctx ends first nothing is taken; when mcp.Stop does, the wait is
// over.
func (l *Log) Poll(ctx context.Context, caller principal.Caller, wait time.Duration, most Bound) (*Batch, error) {
	o := l.owner(caller.Subject)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for late := wait <= 0; ; {
		b, turn, err := l.take(ctx, o, late, most)
		if turn == nil || err != nil {
			return b, err
		}
		select {
		case <-turn:
			continue
		case <-ctx.Done():
		case <-timer.C:
			late = true
		case <-shutdown.Context(ctx).Done():
			late = true
		}
		o.giveUp(turn)
	}
}

// take takes what there is. When there is nothing it returns a place in the line,
// or an empty batch when it is too late to wait.
func (l *Log) take(ctx context.Context, o *owner, late bool, most Bound) (*Batch, chan struct{}, error) {
	if l.shared != nil {
		return l.takeShared(ctx, o, late, most)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := ctx.Err(); err != nil {
		o.queue.wake() // this caller may have been the one that was called
		return nil, nil, err
	}
	b := &Batch{log: l, owner: o}
	b.Entries, b.Left = o.takeAll(l.cfg.Now().UnixNano(), most)
	switch {
	case len(b.Entries) > 0:
		o.queue.out = append(o.queue.out, b)
		l.saver.touch()
		if b.Left > 0 {
			o.queue.wake()
		}
		return b, nil, nil
	case late:
		return b, nil, nil
	}
	turn := make(chan struct{}, 1)
	o.queue.waiters = append(o.queue.waiters, turn)
	return nil, turn, nil
}

// takeAll returns what was given back and what came since, the newest PollCap of
// it as far as most allows, and how many are left. The cursor moves past all; what is
// left counts as given back.
func (o *owner) takeAll(now int64, most Bound) ([]Entry, int) {
	form := o.queue.form()
	taken, _, left := o.pick(&form, now, most)
	o.queue.cursor, o.queue.back = form.Cursor, form.Returned
	return taken, left
}

// giveUp leaves the line. Who was called already is not in it; take, which comes
// next, sees to it that nothing stays behind.
func (o *owner) giveUp(turn chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.waiters = slices.DeleteFunc(o.queue.waiters, func(other chan struct{}) bool { return other == turn })
}

// wake calls the first in line. It takes all there is, or calls the next, so one is
// enough.
func (q *queue) wake() {
	if len(q.waiters) == 0 {
		return
	}
	q.waiters[0] <- struct{}{} // has room, and is in the line once
	q.waiters = slices.Delete(q.waiters, 0, 1)
}

// Settle says whether the entries have reached the client. Those that have not go
// back into the queue, where their place is before all later ones. Until it is
// called they count as taken, and after a crash as not taken. Only the first call
// counts.
func (b *Batch) Settle(arrived bool) {
	if len(b.Entries) == 0 {
		return
	}
	if b.share != nil {
		b.share(arrived)
		return
	}
	b.owner.mu.Lock()
	defer b.owner.mu.Unlock()
	q := &b.owner.queue
	i := slices.Index(q.out, b)
	if i < 0 {
		return
	}
	q.out = slices.Delete(q.out, i, i+1)
	b.log.saver.touch()
	if !arrived {
		q.back = append(q.back, b.seqs()...)
		slices.Sort(q.back)
		q.wake()
	}
}

func (b *Batch) seqs() []uint64 { return seqsOf(b.Entries) }

func seqsOf(entries []Entry) []uint64 {
	seqs := make([]uint64, len(entries))
	for i, e := range entries {
		seqs[i] = e.Seq
	}
	return seqs
}

// unsettled lists what a crash would find not delivered, up to the cursor.
func (q *queue) unsettled() []uint64 {
	seqs := slices.Clone(q.back)
	for _, b := range q.out {
		seqs = append(seqs, b.seqs()...)
	}
	slices.Sort(seqs)
	return seqs
}

// setBack corrects a place that the log has never reached.
func (q *queue) setBack(last uint64) bool {
	if q.cursor <= last {
		return false
	}
	q.cursor, q.back = last, upTo(q.back, last)
	return true
}
