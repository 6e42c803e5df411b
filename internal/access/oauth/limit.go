package oauth

import (
	"cmp"
	"context"
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

// SharedGuesses is a Store that counts guesses of the passphrase for all replicas.
type SharedGuesses interface {
	// TakeGuess takes a guess from an address and from all, or none and returns the time to wait. left
	// is how many the address has then.
	TakeGuess(ctx context.Context, from string, one, all Rate) (left int, wait time.Duration, err error)
	// ForgetGuesses forgets those from an address, after a right one.
	ForgetGuesses(ctx context.Context, from string) error
}

// limiter counts registrations and guesses. It is safe for concurrent use.
type limiter struct {
	register *bucket.Set[netip.Addr]
	guess    *bucket.Set[netip.Addr]
	guessAll *rate.Limiter
	signIn   *bucket.Set[netip.Addr]
	signOut  *rate.Limiter

	mu     sync.Mutex // guards guesses
	latest time.Time  // of the last guess

	one, all Rate          // of guesses
	shared   SharedGuesses // nil if this process is the only one that counts
}

func newLimiter(l Limits, store Store) *limiter {
	l.Addresses = cmp.Or(l.Addresses, 4096)
	l.Guess, l.GuessAll = cmp.Or(l.Guess, Rate{Burst: 5, Every: 3 * time.Minute}), cmp.Or(l.GuessAll, Rate{Burst: 30, Every: 2 * time.Second})
	shared, _ := store.(SharedGuesses)
	return &limiter{
		one: l.Guess, all: l.GuessAll, shared: shared,
		register: bucket.NewSet[netip.Addr](cmp.Or(l.Register, Rate{Burst: 60, Every: time.Second}), l.Addresses),
		guess:    bucket.NewSet[netip.Addr](l.Guess, l.Addresses),
		guessAll: l.GuessAll.Limiter(),
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

// trySharedGuess is tryGuess among all replicas. left is how many guesses the address has then.
func (l *limiter) trySharedGuess(ctx context.Context, address netip.Addr) (left int, wait time.Duration, err error) {
	if l.shared == nil {
		return l.one.Burst, 0, nil
	}
	return l.shared.TakeGuess(ctx, bucket.Network(address).String(), l.one, l.all)
}

// forget forgets the guesses of an address after a right one.
func (l *limiter) forget(ctx context.Context, address netip.Addr) error {
	l.guess.Forget(bucket.Network(address))
	if l.shared == nil {
		return nil
	}
	return l.shared.ForgetGuesses(ctx, bucket.Network(address).String())
}

// guessesLeft returns how many guesses an address has now.
func (l *limiter) guessesLeft(address netip.Addr, now time.Time) int {
	return min(l.guess.Left(bucket.Network(address), now), max(0, int(l.guessAll.TokensAt(now))))
}
