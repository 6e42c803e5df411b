package notify

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"candela/internal/alerting/notify/records"
	"candela/internal/kit/principal"
)

// subscribeShared registers a filter at all replicas. It returns when the one that
// has the token's stream goes by it, so that what is committed later is held against
// this filter and no other.
func (l *Log) subscribeShared(ctx context.Context, caller principal.Caller, f Filter) error {
	sh := l.shared
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// The earlier filter wants what was committed before, here or not.
	if err := sh.CatchUp(ctx); err != nil {
		return unavailable(err)
	}
	if err := l.adopt(ctx, caller); err != nil {
		return err
	}
	last, err := sh.Store.Latest(ctx, records.SubscriptionKind, caller.Key)
	if err != nil {
		return unavailable(err)
	}
	if len(last.Data) == 0 {
		if err := l.makeRoomShared(ctx); err != nil {
			return err
		}
	}
	name, now := rand.Text(), l.cfg.Now()
	written, err := sh.replace(ctx, last, func(known records.Record) ([]byte, bool) {
		next := &subscriber{owner: l.owner(caller.Subject)}
		if form, err := decodeSub(known.Data); err == nil && form != nil && form.Owner == caller.Subject {
			if next.follow(form); next.filter.equal(f) {
				return nil, false
			}
		}
		next.subscribe(f, now.UnixNano())
		return records.Encode(records.Subscription{
			Change: name, Owner: caller.Subject, Client: caller.ClientKey, Symbols: f.Symbols, Types: f.Types, Instruments: f.Instruments,
			Since: next.since, Kept: next.kept, Expires: caller.Expires.UTC(), Seen: now.UTC(),
		}), true
	})
	if err != nil {
		return err
	}
	l.apply(written)
	l.awaitFilter(ctx, caller.Key, written.Rev)
	return nil
}

// awaitFilter waits until the replica that has the stream goes by a filter.
func (l *Log) awaitFilter(ctx context.Context, key string, rev uint64) {
	l.mu.Lock()
	s := l.subscribers[key]
	l.mu.Unlock()
	if s == nil {
		return
	}
	if !l.shared.await(ctx, s, func() bool { return s.seat.sub >= rev || !s.away(l.shared.Members) }) {
		l.cfg.Log.WarnContext(ctx, "a replica does not say that it goes by a new filter; its stream may go by the old one for a moment")
	}
}

// unsubscribeShared removes a filter at all replicas.
func (l *Log) unsubscribeShared(ctx context.Context, caller principal.Caller) (existed bool, err error) {
	sh := l.shared
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := l.adopt(ctx, caller); err != nil {
		return false, err
	}
	last, err := sh.Store.Latest(ctx, records.SubscriptionKind, caller.Key)
	if err != nil {
		return false, unavailable(err)
	}
	written, err := sh.replace(ctx, last, func(known records.Record) ([]byte, bool) {
		form, err := decodeSub(known.Data)
		here := len(known.Data) > 0 && (err != nil || form.Owner == caller.Subject)
		existed = existed || here
		return nil, here
	})
	if err != nil || !existed {
		return false, err
	}
	l.apply(written)
	l.awaitFilter(ctx, caller.Key, written.Rev)
	l.clearSeat(ctx, caller.Key)
	return true, nil
}

// clearSeat forgets the place of a token that has neither a filter nor a stream. What
// cannot be cleared is forgotten in time.
func (l *Log) clearSeat(ctx context.Context, key string) {
	last, err := l.shared.Store.Latest(ctx, records.AttachmentKind, key)
	if err != nil || len(last.Data) == 0 {
		return
	}
	l.apply(last)
	l.mu.Lock()
	s := l.subscribers[key]
	l.mu.Unlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	idle := s.matcher.Load() == nil && !s.seat.open
	s.mu.Unlock()
	if !idle {
		return
	}
	rev, err := l.shared.Store.Write(ctx, []records.Record{{Kind: records.AttachmentKind, Name: key, Rev: last.Rev, CompareAndSet: true}})
	if err == nil {
		l.apply(records.Record{Kind: records.AttachmentKind, Name: key, Rev: rev})
	}
}

