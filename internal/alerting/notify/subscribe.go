package notify

import (
	"context"
	"slices"
	"time"

	"candela/internal/kit/principal"
)

// Subscription is what a token has subscribed to and what waits for it.
type Subscription struct {
	Active    bool
	Filter    Filter
	Queued    int
	Connected bool
}

// Subscribe registers the filter of the caller's token, in place of an earlier
// one. It returns once the file or the keeper has it, so that what a client was told
// survives a crash; after an error the subscription may hold all the same.
func (l *Log) Subscribe(ctx context.Context, caller principal.Caller, f Filter) error {
	if l.shared != nil {
		return l.subscribeShared(ctx, caller, f)
	}
	now := l.cfg.Now()
	l.mu.Lock()
	s := l.find(caller, now)
	if s == nil {
		if err := l.makeRoom(now); err != nil {
			l.mu.Unlock()
			return err
		}
		s = l.add(caller)
	}
	s.mu.Lock()
	s.meet(caller, now)
	s.subscribe(f, now.UnixNano())
	open := s.stream
	s.mu.Unlock()
	l.mu.Unlock()
	if open != nil {
		open.signal() // Append may have asked the old filter about an entry of the new one
	}
	l.saver.touch()
	return l.confirm()
}

// Unsubscribe removes the subscription of the caller's token and what waits for
// it, and reports whether there was one.
func (l *Log) Unsubscribe(ctx context.Context, caller principal.Caller) (existed bool, err error) {
	if l.shared != nil {
		return l.unsubscribeShared(ctx, caller)
	}
	l.mu.Lock()
	s := l.find(caller, l.cfg.Now())
	if s != nil {
		s.mu.Lock()
		existed = s.matcher.Load() != nil
		s.unsubscribe()
		l.dropIdle(s)
		s.mu.Unlock()
	}
	l.mu.Unlock()
	if !existed {
		return false, nil
	}
	l.saver.touch()
	return true, l.confirm()
}

// Subscription tells what the caller's token has subscribed to.
func (l *Log) Subscription(ctx context.Context, caller principal.Caller) (Subscription, error) {
	if l.shared != nil {
		return l.subscriptionShared(ctx, caller)
	}
	now := l.cfg.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.find(caller, now)
	if s == nil {
		return Subscription{}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meet(caller, now)
	return s.describe(now, s.stream != nil), nil
}

// describe tells what a subscriber has subscribed to.
func (s *subscriber) describe(now time.Time, connected bool) Subscription {
	found := Subscription{Active: s.matcher.Load() != nil, Filter: s.filter.clone(), Connected: connected}
	s.waiting(s.owner.view.Load(), now.UnixNano(), func(*logEntry) bool {
		found.Queued++
		return true
	})
	return found
}

// find returns the caller's subscriber, nil when there is none. One that the same
// client left behind under a token that is gone becomes the caller's.
func (l *Log) find(caller principal.Caller, now time.Time) *subscriber {
	if s := l.own(caller); s != nil || caller.ClientKey == "" {
		return s
	}
	var heir *subscriber
	for _, s := range l.clients[clientOf(caller)] {
		s.mu.Lock()
		if s.left(now) && (heir == nil || s.seen.After(heir.seen)) {
			heir = s
		}
		s.mu.Unlock()
	}
	if heir == nil {
		return nil
	}
	delete(l.subscribers, heir.key)
	l.subscribers[caller.Key] = heir
	heir.mu.Lock()
	heir.meet(caller, now)
	heir.mu.Unlock()
	l.saver.touch()
	return heir
}

// own returns the subscriber of the caller's token, nil when there is none.
func (l *Log) own(caller principal.Caller) *subscriber {
	if s := l.subscribers[caller.Key]; s != nil && s.owner.name == caller.Subject {
		return s
	}
	return nil
}

// add makes a subscriber of the caller.
func (l *Log) add(caller principal.Caller) *subscriber {
	return l.enterNew(clientOf(caller), caller.Key)
}

func (l *Log) enterNew(id client, key string) *subscriber {
	s := &subscriber{owner: l.owner(id.owner), id: id, key: key}
	if l.shared != nil {
		s.sharing = &sharing{}
	}
	l.enter(s)
	return s
}

func (l *Log) enter(s *subscriber) {
	l.subscribers[s.key] = s
	if s.id.key != "" {
		l.clients[s.id] = append(l.clients[s.id], s)
	}
}

// dropIdle forgets a subscriber that has neither a subscription nor a stream.
func (l *Log) dropIdle(s *subscriber) {
	if s.matcher.Load() == nil && s.stream == nil {
		l.drop(s)
	}
}

func (l *Log) drop(s *subscriber) {
	delete(l.subscribers, s.key)
	rest := slices.DeleteFunc(l.clients[s.id], func(other *subscriber) bool { return other == s })
	if len(rest) == 0 {
		delete(l.clients, s.id)
	} else {
		l.clients[s.id] = rest
	}
}

// makeRoom drops who was away for too long, and when there are too many all the
// same, who was away the longest.
func (l *Log) makeRoom(now time.Time) error {
	if len(l.subscribers) < MaxSubscriptions {
		return nil
	}
	l.dropUnseen(now)
	if len(l.subscribers) < MaxSubscriptions {
		return nil
	}
	var oldest *subscriber
	for _, s := range l.subscribers {
		s.mu.Lock()
		if s.stream == nil && (oldest == nil || s.seen.Before(oldest.seen)) {
			oldest = s
		}
		s.mu.Unlock()
	}
	if oldest == nil {
		return tooMany()
	}
	l.drop(oldest)
	return nil
}

// dropUnseen forgets the subscriptions whose token was not seen for OrphanTTL.
func (l *Log) dropUnseen(now time.Time) {
	for _, s := range l.subscribers {
		s.mu.Lock()
		if s.stream == nil && now.Sub(s.seen) >= UnseenTTL {
			l.drop(s)
			l.saver.touch()
		}
		s.mu.Unlock()
	}
}

// setBack corrects the places of all readers after the log was restored.
func (l *Log) setBack(last uint64) {
	changed := 0
	l.mu.Lock()
	for _, s := range l.subscribers {
		s.mu.Lock()
		if s.setBack(last) {
			changed++
		}
		s.mu.Unlock()
	}
	l.mu.Unlock()
	for _, o := range l.allOwners() {
		o.mu.Lock()
		if o.queue.setBack(last) {
			changed++
		}
		o.mu.Unlock()
	}
	if changed > 0 {
		l.cfg.Log.Warn("readers of notifications were ahead of the store and are set back", "readers", changed, "last", last)
		l.saver.touch()
	}
}
