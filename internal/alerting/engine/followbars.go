package engine

import (
	"context"
	"slices"
	"strconv"
	"time"

	"candela/internal/data/feed"
	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/lib/fault"
	"candela/lib/market"
)

// Closed bars for others than alerts. A follower shares its subscription with the trackers of alerts and changes
// nothing of theirs: it has no window and no watermark. What closed before its subscription is read from the
// venue first. A reader that is too slow is not waited for: what it missed is read again once there is room.

// Bounds of followed bars.
const (
	maxStreams     = 1000   // streams of an engine
	maxFollowed    = 1000   // subscriptions of a stream
	maxUndelivered = 2048   // bars that wait in a stream
	maxCaughtUp    = 15_000 // closed bars of one subscription that are read at most
	maxCatchingUp  = 2      // concurrent reads of all followers, besides those of alerts
)

// BarSub asks for the closed bars of an instrument at an interval. The symbol has its venue, as the venue spells it.
type BarSub struct {
	provider.Sub
	Since int64 // open time of the newest bar that is known: those after it are delivered; 0 for those that close from now on
}

// ClosedBar is a bar that has closed.
type ClosedBar struct {
	provider.Sub
	Bar     market.Bar
	Closed  time.Time     // when it closed, on the wall
	Delay   time.Duration // from then until it was delivered, in the time of the venue, which a replay may make faster
	Missed  bool          // it was read from the venue after its close, and not received at it
	Skipped int           // how many bars before it were left out, because more were missing than are read
}

// BarStream delivers closed bars. Its methods are safe for concurrent use.
type BarStream struct {
	// Bars has, for each subscription, every closed bar once and in order, with the holes that the venue has. It is closed
	// when the engine ends, and within a second after the context of FollowBars.
	Bars <-chan ClosedBar

	engine *Engine
	key    *barStream
}

// barStream is a BarStream as the loop has it.
type barStream struct {
	ctx       context.Context
	out       chan ClosedBar
	followers map[provider.Sub]*follower
}

// follower delivers the closed bars of one subscription to a stream.
type follower struct {
	sub       provider.Sub
	stream    *barStream
	listing   *listing
	since     int64 // the newest bar that was delivered; 0 before the first read if none before it is asked for
	ready     bool  // the subscription delivers what comes next
	loading   bool
	pending   []market.Bar // closed during the read
	mustReach int64        // the bar before pending, which the read must include
	attempts               // to read
}

// FollowBars delivers the closed bars of subscriptions until ctx ends. It does not wait for venues: what cannot be
// read is tried again. No alert is affected.
func (e *Engine) FollowBars(ctx context.Context, subs []BarSub) (*BarStream, error) {
	out := make(chan ClosedBar, maxUndelivered)
	s := &BarStream{Bars: out, engine: e, key: &barStream{ctx: ctx, out: out, followers: make(map[provider.Sub]*follower)}}
	if err := s.Follow(ctx, subs); err != nil {
		return nil, err
	}
	return s, nil
}

// Follow replaces the subscriptions of the stream. One that it has already goes on where it is. Bars of one that is
// no longer asked for may still be in Bars.
func (s *BarStream) Follow(ctx context.Context, subs []BarSub) error {
	if len(subs) > maxFollowed {
		return fault.Field("subscriptions", strconv.Itoa(len(subs)), "at most "+strconv.Itoa(maxFollowed))
	}
	_, err := ask(ctx, s.engine, func(l *loop) (struct{}, error) { return struct{}{}, l.followBars(s.key, subs) })
	return err
}

func (l *loop) followBars(s *barStream, subs []BarSub) error {
	if err := s.ctx.Err(); err != nil {
		return err // the stream has ended
	}
	if !l.streams[s] {
		if len(l.streams) == maxStreams {
			return fault.New(fault.Unavailable, "busy", "closed bars are delivered to %d readers already", maxStreams)
		}
		l.streams[s] = true
	}
	asked := make(map[provider.Sub]bool, len(subs))
	for _, sub := range subs {
		asked[sub.Sub] = true
		if s.followers[sub.Sub] == nil {
			f := &follower{sub: sub.Sub, stream: s, since: sub.Since}
			s.followers[sub.Sub] = f
			if known := l.subscriptions[sub.Sub]; known != nil {
				known.followers = append(known.followers, f)
			}
			l.readFollowed(f)
		}
	}
	for sub, f := range s.followers {
		if !asked[sub] {
			delete(s.followers, sub)
			l.unfollow(f)
		}
	}
	return nil
}

// unfollow ends the use of a subscription.
func (l *loop) unfollow(f *follower) {
	if sub := l.subscriptions[f.sub]; sub != nil {
		sub.followers = slices.DeleteFunc(sub.followers, func(other *follower) bool { return other == f })
		l.unsubscribeIfUnused(sub)
	}
}

// endStream ends a stream.
func (l *loop) endStream(s *barStream) {
	for _, f := range s.followers {
		l.unfollow(f)
	}
	clear(s.followers)
	delete(l.streams, s)
	close(s.out)
}

// tendStreams ends streams whose readers have gone, and repeats reads that are due.
func (l *loop) tendStreams(now time.Time) {
	for s := range l.streams {
		if s.ctx.Err() != nil {
			l.endStream(s)
			continue
		}
		for _, f := range s.followers {
			if f.due(now) {
				l.readFollowed(f)
			}
		}
	}
}

