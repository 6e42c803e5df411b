package upstream

import (
	"cmp"
	"context"
	"sync"
	"time"

	"candela/internal/kit/retry"
)

// Limit bounds the requests to a host.
type Limit struct {
	// Weight is the greatest total weight of requests in each period of Per. Periods
	// begin at whole multiples of Per, as venues count. 0 means no limit.
	Weight int
	Per    time.Duration
	// Spacing is the least time between two requests; 0 for none.
	Spacing time.Duration
	// MaxWait is how long a request waits for its turn before it fails with the time
	// to retry; 10 s when 0.
	MaxWait time.Duration

	behind time.Duration // how long a request lets others go first after its turn has come
}

// limiter decides when a request may be sent to a host. It is safe for concurrent use.
type limiter struct {
	mu          sync.Mutex
	period      int64 // number of the period of used
	used        int   // weight used in the period, reported by the venue or counted
	inFlight    int   // weight of unanswered requests
	next        time.Time
	until       time.Time // of the pause
	pausesInRow int       // consecutive pauses
	breaker     breaker
	spacing     time.Duration // between a request and one in the background; set before the first
}

// blocked is the reason why a request was not sent.
type blocked struct {
	why  string
	wait time.Duration
	down bool // the circuit breaker is open; otherwise a limit is reached
}

// permit allows one request. release must be called with its result.
type permit struct {
	limiter *limiter
	weight  int
	per     time.Duration
	probe   bool
}

// acquire waits for a permit. It returns the reason if that would take longer than
// limit.MaxWait, or the error of ctx.
func (g *limiter) acquire(ctx context.Context, weight int, limit Limit) (*permit, *blocked, error) {
	if p, err := g.acquireInBackground(ctx, weight, limit); p != nil || err != nil {
		return p, nil, err
	}
	deadline := time.Now().Add(cmp.Or(limit.MaxWait, 10*time.Second))
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

// tryAcquire returns a permit, or the reason why there is none at now.
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
		// A request that alone exceeds the limit is sent when no other is in flight.
		if used := g.used + g.inFlight; used > 0 && used+weight > limit.Weight {
			return nil, &blocked{why: "its limit is used up", wait: limit.Per - time.Duration(now.UnixNano()%int64(limit.Per))}
		}
	}
	if wait := g.next.Add(limit.behind).Sub(now); wait > 0 {
		return nil, &blocked{why: "requests to it are spaced", wait: wait}
	}
	g.next = now.Add(limit.Spacing)
	g.inFlight += weight
	return &permit{limiter: g, weight: weight, per: limit.Per, probe: g.breaker.begin()}, nil
}

// requestResult is the result of a request for the limiter.
type requestResult uint8

const (
	answered  requestResult = iota // the host works, whatever the status
	failed                         // no response, or one that a working host does not send
	throttled                      // the host asks for a pause
	abandoned                      // the caller cancelled
)

// responseInfo is the limit information of a response.
type responseInfo struct {
	used  int           // weight used in the period of at; negative if not reported
	at    time.Time     // time of the response
	pause time.Duration // of throttled; 0 if not reported
}

// release returns the permit. For throttled it returns the length of the pause.
func (p *permit) release(v requestResult, o responseInfo) (pause time.Duration) {
	g, now := p.limiter, time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inFlight -= p.weight
	// A report about an earlier period does not apply to the present one.
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
		g.breaker.probing = g.breaker.probing && !p.probe // another request may be the probe
	}
	return pause
}

// extendPause pauses the host for the time it asked for, or for 10 s doubling up to 5 min.
// It never shortens a pause, and returns the time left. Requests in flight when a pause
// begins are throttled together and count once.
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

// pause pauses the host and returns the time left.
func (g *limiter) pause(d time.Duration) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.extendPause(time.Now(), d)
}

// paused returns the time left of a pause.
func (g *limiter) paused() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Until(g.until)
}
