// Package feed follows the bars of many symbols of one venue as they form. It
// keeps the venue's streams open, reads over REST what they missed, and hands
// every closed bar on exactly once, in order, without a gap. The engine is its
// caller; it knows nothing of indicators, alerts or orders.
//
// A stream is connected before anything is read, so that no bar falls between
// the two. From then on each subscription knows which bar must come next. One
// that does come is handed on at once; one that skips it, or does not come in
// time, makes the feed read what lies between. A hole is believed when the venue
// itself shows a later bar. Venues without streams are read by the bar clock.
package feed

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"candela/internal/kit/fault"
	"candela/internal/market"
	"candela/internal/market/provider"
	"candela/internal/market/provider/aggregate"
)

const (
	maxSilence         = 60 * time.Second              // without any event a stream counts as dead
	maxStreamAge       = 23*time.Hour + 30*time.Minute // of a stream; venues end them after 24 h
	connectGrace       = 5 * time.Second               // after it a stream that said nothing counts as connected
	replaceGrace       = 30 * time.Second              // the same where another stream still brings events
	overlap            = 3 * time.Second               // how long a stream stays open after the next has taken over
	stableAfter        = time.Minute                   // a stream that lived so long resets the backoff
	minBackoff         = time.Second                   // between attempts
	maxBackoff         = 30 * time.Second              //
	minReplaceInterval = 5 * time.Second               // between streams opened for new subscriptions alone
	tickInterval       = time.Second                   // of the loop: all deadlines are kept to about this
	workers            = 4                             // reads at a time
	readLimit          = 30 * time.Second              // of one read
	inboxSize          = 64                            // messages between streams and loop
	maxBuffered        = 128                           // events between one stream and the loop
	maxPending         = 64                            // closed bars kept of one subscription behind a gap
)

// Event is an event of a subscription.
type Event struct {
	provider.Event
	Backfilled bool // read over REST, so it may be late
}

// Config is what a feed needs besides its venue.
type Config struct {
	Log *slog.Logger
	// Rand returns numbers from 0 to below 1. They spread retries and polls.
	Rand func() float64
	// Now tells whether a built bar has ended; see provider/aggregate.
	Now func() time.Time
}

// Feed follows one venue. Its methods are safe for concurrent use.
type Feed struct {
	cfg  Config
	p    provider.Provider
	caps provider.Caps

	clock   provider.Clock // the venue's
	changed chan struct{}  // holds one note that wanted has changed

	mu        sync.Mutex
	requested map[provider.Sub]request
	status    Status
}

// request is a subscription as it was asked for.
type request struct {
	since       int64
	calendar    market.Calendar
	hasCalendar bool // the calendar is
	id          uint64
}

// New returns a feed of the venue. Intervals that the venue lacks are built.
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

// Subscribe asks for the bars of sub that follow the one that opened at since; 0
// asks for those that close from now on. A subscription that is there is left as
// it is. It may be called before Run and while it runs.
func (f *Feed) Subscribe(ctx context.Context, sub provider.Sub, since int64) error {
	o := request{since: since, hasCalendar: true}
	if !slices.Contains(f.caps.Intervals, sub.Interval) {
		return provider.UnsupportedInterval(f.p.Name(), sub.Interval, f.caps.Intervals)
	}
	if f.caps.Sessions {
		instrument, err := f.p.Instrument(ctx, sub.Symbol)
		switch fault.KindOf(err) {
		case fault.NotFound, fault.Invalid:
			return err
		default:
			o.calendar, o.hasCalendar = instrument.Calendar, err == nil // the loop asks again
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

// Unsubscribe ends a subscription. Events that are on their way may still come.
func (f *Feed) Unsubscribe(sub provider.Sub) {
	f.mu.Lock()
	delete(f.requested, sub)
	f.mu.Unlock()
	f.notifyChanged()
}

func (f *Feed) notifyChanged() {
	select {
	case f.changed <- struct{}{}:
	default: // a note is there; whoever takes it will see this change too
	}
}

// Run follows the subscriptions until ctx ends, and returns its error when
// everything it started has stopped. It must be called once.
//
// Closed bars wait for room in out, and with them the streams; nothing is lost,
// as the venue is then asked again. Of the other events only the newest of a
// subscription waits: it holds the high and low of those it replaces.
func (f *Feed) Run(ctx context.Context, out chan<- Event) error {
	return newLoop(ctx, f, out).run() //nolint:contextcheck // the loop keeps ctx; everything it starts ends with it
}
