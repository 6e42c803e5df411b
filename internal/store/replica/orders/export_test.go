package orders

import (
	"context"
	"slices"
	"strconv"

	"candela/internal/kit/principal"
	"candela/internal/trading/order"
)

// SegmentSize is how many orders a segment of an account has at most.
const SegmentSize = segmentSize

// SetSize sets how large the items of one message are at most. One is always sent.
func (o *Store) SetSize(n int) { o.size = n }

// AcquireLate writes once more that this is the writer, as a message does that was on
// its way for long.
func (o *Store) AcquireLate(ctx context.Context) error {
	last := o.lastSeq
	defer func() { o.lastSeq = last }()
	return o.acquire(ctx)
}

// PutBlob writes a blob that nothing names, as a writer does that ends halfway.
func (o *Store) PutBlob(ctx context.Context, value []byte) error {
	_, err := o.blobs.put(ctx, o.SnapshotTimeout, value)
	return err
}

// FindArchived has orders leave memory in steps, into segments of a size, writes and reads
// the segments, and returns how many orders are found by each of their names in the
// right place, how many by names that none has, and how many segments there are.
func FindArchived(orders, steps, size int) (found, missed, segments int) {
	var c archive
	for step := range steps {
		var leavers []evictedOrder
		for i := step * orders / steps; i < (step+1)*orders/steps; i++ {
			n := strconv.Itoa(i)
			leavers = append(leavers, evictedOrder{id: n, key: "k" + n, trades: []string{"t" + n}, span: seqRange{uint64(i), uint64(i) + 2}})
		}
		c = c.with(leavers, size)
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
		if slices.Equal(c.lookup(idName, n), want) && slices.Equal(c.lookup(keyName, "k"+n), want) && slices.Equal(c.lookupTrade("t"+n), want) {
			found++
		}
		missed += len(c.lookup(idName, "k"+n)) + len(c.lookup(keyName, n)) + len(untraded.lookupTrade("t"+n))
	}
	return found, missed, len(c)
}

// Bytes returns how large the stream of orders is.
func (o *Store) Bytes(ctx context.Context) (int, error) {
	info, err := o.stream.Info(ctx)
	if err != nil {
		return 0, err
	}
	return int(info.State.Bytes), nil
}

// CommitSnapshot keeps a book as what all events have made, whatever it is.
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

// SnapshotSubject is where the place of the snapshot of a book is written.
func (o *Store) SnapshotSubject(owner string) string { return o.snapshotSubject(owner) }

// DeleteOrphans takes blobs away as who has just taken over does.
func (o *Store) DeleteOrphans(ctx context.Context) {
	used, _ := o.referencedBlobs()
	o.blobs.deleteOrphans(ctx, o.SnapshotTimeout, used, o.verifyWriter)
}
