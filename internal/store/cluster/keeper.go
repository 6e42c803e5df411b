package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"candela/internal/access/oauth"
	"candela/internal/alerting/notify/records"
)

// Keeper keeps what the replicas share of notifications: filters, places and polling
// queues, each a subject of the table of states, on disk. It is safe for concurrent
// use. However many clients there are, it has one consumer.
type Keeper struct {
	table *table
	log   *slog.Logger
	stop  context.CancelFunc // nil before Follow
	wg    sync.WaitGroup
}

var _ records.Store = (*Keeper)(nil)

// OpenKeeper opens the keeper. Close must be called.
func (c *Conn) OpenKeeper(ctx context.Context, log *slog.Logger) (*Keeper, error) {
	table, err := c.openStates(ctx)
	if err != nil {
		return nil, err
	}
	return &Keeper{table: table, log: log}, nil
}

// Close ends what Follow began.
func (k *Keeper) Close() {
	if k.stop != nil {
		k.stop()
	}
	k.wg.Wait()
}

// Watch gives apply what there is, and from then on what all replicas write. It must
// be called once.
func (k *Keeper) Watch(ctx context.Context, apply func(records.Record)) error {
	filters := []string{k.subject(records.SubscriptionKind, "*"), k.subject(records.AttachmentKind, "*"), k.subject(records.QueueKind, "*"), k.subject(records.CursorKind, "*")}
	note := func(ctx context.Context, m message) {
		if m.subject == k.table.mark {
			return
		}
		r, err := k.record(m)
		if err != nil {
			k.log.ErrorContext(ctx, "what is shared of notifications has a name that cannot be read", "subject", m.subject, "error", err)
			return
		}
		apply(r)
	}
	last := uint64(0)
	for m, err := range k.table.scan(ctx, 0, filters...) {
		if err != nil {
			return failure("read the subscriptions", err)
		}
		note(ctx, m)
		last = m.seq
	}
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	k.stop = stop
	follower := &follower{table: k.table, filters: filters, what: "subscriptions", log: k.log, apply: note}
	k.wg.Go(func() { follower.run(following, last) })
	return nil
}

// subject returns where a record is kept. name is encoded already.
func (k *Keeper) subject(kind records.Kind, name string) string {
	return k.table.subject(string(kind), name)
}

// record reads a message.
func (k *Keeper) record(m message) (records.Record, error) {
	kind, token, ok := strings.Cut(strings.TrimPrefix(m.subject, k.table.subject("")), ".")
	if !ok {
		return records.Record{}, errors.New("it has no name")
	}
	name, err := decode(token)
	return records.Record{Kind: records.Kind(kind), Name: name, Rev: m.seq, Data: m.data}, err
}

// Write writes records together.
func (k *Keeper) Write(ctx context.Context, batch []records.Record) (first uint64, err error) {
	changes := make([]change, len(batch))
	for i, r := range batch {
		changes[i] = change{subject: k.subject(r.Kind, encode(r.Name)), data: r.Data, guarded: r.CompareAndSet, after: r.Rev}
		switch {
		case len(r.Data) == 0:
			changes[i].ttl = endedTTL
		case r.Kind == records.CursorKind:
			changes[i].ttl = records.CursorTTL
		}
	}
	first, err = k.table.publish(ctx, k.table.name, changes...)
	if errors.Is(err, errMoved) {
		return 0, records.ErrConflict
	}
	return first, failure("write subscriptions", err)
}

// Latest returns a record as the leader has it.
func (k *Keeper) Latest(ctx context.Context, kind records.Kind, name string) (records.Record, error) {
	var m message
	var ok bool
	err := k.table.reread(ctx, func(ctx context.Context) (err error) {
		m, ok, err = k.table.last(ctx, k.subject(kind, encode(name)))
		return err
	})
	if err != nil {
		return records.Record{}, failure("read subscriptions", err)
	}
	if !ok {
		return records.Record{Kind: kind, Name: name, Rev: m.seq}, nil
	}
	return records.Record{Kind: kind, Name: name, Rev: m.seq, Data: m.data}, nil
}

// Gone reports whether the token that a key stands for has ended for certain: what is
// known here may be a moment old.
func (t *Tokens) Gone(ctx context.Context, key string) (bool, error) {
	const doing = "read a token"
	known, subject := t.era.Load(), t.table.subject(tokenKind, key)
	m, ok, err := t.table.last(ctx, subject)
	if err == nil && !ok {
		ok, err = t.table.absent(ctx, subject)
		return ok, failure(doing, err)
	}
	if err != nil || len(m.data) == 0 {
		return err == nil, failure(doing, err)
	}
	var tok oauth.Token
	if err := json.Unmarshal(m.data, &tok); err != nil {
		return false, damaged(doing, err)
	}
	_, ended, err := t.standing(ctx, tok, known)
	// One that was written since may be of an era that is not known here yet.
	return ended && m.seq < known.seq, failure(doing, err)
}
