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

// A snapshot is what a part of the stream of orders comes to: the book of an account,
// or a journal. Its value is a blob, or some; that it counts, and up to where it goes,
// says a message in the stream of orders, written as everything there is: by the one
// writer, behind all that is in it. So a writer that was replaced can make none count,
// and one that dies halfway has made none.
//
// Everything in it follows from the messages before. One that cannot be read is told
// to the log, and those are read.

// snapshotName is the name among an account's states under which the place of a
// snapshot of its book stands; that of a journal's has its name behind it.
const snapshotName = "snapshot"

// snapshotRef is where a snapshot is.
type snapshotRef struct {
	Value blobRef   `json:"value"`
	Spans blobRef   `json:"spans,omitzero"` // of a book: where its orders are, by id
	Cold  []blobRef `json:"cold,omitempty"` // of a book: the segments with all other orders
}

// committedSnapshot is a snapshot that counts.
type committedSnapshot struct {
	snapshotRef
	seq uint64 // everything before it is in the snapshot; 0 when its place cannot be read
}

// blobNames lists the names of the blobs of a snapshot.
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

func (o *Store) snapshotSubject(owner string, journal ...string) string {
	return o.Subject(deskKind, conn.EncodeToken(owner), conn.EncodeToken(strings.Join(append([]string{snapshotName}, journal...), " ")))
}

// isSnapshot reports whether a state is the place of a snapshot.
func isSnapshot(name string) bool {
	return name == snapshotName || strings.HasPrefix(name, snapshotName+" ")
}

// SaveSnapshot keeps a book of the caller's subject that has all its events, and what
// it has forgotten leaves memory here, too.
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
		return fmt.Errorf("snapshot: %w", err)
	}
	spans, err := json.Marshal(next.spans)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
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

// SaveJournalSnapshot keeps what all the entries of a journal come to.
func (o *Store) SaveJournalSnapshot(ctx context.Context, owner, name string, value []byte) error {
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

// commitSnapshot makes a snapshot count. The caller has the turn.
func (o *Store) commitSnapshot(ctx context.Context, by principal.Caller, subject string, form snapshotRef) error {
	item, err := json.Marshal(form)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if _, err := o.appendItems(ctx, "keep a snapshot", subject, by, []json.RawMessage{item}); err != nil {
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

// Snapshot returns what was saved last of an owner's book, nil for nothing, and the
// events since.
func (o *Store) Snapshot(ctx context.Context, owner string) ([]byte, iter.Seq2[order.Event, error], error) {
	subject, events := o.snapshotSubject(owner), o.Subject(orderKind, conn.EncodeToken(owner))
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
	return value, items[order.Event](ctx, o, "read the events", events, from.seq+1), nil
}

// JournalSnapshot returns what was saved last of a journal, nil for nothing, and the
// entries since.
func (o *Store) JournalSnapshot(ctx context.Context, owner, name string) ([]byte, iter.Seq2[[]byte, error], error) {
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

// readSnapshot returns the value of a snapshot, nil when there is none or it cannot be had:
// everything is read then.
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

// discardSnapshot takes away what was loaded of an owner, and folded on top of it.
func (o *Store) discardSnapshot(owner string) {
	maps.DeleteFunc(o.orders.owners, func(_, of string) bool { return of == owner })
	delete(o.orders.all, owner)
	delete(o.loadedValues, owner)
	delete(o.loadedEvents, owner)
	delete(o.snapshots, o.snapshotSubject(owner))
}

// loadSnapshot makes accounts of the snapshots. What cannot be read is left to the events.
func (o *Store) loadSnapshot(ctx context.Context, owner string) (after uint64, err error) {
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

func (o *Store) loadAccount(ctx context.Context, owner string, from committedSnapshot) (*accountState, []byte, error) {
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

// referencedBlobs lists the names of all blobs that count. known is false when that of one
// cannot be read: another version may have written it.
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

// archiveReader reads orders that are no longer in memory.
func (o *Store) archiveReader(ctx context.Context) archiveReader {
	return func(owner string, in []seqRange, match func(order.Order) bool) (archivedOrder, bool, error) {
		const doing = "read an order"
		for _, at := range in {
			orders := make(map[string]order.Order)
			for m, err := range o.readRange(ctx, at.First, at.Last, o.Subject(orderKind, conn.EncodeToken(owner))) {
				if err != nil {
					return archivedOrder{}, false, conn.Unavailable(doing, err)
				}
				if err := foldOrders(orders, m.Data); err != nil {
					return archivedOrder{}, false, conn.Corrupted(doing, fmt.Errorf("message %d: %w", m.Seq, err))
				}
			}
			for _, found := range orders {
				if match(found) {
					return archivedOrder{found, at}, true, nil
				}
			}
		}
		return archivedOrder{}, false, nil
	}
}

// foldOrders adds the events of a message to the orders that were created since.
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
