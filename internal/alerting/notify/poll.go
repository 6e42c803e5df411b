package notify

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"candela/internal/alerting/notify/records"
)

// settleTime is how long a call waits that settles a batch. What takes longer is
// written behind it.
const settleTime = 2 * time.Second

// polled is what replicas share of an owner's polling queue besides its cursor and
// what was given back. The owner's mu guards it.
//
// Who takes entries moves the cursor past them and writes down who has them, in one
// record that only who knows the last may replace. So an entry goes to one caller of
// all replicas, and what a replica had that died is known and goes back.
type polled struct {
	rev     uint64
	held    map[string]map[string]records.SeqDeltas // by replica and batch
	settled []records.Settlement                    // not written yet
}

// applyPoll notes an owner's queue.
func (l *Log) applyPoll(r records.Record) error {
	var form records.Queue
	if len(r.Data) > 0 {
		if err := json.Unmarshal(r.Data, &form); err != nil {
			return err
		}
	}
	o := l.owner(r.Name)
	o.mu.Lock()
	defer o.mu.Unlock()
	q := &o.queue
	if r.Rev <= q.rev {
		return nil
	}
	q.rev, q.cursor, q.back, q.held = r.Rev, form.Cursor, form.Returned, form.Leases
	l.shared.mu.Lock()
	if len(q.held) > 0 {
		l.shared.outs[o] = struct{}{}
	} else {
		delete(l.shared.outs, o)
	}
	l.shared.mu.Unlock()
	if len(q.back) > 0 || len(o.view.Load().after(q.cursor)) > 0 {
		q.wake()
	}
	return nil
}

func (q *queue) form() records.Queue {
	return records.Queue{Cursor: q.cursor, Returned: q.back, Leases: q.held}
}

// known returns the queue as a record. Its data is not needed.
func (o *owner) known() (records.Record, records.Queue) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return records.Record{Kind: records.QueueKind, Name: o.name, Rev: o.queue.rev}, o.queue.form()
}

// takeShared takes what there is. When there is nothing it returns a place in the
// line, or an empty batch when it is too late to wait.
func (l *Log) takeShared(ctx context.Context, o *owner, late bool, most Bound) (*Batch, chan struct{}, error) {
	if turn, empty, err := l.line(ctx, o, late); err != nil || turn != nil || empty {
		return &Batch{log: l, owner: o}, turn, err
	}
	b := &Batch{log: l, owner: o, id: rand.Text()}
	b.share = func(arrived bool) { b.settleShared(context.WithoutCancel(ctx), arrived) }
	self := l.shared.Members.Self()
	err := l.changePoll(ctx, o, func(form *records.Queue) bool {
		if held, here := form.Leases[self][b.id]; here {
			b.Entries = o.list(held) // ours, and another has changed the queue since
			return false
		}
		var seqs records.SeqDeltas
		b.Entries, seqs, b.Left = o.pick(form, l.cfg.Now().UnixNano(), most)
		if len(b.Entries) == 0 {
			return false
		}
		form.AddLease(self, b.id, seqs)
		return true
	})
	if err == nil && ctx.Err() != nil {
		b.share(false)
		err = ctx.Err()
	}
	if err != nil {
		l.release(o, b)
		return nil, nil, err
	}
	if len(b.Entries) == 0 { // another was faster
		return l.takeShared(ctx, o, late, most)
	}
	return b, nil, nil
}

// release sees to it that nothing stays with a caller that was told of an error: the
// write may have been made all the same. Run looks.
func (l *Log) release(o *owner, b *Batch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue.wake() // this caller may have been the one that was called
	if b.settled {
		return
	}
	b.settled = true
	o.queue.settled = append(o.queue.settled, records.Settlement{Batch: b.id})
	l.shared.mu.Lock()
	defer l.shared.mu.Unlock()
	l.shared.settle[o] = struct{}{}
}

// line returns a place in the line when there is nothing to take, unless it is too
// late to wait.
func (l *Log) line(ctx context.Context, o *owner, late bool) (turn chan struct{}, empty bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := ctx.Err(); err != nil {
		o.queue.wake()
		return nil, false, err
	}
	form := o.queue.form()
	if entries, _, _ := o.pick(&form, l.cfg.Now().UnixNano(), Bound{Entries: 1}); len(entries) > 0 {
		return nil, false, nil
	}
	if late {
		return nil, true, nil
	}
	turn = make(chan struct{}, 1)
	o.queue.waiters = append(o.queue.waiters, turn)
	return turn, false, nil
}

