package feed

import (
	"context"
	"slices"
	"sync"
	"time"

	"candela/internal/data/provider"
	"candela/internal/kit/retry"
	"candela/lib/fault"
)

// streamGroup is a set of subscriptions that share one stream. During a replacement it has
// two.
type streamGroup struct {
	part                string                // of the venue, see provider.Caps
	subs                map[provider.Sub]bool // true: refused by the venue, so polled
	refused             int                   // of subs
	subsChanged         bool                  // subs differs from the subscriptions of the stream
	active              *conn
	next                *conn // replaces active when it is connected
	consecutiveFailures int
	retryAt             time.Time
	replacedAt          time.Time // of the last replacement for new subscriptions
	since               time.Time // of the last event
	silent              bool      // reported
}

// conn is one stream.
type conn struct {
	group      *streamGroup
	stop       context.CancelFunc
	inbox      chan<- message
	changes    chan provider.Change // nil if the venue cannot change a stream
	subscribed map[provider.Sub]bool
	began      time.Time
	heard      time.Time // time of the last event
	live       bool
	ending     bool  // the venue announced it
	err        error // valid after it has ended
	spare      []provider.Event

	mu     sync.Mutex
	events []provider.Event // not received by the loop yet
	room   chan struct{}    // holds a token after the loop has received
}

// message reports to the loop that a stream has events or has ended.
type message struct {
	conn  *conn
	ended bool
}

// assign adds a subscription to a group with room.
func (l *loop) assign(t *subscription) {
	most, part := l.f.caps.MaxSubs, ""
	if l.f.caps.Part != nil {
		part = l.f.caps.Part(t.sub.Symbol)
	}
	for _, ln := range l.groups {
		if ln.part == part && (most == 0 || len(ln.subs) < most) {
			t.group = ln
			break
		}
	}
	if t.group == nil {
		t.group = &streamGroup{part: part, subs: make(map[provider.Sub]bool), since: time.Now()}
		l.groups = append(l.groups, t.group)
	}
	t.group.subs[t.sub] = false
	t.group.subsChanged = true
}

func (ln *streamGroup) remove(sub provider.Sub) {
	if ln.subs[sub] {
		ln.refused--
	}
	delete(ln.subs, sub)
	ln.subsChanged = true
}

// idle reports whether the group has nothing to stream.
func (ln *streamGroup) idle() bool { return len(ln.subs) == ln.refused }

// manageStreams opens, replaces and closes the streams of all groups.
func (l *loop) manageStreams(now time.Time) {
	for _, ln := range l.groups {
		l.promote(ln, now)
		l.reportSilence(ln, now)
		if ln.subsChanged && ln.active != nil && ln.next == nil {
			l.updateSubscriptions(ln, now)
		}
		if ln.next != nil || now.Before(ln.retryAt) || ln.idle() {
			continue
		}
		switch {
		case ln.active == nil:
			l.open(ln, now)
		case l.shouldReplace(ln.active, now):
			l.replace(ln, now)
		}
	}
	l.groups = slices.DeleteFunc(l.groups, func(ln *streamGroup) bool {
		if len(ln.subs) > 0 {
			return false
		}
		for _, c := range []*conn{ln.active, ln.next} {
			if c != nil {
				c.stop()
			}
		}
		return true
	})
}

// shouldReplace reports whether a stream ends soon or has been silent for too long. While
// events are queued, because the loop was delayed, its silence is unknown.
func (l *loop) shouldReplace(c *conn, now time.Time) bool {
	dead := now.Sub(c.heard) > maxSilence && len(l.inbox) == 0 && l.expectsEvents(c.group, now)
	return dead || c.ending || now.Sub(c.began) > maxStreamAge
}

// expectsEvents reports whether silence means a dead stream. It does not while every
// market in the group is closed or opened within the last minute.
func (l *loop) expectsEvents(ln *streamGroup, now time.Time) bool {
	if !l.f.caps.Sessions {
		return true
	}
	for sub, refused := range ln.subs {
		if t := l.subscriptions[sub]; t != nil && !refused && now.Sub(t.clock.Wall(t.next.Open)) > maxSilence {
			return true
		}
	}
	return false
}

