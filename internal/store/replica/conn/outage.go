package conn

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// lostAfter is how long a connection may be down before requests are given up. A replica that loses a server has
	// another one at once, unless all are gone.
	lostAfter = 1500 * time.Millisecond
	// silentAfter is how long servers that are connected may accept neither a heartbeat nor another write before requests
	// are given up. Electing a leader takes up to 8 s.
	silentAfter = 10 * time.Second
	// tryEvery is how often a request finds out whether silent servers answer again. It waits for lostAfter.
	tryEvery = 5 * time.Second
)

// errGone is the error of a request that was given up because no server answers.
var errGone = errors.New("no NATS server answers")

// outage is a time in which servers do not answer. It is safe for concurrent use.
type outage struct {
	after time.Duration

	mu    sync.Mutex
	timer *time.Timer // nil while the servers answer
	tried time.Time   // when a request last went out although they are gone
	gone  context.Context
	end   context.CancelFunc
}

func newOutage(after time.Duration) *outage {
	o := &outage{after: after}
	o.renew()
	return o
}

// renew makes a context that has not ended. The caller holds mu, unless nobody else has the outage yet.
func (o *outage) renew() {
	o.gone, o.end = context.WithCancel(context.Background()) //nolint:gosec // G118: it is called when the servers are gone; until then nothing belongs to it
}

// begin notes that the servers do not answer from now on. They are gone when that lasts.
func (o *outage) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer == nil {
		o.timer = time.AfterFunc(o.after, o.end)
	}
}

// over notes that they answer.
func (o *outage) over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stop()
}

// stop ends the wait for an answer, and reports whether there was one. The caller holds mu.
func (o *outage) stop() bool {
	if o.timer == nil {
		return false
	}
	waited := o.timer.Stop()
	o.timer = nil
	if !waited { // the end of the context is under way at least
		o.renew()
	}
	return true
}

// mayTry reports whether a request is the one that finds out whether the servers answer again.
func (o *outage) mayTry() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if now.Sub(o.tried) < tryEvery {
		return false
	}
	o.tried = now
	return true
}

// again notes that the servers answer, and expects the next answer as soon as that of a heartbeat, if heartbeats are sent.
func (o *outage) again() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stop() {
		o.timer = time.AfterFunc(o.after, o.end)
	}
}

// context returns a context that ends when the servers are gone. Without a connection there are none.
func (o *outage) context() context.Context {
	if o == nil {
		return context.Background()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.gone
}

// Heard notes that the servers accepted a heartbeat, and expects the next.
func (c *Conn) Heard() {
	c.silent.over()
	c.silent.begin()
}

// Lost returns a context that ends when no server can be reached. After that, another call returns another context.
func (c *Conn) Lost() context.Context { return c.lost.context() }

// whileThere returns a context that also ends when the limit has passed, or when the servers are gone. A request that waits for them
// is then given up, so that its caller gets an answer.
func (c *Conn) whileThere(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, give := context.WithCancelCause(ctx)
	ctx, cancel := context.WithTimeout(ctx, limit)
	lost, silent := c.lost.context(), c.silent.context()
	giveUp := func() { give(errGone) }
	stopLost, stopSilent := context.AfterFunc(lost, giveUp), func() bool { return false }
	switch {
	case silent.Err() == nil:
		stopSilent = context.AfterFunc(silent, giveUp)
	case lost.Err() == nil && c.silent.mayTry():
		stopSilent = time.AfterFunc(lostAfter, func() {
			if c.silent.context() == silent { // nothing was answered meanwhile
				giveUp()
			}
		}).Stop
	default:
		giveUp()
	}
	return ctx, func() {
		stopLost()
		stopSilent()
		cancel()
		give(nil)
	}
}

// whyGone returns errGone in place of an error of a context that ended because the servers are gone.
func whyGone(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errGone) && !isFinal(err) {
		return errGone
	}
	return err
}

// CheckLost returns a fault when no server can be reached.
func (c *Conn) CheckLost(op string) error {
	if c.lost.context().Err() == nil {
		return nil
	}
	return Unavailable(op, errGone)
}

// AnswerSoon calls read with a context that ends when no server can be reached any more, or soon if that is so already: what waits for
// a write may wait for long then.
func (c *Conn) AnswerSoon(ctx context.Context, op string, read func(context.Context) error) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	if lost := c.lost.context(); lost.Err() != nil {
		within, cancel = context.WithTimeout(ctx, lostAfter)
		defer cancel()
	} else {
		defer context.AfterFunc(lost, cancel)() //nolint:contextcheck // of the connection
	}
	err := read(within)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return Unavailable(op, errGone)
	}
	return err
}
