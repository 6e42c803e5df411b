// Package replicated implements notify.Inbox for several replicas of one installation. Each
// replica holds the whole log, or with many owners the part of those who read it. Subscriptions, cursors and polling queues are records in a
// store that all replicas watch.
//
// A token's attachment record names the replica that serves its stream. Opening a stream
// writes the next attachment, and the former replica closes its own stream when it sees
// that. Each replica writes the cursors of its streams twice a second, so a stream that
// moves, or whose replica dies, may repeat what was delivered in the last second. It loses
// nothing. A replica takes entries of a polling queue by compare-and-set, so each entry goes
// to one caller.
package replicated

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/internal/core"
	"candela/internal/alerting/notify/records"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/lib/fault"
)

const (
	// callTimeout bounds how long a caller waits for the store. Electing a new leader of
	// its servers takes 4 to 8 s.
	callTimeout = 15 * time.Second

	filterTimeout = 2 * time.Second // default of Config.FilterTimeout

	writeEvery     = 500 * time.Millisecond // cursors, and attachments whose write failed
	reconcileEvery = time.Second            // polling queues
	pruneEvery     = time.Hour
	idleEvery      = time.Minute
	seenWriteEvery = 10 * time.Minute

	minBackoff, maxBackoff = 10 * time.Millisecond, 500 * time.Millisecond
)

// MaxSubscriptions bounds the subscriptions of all replicas together: each holds all of them,
// at about 1 KB.
const MaxSubscriptions = 200_000

// Replicas knows which replicas are live.
type Replicas interface {
	Self() string
	// Live reports whether a replica is live, as far as this one knows.
	Live(id string) bool
}

// Config configures an Inbox. Now, Log, Store, Replicas and CatchUp are required.
type Config struct {
	Now      func() time.Time
	Log      *slog.Logger
	Store    records.Store
	Replicas Replicas

	// CatchUp returns once every entry that was committed before the call is appended here.
	CatchUp func(ctx context.Context) error

	// TokenEnded reports whether a token, by principal.Caller.Key, has certainly ended. If
	// it is nil, only the expiry of a token counts.
	TokenEnded func(ctx context.Context, key string) (bool, error)

	MaxSubscriptions   int // of all owners; 0 for MaxSubscriptions
	OwnerSubscriptions int // of one owner; 0 for MaxSubscriptions

	// Read reads the stored entries of one owner, on first use. If it is nil, the inbox holds the
	// entries of all owners, and Restore must be called.
	Read core.Reader

	// Loaded returns once the store's Watch has seen all stored records; nil if Watch returns then.
	Loaded func(ctx context.Context) error

	// FilterTimeout is how long Subscribe waits for another live replica to apply a filter;
	// 0 for two seconds.
	FilterTimeout time.Duration
}

// Inbox implements notify.Inbox.
type Inbox struct {
	*core.Log // cursors beyond its head are not rewound: another replica may be ahead
	cfg       Config
	self      string

	mu   sync.Mutex // guards subs; acquired before Subscriber.Mu
	subs core.Index[*subscriber]

	writeNow     chan struct{} // holds a token while an attachment should be written at once
	openTurn     chan struct{} // held by the caller that writes the attachments of all Opens
	cursorsMoved atomic.Bool   // since cursors were last written
	cursorPages  int           // written last; used by Run alone

	stateMu   sync.Mutex // acquired last
	opens     []*openWrite
	dirty     []*subscriber                     // attachments to write
	attached  map[*subscriber]struct{}          // with a stream at this replica
	remote    map[string]map[string]*cursorPage // by replica and record name
	queues    map[principal.Owner]*queue        // by owner
	unsettled map[*queue]struct{}               // with settlements to write
	leased    map[*queue]struct{}               // with leases of any replica
}

var _ notify.Inbox = (*Inbox)(nil)

// Open returns an inbox without entries and with the readers of all replicas.
func Open(ctx context.Context, cfg Config) (*Inbox, error) {
	cfg.MaxSubscriptions = cmp.Or(cfg.MaxSubscriptions, MaxSubscriptions)
	cfg.OwnerSubscriptions = cmp.Or(cfg.OwnerSubscriptions, cfg.MaxSubscriptions)
	cfg.FilterTimeout = cmp.Or(cfg.FilterTimeout, filterTimeout)
	b := &Inbox{
		cfg: cfg, self: cfg.Replicas.Self(), Log: core.NewLazyLog(cfg.Now, cfg.Log, cfg.Read),
		writeNow: make(chan struct{}, 1), openTurn: make(chan struct{}, 1),
		attached: map[*subscriber]struct{}{}, remote: map[string]map[string]*cursorPage{},
		queues: map[principal.Owner]*queue{}, unsettled: map[*queue]struct{}{}, leased: map[*queue]struct{}{},
	}
	return b, cfg.Store.Watch(ctx, b.apply)
}

// Stats implements notify.Inbox.
func (b *Inbox) Stats() notify.Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Log.Stats(b.subs.Subscriptions())
}

func (b *Inbox) live(replica string) bool { return replica == b.self || b.cfg.Replicas.Live(replica) }

