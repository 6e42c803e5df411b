package core

import (
	"slices"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/principal"
)

// An Index finds subscribers by token and by client. It is not safe for concurrent use.
type Index[S interface {
	comparable
	Core() *Subscriber
}] struct {
	ByKey    map[string]S // by principal.Caller.Key
	byClient map[Client][]S
	byOwner  map[principal.Owner]int // how many each owner has
}

// Add indexes a subscriber.
func (x *Index[S]) Add(s S) {
	if x.ByKey == nil {
		x.ByKey, x.byClient, x.byOwner = map[string]S{}, map[Client][]S{}, map[principal.Owner]int{}
	}
	if _, known := x.ByKey[s.Core().Key]; !known {
		x.byOwner[s.Core().Owner.Name]++
	}
	x.ByKey[s.Core().Key] = s
	x.addClient(s)
}

func (x *Index[S]) addClient(s S) {
	if client := s.Core().Client; client.Key != "" {
		x.byClient[client] = append(x.byClient[client], s)
	}
}

// SetClient indexes a subscriber whose client was unknown.
func (x *Index[S]) SetClient(s S, key string) {
	if s.Core().Client.Key == "" {
		s.Core().Client.Key = key
		x.addClient(s)
	}
}

// SetKey changes the token of a subscriber.
func (x *Index[S]) SetKey(s S, key string) {
	delete(x.ByKey, s.Core().Key)
	s.Core().Key = key
	x.ByKey[key] = s
}

// Of returns the subscriber of the caller's token, and false if there is none.
func (x *Index[S]) Of(caller principal.Caller) (S, bool) {
	s, ok := x.ByKey[caller.Key]
	if !ok || s.Core().Owner.Name != caller.Subject {
		var none S
		return none, false
	}
	return s, true
}

// View calls see with the subscriber of the caller's token, if there is one, and holds its
// Mu meanwhile.
func (x *Index[S]) View(caller principal.Caller, see func(S)) {
	if s, ok := x.Of(caller); ok {
		s.Core().Mu.Lock()
		defer s.Core().Mu.Unlock()
		see(s)
	}
}

// SameClient returns the subscribers of the caller's client.
func (x *Index[S]) SameClient(caller principal.Caller) []S {
	if caller.ClientKey == "" {
		return nil
	}
	return x.byClient[ClientOf(caller)]
}

// Remove removes a subscriber. It is safe to call twice.
func (x *Index[S]) Remove(s S) {
	if x.ByKey[s.Core().Key] == s {
		delete(x.ByKey, s.Core().Key)
		x.forget(s.Core().Owner.Name)
	}
	client := s.Core().Client
	rest := slices.DeleteFunc(x.byClient[client], func(other S) bool { return other == s })
	if len(rest) == 0 {
		delete(x.byClient, client)
	} else {
		x.byClient[client] = rest
	}
}

func (x *Index[S]) forget(owner principal.Owner) {
	if x.byOwner[owner]--; x.byOwner[owner] <= 0 {
		delete(x.byOwner, owner)
	}
}

// Full reports whether there is no room for one more subscriber of an owner, whose share or
// whose inbox may be full.
func (x *Index[S]) Full(owner principal.Owner, share, most int) bool {
	return x.byOwner[owner] >= share || len(x.ByKey) >= most
}

// Unseen returns the disconnected subscribers of all owners that were not seen for
// notify.UnseenTTL, and that of one owner which was not seen for the longest time, if any of
// that owner is disconnected.
func (x *Index[S]) Unseen(owner principal.Owner, now time.Time, connected func(S) bool) (expired []S, oldest S, ok bool) {
	var oldestSeen time.Time
	for _, s := range x.ByKey {
		c := s.Core()
		c.Mu.Lock()
		if !connected(s) {
			if now.Sub(c.LastSeen) >= notify.UnseenTTL {
				expired = append(expired, s)
			}
			if c.Owner.Name == owner && (!ok || c.LastSeen.Before(oldestSeen)) {
				oldest, oldestSeen, ok = s, c.LastSeen, true
			}
		}
		c.Mu.Unlock()
	}
	return expired, oldest, ok
}

// Subscriptions counts the subscribers that have one.
func (x *Index[S]) Subscriptions() int {
	n := 0
	for _, s := range x.ByKey {
		if s.Core().Subscribed() {
			n++
		}
	}
	return n
}
