// Package local implements notify.Inbox for a single process. It keeps subscriptions and
// cursors in a file.
package local

import (
	"cmp"
	"context"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/internal/core"
	"candela/internal/alerting/notify/records"
	"candela/internal/kit/principal"
)

// MaxSubscriptions bounds the subscriptions of all owners: twice the streams that one
// process is made for. Beyond it the owner's own one goes whose token was not seen for the
// longest time.
const MaxSubscriptions = 20_000

// Config configures an Inbox. Now and Log are required.
type Config struct {
	Path string // of subscriptions.json; empty keeps nothing
	Now  func() time.Time
	Log  *slog.Logger

	MaxSubscriptions   int // of all owners; 0 for MaxSubscriptions
	OwnerSubscriptions int // of one owner; 0 for all of them

	// TokenLive reports whether a token is live that was issued before the start. Nil:
	// none is. The subscription of a live token does not pass to another one.
	TokenLive func(key string) bool
}

// Inbox implements notify.Inbox.
type Inbox struct {
	*core.Log
	cfg  Config
	file fileWriter

	batches atomic.Uint64 // polled so far

	mu   sync.Mutex // guards subs and Subscriber.Key
	subs core.Index[*subscriber]
}

var _ notify.Inbox = (*Inbox)(nil)

type subscriber struct {
	core.Subscriber
	session     string // of the last stream
	unconfirmed bool   // loaded from the file, and the token is not live or not known to be
	cachedJSON  string // for the file: everything but cursor and last seen; empty after a change
}

// New returns an empty inbox. Load reads its file.
func New(cfg Config) *Inbox {
	return &Inbox{cfg: cfg, Log: core.NewLog(cfg.Now, cfg.Log), file: fileWriter{dirty: make(chan struct{}, 1)}}
}

// Restore implements notify.Inbox. Cursors beyond the head are rewound: the store is older
// than they are.
func (b *Inbox) Restore(head uint64, entries []notify.Entry) {
	b.Log.Restore(head, entries)
	b.rewind(head)
}

// Stats implements notify.Inbox.
func (b *Inbox) Stats() notify.Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Log.Stats(b.subs.Subscriptions())
}

// Subscribe implements notify.Inbox.
func (b *Inbox) Subscribe(_ context.Context, caller principal.Caller, f notify.Filter) error {
	if err := b.subscribe(caller, f); err != nil {
		return err
	}
	return b.persist()
}

