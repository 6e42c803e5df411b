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
	// Patience is how long a request waits for its turn before it is refused with
	// the time to come back; 10 s when it is 0.
	Patience time.Duration
}

const defaultPatience = 10 * time.Second

// gate decides when a host may be asked. It is safe for concurrent use.
type gate struct {
	mu      sync.Mutex
	period  int64 // the number of the period that told belongs to
	told    int   // weight used in it, as the venue says or as we count
	flying  int   // weight of requests that are not answered yet
	next    time.Time
	until   time.Time // the venue wants no request before
	refused int       // how often in a row it said so
	breaker breaker
}

// busy says that a request was not made.
type busy struct {
	why  string
	wait time.Duration
	down bool // the host did not answer; otherwise a limit keeps the request
}

// pass is the right to make one request. done must be called with how it went.
type pass struct {
	gate   *gate
	weight int
	per    time.Duration
	probe  bool
}

// enter waits for the right to ask. It returns what keeps it, when that would
// take longer than the caller's patience, or the error of ctx.
func (g *gate) enter(ctx context.Context, weight int, limit Limit) (*pass, *busy, error) {
	patience := limit.Patience
	if patience == 0 {
		patience = defaultPatience
	}
	deadline := time.Now().Add(patience)
	for {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		p, b := g.try(weight, limit, time.Now())
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

// try returns a pass, or what stands in the way at now.
func (g *gate) try(weight int, limit Limit, now time.Time) (*pass, *busy) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if wait := g.until.Sub(now); wait > 0 {
		return nil, &busy{why: "it asked for a pause", wait: wait}
	}
	if wait := g.breaker.wait(now); wait > 0 {
		return nil, &busy{why: "it did not answer several times", wait: wait, down: true}
	}
	if limit.Weight > 0 {
		if period := now.UnixNano() / int64(limit.Per); period != g.period {
			g.period, g.told = period, 0
		}
		// A request that alone is over the limit goes out when nothing else does.
		if used := g.told + g.flying; used > 0 && used+weight > limit.Weight {
			return nil, &busy{why: "its limit is used up", wait: limit.Per - time.Duration(now.UnixNano()%int64(limit.Per))}
		}
	}
	if wait := g.next.Sub(now); wait > 0 {
		return nil, &busy{why: "requests to it are spaced", wait: wait}
	}
	g.next = now.Add(limit.Spacing)
	g.flying += weight
	return &pass{gate: g, weight: weight, per: limit.Per, probe: g.breaker.enter(now)}, nil
}

// verdict is how a request went, as far as the gate cares.
type verdict uint8

const (
	answered  verdict = iota // the host works, whatever it said
	failed                   // no answer, or none a working host would give
	throttled                // the host wants a pause
	abandoned                // the caller went away; the host is not to blame
)

// outcome is what an answer says besides what was asked for.
type outcome struct {
	used  int           // weight used in the period of at, negative when it is not told
	at    time.Time     // when the answer was made
	pause time.Duration // how long no requests are wanted, for throttled; 0 when that is not told
}

// done gives the pass back. It returns how long the host wants no requests, for
// throttled.
func (p *pass) done(v verdict, o outcome) (pause time.Duration) {
	g, now := p.gate, time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.flying -= p.weight
	// What was told of a period that is over says nothing about the present one.
	if o.used >= 0 && p.per > 0 && o.at.UnixNano()/int64(p.per) >= g.period {
		g.told = max(g.told, o.used)
	} else {
		g.told += p.weight
	}
	switch v {
	case throttled:
		pause = g.hold(now, o.pause)
		g.breaker.settle(now, p.probe, true)
	case answered:
		g.refused = 0
		g.breaker.settle(now, p.probe, true)
	case failed:
		g.breaker.settle(now, p.probe, false)
	case abandoned:
		g.breaker.release(p.probe)
	}
	return pause
}

// hold lets no request out for as long as a host that refuses says. When it does not
// say, that is ten seconds, doubled each time in a row up to five minutes. Requests
// that were under way when a pause began, as those that waited for the end of the
// one before, are refused together, and that counts once. It returns the pause that
// holds then, which is no shorter than one that held before.
func (g *gate) hold(now time.Time, pause time.Duration) time.Duration {
	left := g.until.Sub(now)
	switch {
	case pause == 0 && left > 0:
		return left
	case pause == 0:
		pause = retry.Backoff{First: 10 * time.Second, Max: 5 * time.Minute}.Bound(g.refused + 1)
	}
	if left <= 0 {
		g.refused++
	}
	pause = max(pause, left)
	g.until = now.Add(pause)
	return pause
}

// pause lets no request out for a while, and returns for how long.
func (g *gate) pause(d time.Duration) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hold(time.Now(), d)
}

// paused returns how long the host still wants to be left alone.
func (g *gate) paused() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Until(g.until)
}