// followersOf returns those who follow a new subscription, which begins after the bar that opened at since.
func (l *loop) followersOf(sub provider.Sub, since int64) (all []*follower) {
	for s := range l.streams {
		if f := s.followers[sub]; f != nil {
			f.mustReach = max(f.mustReach, since)
			all = append(all, f)
		}
	}
	return all
}

// ended reports whether nobody asks for the bars any more.
func (f *follower) ended() bool { return f.stream.followers[f.sub] != f }

// followedBars are the bars of one read.
type followedBars struct {
	listing *listing
	closed  market.Bars
	skipped int
}

// readFollowed reads the bars that a follower lacks, and goes on with its subscription after them.
func (l *loop) readFollowed(f *follower) {
	f.loading, f.pending, f.mustReach = true, nil, 0
	if sub := l.subscriptions[f.sub]; sub != nil {
		f.mustReach = sub.closed
	}
	since := f.since
	l.async(func(ctx context.Context) func() {
		select {
		case l.catchUps <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		got, err := l.readMissing(ctx, f.sub, since)
		<-l.catchUps
		return func() {
			f.loading = false
			switch {
			case f.ended() || isShutdown(err):
			case err != nil:
				wait := l.failed(&f.attempts, maxRetry, err)
				l.cfg.Log.WarnContext(l.ctx, "read of followed bars failed", "symbol", f.sub.Symbol.String(), "interval", f.sub.Interval.String(), "error", err, "retry_in", wait)
			default:
				f.consecutiveFailures = 0
				f.caughtUp(l, got)
			}
		}
	})
}

// readMissing reads the closed bars after one, at most maxCaughtUp, and the newest closed one.
func (e *Engine) readMissing(ctx context.Context, sub provider.Sub, since int64) (*followedBars, error) {
	p, err := e.resolveListing(ctx, sub.Symbol)
	if err != nil {
		return nil, err
	}
	missing := 0
	if since != 0 {
		missing = p.calendar.Count(sub.Interval, market.Span{Open: since, Close: p.clock.Unix(e.cfg.Now())})
	}
	total := min(missing, maxCaughtUp) + spareBars
	set, err := e.cfg.Data.Bars(ctx, marketdata.Request{Symbol: p.symbol, Interval: sub.Interval, Bars: total})
	if err == nil && set.Stale {
		err = fault.Unreachable(nil, 0, "%s does not answer", set.Provider)
	}
	if err != nil {
		return nil, err
	}
	closed := newLoadedBars(p, sub.Interval, &set, total).closed
	if closed.Len() == 0 {
		return nil, fault.Unreachable(nil, 0, "%s has no closed %s bar of %s", set.Provider, sub.Interval, p.symbol.Name)
	}
	got := &followedBars{listing: p, closed: closed}
	if since != 0 && closed.T[0] > since && closed.Len() >= total-1 {
		got.skipped = max(missing-closed.Len(), 0)
	}
	return got, nil
}

// caughtUp delivers the bars that were read, and those that closed meanwhile.
func (f *follower) caughtUp(l *loop, got *followedBars) {
	last := got.closed.T[got.closed.Len()-1]
	if last < f.mustReach {
		// The feed has delivered a newer bar, which the venue's REST API does not have yet.
		f.retryAt = l.cfg.Now().Add(tickInterval)
		return
	}
	f.listing = got.listing
	if f.since == 0 {
		f.since = last
	}
	l.ensureSubscription(f.sub, last)
	f.ready = true
	first := got.closed.Search(f.since + 1)
	for i := first; i < got.closed.Len() && f.ready; i++ {
		one := ClosedBar{Bar: got.closed.At(i), Missed: true}
		if i == first {
			one.Skipped = got.skipped
		}
		f.deliver(l, one)
	}
	for _, bar := range f.pending {
		f.deliver(l, ClosedBar{Bar: bar})
	}
	f.pending = nil
}

// handleEvent delivers a bar that has closed.
func (f *follower) handleEvent(l *loop, e *feed.Event) {
	switch {
	case e.Kind != provider.Closed:
	case f.ready:
		f.deliver(l, ClosedBar{Bar: e.Bar, Missed: e.Backfilled || e.Late})
	case f.loading:
		if len(f.pending) == maxPending {
			f.mustReach = f.pending[0].T
			f.pending = f.pending[1:]
		}
		f.pending = append(f.pending, e.Bar)
	}
}

// deliver passes a closed bar on. If the reader is behind, it and what follows is read from the venue later.
func (f *follower) deliver(l *loop, one ClosedBar) {
	if !f.ready || one.Bar.T <= f.since {
		return
	}
	now := l.cfg.Now()
	one.Sub, one.Closed = f.sub, f.listing.closeTime(f.sub.Interval, one.Bar.T)
	if one.Delay = max(now.Sub(one.Closed), 0); f.listing.clock.Speed > 0 {
		one.Delay = time.Duration(float64(one.Delay) * f.listing.clock.Speed)
	}
	select {
	case f.stream.out <- one:
		f.since = one.Bar.T
	default:
		f.ready, f.retryAt = false, now.Add(tickInterval)
	}
}