// subscriber returns the subscriber of a token, nil if there is none.
func (b *Inbox) subscriber(key string) *subscriber {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.subs.ByKey[key]
}

// apply handles a record that any replica has written.
func (b *Inbox) apply(r records.Record) {
	var err error
	switch r.Kind {
	case records.SubscriptionKind:
		err = b.handleSubscription(r)
	case records.AttachmentKind:
		err = b.handleAttachment(r)
	case records.QueueKind:
		err = b.handleQueue(r)
	case records.CursorKind:
		b.handleCursors(r)
	}
	if err != nil {
		b.cfg.Log.Error("shared record skipped: cannot decode", "kind", string(r.Kind), "revision", r.Rev, "error", err)
	}
}

// write writes records together and applies them.
func (b *Inbox) write(ctx context.Context, list []records.Record) error {
	first, err := b.cfg.Store.Write(ctx, list)
	if err != nil {
		return err
	}
	for i, r := range list {
		r.Rev = first + uint64(i)
		b.apply(r)
	}
	return nil
}

// compareAndSet changes a record that several replicas may change concurrently. next gets
// the latest record and returns the new data, or false to leave the record unchanged. A
// stale known record costs one lookup.
func (b *Inbox) compareAndSet(ctx context.Context, known records.Record, next func(records.Record) (data []byte, ok bool)) (records.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for wait := minBackoff; ; wait = min(2*wait, maxBackoff) {
		data, ok := next(known)
		if !ok {
			return known, nil
		}
		rev, err := b.cfg.Store.Write(ctx, []records.Record{{Kind: known.Kind, Name: known.Name, Rev: known.Rev, Data: data, CompareAndSet: true}})
		if err == nil {
			return records.Record{Kind: known.Kind, Name: known.Name, Rev: rev, Data: data}, nil
		}
		latest, lookup := b.cfg.Store.Latest(ctx, known.Kind, known.Name)
		switch {
		case lookup == nil && latest.Rev > known.Rev && string(latest.Data) == string(data) && len(data) > 0:
			return latest, nil // written; only the acknowledgement was lost
		case lookup == nil:
			known = latest
		}
		if errors.Is(err, records.ErrConflict) && lookup == nil && wait == minBackoff {
			continue
		}
		if retry.Sleep(ctx, wait) != nil {
			return known, unavailable(errors.Join(err, lookup))
		}
	}
}

// loaded returns once the readers of all replicas are known.
func (b *Inbox) loaded(ctx context.Context) error {
	if b.cfg.Loaded == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := b.cfg.Loaded(ctx); err != nil {
		return unavailable(err)
	}
	return nil
}

// load returns once the readers are known and the log holds the entries of an owner.
func (b *Inbox) load(ctx context.Context, owner principal.Owner) error {
	if err := b.loaded(ctx); err != nil {
		return err
	}
	if err := b.LoadOwner(ctx, owner); err != nil {
		return unavailable(err)
	}
	return nil
}

// unavailable returns a fault for an error of the store.
func unavailable(err error) error {
	if f := fault.Of(err); f != nil {
		return err
	}
	return fault.Unreachable(err, 0, "The subscription store is unavailable. Retry in a moment.")
}

// Run implements notify.Inbox.
func (b *Inbox) Run(ctx context.Context) error {
	prune, write, reconcile := time.NewTicker(pruneEvery), time.NewTicker(writeEvery), time.NewTicker(reconcileEvery)
	idle := time.NewTicker(idleEvery)
	defer idle.Stop()
	defer prune.Stop()
	defer write.Stop()
	defer reconcile.Stop()
	failing := false
	for {
		var err error
		select {
		case <-ctx.Done():
			final, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
			defer cancel()
			return b.flush(final)
		case <-prune.C:
			b.Prune()
			b.expireSubscriptions(ctx, "")
			b.pruneCursors()
			b.cursorsMoved.Store(true) // before the written records expire
			continue
		case <-idle.C:
			b.DropIdle()
			continue
		case <-reconcile.C:
			err = b.reconcileQueues(ctx)
		case <-write.C:
			// A page of cursors omits closed streams, so the closed attachments come first.
			if err = b.writeAttachments(ctx); err == nil {
				err = b.writeCursors(ctx)
			}
		case <-b.writeNow:
			err = b.writeAttachments(ctx)
		}
		if ctx.Err() != nil {
			continue
		}
		switch {
		case err != nil && !failing:
			b.cfg.Log.ErrorContext(ctx, "saving subscriptions failed; a restart would repeat notifications", "error", err)
		case err == nil && failing:
			b.cfg.Log.InfoContext(ctx, "saving subscriptions recovered")
		}
		failing = err != nil
	}
}

// flush writes everything that is unwritten.
func (b *Inbox) flush(ctx context.Context) error {
	if err := b.writeAttachments(ctx); err != nil {
		return fmt.Errorf("write attachments: %w", err)
	}
	if err := b.writeCursors(ctx); err != nil {
		return fmt.Errorf("write cursors: %w", err)
	}
	if err := b.reconcileQueues(ctx); err != nil {
		return fmt.Errorf("reconcile polling queues: %w", err)
	}
	return nil
}
