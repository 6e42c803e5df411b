package replicated

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/internal/core"
	"candela/internal/alerting/notify/records"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
)

// Subscribe implements notify.Inbox. It returns once the replica that serves the token's
// stream applies the filter, so that entries committed later are matched against it.
func (b *Inbox) Subscribe(ctx context.Context, caller principal.Caller, f notify.Filter) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := b.load(ctx, caller.Subject); err != nil {
		return err
	}
	// The earlier filter applies to everything committed so far.
	if err := b.cfg.CatchUp(ctx); err != nil {
		return unavailable(err)
	}
	if err := b.inherit(ctx, caller); err != nil {
		return err
	}
	latest, err := b.cfg.Store.Latest(ctx, records.SubscriptionKind, caller.Key)
	if err != nil {
		return unavailable(err)
	}
	if len(latest.Data) == 0 {
		if err := b.makeRoom(ctx, caller.Subject); err != nil {
			return err
		}
	}
	change, now := rand.Text(), b.cfg.Now()
	written, err := b.compareAndSet(ctx, latest, func(known records.Record) ([]byte, bool) {
		next := &core.Subscriber{Owner: b.Owner(caller.Subject), Expires: caller.Expires}
		if data, err := records.DecodeSubscription(known.Data); err == nil && data != nil && data.Owner == caller.Subject {
			next.SetFilter(filterOf(data), data.Since, data.Kept)
		}
		if !next.Subscribe(f, now.UnixNano()) {
			return nil, false
		}
		return subscriptionData(next, caller, change, now), true
	})
	if err != nil {
		return err
	}
	b.apply(written)
	b.awaitFilterApplied(ctx, caller.Key, written.Rev)
	return nil
}

func subscriptionData(s *core.Subscriber, caller principal.Caller, change string, now time.Time) []byte {
	return records.Encode(records.Subscription{
		Change: change, Owner: caller.Subject, Client: caller.ClientKey,
		Symbols: s.Filter.Symbols, Types: s.Filter.Types, Kinds: s.Filter.Kinds, Instruments: s.Filter.Instruments,
		Since: s.FilterFrom, Kept: s.EarlierMatches, Expires: caller.Expires.UTC(), Seen: now.UTC(),
	})
}

func filterOf(data *records.Subscription) notify.Filter {
	return notify.Filter{Symbols: data.Symbols, Types: data.Types, Kinds: data.Kinds, Instruments: data.Instruments}
}

// awaitFilterApplied waits until the replica that serves the stream applies a filter.
func (b *Inbox) awaitFilterApplied(ctx context.Context, key string, rev uint64) {
	s := b.subscriber(key)
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, b.cfg.FilterTimeout)
	defer cancel()
	checkLive := time.NewTicker(filterTimeout / 20)
	defer checkLive.Stop()
	for {
		s.Mu.Lock()
		if s.attachment.filterRev >= rev || !b.attachedElsewhere(s) {
			s.Mu.Unlock()
			return
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.Mu.Unlock()
		select {
		case <-changed:
		case <-checkLive.C:
		case <-ctx.Done():
			b.cfg.Log.WarnContext(ctx, "filter change not confirmed by the attached replica; its stream may briefly use the old filter")
			return
		}
	}
}

// Unsubscribe implements notify.Inbox.
func (b *Inbox) Unsubscribe(ctx context.Context, caller principal.Caller) (existed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := b.loaded(ctx); err != nil {
		return false, err
	}
	if err := b.inherit(ctx, caller); err != nil {
		return false, err
	}
	latest, err := b.cfg.Store.Latest(ctx, records.SubscriptionKind, caller.Key)
	if err != nil {
		return false, unavailable(err)
	}
	written, err := b.compareAndSet(ctx, latest, func(known records.Record) ([]byte, bool) {
		data, err := records.DecodeSubscription(known.Data)
		found := len(known.Data) > 0 && (err != nil || data.Owner == caller.Subject)
		existed = existed || found
		return nil, found
	})
	if err != nil || !existed {
		return false, err
	}
	b.apply(written)
	b.awaitFilterApplied(ctx, caller.Key, written.Rev)
	b.clearAttachment(ctx, caller.Key)
	return true, nil
}

