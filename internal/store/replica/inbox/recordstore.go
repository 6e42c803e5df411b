// Package inbox stores the records that the inboxes of all replicas share: subscriptions,
// cursors and polling queues.
package inbox

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"candela/internal/alerting/notify/records"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/table"
)

// RecordStore stores records as subjects of the STATE stream, on disk. It has one consumer,
// however many clients there are, and is safe for concurrent use.
type RecordStore struct {
	table *table.Table
	log   *slog.Logger
	stop  context.CancelFunc // nil before Watch
	wg    sync.WaitGroup

	loaded chan struct{} // closed when apply has seen the stored records
}

var _ records.Store = (*RecordStore)(nil)

// Open opens the store. Close must be called.
func Open(ctx context.Context, c *conn.Conn, log *slog.Logger) (*RecordStore, error) {
	table, err := table.OpenStates(ctx, c)
	if err != nil {
		return nil, err
	}
	return &RecordStore{table: table, log: log, loaded: make(chan struct{})}, nil
}

// Close stops Watch.
func (k *RecordStore) Close() {
	if k.stop != nil {
		k.stop()
	}
	k.wg.Wait()
}

// Watch calls apply with the stored records and then with every change by any replica. It must be
// called once. With many owners it returns at once, and AwaitLoaded waits for the stored records.
func (k *RecordStore) Watch(ctx context.Context, apply func(records.Record)) error {
	follower := &table.Follower{
		Table: k.table, Name: "subscriptions", Log: k.log,
		Filters: []string{
			k.subject(records.SubscriptionKind, "*"), k.subject(records.AttachmentKind, "*"),
			k.subject(records.QueueKind, "*"), k.subject(records.CursorKind, "*"),
		},
		Apply: func(ctx context.Context, m conn.Message) {
			if k.table.IsBarrier(m) {
				return
			}
			r, err := k.record(m)
			if err != nil {
				k.log.ErrorContext(ctx, "shared record skipped: invalid subject", "subject", m.Subject, "error", err)
				return
			}
			apply(r)
		},
	}
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	k.stop = stop
	if k.table.ManyOwners() {
		k.wg.Go(func() { follower.LoadAndRun(following, k.loaded) })
		return nil
	}
	last, err := follower.Load(ctx, "read subscriptions")
	if err != nil {
		return err
	}
	close(k.loaded)
	k.wg.Go(func() { follower.Run(following, last) })
	return nil
}

// AwaitLoaded returns once Watch has called apply with the stored records.
func (k *RecordStore) AwaitLoaded(ctx context.Context) error {
	return table.AwaitLoaded(ctx, k.loaded, "read subscriptions")
}

// subject returns the subject of a record. name is encoded.
func (k *RecordStore) subject(kind records.Kind, name string) string {
	return k.table.Subject(string(kind), name)
}

func (k *RecordStore) record(m conn.Message) (records.Record, error) {
	kind, token, ok := strings.Cut(strings.TrimPrefix(m.Subject, k.table.Subject("")), ".")
	if !ok {
		return records.Record{}, errors.New("subject has no record name")
	}
	name, err := conn.DecodeToken(token)
	return records.Record{Kind: records.Kind(kind), Name: name, Rev: m.Seq, Data: m.Data}, err
}

// Write writes records atomically.
func (k *RecordStore) Write(ctx context.Context, batch []records.Record) (first uint64, err error) {
	changes := make([]conn.Change, len(batch))
	for i, r := range batch {
		changes[i] = conn.Change{Subject: k.subject(r.Kind, conn.EncodeToken(r.Name)), Data: r.Data, CompareAndSet: r.CompareAndSet, Revision: r.Rev}
		switch {
		case len(r.Data) == 0:
			changes[i].TTL = table.TombstoneTTL
		case r.Kind == records.CursorKind:
			changes[i].TTL = records.CursorTTL
		}
	}
	first, err = k.table.Write(ctx, changes...)
	if errors.Is(err, conn.ErrConflict) {
		return 0, records.ErrConflict
	}
	return first, conn.Unavailable("write subscriptions", err)
}

// Latest returns a record from the leader.
func (k *RecordStore) Latest(ctx context.Context, kind records.Kind, name string) (records.Record, error) {
	var m conn.Message
	var ok bool
	err := k.table.RetryRead(ctx, func(ctx context.Context) (err error) {
		m, ok, err = k.table.Latest(ctx, k.subject(kind, conn.EncodeToken(name)))
		return err
	})
	if err != nil {
		return records.Record{}, conn.Unavailable("read subscriptions", err)
	}
	if !ok {
		return records.Record{Kind: kind, Name: name, Rev: m.Seq}, nil
	}
	return records.Record{Kind: kind, Name: name, Rev: m.Seq, Data: m.Data}, nil
}
