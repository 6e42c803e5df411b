package replicated

import (
	"context"
	"errors"
	"slices"

	"candela/internal/alerting/notify/records"
)

// openWrite is the attachment of an Open that waits to be written.
type openWrite struct {
	record records.Record
	done   chan struct{} // closed when rev and err are set
	rev    uint64
	err    error
}

// writeOpen writes the attachment of an Open. Of many concurrent callers one writes for all.
// If ctx ends first the record may still be written; closeUnserved then closes it.
func (b *Inbox) writeOpen(ctx context.Context, r records.Record) (rev uint64, err error) {
	w := &openWrite{record: r, done: make(chan struct{})}
	b.stateMu.Lock()
	b.opens = append(b.opens, w)
	b.stateMu.Unlock()
	for {
		select {
		case <-w.done:
			return w.rev, w.err
		case <-ctx.Done():
			return 0, ctx.Err()
		case b.openTurn <- struct{}{}:
			b.writeOpens(context.WithoutCancel(ctx))
			<-b.openTurn
		}
	}
}

// writeOpens writes up to records.MaxRecords attachments.
func (b *Inbox) writeOpens(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	b.stateMu.Lock()
	n := min(len(b.opens), records.MaxRecords)
	opens := b.opens[:n:n]
	if b.opens = b.opens[n:]; len(b.opens) == 0 {
		b.opens = nil
	}
	b.stateMu.Unlock()
	list := make([]records.Record, n)
	for i, w := range opens {
		list[i] = w.record
	}
	b.writeEach(ctx, list, func(i int, rev uint64, err error) {
		opens[i].rev, opens[i].err = rev, err
		close(opens[i].done)
	})
}

// writeEach writes records in as few writes as possible and reports the outcome of each. A
// conflict refuses a whole write, so it is split in halves until the record that causes it
// is isolated.
func (b *Inbox) writeEach(ctx context.Context, list []records.Record, report func(i int, rev uint64, err error)) {
	if len(list) == 0 {
		return
	}
	first, err := b.cfg.Store.Write(ctx, list)
	if errors.Is(err, records.ErrConflict) && len(list) > 1 {
		half := len(list) / 2
		b.writeEach(ctx, list[:half], report)
		b.writeEach(ctx, list[half:], func(i int, rev uint64, err error) { report(half+i, rev, err) })
		return
	}
	for i := range list {
		report(i, first+uint64(i), err)
	}
}

// markDirty schedules the attachment to be written at once. Mu is held.
func (b *Inbox) markDirty(s *subscriber) {
	if s.dirty {
		return
	}
	b.enqueue(s)
	select {
	case b.writeNow <- struct{}{}:
	default:
	}
}

// enqueue schedules the attachment for the next write. Mu is held.
func (b *Inbox) enqueue(s *subscriber) {
	s.dirty = true
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	b.dirty = append(b.dirty, s)
}

// writeAttachments writes the attachments that are dirty. Those that fail stay dirty.
func (b *Inbox) writeAttachments(ctx context.Context) error {
	b.stateMu.Lock()
	dirty := b.dirty
	b.dirty = nil
	b.stateMu.Unlock()
	var errs []error
	for batch := range slices.Chunk(dirty, records.MaxRecords) {
		errs = append(errs, b.writeBatch(ctx, batch))
	}
	return errors.Join(errs...)
}

func (b *Inbox) writeBatch(ctx context.Context, batch []*subscriber) error {
	var list []records.Record
	var subs []*subscriber
	b.mu.Lock()
	for _, s := range batch {
		s.Mu.Lock()
		s.dirty = false
		if s.attachment.replica == b.self {
			list, subs = append(list, b.attachmentRecord(s)), append(subs, s)
		} else {
			b.removeUnused(s)
		}
		s.Mu.Unlock()
	}
	b.mu.Unlock()
	var errs []error
	b.writeEach(ctx, list, func(i int, rev uint64, err error) {
		switch {
		case err == nil:
			list[i].Rev = rev
			b.apply(list[i])
			return
		case errors.Is(err, records.ErrConflict):
			err = b.refreshAttachment(ctx, list[i].Name)
		}
		errs = append(errs, err)
		s := subs[i]
		s.Mu.Lock()
		defer s.Mu.Unlock()
		if s.attachment.replica == b.self && !s.dirty {
			b.enqueue(s)
		}
	})
	return errors.Join(errs...)
}

// attachmentRecord returns the attachment of a stream at this replica. Without a stream and a
// subscription nobody needs it.
func (b *Inbox) attachmentRecord(s *subscriber) records.Record {
	r := records.Record{Kind: records.AttachmentKind, Name: s.Key, Rev: s.attachmentRev, CompareAndSet: true}
	if !s.attachment.open && !s.Subscribed() {
		return r
	}
	s.attachment.filterRev, s.seenWritten = s.filterRev, s.LastSeen
	r.Data = records.Encode(records.Attachment{
		Owner: s.Owner.Name, Epoch: s.attachment.epoch, Replica: b.self, Open: s.attachment.open, FilterRev: s.filterRev, Cursor: s.Cursor, Seen: s.LastSeen.UTC(),
	})
	return r
}
