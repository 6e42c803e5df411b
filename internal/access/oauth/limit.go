package oauth

import (
	"cmp"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"candela/internal/kit/bucket"
)

// Limits holds rate limits. A zero field means its default.
type Limits struct {
	Register  Rate // registrations per address; 60 at once, then one per second
	Guess     Rate // passphrases per address; 5, then one per 3 minutes
	GuessAll  Rate // passphrases from everywhere; 30, then one per 2 seconds
	SignIn    Rate // sign-ins that come back, per address; 60, then ten per second
	SignOut   Rate // logouts that the identity provider reports; 10, then ten per second
	Addresses int  // number of addresses remembered; 4096
}

// Rate is a token bucket: Burst at once, and one more after each Every.
type Rate = bucket.Rate

// limiter counts registrations and guesses. It is safe for concurrent use.
type limiter struct {
	register *bucket.Set[netip.Addr]
	guess    *bucket.Set[netip.Addr]
	guessAll *rate.Limiter
	signIn   *bucket.Set[netip.Addr]
	signOut  *rate.Limiter

	mu     sync.Mutex // guards guesses
	latest time.Time  // of the last guess
}

func newLimiter(l Limits) *limiter {
	l.Addresses = cmp.Or(l.Addresses, 4096)
	return &limiter{
		register: bucket.NewSet[netip.Addr](cmp.Or(l.Register, Rate{Burst: 60, Every: time.Second}), l.Addresses),
		guess:    bucket.NewSet[netip.Addr](cmp.Or(l.Guess, Rate{Burst: 5, Every: 3 * time.Minute}), l.Addresses),
		guessAll: cmp.Or(l.GuessAll, Rate{Burst: 30, Every: 2 * time.Second}).Limiter(),
		signIn:   bucket.NewSet[netip.Addr](cmp.Or(l.SignIn, Rate{Burst: 60, Every: 100 * time.Millisecond}), l.Addresses),
		signOut:  cmp.Or(l.SignOut, Rate{Burst: 10, Every: 100 * time.Millisecond}).Limiter(),
	}
}

// tryGuess takes one guess from both buckets, or none and returns the time to wait.
func (l *limiter) tryGuess(address netip.Addr, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// Time must not go backwards: a bucket would refill twice for the time in between,
	// and concurrent callers arrive out of order.
	if now.Before(l.latest) {
		now = l.latest
	}
	l.latest = now
	if wait = l.guess.Take(bucket.Network(address), now); wait > 0 {
		return wait
	}
	if wait = bucket.Take(l.guessAll, now); wait > 0 {
		l.guess.GiveBack(bucket.Network(address), now)
	}
	return wait
}

// guessesLeft returns how many guesses an address has now.
func (l *limiter) guessesLeft(address netip.Addr, now time.Time) int {
	return min(l.guess.Left(bucket.Network(address), now), max(0, int(l.guessAll.TokensAt(now))))
}
