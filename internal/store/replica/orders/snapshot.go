package orders

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/internal/trading/order"
)

// A snapshot is the state derived from a prefix of the order stream: an account's book or a
// journal. Its data are blobs. A message in the order stream commits it, so a fenced writer cannot
// commit one and a crash leaves none. If it cannot be read, the messages are replayed.

// snapshotName is the state name of the reference to a book's snapshot. For a journal, its name
// follows.
const snapshotName = "snapshot"

type snapshotRef struct {
	Value blobRef   `json:"value"`
	Spans blobRef   `json:"spans,omitzero"` // of a book: the message ranges of its orders by ID
	Cold  []blobRef `json:"cold,omitempty"` // of a book: the archive segments
}

// committedSnapshot is a snapshot in use.
type committedSnapshot struct {
	snapshotRef
	seq uint64 // of the message that commits it; 0 if the reference is unreadable
}

func (f snapshotRef) blobNames() []string {
	names := []string{f.Value.Name}
	if f.Spans.Name != "" {
		names = append(names, f.Spans.Name)
	}
	for _, one := range f.Cold {
		names = append(names, one.Name)
	}
	return names
}

func (o *Store) snapshotSubject(owner principal.Owner, journal ...string) string {
	return o.Subject(deskKind, conn.EncodeToken(string(owner)), conn.EncodeToken(strings.Join(append([]string{snapshotName}, journal...), " ")))
}

// isSnapshot reports whether a state name is that of a snapshot reference.
func isSnapshot(name string) bool {
	return name == snapshotName || strings.HasPrefix(name, snapshotName+" ")
}

// SaveSnapshot saves a book of the caller's subject that includes all its events. Orders that the
// book has dropped leave memory here, too.
func (o *Store) SaveSnapshot(ctx context.Context, by principal.Caller, b *order.Book) error {
	value, err := b.Snapshot()
	if err != nil {
		return err
	}
	end, err := o.beginWrite(ctx)
	if err != nil {
		return err
	}
	defer end()
	next, err := o.orders.of(by.Subject).compactTo(b)
	if err != nil {
		return fmt.Errorf("compact account: %w", err)
	}
	spans, err := json.Marshal(next.spans)
	if err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	var form snapshotRef
	if form.Value, err = o.blobs.put(ctx, o.SnapshotTimeout, value); err != nil {
		return err
	}
	if form.Spans, err = o.blobs.put(ctx, o.SnapshotTimeout, spans); err != nil {
		return err
	}
	for _, s := range next.archive {
		if s.stored.Name == "" {
			kept, err := o.blobs.put(ctx, o.SnapshotTimeout, s.encode())
			if err != nil {
				return err
			}
			s.stored = kept
		}
		form.Cold = append(form.Cold, s.stored)
	}
	if err := o.commitSnapshot(ctx, by, o.snapshotSubject(by.Subject), form); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.orders.set(by.Subject, next)
	return nil
}

// SaveJournalSnapshot saves the state after all entries of a journal.
func (o *Store) SaveJournalSnapshot(ctx context.Context, owner principal.Owner, name string, value []byte) error {
	end, err := o.beginWrite(ctx)
	if err != nil {
		return err
	}
	defer end()
	var form snapshotRef
	if form.Value, err = o.blobs.put(ctx, o.SnapshotTimeout, value); err != nil {
		return err
	}
	return o.commitSnapshot(ctx, principal.Caller{Subject: owner}, o.snapshotSubject(owner, name), form)
}

// commitSnapshot commits a snapshot. The caller holds writeTurn.
func (o *Store) commitSnapshot(ctx context.Context, by principal.Caller, subject string, form snapshotRef) error {
	item, err := json.Marshal(form)
	if err != nil {
		return fmt.Errorf("encode snapshot: %w", err)
	}
	if _, err := o.appendItems(ctx, "write snapshot", target{subject: subject}, by, []json.RawMessage{item}); err != nil {
		return err
	}
	o.mu.Lock()
	before := o.snapshots[subject]
	o.snapshots[subject] = committedSnapshot{form, o.lastSeq}
	o.mu.Unlock()
	used := form.blobNames()
	o.blobs.remove(ctx, o.SnapshotTimeout, slices.DeleteFunc(before.blobNames(), func(name string) bool { return name == "" || slices.Contains(used, name) }))
	return nil
}

