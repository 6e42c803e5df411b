package orders

import (
	"context"
	"slices"
	"strconv"

	"candela/internal/kit/principal"
	"candela/internal/trading/order"
)

// SegmentSize bounds the orders of a segment.
const SegmentSize = segmentSize

// SetSize bounds the items of one message. One item is always sent.
func (o *Store) SetSize(n int) { o.size = n }

// InMemory counts the orders of an owner that are in memory.
func (o *Store) InMemory(owner principal.Owner) int { return len(o.orders.of(owner).orders) }

// AcquireLate writes the claim of the writer again, like a delayed duplicate.
func (o *Store) AcquireLate(ctx context.Context) error {
	last := o.lastSeq
	defer func() { o.lastSeq = last }()
	return o.acquire(ctx)
}

// PutBlob writes an unreferenced blob, like a writer that ends halfway.
func (o *Store) PutBlob(ctx context.Context, value []byte) error {
	_, err := o.blobs.put(ctx, o.SnapshotTimeout, value)
	return err
}

// FindArchived archives orders in steps, in segments of a size, encodes and decodes the segments,
// and returns how many orders are found by each of their names, how many by unknown names, and the
// number of segments.
func FindArchived(orders, steps, size int) (found, missed, segments int) {
	var c archive
	for step := range steps {
		var evicted []evictedOrder
		for i := step * orders / steps; i < (step+1)*orders/steps; i++ {
			n := strconv.Itoa(i)
			evicted = append(evicted, evictedOrder{id: n, key: "k" + n, trades: []string{"t" + n}, span: seqRange{uint64(i), uint64(i) + 2}})
		}
		c = c.with(evicted, size)
	}
	for i, s := range c {
		var err error
		if c[i], err = decodeSegment(s.encode()); err != nil {
			return 0, 0, 0
		}
	}
	untraded := c.withoutTrades()
	for i := range orders {
		n, want := strconv.Itoa(i), []seqRange{{uint64(i), uint64(i) + 2}}
		if slices.Equal(c.lookup(idName, n), want) && slices.Equal(c.lookup(keyName, "k"+n), want) && slices.Equal(c.lookup(tradeName, "t"+n), want) {
			found++
		}
		missed += len(c.lookup(idName, "k"+n)) + len(c.lookup(keyName, n)) + len(untraded.lookup(tradeName, "t"+n))
	}
	return found, missed, len(c)
}

// Bytes returns the size of the order stream.
func (o *Store) Bytes(ctx context.Context) (int, error) {
	info, err := o.stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	return int(info.State.Bytes), nil
}

// CommitSnapshot saves any book as the snapshot of all events.
func (o *Store) CommitSnapshot(ctx context.Context, by principal.Caller, b *order.Book) error {
	value, err := b.Snapshot()
	if err != nil {
		return err
	}
	end, err := o.beginWrite(ctx)
	if err != nil {
		return err
	}
	defer end()
	var form snapshotRef
	if form.Value, err = o.blobs.put(ctx, o.SnapshotTimeout, value); err != nil {
		return err
	}
	if form.Spans, err = o.blobs.put(ctx, o.SnapshotTimeout, []byte("{}")); err != nil {
		return err
	}
	return o.commitSnapshot(ctx, by, o.snapshotSubject(by.Subject), form)
}

// SnapshotSubject is the subject of the reference to a book's snapshot.
func (o *Store) SnapshotSubject(owner principal.Owner) string { return o.snapshotSubject(owner) }

// DeleteOrphans deletes blobs like a new writer.
func (o *Store) DeleteOrphans(ctx context.Context) {
	used, _ := o.referencedBlobs()
	o.blobs.deleteOrphans(ctx, o.SnapshotTimeout, used, o.verifyWriter)
}
