// Package engine follows the market for those who wait for it: it keeps the bars
// of every symbol that an alert depends on, evaluates alerts as prices move and
// bars close, commits what fired, and only then tells it. One goroutine, the loop,
// owns all of that; everyone else sends it commands, or reads windows that it
// publishes. What was missed while it did not run, it evaluates bar by bar when it
// runs again. It draws nothing, sends no order and speaks no protocol.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/internal/market"
	"candela/internal/market/feed"
	"candela/internal/market/marketdata"
	"candela/internal/market/provider"
)

// Store is where alerts live. Its promises are those of ledger/storetest: what
// returned nil has been written, what returned an error has changed nothing.
type Store interface {
	PutAlert(ctx context.Context, by principal.Caller, a alert.Alert) error
	CancelAlert(ctx context.Context, by principal.Caller, id string) error
	FireAlerts(ctx context.Context, firings []alert.Firing) ([]notify.Entry, error)
	ExpireAlerts(ctx context.Context, gone []alert.Alert) error
	SaveMarks(ctx context.Context, marks map[provider.Sub]int64) error
}

// Data is where bars that have been come from.
type Data interface {
	Bars(ctx context.Context, r marketdata.Request) (marketdata.BarSet, error)
	Route(ctx context.Context, s market.Symbol) (provider.Provider, error)
}

// Feed is where bars come from as they form.
type Feed interface {
	Subscribe(ctx context.Context, sub provider.Sub, since int64) (provider.Sub, error)
	Unsubscribe(sub provider.Sub)
	Run(ctx context.Context, out chan<- feed.Event) error
	Status() []feed.Status
}

// Config is what an engine works with. All but Observe and Depth is required.
type Config struct {
	Store Store
	Data  Data
	Feed  Feed
	// Publish takes what was committed, in order. The loop waits for it.
	Publish func([]notify.Entry)
	// Observe takes the events of every price that is followed; nil for nobody. The
	// loop waits for it.
	Observe func(provider.Event)
	Log     *slog.Logger
	Now     func() time.Time
	// Rand returns numbers from 0 to below 1, by which retries are spread.
	Rand func() float64
	// Depth is how many bars are kept at least where an indicator is watched: 1500
	// when 0.
	Depth int
}

const (
	defaultDepth = 1500
	maxCommands  = 64  // commands that wait; who comes then waits in line
	maxEvents    = 256 // events between feed and loop, and in one commit
	maxLoads     = 4   // reads of history at a time: the venues have limits
)

// errStopping is what commands get when the loop does not run.
var errStopping = &fault.Error{Kind: fault.Unavailable, Code: "stopping", Message: "the engine is stopping; try again in a moment", Retryable: true}

// Engine watches the market. It is safe for concurrent use.
type Engine struct {
	cfg      Config
	commands chan func(*loop)
	stopped  chan struct{} // closed when the loop has ended
	windows  publishedMap[provider.Sub, window]
	prices   publishedMap[market.Symbol, lastPrice]
	status   atomic.Pointer[Status]

	mu               sync.Mutex
	requestedSymbols map[market.Symbol]bool // as Follow was told last
	changed          chan struct{}          // holds a token when that has changed
}

// New returns an engine that does nothing until Run.
func New(cfg Config) *Engine {
	if cfg.Depth == 0 {
		cfg.Depth = defaultDepth
	}
	e := &Engine{cfg: cfg, commands: make(chan func(*loop), maxCommands), stopped: make(chan struct{}), changed: make(chan struct{}, 1)}
	e.status.Store(&Status{})
	return e
}

// Run works until ctx ends. It calls ready when it accepts commands. It evaluates no
// alert until Restore or Adopt names it. Before hard ends it commits what it found. It
// must be called once.
func (e *Engine) Run(ctx, hard context.Context, ready func()) error {
	defer close(e.stopped)
	ctx, stop := context.WithCancel(ctx)
	l := newLoop(ctx, hard, e)
	var following sync.WaitGroup
	following.Go(func() { _ = e.cfg.Feed.Run(ctx, l.events) }) // ends with ctx and its error
	ready()
	l.run()
	stop()
	following.Wait()
	l.running.Wait()
	return l.close()
}

// do has the loop run a command and waits until it is done. When ctx ends first
// the command may still be run, unless its turn had not come.
func (e *Engine) do(ctx context.Context, run func(*loop)) error {
	done := make(chan struct{})
	command := func(l *loop) {
		defer close(done)
		if ctx.Err() == nil {
			run(l)
		}
	}
	select {
	case e.commands <- command:
	case <-ctx.Done():
		return ctx.Err()
	case <-e.stopped:
		return errStopping
	}
	select {
	case <-done:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	case <-e.stopped:
		return errStopping
	}
}

// listing is where an instrument trades.
type listing struct {
	symbol   market.Symbol // with its venue
	venue    provider.Provider
	caps     provider.Caps
	clock    provider.Clock
	calendar market.Calendar
}

// canonical returns the instrument that a client's symbol names: with its venue, and
// as that writes it.
func (e *Engine) canonical(ctx context.Context, s market.Symbol) (market.Symbol, error) {
	venue, err := e.cfg.Data.Route(ctx, s)
	if err != nil {
		return s, err
	}
	return provider.Canonical(ctx, venue, s)
}

// resolveListing finds the venue of an instrument and whether it has it. The name stays as it
// is: what alerts wait for is kept under it.
func (e *Engine) resolveListing(ctx context.Context, s market.Symbol) (*listing, error) {
	venue, err := e.cfg.Data.Route(ctx, s)
	if err != nil {
		return nil, err
	}
	p := &listing{symbol: market.Symbol{Venue: venue.Name(), Name: s.Name}, venue: venue, caps: venue.Capabilities()}
	if c, ok := venue.(provider.Clocked); ok {
		p.clock = c.Clock()
	}
	instrument, err := venue.Instrument(ctx, p.symbol)
	if err != nil {
		return nil, err
	}
	p.calendar = instrument.Calendar
	return p, nil
}

// closeTime returns when the bar that opened at t closes, by the clock on the wall.
func (p *listing) closeTime(i market.Interval, t int64) time.Time {
	return p.clock.Wall(p.closeUnix(i, t))
}

// closeUnix returns when the bar that opened at t closes, by the venue's clock.
func (p *listing) closeUnix(i market.Interval, t int64) int64 {
	if span, ok := p.calendar.Bucket(i, t); ok {
		return span.Close
	}
	return t + i.Seconds()
}

// wallTime returns a time of the venue's by the clock on the wall.
func (p *listing) wallTime(at time.Time) time.Time {
	if p.clock.Speed == 0 {
		return at
	}
	return p.clock.Wall(at.Unix())
}

// noBarsAtInterval reports whether a venue has no bars of an interval, though it may have
// some of another: files may be of one interval alone.
func noBarsAtInterval(err error) bool {
	f := fault.Of(err)
	return f != nil && (f.Code == "no_bars" || f.Kind == fault.Invalid && f.Field == "interval")
}

// backoff is how long to leave something alone that failed: longer each time, and as
// long as it asked for.
func (e *Engine) backoff(fails int, most time.Duration, err error) time.Duration {
	d := retry.Backoff{First: time.Second, Max: most}.Delay(fails, e.cfg.Rand)
	if f := fault.Of(err); f != nil {
		d = max(d, f.RetryAfter)
	}
	return d
}

// isShutdown reports whether an error says that the loop ends.
func isShutdown(err error) bool { return errors.Is(err, context.Canceled) }