// Snapshot returns an owner's last saved book, nil for none, and the events since.
func (o *Store) Snapshot(ctx context.Context, owner principal.Owner) ([]byte, iter.Seq2[order.Event, error], error) {
	subject, events := o.snapshotSubject(owner), o.Subject(orderKind, conn.EncodeToken(string(owner)))
	o.mu.Lock()
	from := o.snapshots[subject]
	value, replayed := o.loadedValues[owner], o.loadedEvents[owner]
	delete(o.loadedValues, owner)
	delete(o.loadedEvents, owner)
	fresh := o.lastWritten[events] == 0 && o.lastWritten[subject] == 0
	o.mu.Unlock()
	if fresh && replayed != nil && (value != nil || from.seq == 0) {
		return value, func(yield func(order.Event, error) bool) {
			for _, e := range replayed {
				if !yield(e, nil) {
					return
				}
			}
		}, nil
	}
	value, err := o.readSnapshot(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	if value == nil {
		from.seq = 0
	}
	return value, items[order.Event](ctx, o, "read events", events, from.seq+1), nil
}

// JournalSnapshot returns a journal's last saved state, nil for none, and the entries since.
func (o *Store) JournalSnapshot(ctx context.Context, owner principal.Owner, name string) ([]byte, iter.Seq2[[]byte, error], error) {
	o.mu.RLock()
	from := o.snapshots[o.snapshotSubject(owner, name)]
	o.mu.RUnlock()
	value, err := o.readSnapshot(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	if value == nil {
		from.seq = 0
	}
	return value, o.journal(ctx, owner, name, from.seq+1), nil
}

// readSnapshot returns the value of a snapshot, nil if there is none or it is unreadable and
// everything must be replayed.
func (o *Store) readSnapshot(ctx context.Context, from committedSnapshot) ([]byte, error) {
	if from.seq == 0 {
		return nil, nil
	}
	value, err := o.blobs.get(ctx, from.Value)
	if err == nil || ctx.Err() != nil {
		return value, ctx.Err()
	}
	o.Log.ErrorContext(ctx, "snapshot unusable; replaying all events", "error", err)
	return nil, nil
}

// discardSnapshot removes an owner's loaded snapshot and the events applied to it.
func (o *Store) discardSnapshot(owner principal.Owner) {
	maps.DeleteFunc(o.orders.owners, func(_ string, of principal.Owner) bool { return of == owner })
	delete(o.orders.all, owner)
	delete(o.loadedValues, owner)
	delete(o.loadedEvents, owner)
	delete(o.snapshots, o.snapshotSubject(owner))
}

// loadSnapshot restores an owner's account from its snapshot and returns the sequence number of
// that. An unreadable snapshot is ignored.
func (o *Store) loadSnapshot(ctx context.Context, owner principal.Owner) (after uint64, err error) {
	from := o.snapshots[o.snapshotSubject(owner)]
	if from.seq == 0 {
		return 0, nil
	}
	a, value, err := o.loadAccount(ctx, owner, from)
	if err != nil {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		o.Log.ErrorContext(ctx, "account snapshot unusable; replaying all events", "error", err)
		delete(o.snapshots, o.snapshotSubject(owner))
		return 0, nil
	}
	o.orders.set(owner, a)
	o.loadedValues[owner], o.loadedEvents[owner] = value, []order.Event{}
	return from.seq, nil
}

func (o *Store) loadAccount(ctx context.Context, owner principal.Owner, from committedSnapshot) (*accountState, []byte, error) {
	value, err := o.blobs.get(ctx, from.Value)
	if err != nil {
		return nil, nil, err
	}
	book, err := order.ReadSnapshot(owner, value)
	if err != nil {
		return nil, nil, err
	}
	data, err := o.blobs.get(ctx, from.Spans)
	if err != nil {
		return nil, nil, err
	}
	var spans map[string]seqRange
	if err := json.Unmarshal(data, &spans); err != nil {
		return nil, nil, err
	}
	var rest archive
	for _, at := range from.Cold {
		data, err := o.blobs.get(ctx, at)
		if err != nil {
			return nil, nil, err
		}
		s, err := decodeSegment(data)
		if err != nil {
			return nil, nil, err
		}
		s.stored = at
		rest = append(rest, s)
	}
	a, err := newAccountState(book, spans, rest)
	return a, value, err
}

// referencedBlobs lists the names of all referenced blobs. known is false if a reference is
// unreadable: another version may have written it.
func (o *Store) referencedBlobs() (used map[string]bool, known bool) {
	used = make(map[string]bool)
	for one := range maps.Values(o.snapshots) {
		if one.seq == 0 {
			return nil, false
		}
		for _, name := range one.blobNames() {
			used[name] = true
		}
	}
	return used, true
}

// archiveReader returns a reader of orders that are not in memory.
func (o *Store) archiveReader(ctx context.Context) archiveReader {
	return func(owner principal.Owner, in archive, kind, name string) (archivedOrder, bool, error) {
		const op = "read order"
		for _, at := range in.lookup(kind, name) {
			orders := make(map[string]order.Order)
			for m, err := range o.readRange(ctx, at.First, at.Last, o.Subject(orderKind, conn.EncodeToken(string(owner)))) {
				if err != nil {
					return archivedOrder{}, false, conn.Unavailable(op, err)
				}
				if err := foldOrders(orders, m.Data); err != nil {
					return archivedOrder{}, false, conn.Corrupted(op, fmt.Errorf("message %d: %w", m.Seq, err))
				}
			}
			for _, found := range orders {
				if hasName(found, kind, name) {
					return archivedOrder{found, at}, true, nil
				}
			}
		}
		return archivedOrder{}, false, nil
	}
}

// foldOrders applies the events of a message to orders created since the first message.
func foldOrders(orders map[string]order.Order, data []byte) error {
	var p page[order.Event]
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	for _, e := range p.Items {
		known, ok := orders[e.OrderID]
		if !ok && e.Kind != order.KindCreated || e.OrderID == "" {
			continue
		}
		next, err := order.Apply(known, e)
		if err != nil {
			return err
		}
		orders[e.OrderID] = next
	}
	return nil
}
