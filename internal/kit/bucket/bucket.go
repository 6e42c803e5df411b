// Package bucket limits how often each of many keys may do something. A key is a
// network address, a token, or whatever else is counted.
package bucket

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate lets Burst happen at once, and one more after each Every.
type Rate struct {
	Burst int
	Every time.Duration
}

// Limiter returns one bucket of the rate, which is full.
func (r Rate) Limiter() *rate.Limiter { return rate.NewLimiter(rate.Every(r.Every), r.Burst) }

// Take takes one from a bucket, or returns how long until there is one.
func Take(l *rate.Limiter, now time.Time) time.Duration {
	r := l.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// Set has a bucket for each key, at most so many of them, in two generations: when the
// young one is full it becomes the old one, and the old one is dropped. Keys that are
// in use are remembered, and making room costs no search. It is safe for concurrent
// use.
type Set[K comparable] struct {
	rate Rate
	most int

	mu         sync.Mutex
	young, old map[K]*rate.Limiter
}

// NewSet returns a Set that remembers at most so many keys.
func NewSet[K comparable](r Rate, most int) *Set[K] {
	return &Set[K]{rate: r, most: most, young: map[K]*rate.Limiter{}}
}

// Take takes one from the bucket of a key, or returns how long until there is one.
func (s *Set[K]) Take(key K, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Take(s.bucket(key), now)
}

// Reserve takes one from the bucket of a key in advance, and returns how long until it is there. One
// that would be there only after most is not taken.
func (s *Set[K]) Reserve(key K, now time.Time, most time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.bucket(key).ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > most {
		r.CancelAt(now)
		return most
	}
	return wait
}

// GiveBack undoes a Take.
func (s *Set[K]) GiveBack(key K, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bucket(key).ReserveN(now, -1)
}

// Left returns how many can be taken for a key now.
func (s *Set[K]) Left(key K, now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(0, int(s.bucket(key).TokensAt(now)))
}

// Forget gives a key a full bucket again.
func (s *Set[K]) Forget(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.young, key)
	delete(s.old, key)
}

// bucket returns the bucket of a key, a full one for a key that is not known.
func (s *Set[K]) bucket(key K) *rate.Limiter {
	if b := s.young[key]; b != nil {
		return b
	}
	b := s.old[key]
	if b == nil {
		b = s.rate.Limiter()
	}
	if len(s.young) >= s.most/2 {
		s.old, s.young = s.young, map[K]*rate.Limiter{}
	}
	s.young[key] = b
	return b
}

// Network returns what one household has: an IPv4 address, or the /64 of an IPv6
// address, whose lower half anyone may choose.
func Network(address netip.Addr) netip.Addr {
	address = address.Unmap().WithZone("")
	if !address.Is6() {
		return address
	}
	prefix, err := address.Prefix(64)
	if err != nil {
		return address
	}
	return prefix.Addr()
}
