// Package feed delivers live bars from one venue. It keeps the venue's streams open,
// backfills gaps over REST, and delivers each closed bar exactly once and in order.
//
// A stream is connected before anything is read, so that no bar is lost between the two.
// Each subscription knows its next bar. A closed bar that is not the next one, or a next
// bar that is overdue, makes the feed read the missing bars. A hole is confirmed when the
// venue has a later bar. Venues without streams are polled when a bar closes.
//
// Prices do not wait for missing bars: what comes after a gap is delivered at once as Ahead,
// and its closed bars come again, in order, when the gap is closed or confirmed as a hole. A
// replay has nothing to wait for: what its source lacks is a hole at the first read.
package feed

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"candela/internal/data/provider"
	"candela/internal/data/provider/aggregate"
	"candela/lib/fault"
	"candela/lib/market"
)

const (
	maxSilence         = 60 * time.Second              // a stream without any event for so long is dead
	maxStreamAge       = 23*time.Hour + 30*time.Minute // venues end streams after 24 h
	connectGrace       = 5 * time.Second               // a stream without events counts as connected after it
	replaceGrace       = 30 * time.Second              // the same while an older stream still delivers
	overlap            = 3 * time.Second               // how long a replaced stream stays open
	stableAfter        = time.Minute                   // a stream that lasted so long resets the backoff
	minBackoff         = time.Second                   // between attempts
	maxBackoff         = 30 * time.Second              //
	minReplaceInterval = 5 * time.Second               // between replacements for new subscriptions
	tickInterval       = time.Second                   // precision of all deadlines
	workers            = 4                             // concurrent reads
	readLimit          = 30 * time.Second              // of one read
	inboxSize          = 64                            // messages between streams and loop
	maxBuffered        = 128                           // events between one stream and the loop
	maxPending         = 64                            // closed bars of one subscription buffered after a gap
)

// Event is an event of a subscription.
type Event struct {
	provider.Event
	Backfilled bool // read over REST, perhaps late
	Ahead      bool // bars before this one are missing; if it is closed it comes again in order
	Again      bool // a closed bar that was delivered ahead before
	Late       bool // a closed bar that was missing when a newer one was delivered ahead
}

// Config holds the dependencies of a feed besides its venue.
type Config struct {
	Log *slog.Logger
	// Rand returns numbers from 0 to below 1 for the jitter of retries and polls.
	Rand func() float64
	// Now decides whether a built bar has ended; see provider/aggregate.
	Now func() time.Time
}

// Feed delivers the bars of one venue. Its methods are safe for concurrent use.
type Feed struct {
	cfg  Config
	p    provider.Provider
	caps provider.Caps

	clock   provider.Clock // of the venue
	changed chan struct{}  // holds a token after requested has changed

	mu        sync.Mutex
	requested map[provider.Sub]request
	status    Status
}

// request is a subscription as the caller requested it.
type request struct {
	since       int64
	calendar    market.Calendar
	hasCalendar bool // calendar is valid
	id          uint64
}

// New returns a feed of the venue. Intervals that the venue lacks are built from shorter
// ones.
func New(p provider.Provider, cfg Config) *Feed {
	var clock provider.Clock
	if c, ok := p.(provider.Clocked); ok {
		clock = c.Clock()
	}
	p = aggregate.Over(p, cfg.Now)
	return &Feed{
		cfg: cfg, p: p, caps: p.Capabilities(), clock: clock,
		changed: make(chan struct{}, 1), requested: make(map[provider.Sub]request),
		status: Status{Venue: p.Name()},
	}
}

// Subscribe requests the bars of sub after the one that opened at since, or those that
// close from now on if since is 0. An existing subscription is not changed. It may be
// called before and during Run.
func (f *Feed) Subscribe(ctx context.Context, sub provider.Sub, since int64) error {
	o := request{since: since, hasCalendar: true}
	if !f.caps.Has(sub.Interval) {
		return provider.UnsupportedInterval(f.p.Name(), sub.Interval, f.caps)
	}
	if f.caps.Sessions {
		instrument, err := f.p.Instrument(ctx, sub.Symbol)
		switch fault.KindOf(err) {
		case fault.NotFound, fault.Invalid:
			return err
		default:
			o.calendar, o.hasCalendar = instrument.Calendar, err == nil // the loop reads it again
		}
	}
	f.mu.Lock()
	if _, there := f.requested[sub]; !there {
		f.status.requests++
		o.id = f.status.requests
		f.requested[sub] = o
	}
	f.mu.Unlock()
	f.notifyChanged()
	return nil
}

// Unsubscribe ends a subscription. Queued events may still be delivered.
func (f *Feed) Unsubscribe(sub provider.Sub) {
	f.mu.Lock()
	delete(f.requested, sub)
	f.mu.Unlock()
	f.notifyChanged()
}

func (f *Feed) notifyChanged() {
	select {
	case f.changed <- struct{}{}:
	default: // the pending token covers this change
	}
}

// Run delivers events to out until ctx ends, and returns the error of ctx after all its
// goroutines have stopped. It must be called once.
//
// A closed bar waits for room in out, and the streams wait with it; missed bars are read
// later. But for those ahead, each closed bar comes once and in order. Of other events only the newest per subscription is kept: it includes the high
// and low of those it replaces.
func (f *Feed) Run(ctx context.Context, out chan<- Event) error {
	return newLoop(ctx, f, out).run() //nolint:contextcheck // the loop keeps ctx; everything it starts ends with it
}

// Status describes a feed. The counters only grow.
type Status struct {
	Venue         string
	Subscriptions int
	Connected     int       // stream groups with a connected stream
	StreamGroups  int       // 0 for a venue without streams
	Silent        int       // stream groups without any event for a minute
	Overdue       int       // subscriptions whose next bar is overdue
	LastEvent     time.Time // of all streams

	Streamed    uint64 // closed bars received from a stream
	Backfilled  uint64 // closed bars read over REST
	Duplicates  uint64 // events without new information
	Gaps        uint64 // closed bars received before a missing one
	Holes       uint64 // bars that the venue does not have
	OffGrid     uint64 // bars whose time does not fit their interval
	Replaced    uint64 // prices replaced by a newer one before there was room
	Streams     uint64 // streams opened
	StreamsLost uint64 // streams that ended unexpectedly
	Failed      uint64 // failed reads

	requests uint64
}

// Status returns the present status, at most a second old.
func (f *Feed) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

func (l *loop) publish(now time.Time) {
	s := l.count
	s.Venue, s.Subscriptions, s.StreamGroups = l.f.p.Name(), len(l.order), len(l.groups)
	for _, ln := range l.groups {
		if ln.active != nil && ln.active.live {
			s.Connected++
			if ln.active.heard.After(s.LastEvent) {
				s.LastEvent = ln.active.heard
			}
		}
		if ln.silent {
			s.Silent++
		}
	}
	for _, t := range l.order {
		if t.request.hasCalendar && now.After(t.ends().Add(2*streamGrace)) {
			s.Overdue++
		}
	}
	l.f.mu.Lock()
	s.requests = l.f.status.requests
	l.f.status = s
	l.f.mu.Unlock()
}
