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

// perAddress has a bucket per address, at most max of them: past that the one
// that was used longest ago goes. Its owner is the mutex.
type perAddress struct {
	mu      sync.Mutex
	rate    Rate
	max     int
	buckets map[netip.Addr]*bucket
}

type bucket struct {
	limiter *rate.Limiter
	used    time.Time
}

func newPerAddress(r Rate, limit int) *perAddress {
	return &perAddress{rate: r, max: limit, buckets: map[netip.Addr]*bucket{}}
}

func (p *perAddress) take(address netip.Addr, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	address = network(address)
	b := p.buckets[address]
	if b == nil {
		p.makeRoom(now)
		b = &bucket{limiter: p.rate.limiter()}
		p.buckets[address] = b
	}
	b.used = now
	return take(b.limiter, now)
}

func (p *perAddress) giveBack(address netip.Addr, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.buckets[network(address)]; b != nil {
		b.limiter.ReserveN(now, -1)
	}
}

// forget gives an address a full bucket again.
func (p *perAddress) forget(address netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.buckets, network(address))
}

// makeRoom drops the buckets that have filled up again, which say nothing, and
// if there is still no room the one that was used longest ago.
func (p *perAddress) makeRoom(now time.Time) {
	if len(p.buckets) < p.max {
		return
	}
	var oldest netip.Addr
	var used time.Time
	full := time.Duration(p.rate.Burst) * p.rate.Every
	for address, b := range p.buckets {
		if now.Sub(b.used) >= full {
			delete(p.buckets, address)
			continue
		}
		if used.IsZero() || b.used.Before(used) {
			oldest, used = address, b.used
		}
	}
	if len(p.buckets) >= p.max {
		delete(p.buckets, oldest)
	}
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