// pick takes out of the queue what there is, the newest PollCap of it as far as most
// allows, and says how many are left. What was given back and has not come to this
// replica yet stays.
func (o *owner) pick(form *records.Queue, now int64, most Bound) (taken []Entry, seqs records.SeqDeltas, left int) {
	v := o.view.Load()
	var stay records.SeqDeltas
	for _, seq := range form.Returned {
		if seq > v.head {
			stay = append(stay, seq)
		} else if r := v.find(seq); r != nil && r.younger(PollTTL, now) {
			taken = append(taken, r.entry(o.name))
		}
	}
	rest := v.after(form.Cursor)
	rest = rest[max(0, len(rest)-MaxPolled):]
	for i := range rest {
		if r := &rest[i]; r.younger(PollTTL, now) {
			taken = append(taken, r.entry(o.name))
		}
	}
	taken = taken[max(0, len(taken)-MaxPolled):]
	n := most.cut(taken)
	form.Returned, form.Cursor = append(records.SeqDeltas(seqsOf(taken[n:])), stay...), max(form.Cursor, v.head)
	return taken[:n], seqsOf(taken[:n]), len(taken) - n
}

// list returns entries that are held here.
func (o *owner) list(seqs records.SeqDeltas) []Entry {
	v := o.view.Load()
	all := make([]Entry, 0, len(seqs))
	for _, seq := range seqs {
		if r := v.find(seq); r != nil {
			all = append(all, r.entry(o.name))
		}
	}
	return all
}

// changePoll changes an owner's queue. change is asked again when another replica has
// changed it meanwhile; it returns false to leave it as it is.
func (l *Log) changePoll(ctx context.Context, o *owner, change func(*records.Queue) bool) error {
	known, begun := o.known()
	written, err := l.shared.replace(ctx, known, func(last records.Record) ([]byte, bool) {
		form := begun
		if last.Rev != known.Rev {
			form = records.Queue{}
			if len(last.Data) > 0 && json.Unmarshal(last.Data, &form) != nil {
				return nil, false
			}
		}
		if !change(&form) {
			return nil, false
		}
		return records.Encode(form), true
	})
	if err == nil && written.Rev > known.Rev {
		l.apply(written)
	}
	return err
}

// settleShared notes what became of a batch and writes it. What cannot be written at
// once is by Run.
func (b *Batch) settleShared(ctx context.Context, arrived bool) {
	l, o := b.log, b.owner
	o.mu.Lock()
	if b.settled {
		o.mu.Unlock()
		return
	}
	b.settled = true
	o.queue.settled = append(o.queue.settled, records.Settlement{Batch: b.id, Seqs: b.seqs(), Delivered: arrived})
	o.mu.Unlock()
	l.shared.mu.Lock()
	l.shared.settle[o] = struct{}{}
	l.shared.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	_ = l.mend(ctx, o) // Run tries again
}

// mend writes what became of the batches of an owner that were taken here, and gives
// back what replicas had that are gone.
func (l *Log) mend(ctx context.Context, o *owner) error {
	o.mu.Lock()
	settled := o.queue.settled
	o.queue.settled = nil
	o.mu.Unlock()
	err := l.changePoll(ctx, o, func(form *records.Queue) bool {
		changed := form.Settle(l.shared.Members.Self(), settled)
		return form.Reclaim(l.shared.live) || changed
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.queue.settled = append(settled, o.queue.settled...)
	}
	l.shared.mu.Lock()
	defer l.shared.mu.Unlock()
	if len(o.queue.settled) == 0 {
		delete(l.shared.settle, o)
	} else {
		l.shared.settle[o] = struct{}{} // another call, which had nothing to write, may have taken it out
	}
	return err
}

// mendOwners mends the queues that need it.
func (l *Log) mendOwners(ctx context.Context) error {
	l.shared.mu.Lock()
	todo := slices.Collect(maps.Keys(l.shared.settle))
	outs := slices.Collect(maps.Keys(l.shared.outs))
	l.shared.mu.Unlock()
	for _, o := range outs {
		_, form := o.known()
		if form.Reclaim(l.shared.live) && !slices.Contains(todo, o) {
			todo = append(todo, o)
		}
	}
	var errs []error
	for _, o := range todo {
		if err := l.mend(ctx, o); err != nil {
			errs = append(errs, err)
			if ctx.Err() != nil {
				break
			}
		}
	}
	return errors.Join(errs...)
}
