package replicated

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/internal/core"
	"candela/internal/alerting/notify/records"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
)

// subscriber is a token that any replica knows. Mu guards it.
type subscriber struct {
	core.Subscriber
	filterRev     uint64 // of the latest subscription record
	attachmentRev uint64 // of the latest attachment record
	attachment    attachment
	opening       int  // Opens in progress
	dirty         bool // the attachment has to be written
	seenWritten   time.Time
	changed       chan struct{} // closed when the attachment or the filter changes; nil without waiters
}

// attachment names the replica that serves, or last served, a token's stream.
type attachment struct {
	epoch     uint64 // counts the token's streams
	replica   string
	session   string // of the stream
	open      bool
	filterRev uint64 // of the filter that the replica applies
}

func (b *Inbox) addSubscriber(client core.Client, key string) *subscriber {
	s := &subscriber{Subscriber: core.Subscriber{Owner: b.Owner(client.Owner), Client: client, Key: key}}
	b.subs.Add(s)
	return s
}

// removeUnused removes a subscriber without a subscription or a stream.
func (b *Inbox) removeUnused(s *subscriber) {
	if !s.Subscribed() && s.Stream == nil && !s.attachment.open && !s.dirty && s.opening == 0 {
		b.subs.Remove(s)
	}
}

// connected reports whether any live replica serves the stream.
func (b *Inbox) connected(s *subscriber) bool { return s.Stream != nil || b.attachedElsewhere(s) }

func (b *Inbox) attachedElsewhere(s *subscriber) bool {
	return s.attachment.open && s.attachment.replica != b.self && b.cfg.Replicas.Live(s.attachment.replica)
}

func (s *subscriber) notifyChanged() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Open implements notify.Inbox. It returns once the attachment is written.
func (b *Inbox) Open(ctx context.Context, caller principal.Caller, lastEventID string) (notify.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := b.load(ctx, caller.Subject); err != nil {
		return nil, err
	}
	if err := b.inherit(ctx, caller); err != nil {
		return nil, err
	}
	if err := b.waitForEvent(ctx, caller, lastEventID); err != nil {
		return nil, err
	}
	s := b.beginOpen(caller)
	defer b.endOpen(s)
	attach, err := b.attach(ctx, s, caller.Session, lastEventID)
	if err != nil {
		return nil, unavailable(err)
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	stream := core.NewStream(&s.Subscriber, b.moveCursors, func(stream *core.Stream) { b.closeStream(s, stream) })
	if s.attachmentRev > attach.rev && (s.attachment.replica != b.self || s.attachment.epoch != attach.epoch) {
		stream.End() // another stream was opened meanwhile
		return stream, nil
	}
	b.endStream(s)
	s.attachmentRev = max(s.attachmentRev, attach.rev)
	s.attachment = attachment{epoch: attach.epoch, replica: b.self, session: caller.Session, open: true, filterRev: attach.filterRev}
	if attach.resumed {
		s.SetCursor(attach.cursor)
	}
	s.Attach(stream)
	b.stateMu.Lock()
	b.attached[s] = struct{}{}
	b.stateMu.Unlock()
	if s.filterRev > attach.filterRev {
		b.markDirty(s)
	}
	return stream, nil
}

// Attached implements notify.Inbox.
func (b *Inbox) Attached(caller principal.Caller) (session string, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs.View(caller, func(s *subscriber) { session, open = s.attachment.session, b.connected(s) })
	return session, open
}

// waitForEvent waits until the event that a client names is appended here.
func (b *Inbox) waitForEvent(ctx context.Context, caller principal.Caller, lastEventID string) error {
	if seq, err := strconv.ParseUint(lastEventID, 10, 64); err != nil || seq <= b.Owner(caller.Subject).Head() {
		return nil //nolint:nilerr // an ID that is not a number names no event
	}
	if err := b.cfg.CatchUp(ctx); err != nil {
		return unavailable(err)
	}
	return nil
}

func (b *Inbox) beginOpen(caller principal.Caller) *subscriber {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.subs.Of(caller)
	if !ok {
		s = b.addSubscriber(core.ClientOf(caller), caller.Key)
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.opening++
	s.LastSeen, s.Expires = b.cfg.Now(), caller.Expires
	return s
}

func (b *Inbox) endOpen(s *subscriber) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.opening--
	b.closeUnserved(s)
	b.removeUnused(s)
}

// closeUnserved closes an attachment to this replica that has no stream, such as one whose
// Open failed although it was written.
func (b *Inbox) closeUnserved(s *subscriber) {
	if s.attachment.open && s.attachment.replica == b.self && s.Stream == nil && s.opening == 0 {
		s.attachment.open = false
		b.markDirty(s)
	}
}

// attached is the attachment that an Open has written.
type attached struct {
	rev, epoch, filterRev, cursor uint64
	resumed                       bool // the client named the cursor
}

// attach writes the next attachment of a token.
func (b *Inbox) attach(ctx context.Context, s *subscriber, session, lastEventID string) (attached, error) {
	for wait := minBackoff; ; wait = min(2*wait, maxBackoff) {
		r, next := b.nextAttachment(s, session, lastEventID)
		rev, err := b.writeOpen(ctx, r)
		if err == nil {
			next.rev = rev
			return next, nil
		}
		conflict := errors.Is(err, records.ErrConflict)
		if lookup := b.refreshAttachment(ctx, r.Name); lookup != nil {
			err = errors.Join(err, lookup)
		} else if rev, ok := b.written(s, next); ok && !conflict {
			next.rev = rev // only the acknowledgement was lost
			return next, nil
		}
		if conflict && wait == minBackoff {
			continue
		}
		if retry.Sleep(ctx, wait) != nil {
			return attached{}, err
		}
	}
}

func (b *Inbox) nextAttachment(s *subscriber, session, lastEventID string) (records.Record, attached) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	b.refreshCursor(s)
	next := attached{epoch: s.attachment.epoch + 1, filterRev: s.filterRev, cursor: s.Cursor}
	if seq, ok := s.Held(lastEventID); ok {
		next.cursor, next.resumed = seq, true
	}
	return records.Record{
		Kind: records.AttachmentKind, Name: s.Key, Rev: s.attachmentRev, CompareAndSet: true,
		Data: records.Encode(records.Attachment{
			Owner: s.Owner.Name, Epoch: next.epoch, Replica: b.self, Session: session, Open: true, FilterRev: next.filterRev, Cursor: next.cursor, Seen: s.LastSeen.UTC(),
		}),
	}, next
}