func (b *Inbox) subscribe(caller principal.Caller, f notify.Filter) error {
	now := b.cfg.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.subscriberOf(caller, now)
	if !ok {
		if err := b.makeRoom(caller.Subject, now); err != nil {
			return err
		}
		s = b.add(caller)
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.see(caller, now)
	if s.Subscribe(f, now.UnixNano()) {
		s.cachedJSON = ""
	}
	if s.Stream != nil {
		s.Stream.Signal() // Append may have matched an entry against the old filter
	}
	b.file.markDirty()
	return nil
}

// Unsubscribe implements notify.Inbox.
func (b *Inbox) Unsubscribe(_ context.Context, caller principal.Caller) (existed bool, err error) {
	b.mu.Lock()
	s, ok := b.subscriberOf(caller, b.cfg.Now())
	if ok {
		s.Mu.Lock()
		existed = s.Subscribed()
		s.Unsubscribe()
		b.removeIdle(s)
		s.Mu.Unlock()
	}
	b.mu.Unlock()
	if !existed {
		return false, nil
	}
	b.file.markDirty()
	return true, b.persist()
}

// Subscription implements notify.Inbox.
func (b *Inbox) Subscription(_ context.Context, caller principal.Caller) (notify.Subscription, error) {
	now := b.cfg.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.subscriberOf(caller, now)
	if !ok {
		return notify.Subscription{}, nil
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.see(caller, now)
	return s.Describe(now, s.Stream != nil), nil
}

// Open implements notify.Inbox.
func (b *Inbox) Open(_ context.Context, caller principal.Caller, lastEventID string) (notify.Stream, error) {
	now := b.cfg.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.subscriberOf(caller, now)
	if !ok {
		s = b.add(caller)
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.see(caller, now)
	if seq, ok := s.Held(lastEventID); ok {
		s.SetCursor(seq)
	}
	b.file.markDirty()
	stream := core.NewStream(&s.Subscriber, b.file.markDirty, func(stream *core.Stream) { b.closeStream(s, stream) })
	if former := s.Detach(); former != nil {
		former.End()
	}
	s.Attach(stream)
	s.session = caller.Session
	return stream, nil
}

// Attached implements notify.Inbox.
func (b *Inbox) Attached(caller principal.Caller) (session string, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.subs.View(caller, func(s *subscriber) { session, open = s.session, s.Stream != nil })
	return session, open
}

func (b *Inbox) closeStream(s *subscriber, stream *core.Stream) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if s.Stream != stream {
		return
	}
	s.Detach()
	s.LastSeen = b.cfg.Now()
	b.file.markDirty()
	b.removeIdle(s)
}

// Poll implements notify.Inbox.
func (b *Inbox) Poll(ctx context.Context, caller principal.Caller, wait time.Duration, limit notify.Bound) (*notify.Batch, error) {
	o := b.Owner(caller.Subject)
	return o.Poll(ctx, wait, limit.Kinds, func() (*notify.Batch, error) {
		o.Mu.Lock()
		defer o.Mu.Unlock()
		entries, left := o.Dequeue(&o.Queue, limit)
		if len(entries) == 0 {
			return &notify.Batch{}, nil
		}
		id := strconv.FormatUint(b.batches.Add(1), 10)
		o.Queue.AddLease("", id, core.Seqs(entries))
		b.file.markDirty()
		if left > 0 {
			o.WakeOne()
		}
		return notify.NewBatch(entries, left, func(delivered bool) { b.settle(o, id, delivered) }), nil
	})
}

func (b *Inbox) settle(o *core.Owner, batch string, delivered bool) {
	o.Mu.Lock()
	defer o.Mu.Unlock()
	o.Queue.Settle("", []records.Settlement{{Batch: batch, Delivered: delivered}})
	b.file.markDirty()
	if !delivered {
		o.WakeOne()
	}
}

// see records that a request with the token came in.
func (s *subscriber) see(caller principal.Caller, now time.Time) {
	if !s.Expires.Equal(caller.Expires) {
		s.Expires, s.cachedJSON = caller.Expires, ""
	}
	s.LastSeen, s.unconfirmed = now, false
}

// subscriberOf returns the caller's subscriber, and false if there is none. An abandoned one
// of the same client becomes the caller's: it has no stream, and its token has expired or
// was not seen since the last start.
func (b *Inbox) subscriberOf(caller principal.Caller, now time.Time) (*subscriber, bool) {
	if s, ok := b.subs.Of(caller); ok {
		return s, true
	}
	var found *subscriber
	for _, s := range b.subs.SameClient(caller) {
		s.Mu.Lock()
		if s.Stream == nil && (s.unconfirmed || s.Expired(now)) && (found == nil || s.LastSeen.After(found.LastSeen)) {
			found = s
		}
		s.Mu.Unlock()
	}
	if found == nil {
		return nil, false
	}
	found.Mu.Lock()
	b.subs.SetKey(found, caller.Key)
	found.cachedJSON = ""
	found.see(caller, now)
	found.Mu.Unlock()
	b.file.markDirty()
	return found, true
}

func (b *Inbox) add(caller principal.Caller) *subscriber {
	s := &subscriber{Subscriber: core.Subscriber{Owner: b.Owner(caller.Subject), Client: core.ClientOf(caller), Key: caller.Key}}
	b.subs.Add(s)
	return s
}

// Forget removes an owner: the subscriptions, the streams, which end, and the notifications.
func (b *Inbox) Forget(owner principal.Owner) error {
	b.mu.Lock()
	for _, s := range b.subs.ByKey {
		if s.Owner.Name != owner {
			continue
		}
		s.Mu.Lock()
		if stream := s.Detach(); stream != nil {
			stream.End()
		}
		s.Unsubscribe()
		b.subs.Remove(s)
		s.Mu.Unlock()
	}
	b.mu.Unlock()
	b.Log.Forget(owner)
	b.file.markDirty()
	return b.persist()
}

// removeIdle removes a subscriber that has neither a subscription nor a stream.
func (b *Inbox) removeIdle(s *subscriber) {
	if !s.Subscribed() && s.Stream == nil {
		b.subs.Remove(s)
	}
}

// makeRoom removes expired subscriptions if there are too many, and if that does not
// suffice, the oldest of the owner. What another owner has stays.
func (b *Inbox) makeRoom(owner principal.Owner, now time.Time) error {
	full := func() bool {
		most := cmp.Or(b.cfg.MaxSubscriptions, MaxSubscriptions)
		return b.subs.Full(owner, cmp.Or(b.cfg.OwnerSubscriptions, most), most)
	}
	if !full() {
		return nil
	}
	oldest, ok := b.removeUnseen(owner, now)
	if !full() {
		return nil
	}
	if !ok {
		return notify.ErrTooManySubscriptions()
	}
	b.subs.Remove(oldest)
	return nil
}

// removeUnseen removes the subscriptions whose token was not seen for notify.UnseenTTL. It
// returns the owner's that was not seen for the longest time.
func (b *Inbox) removeUnseen(owner principal.Owner, now time.Time) (oldest *subscriber, ok bool) {
	expired, oldest, ok := b.subs.Unseen(owner, now, func(s *subscriber) bool { return s.Stream != nil })
	for _, s := range expired {
		b.subs.Remove(s)
		b.file.markDirty()
	}
	return oldest, ok
}

// rewind moves cursors back that are beyond the head.
func (b *Inbox) rewind(head uint64) {
	changed := 0
	b.mu.Lock()
	for _, s := range b.subs.ByKey {
		s.Mu.Lock()
		if s.Rewind(head) {
			s.cachedJSON = ""
			changed++
		}
		s.Mu.Unlock()
	}
	b.mu.Unlock()
	for _, o := range b.Owners() {
		o.Mu.Lock()
		if max(o.Queue.Cursor, o.Queue.Orders) > head {
			o.Queue.Cursor, o.Queue.Orders, o.Queue.Returned = min(o.Queue.Cursor, head), min(o.Queue.Orders, head), core.SeqsThrough(o.Queue.Returned, head)
			changed++
		}
		o.Mu.Unlock()
	}
	if changed > 0 {
		b.cfg.Log.Warn("notification cursors rewound: ahead of the store", "readers", changed, "head", head)
		b.file.markDirty()
	}
}
