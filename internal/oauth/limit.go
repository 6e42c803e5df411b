package oauth

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits are how often things may happen. The zero value of each stands for its
// default.
type Limits struct {
	Register  Rate // registrations per address; 60 at once, then one per second
	Guess     Rate // passphrases per address; 5, then one per 3 minutes
	GuessAll  Rate // passphrases from everywhere; 30, then one per 2 seconds
	Addresses int  // how many addresses are remembered; 4096
}

// Rate is a bucket: Burst at once, and one more after each Every.
type Rate struct {
	Burst int
	Every time.Duration
}

func (r Rate) or(d Rate) Rate {
	if r == (Rate{}) {
		return d
	}
	return r
}

func (r Rate) limiter() *rate.Limiter { return rate.NewLimiter(rate.Every(r.Every), r.Burst) }

// limiter counts registrations and guesses. It is safe for concurrent use.
type limiter struct {
	register *perAddress
	guess    *perAddress
	guessAll *rate.Limiter

	mu     sync.Mutex // of guesses
	latest time.Time  // when the last one came
}

func newLimiter(l Limits) *limiter {
	if l.Addresses == 0 {
		l.Addresses = 4096
	}
	return &limiter{
		register: newPerAddress(l.Register.or(Rate{60, time.Second}), l.Addresses),
		guess:    newPerAddress(l.Guess.or(Rate{5, 3 * time.Minute}), l.Addresses),
		guessAll: l.GuessAll.or(Rate{30, 2 * time.Second}).limiter(),
	}
}

// tryGuess takes one guess from both buckets, or none and says how long to wait.
func (l *limiter) tryGuess(address netip.Addr, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A bucket that is asked about a moment before the last one would fill twice for
	// the time between, and callers do not come in the order of their clocks.
	if now.Before(l.latest) {
		now = l.latest
	}
	l.latest = now
	if wait = l.guess.take(address, now); wait > 0 {
		return wait
	}
	if wait = take(l.guessAll, now); wait > 0 {
		l.guess.giveBack(address, now)
	}
	return wait
}

// take takes one from the bucket, or returns how long until there is one.
func take(l *rate.Limiter, now time.Time) time.Duration {
	r := l.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// perAddress has a bucket per address, at most max of them, in two generations:
// when the young one is full it becomes the old one, and the old one goes. So
// whoever keeps asking is remembered, and room for the next costs no search. Its
// owner is the mutex.
type perAddress struct {
	mu         sync.Mutex
	rate       Rate
	max        int
	young, old map[netip.Addr]*rate.Limiter
}

func newPerAddress(r Rate, limit int) *perAddress {
	return &perAddress{rate: r, max: limit, young: map[netip.Addr]*rate.Limiter{}}
}

func (p *perAddress) take(address netip.Addr, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return take(p.bucket(network(address)), now)
}

// bucket returns the bucket of an address, a full one for an unknown address.
func (p *perAddress) bucket(address netip.Addr) *rate.Limiter {
	if b := p.young[address]; b != nil {
		return b
	}
	b := p.old[address]
	if b == nil {
		b = p.rate.limiter()
	}
	if len(p.young) >= p.max/2 {
		p.old, p.young = p.young, map[netip.Addr]*rate.Limiter{}
	}
	p.young[address] = b
	return b
}

func (p *perAddress) giveBack(address netip.Addr, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bucket(network(address)).ReserveN(now, -1)
}

// forget gives an address a full bucket again.
func (p *perAddress) forget(address netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.young, network(address))
	delete(p.old, network(address))
}

// network returns what one household has: an IPv4 address, or the /64 of an IPv6
// address, whose lower half anyone may choose.
func network(address netip.Addr) netip.Addr {
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