// promote replaces the active stream with a connected new one. The old stream stays open
// for the overlap: it may still deliver a bar that closed before the new one was
// subscribed.
func (l *loop) promote(ln *streamGroup, now time.Time) {
	patience := connectGrace
	if ln.active != nil {
		patience = replaceGrace
	}
	if c := ln.next; c != nil && !c.live && now.Sub(c.began) >= patience {
		l.markConnected(c, now)
	}
	if ln.next != nil && ln.next.live {
		if ln.active != nil {
			time.AfterFunc(overlap, ln.active.stop)
		}
		ln.active, ln.next = ln.next, nil
	}
}

// reportSilence logs once when a group becomes silent and once when it recovers.
func (l *loop) reportSilence(ln *streamGroup, now time.Time) {
	if ln.idle() {
		ln.since = now
		return
	}
	if len(l.inbox) > 0 {
		return // the queued events decide
	}
	switch quiet := now.Sub(ln.since) > maxSilence && l.expectsEvents(ln, now); {
	case quiet && !ln.silent:
		ln.silent = true
		l.f.cfg.Log.WarnContext(l.ctx, "stream silent", "venue", l.f.p.Name(), "since", ln.since.UTC(), "subscriptions", len(ln.subs))
	case !quiet && ln.silent:
		ln.silent = false
		l.f.cfg.Log.InfoContext(l.ctx, "stream recovered", "venue", l.f.p.Name(), "subscriptions", len(ln.subs))
	}
}

// updateSubscriptions changes the subscriptions of the stream where the venue can, and
// otherwise replaces the stream, but not too often. Dropped subscriptions alone are not
// worth a new stream.
func (l *loop) updateSubscriptions(ln *streamGroup, now time.Time) {
	c := ln.active
	var change provider.Change
	for sub, refused := range ln.subs {
		if !refused && !c.subscribed[sub] {
			change.Add = append(change.Add, sub)
		}
	}
	for sub := range c.subscribed {
		if refused, there := ln.subs[sub]; !there || refused {
			change.Drop = append(change.Drop, sub)
		}
	}
	switch {
	case len(change.Add)+len(change.Drop) == 0:
		ln.subsChanged = false
	case c.changes != nil:
		select {
		case c.changes <- change:
			for _, sub := range change.Drop {
				delete(c.subscribed, sub)
			}
			for _, sub := range change.Add {
				c.subscribed[sub] = true
			}
			ln.subsChanged = false
			l.readOverdue(ln, now)
		default: // the previous change is still being sent
		}
	case len(change.Add) == 0:
		ln.subsChanged = false
	case now.Sub(ln.replacedAt) >= minReplaceInterval && !now.Before(ln.retryAt):
		ln.replacedAt = now
		l.replace(ln, now)
	}
}

// replace opens a new stream; the old one ends when the new one is connected. At a venue
// that allows one stream the old one ends first.
func (l *loop) replace(ln *streamGroup, now time.Time) {
	if l.f.caps.OneStream {
		ln.active.stop() // its end opens the new one
		ln.active.ending = true
		ln.retryAt = now.Add(tickInterval)
		return
	}
	l.open(ln, now)
}

func (l *loop) open(ln *streamGroup, now time.Time) {
	ctx, stop := context.WithCancel(l.ctx)
	c := &conn{
		group: ln, stop: stop, began: now, heard: now,
		inbox: l.inbox, room: make(chan struct{}, 1), subscribed: make(map[provider.Sub]bool, len(ln.subs)),
	}
	subs := make([]provider.Sub, 0, len(ln.subs))
	for sub, refused := range ln.subs {
		if !refused {
			subs = append(subs, sub)
			c.subscribed[sub] = true
		}
	}
	ln.next, ln.subsChanged = c, false
	l.count.Streams++
	if l.f.caps.Dynamic {
		c.changes = make(chan provider.Change, 1)
	}
	l.running.Go(func() {
		defer stop()
		c.err = l.streamer.Stream(ctx, subs, c.changes, c.emit)
		select {
		case l.inbox <- message{conn: c, ended: true}:
		case <-l.ctx.Done():
		}
	})
}