// written reports whether the latest attachment is the one that an Open tried to write.
func (b *Inbox) written(s *subscriber, next attached) (rev uint64, ok bool) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	return s.attachmentRev, s.attachment.replica == b.self && s.attachment.epoch == next.epoch
}

// endStream ends the stream at this replica, if there is one, because another replaces it.
func (b *Inbox) endStream(s *subscriber) {
	if stream := s.Detach(); stream != nil {
		b.removeAttached(s)
		stream.End()
	}
}

func (b *Inbox) removeAttached(s *subscriber) {
	b.stateMu.Lock()
	defer b.stateMu.Unlock()
	delete(b.attached, s)
}

func (b *Inbox) closeStream(s *subscriber, stream *core.Stream) {
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Stream != stream {
		return
	}
	s.Detach()
	b.removeAttached(s)
	s.LastSeen = b.cfg.Now()
	b.closeUnserved(s)
}

// handleAttachment applies an attachment. Every write names the revision that it replaces,
// so a later record was written with knowledge of the earlier ones.
func (b *Inbox) handleAttachment(r records.Record) error {
	var data records.Attachment
	if len(r.Data) > 0 {
		if err := json.Unmarshal(r.Data, &data); err != nil {
			return err
		}
	}
	deleted := data.Owner == ""
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.subs.ByKey[r.Name]
	if s == nil {
		if deleted {
			return nil
		}
		s = b.addSubscriber(core.Client{Owner: data.Owner}, r.Name)
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if r.Rev <= s.attachmentRev {
		return nil
	}
	first := s.attachmentRev == 0
	s.attachmentRev = r.Rev
	own := !deleted && data.Replica == b.self
	if !own || s.attachment.replica != b.self || s.attachment.epoch != data.Epoch {
		s.attachment = attachment{epoch: data.Epoch, replica: data.Replica, session: data.Session, open: data.Open, filterRev: data.FilterRev}
		b.endStream(s)
		if !deleted && (!own || first) { // this replica knows the cursor of its own streams
			s.SetCursor(data.Cursor)
		}
		if data.Seen.After(s.LastSeen) {
			s.LastSeen = data.Seen
		}
	}
	b.closeUnserved(s)
	s.notifyChanged()
	b.removeUnused(s)
	return nil
}

// refreshAttachment reads the attachment of a token.
func (b *Inbox) refreshAttachment(ctx context.Context, key string) error {
	r, err := b.cfg.Store.Latest(ctx, records.AttachmentKind, key)
	if err != nil {
		return unavailable(err)
	}
	if r.Rev > 0 {
		b.apply(r)
		return nil
	}
	// The tombstone of a record that was deleted long ago has expired.
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.subs.ByKey[key]; s != nil {
		s.Mu.Lock()
		s.attachmentRev = 0
		s.Mu.Unlock()
	}
	return nil
}

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
		Owner: s.Owner.Name, Epoch: s.attachment.epoch, Replica: b.self, Session: s.attachment.session, Open: s.attachment.open, FilterRev: s.filterRev, Cursor: s.Cursor, Seen: s.LastSeen.UTC(),
	})
	return r
}
