package upstream

import (
	"context"
	"sync"
	"time"

	"candela/internal/kit/retry"
)

// Limit is how much a host may be asked.
type Limit struct {
	// Weight is the most that requests may weigh in each period of Per, counted
	// from whole multiples of Per as venues count. 0 means no limit.
	Weight int
	Per    time.Duration
	// Spacing is the least time between two requests. 0 means none.
	Spacing time.Duration
	// MaxWait is how long a request waits for its turn before it is refused with
	// the time to come back; 10 s when it is 0.
	MaxWait time.Duration
}

const defaultMaxWait = 10 * time.Second

// limiter decides when a host may be asked. It is safe for concurrent use.
type limiter struct {
	mu          sync.Mutex
	period      int64 // the number of the period that told belongs to
	used        int   // weight used in it, as the venue says or as we count
	inFlight    int   // weight of requests that are not answered yet
	next        time.Time
	until       time.Time // the venue wants no request before
	pausesInRow int       // how often in a row it said so
	breaker     breaker
}

// blocked says that a request was not made.
type blocked struct {
	why  string
	wait time.Duration
	down bool // the host did not answer; otherwise a limit keeps the request
}

// permit is the right to make one request. done must be called with how it went.
type permit struct {
	limiter *limiter
	weight  int
	per     time.Duration
	probe   bool
}

// acquire waits for the right to ask. It returns what keeps it, when that would
// take longer than the caller's patience, or the error of ctx.
func (g *limiter) acquire(ctx context.Context, weight int, limit Limit) (*permit, *blocked, error) {
	patience := limit.MaxWait
	if patience == 0 {
		patience = defaultMaxWait
	}
	deadline := time.Now().Add(patience)
	for {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		p, b := g.tryAcquire(weight, limit, time.Now())
		if p != nil {
			return p, nil, nil
		}
		if time.Now().Add(b.wait).After(deadline) {
			return nil, b, nil
		}
		if err := retry.Sleep(ctx, b.wait); err != nil {
			return nil, nil, err
		}
	}
}

// tryAcquire returns a pass, or what stands in the way at now.
func (g *limiter) tryAcquire(weight int, limit Limit, now time.Time) (*permit, *blocked) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if wait := g.until.Sub(now); wait > 0 {
		return nil, &blocked{why: "it asked for a pause", wait: wait}
	}
	if wait := g.breaker.wait(now); wait > 0 {
		return nil, &blocked{why: "it did not answer several times", wait: wait, down: true}
	}
	if limit.Weight > 0 {
		if period := now.UnixNano() / int64(limit.Per); period != g.period {
			g.period, g.used = period, 0
		}
		// A request that alone is over the limit goes out when nothing else does.
		if used := g.used + g.inFlight; used > 0 && used+weight > limit.Weight {
			return nil, &blocked{why: "its limit is used up", wait: limit.Per - time.Duration(now.UnixNano()%int64(limit.Per))}
		}
	}
	if wait := g.next.Sub(now); wait > 0 {
		return nil, &blocked{why: "requests to it are spaced", wait: wait}
	}
	g.next = now.Add(limit.Spacing)
	g.inFlight += weight
	return &permit{limiter: g, weight: weight, per: limit.Per, probe: g.breaker.begin(now)}, nil
}

// requestResult is how a request went, as far as the gate cares.
type requestResult uint8

const (
	answered  requestResult = iota // the host works, whatever it said
	failed                         // no answer, or none a working host would give
	throttled                      // the host wants a pause
	abandoned                      // the caller went away; the host is not to blame
)

// responseInfo is what an answer says besides what was asked for.
type responseInfo struct {
	used  int           // weight used in the period of at, negative when it is not told
	at    time.Time     // when the answer was made
	pause time.Duration // how long no requests are wanted, for throttled; 0 when that is not told
}

// release gives the pass back. It returns how long the host wants no requests, for
// throttled.
func (p *permit) release(v requestResult, o responseInfo) (pause time.Duration) {
	g, now := p.limiter, time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inFlight -= p.weight
	// What was told of a period that is over says nothing about the present one.
	if o.used >= 0 && p.per > 0 && o.at.UnixNano()/int64(p.per) >= g.period {
		g.used = max(g.used, o.used)
	} else {
		g.used += p.weight
	}
	switch v {
	case throttled:
		pause = g.extendPause(now, o.pause)
		g.breaker.record(now, p.probe, true)
	case answered:
		g.pausesInRow = 0
		g.breaker.record(now, p.probe, true)
	case failed:
		g.breaker.record(now, p.probe, false)
	case abandoned:
		g.breaker.cancelProbe(p.probe)
	}
	return pause
}

// extendPause lets no request out for as long as a host that refuses says. When it does not
// say, that is ten seconds, doubled each time in a row up to five minutes. Requests
// that were under way when a pause began, as those that waited for the end of the
// one before, are refused together, and that counts once. It returns the pause that
// holds then, which is no shorter than one that held before.
func (g *limiter) extendPause(now time.Time, pause time.Duration) time.Duration {
	left := g.until.Sub(now)
	switch {
	case pause == 0 && left > 0:
		return left
	case pause == 0:
		pause = retry.Backoff{First: 10 * time.Second, Max: 5 * time.Minute}.Bound(g.pausesInRow + 1)
	}
	if left <= 0 {
		g.pausesInRow++
	}
	pause = max(pause, left)
	g.until = now.Add(pause)
	return pause
}

// pause lets no request out for a while, and returns for how long.
func (g *limiter) pause(d time.Duration) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.extendPause(time.Now(), d)
}

// paused returns how long the host still wants to be left alone.
func (g *limiter) paused() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Until(g.until)
}