// clearAttachment deletes the attachment of a token that has neither a filter nor a stream.
// If that fails, the record expires with the token.
func (b *Inbox) clearAttachment(ctx context.Context, key string) {
	latest, err := b.cfg.Store.Latest(ctx, records.AttachmentKind, key)
	if err != nil || len(latest.Data) == 0 {
		return
	}
	b.apply(latest)
	s := b.subscriber(key)
	if s == nil {
		return
	}
	s.Mu.Lock()
	idle := !s.Subscribed() && !s.attachment.open
	s.Mu.Unlock()
	if idle {
		_ = b.write(ctx, []records.Record{{Kind: records.AttachmentKind, Name: key, Rev: latest.Rev, CompareAndSet: true}})
	}
}

// Subscription implements notify.Inbox. The cursor of a stream at another replica is the one
// that replica last wrote.
func (b *Inbox) Subscription(ctx context.Context, caller principal.Caller) (notify.Subscription, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := b.load(ctx, caller.Subject); err != nil {
		return notify.Subscription{}, err
	}
	if err := b.inherit(ctx, caller); err != nil {
		return notify.Subscription{}, err
	}
	now := b.cfg.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	s, ok := b.subs.Of(caller)
	if !ok {
		return notify.Subscription{}, nil
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	s.LastSeen = now
	if now.Sub(s.seenWritten) > seenWriteEvery && s.attachment.replica == b.self {
		b.markDirty(s)
	}
	b.refreshCursor(s)
	return s.Describe(now, b.connected(s)), nil
}

func (b *Inbox) handleSubscription(r records.Record) error {
	data, err := records.DecodeSubscription(r.Data)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.subs.ByKey[r.Name]
	if s == nil {
		if data == nil {
			return nil
		}
		s = b.addSubscriber(core.Client{Owner: data.Owner, Key: data.Client}, r.Name)
	}
	s.Mu.Lock()
	defer s.Mu.Unlock()
	if r.Rev <= s.filterRev {
		return nil
	}
	s.filterRev = r.Rev
	if data == nil {
		s.Unsubscribe()
	} else {
		s.SetFilter(filterOf(data), data.Since, data.Kept)
		s.Expires = data.Expires
		if data.Seen.After(s.LastSeen) {
			s.LastSeen = data.Seen
		}
		b.subs.SetClient(s, data.Client) // an attachment does not name the client
	}
	s.notifyChanged()
	if s.Stream != nil {
		s.Stream.Signal() // Append may have matched an entry against the old filter
	}
	if s.attachment.open && s.attachment.replica == b.self {
		b.markDirty(s) // the replica that changed the filter waits for this
	}
	b.removeUnused(s)
	return nil
}

// refresh reads the records of a token, which may have changed a moment ago.
func (b *Inbox) refresh(ctx context.Context, key string) error {
	r, err := b.cfg.Store.Latest(ctx, records.SubscriptionKind, key)
	if err != nil {
		return unavailable(err)
	}
	if r.Rev > 0 {
		b.apply(r)
	}
	return b.refreshAttachment(ctx, key)
}

// inherit refreshes the caller's records. If there are none, it moves those of an ended token
// of the same client to the caller's token.
func (b *Inbox) inherit(ctx context.Context, caller principal.Caller) error {
	if err := b.refresh(ctx, caller.Key); err != nil {
		return err
	}
	for wait := minBackoff; ; wait = min(2*wait, maxBackoff) {
		from, err := b.predecessor(ctx, caller)
		if err != nil || from == nil {
			return err
		}
		err = b.moveSubscription(ctx, caller, from)
		if err == nil {
			return nil
		}
		// Another call may have been first, or the acknowledgement was lost.
		if retry.Sleep(ctx, wait) != nil {
			return unavailable(err)
		}
		if err := errors.Join(b.refresh(ctx, caller.Key), b.refresh(ctx, from.Key)); err != nil {
			return err
		}
	}
}

// predecessor returns the subscriber that the caller inherits, nil if there is none. Of
// several it is the one seen last.
func (b *Inbox) predecessor(ctx context.Context, caller principal.Caller) (*subscriber, error) {
	type candidate struct {
		s       *subscriber
		seen    time.Time
		expired bool
	}
	var candidates []candidate
	now := b.cfg.Now()
	b.mu.Lock()
	if _, ok := b.subs.Of(caller); !ok {
		for _, s := range b.subs.SameClient(caller) {
			s.Mu.Lock()
			if s.Subscribed() {
				candidates = append(candidates, candidate{s, s.LastSeen, !b.connected(s) && s.Expired(now)})
			}
			s.Mu.Unlock()
		}
	}
	b.mu.Unlock()
	slices.SortFunc(candidates, func(x, y candidate) int { return cmp.Or(y.seen.Compare(x.seen), cmp.Compare(x.s.Key, y.s.Key)) })
	for _, c := range candidates {
		ended := c.expired
		if !ended && b.cfg.TokenEnded != nil {
			var err error
			if ended, err = b.cfg.TokenEnded(ctx, c.s.Key); err != nil {
				return nil, unavailable(err)
			}
		}
		if ended {
			return c.s, b.refresh(ctx, c.s.Key)
		}
	}
	return nil, nil //nolint:nilnil // most callers inherit nothing
}

// moveSubscription moves the records of a token to the caller's, atomically.
func (b *Inbox) moveSubscription(ctx context.Context, caller principal.Caller, from *subscriber) error {
	now := b.cfg.Now()
	from.Mu.Lock()
	b.refreshCursor(from)
	subscribed, rev := from.Subscribed(), from.filterRev
	sub := subscriptionData(&from.Subscriber, caller, rand.Text(), now)
	attachment := records.Encode(records.Attachment{Owner: caller.Subject, Epoch: 1, Cursor: from.Cursor, Seen: now.UTC()})
	from.Mu.Unlock()
	if !subscribed {
		return records.ErrConflict
	}
	return b.write(ctx, []records.Record{
		{Kind: records.SubscriptionKind, Name: from.Key, Rev: rev, CompareAndSet: true},
		{Kind: records.AttachmentKind, Name: from.Key},
		{Kind: records.SubscriptionKind, Name: caller.Key, Data: sub},
		{Kind: records.AttachmentKind, Name: caller.Key, Data: attachment},
	})
}

// expireSubscriptions removes, for all replicas, the subscriptions whose token was not seen
// for notify.UnseenTTL. It returns the owner's that was not seen for the longest time, nil if
// every client of that owner is connected.
func (b *Inbox) expireSubscriptions(ctx context.Context, owner principal.Owner) (oldest *subscriber) {
	b.mu.Lock()
	expired, oldest, _ := b.subs.Unseen(owner, b.cfg.Now(), b.connected)
	b.mu.Unlock()
	if err := b.removeTokens(ctx, expired...); err != nil {
		b.cfg.Log.WarnContext(ctx, "removing expired subscriptions failed; retrying later", "error", err)
	}
	return oldest
}

func (b *Inbox) removeTokens(ctx context.Context, subs ...*subscriber) error {
	for some := range slices.Chunk(subs, records.MaxRecords/2) {
		list := make([]records.Record, 0, 2*len(some))
		for _, s := range some {
			list = append(list, records.Record{Kind: records.SubscriptionKind, Name: s.Key}, records.Record{Kind: records.AttachmentKind, Name: s.Key})
		}
		if err := b.write(ctx, list); err != nil {
			return err
		}
	}
	return nil
}

// makeRoom removes expired subscriptions if there are too many, and if that does not
// suffice, the oldest of the owner. What another owner has stays.
func (b *Inbox) makeRoom(ctx context.Context, owner principal.Owner) error {
	full := func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.subs.Full(owner, b.cfg.OwnerSubscriptions, b.cfg.MaxSubscriptions)
	}
	if !full() {
		return nil
	}
	oldest := b.expireSubscriptions(ctx, owner)
	switch {
	case !full():
		return nil
	case oldest == nil:
		return notify.ErrTooManySubscriptions()
	}
	if err := b.removeTokens(ctx, oldest); err != nil {
		return unavailable(err)
	}
	return nil
}