// subscriptionShared tells what the caller's token has subscribed to, as the keeper
// knows it, and how far a stream has come, as its replica last wrote it.
func (l *Log) subscriptionShared(ctx context.Context, caller principal.Caller) (Subscription, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := l.adopt(ctx, caller); err != nil {
		return Subscription{}, err
	}
	now := l.cfg.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.own(caller)
	if s == nil {
		return Subscription{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = now
	if now.Sub(s.noted) > seenStep && s.seat.at == l.shared.Members.Self() {
		l.shared.hurry(s)
	}
	s.learn(l.shared)
	return s.describe(now, s.stream != nil || s.away(l.shared.Members)), nil
}

// refresh reads what is kept of a token: it may have been changed elsewhere a moment
// ago.
func (l *Log) refresh(ctx context.Context, key string) error {
	r, err := l.shared.Store.Latest(ctx, records.SubscriptionKind, key)
	if err != nil {
		return unavailable(err)
	}
	if r.Rev > 0 {
		l.apply(r)
	}
	return l.refreshSeat(ctx, key)
}

// refreshSeat reads the seat of a token.
func (l *Log) refreshSeat(ctx context.Context, key string) error {
	r, err := l.shared.Store.Latest(ctx, records.AttachmentKind, key)
	if err != nil {
		return unavailable(err)
	}
	if r.Rev > 0 {
		l.apply(r)
		return nil
	}
	// What was forgotten long ago leaves no revision.
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.subscribers[key]; s != nil {
		s.mu.Lock()
		s.seatRev = 0
		s.mu.Unlock()
	}
	return nil
}

// adopt makes what the same client left behind under a token that is gone the
// caller's, unless the caller's token has something already.
func (l *Log) adopt(ctx context.Context, caller principal.Caller) error {
	if err := l.refresh(ctx, caller.Key); err != nil {
		return err
	}
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		heir, err := l.heir(ctx, caller)
		if err != nil || heir == nil {
			return err
		}
		err = l.inherit(ctx, caller, heir)
		if err == nil {
			return nil
		}
		// Another call may have been first, or this one's answer got lost.
		if !pause(ctx, wait) {
			return unavailable(err)
		}
		heir.mu.Lock()
		key := heir.key
		heir.mu.Unlock()
		if err := errors.Join(l.refresh(ctx, caller.Key), l.refresh(ctx, key)); err != nil {
			return err
		}
	}
}

// heir returns what the caller may take over, nil when there is nothing: of several,
// what was seen last.
func (l *Log) heir(ctx context.Context, caller principal.Caller) (*subscriber, error) {
	type candidate struct {
		s    *subscriber
		key  string
		seen time.Time
		over bool // its token has expired
	}
	var all []candidate
	now := l.cfg.Now()
	l.mu.Lock()
	if l.own(caller) == nil && caller.ClientKey != "" {
		for _, s := range l.clients[clientOf(caller)] {
			s.mu.Lock()
			connected := s.stream != nil || s.away(l.shared.Members)
			if s.matcher.Load() != nil {
				all = append(all, candidate{s, s.key, s.seen, !connected && !s.expires.IsZero() && !now.Before(s.expires)})
			}
			s.mu.Unlock()
		}
	}
	l.mu.Unlock()
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(b.seen.Compare(a.seen), cmp.Compare(a.key, b.key)) })
	for _, c := range all {
		gone := c.over
		if !gone && l.shared.TokenEnded != nil {
			var err error
			if gone, err = l.shared.TokenEnded(ctx, c.key); err != nil {
				return nil, unavailable(err)
			}
		}
		if gone {
			return c.s, l.refresh(ctx, c.key)
		}
	}
	return nil, nil
}

// inherit moves what is kept of a token to the caller's, all or nothing.
func (l *Log) inherit(ctx context.Context, caller principal.Caller, heir *subscriber) error {
	now := l.cfg.Now().UTC()
	heir.mu.Lock()
	heir.learn(l.shared)
	old := records.Record{Kind: records.SubscriptionKind, Name: heir.key, Rev: heir.subRev, CompareAndSet: true}
	sub := records.Encode(records.Subscription{
		Change: rand.Text(), Owner: caller.Subject, Client: caller.ClientKey, Symbols: heir.filter.Symbols, Types: heir.filter.Types, Instruments: heir.filter.Instruments,
		Since: heir.since, Kept: heir.kept, Expires: caller.Expires.UTC(), Seen: now,
	})
	seat := records.Encode(records.Attachment{Owner: caller.Subject, Epoch: 1, Cursor: heir.cursor, Seen: now})
	ended := heir.matcher.Load() == nil
	heir.mu.Unlock()
	if ended {
		return records.ErrConflict
	}
	return l.write(ctx, []records.Record{
		old,
		{Kind: records.AttachmentKind, Name: old.Name},
		{Kind: records.SubscriptionKind, Name: caller.Key, Data: sub},
		{Kind: records.AttachmentKind, Name: caller.Key, Data: seat},
	})
}

// write writes records and notes them at once.
func (l *Log) write(ctx context.Context, batch []records.Record) error {
	first, err := l.shared.Store.Write(ctx, batch)
	if err != nil {
		return err
	}
	for i, r := range batch {
		r.Rev = first + uint64(i)
		l.apply(r)
	}
	return nil
}