// emit buffers an event for the loop; the first one in the buffer announces it. While
// the buffer is full it waits, except with an Alive: the buffered events prove as much.
func (c *conn) emit(ctx context.Context, e provider.Event) error {
	c.mu.Lock()
	for len(c.events) == maxBuffered {
		c.mu.Unlock()
		if e.Kind == provider.Alive {
			return nil
		}
		select {
		case <-c.room:
		case <-ctx.Done():
			return ctx.Err()
		}
		c.mu.Lock()
	}
	c.events = append(c.events, e)
	first := len(c.events) == 1
	c.mu.Unlock()
	if !first {
		return nil
	}
	select {
	case c.inbox <- message{conn: c}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// receive returns the buffered events. They are valid until the next call.
func (c *conn) receive() []provider.Event {
	c.mu.Lock()
	events := c.events
	c.events, c.spare = c.spare[:0], events
	c.mu.Unlock()
	select {
	case c.room <- struct{}{}:
	default:
	}
	return events
}

// markAlive records an event of a stream.
func (l *loop) markAlive(c *conn, now time.Time) {
	c.heard, c.group.since = now, now
	if !c.live {
		l.markConnected(c, now)
		l.promote(c.group, now)
	}
}

// markConnected records that the subscriptions of a stream are in force. It misses nothing
// from now on, so earlier bars can be read.
func (l *loop) markConnected(c *conn, now time.Time) {
	c.live = true
	l.readOverdue(c.group, now)
}

// readOverdue reads the subscriptions of a group whose next bar has ended.
func (l *loop) readOverdue(ln *streamGroup, now time.Time) {
	for sub := range ln.subs {
		if t := l.subscriptions[sub]; t != nil && t.hasClosed(now) {
			t.readBy(now)
			l.enqueue(t, now)
		}
	}
	l.dispatch(now)
}

func (l *loop) handleStreamEnd(c *conn, now time.Time) {
	ln := c.group
	switch c {
	case ln.active:
		ln.active = nil
	case ln.next:
		ln.next = nil
	default:
		return // replaced before
	}
	l.excludeRefused(ln, c.err)
	if now.Sub(c.began) >= stableAfter {
		ln.consecutiveFailures = 0
	}
	ln.consecutiveFailures++
	if !c.ending || ln.consecutiveFailures > 1 {
		wait := retry.Backoff{First: minBackoff, Max: maxBackoff}.Delay(ln.consecutiveFailures, l.f.cfg.Rand)
		if f := fault.Of(c.err); f != nil {
			wait = max(wait, f.RetryAfter)
		}
		ln.retryAt = now.Add(wait)
		l.count.StreamsLost++
		l.f.cfg.Log.InfoContext(l.ctx, "stream lost", "venue", l.f.p.Name(), "lived", now.Sub(c.began), "retry_in", wait, "error", c.err)
	}
	l.manageStreams(now)
}

// excludeRefused excludes a symbol that the venue rejects from the stream, so that the
// others continue. It is polled.
func (l *loop) excludeRefused(ln *streamGroup, err error) {
	f := fault.Of(err)
	if f == nil || f.Kind != fault.NotFound && f.Kind != fault.Invalid {
		return
	}
	for sub := range ln.subs {
		if v := f.Value; !ln.subs[sub] && v != "" && (v == sub.Symbol.Name || v == sub.Symbol.String()) {
			ln.subs[sub] = true
			ln.refused++
			l.f.cfg.Log.WarnContext(l.ctx, "symbol rejected by the stream", "venue", l.f.p.Name(), "symbol", sub.Symbol.Name, "error", err)
		}
	}
}
