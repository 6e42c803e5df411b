package replicated

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/internal/core"
	"candela/internal/alerting/notify/records"
	"candela/internal/kit/principal"
)

// settleTimeout bounds how long Settle blocks. Run writes what takes longer.
const settleTimeout = 2 * time.Second

// queue is an owner's polling queue. A replica takes entries by compare-and-set on its
// record, which advances the cursor and adds a lease. So each entry goes to one caller, and
// the leases of a dead replica can be reclaimed. Owner.Mu guards it.
type queue struct {
	*core.Owner
	rev         uint64
	settlements []records.Settlement // not written yet
}

func (b *Inbox) queueOf(owner principal.Owner) *queue {
	o := b.Owner(owner)
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	q := b.queues[owner]
	if q == nil {
		q = &queue{Owner: o}
		b.queues[owner] = q
	}
	return q
}

func (b *Inbox) handleQueue(r records.Record) error {
	var data records.Queue
	if len(r.Data) > 0 {
		if err := json.Unmarshal(r.Data, &data); err != nil {
			return err
		}
	}
	q := b.queueOf(principal.Owner(r.Name))
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if r.Rev <= q.rev {
		return nil
	}
	q.rev, q.Queue = r.Rev, data
	b.stateMu.Lock()
	if len(data.Leases) > 0 {
		b.leased[q] = struct{}{}
	} else {
		delete(b.leased, q)
	}
	b.stateMu.Unlock()
	q.WakeOne()
	return nil
}

// Poll implements notify.Inbox.
func (b *Inbox) Poll(ctx context.Context, caller principal.Caller, wait time.Duration, limit notify.Bound) (*notify.Batch, error) {
	if err := b.load(ctx, caller.Subject); err != nil {
		return nil, err
	}
	q := b.queueOf(caller.Subject)
	return q.Poll(ctx, wait, limit.Kinds, func() (*notify.Batch, error) { return b.take(ctx, q, limit) })
}

func (b *Inbox) take(ctx context.Context, q *queue, limit notify.Bound) (*notify.Batch, error) {
	id := rand.Text()
	var entries []notify.Entry
	var left int
	err := b.updateQueue(ctx, q, func(data *records.Queue) bool {
		if seqs, ok := data.Leases[b.self][id]; ok {
			entries = q.Entries(seqs) // written already; another replica has changed the queue since
			return false
		}
		if entries, left = q.Dequeue(data, limit); len(entries) == 0 {
			return false
		}
		data.AddLease(b.self, id, core.Seqs(entries))
		return true
	})
	batch := notify.NewBatch(entries, left, func(delivered bool) {
		b.settle(context.WithoutCancel(ctx), q, records.Settlement{Batch: id, Seqs: core.Seqs(entries), Delivered: delivered})
	})
	switch {
	case err != nil: // the lease may have been written; Run returns it
		q.Mu.Lock()
		defer q.Mu.Unlock()
		q.WakeOne() // this caller may have been the one that was woken
		b.addSettlement(q, records.Settlement{Batch: id})
		return nil, err
	case ctx.Err() != nil:
		batch.Settle(false)
		q.Mu.Lock()
		defer q.Mu.Unlock()
		q.WakeOne()
		return nil, ctx.Err()
	}
	return batch, nil
}

// addSettlement schedules a settlement to be written. Mu is held.
func (b *Inbox) addSettlement(q *queue, s records.Settlement) {
	q.settlements = append(q.settlements, s)
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	b.unsettled[q] = struct{}{}
}

func (b *Inbox) settle(ctx context.Context, q *queue, s records.Settlement) {
	q.Mu.Lock()
	b.addSettlement(q, s)
	q.Mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	_ = b.reconcileQueue(ctx, q) // Run retries
}

// updateQueue changes an owner's queue. change is called again after a conflict; it returns
// false to leave the queue unchanged.
func (b *Inbox) updateQueue(ctx context.Context, q *queue, change func(*records.Queue) bool) error {
	q.Mu.Lock()
	known, current := records.Record{Kind: records.QueueKind, Name: string(q.Name), Rev: q.rev}, q.Queue
	q.Mu.Unlock()
	written, err := b.compareAndSet(ctx, known, func(latest records.Record) ([]byte, bool) {
		data := current
		if latest.Rev != known.Rev {
			data = records.Queue{}
			if len(latest.Data) > 0 && json.Unmarshal(latest.Data, &data) != nil {
				return nil, false
			}
		}
		if !change(&data) {
			return nil, false
		}
		return records.Encode(data), true
	})
	if err == nil && written.Rev > known.Rev {
		b.apply(written)
	}
	return err
}

// reconcileQueue writes the settlements of this replica and reclaims the leases of dead ones.
func (b *Inbox) reconcileQueue(ctx context.Context, q *queue) error {
	q.Mu.Lock()
	settlements := q.settlements
	q.settlements = nil
	q.Mu.Unlock()
	err := b.updateQueue(ctx, q, func(data *records.Queue) bool {
		changed := data.Settle(b.self, settlements)
		return data.Reclaim(b.live) || changed
	})
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if err != nil {
		q.settlements = append(settlements, q.settlements...)
	}
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	if len(q.settlements) == 0 {
		delete(b.unsettled, q)
	} else {
		b.unsettled[q] = struct{}{} // a concurrent call may have removed it
	}
	return err
}

// reconcileQueues reconciles the queues with settlements to write or leases to reclaim.
func (b *Inbox) reconcileQueues(ctx context.Context) error {
	b.stateMu.Lock()
	queues := maps.Clone(b.unsettled)
	leased := slices.Collect(maps.Keys(b.leased))
	b.stateMu.Unlock()
	for _, q := range leased {
		q.Mu.Lock()
		data := q.Queue
		q.Mu.Unlock()
		if data.Reclaim(b.live) {
			queues[q] = struct{}{}
		}
	}
	var errs []error
	for q := range queues {
		if ctx.Err() != nil {
			break
		}
		errs = append(errs, b.reconcileQueue(ctx, q))
	}
	return errors.Join(append(errs, ctx.Err())...)
}
