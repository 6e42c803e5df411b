// Package engine evaluates alerts against live prices and bars. It commits a firing to
// the store before it publishes it, and after a restart it evaluates the bars it missed.
//
// One goroutine, the loop, owns all state. Callers send it commands or read the rolling
// windows and prices that it publishes. Scripts are evaluated beside it. The engine draws nothing and sends no orders.
package engine

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/data/feed"
	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/kit/budget"
	"candela/internal/kit/fair"
	"candela/internal/kit/principal"
	"candela/internal/kit/retry"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// Store records changes of alerts. ledger/storetest is its contract: after nil the change
// is durable, after an error nothing has changed.
type Store interface {
	PutAlert(ctx context.Context, by principal.Caller, a alert.Alert) error
	CancelAlert(ctx context.Context, by principal.Caller, id string) error
	FireAlerts(ctx context.Context, firings []alert.Firing) ([]notify.Entry, error)
	ExpireAlerts(ctx context.Context, gone []alert.Alert) error
	// ReportAlerts stores a notification about each alert that nothing evaluates, once for each
	// reason. The alerts stay; those that are set aside are stored as such.
	ReportAlerts(ctx context.Context, reports []alert.Firing) ([]notify.Entry, error)
	// ResumeAlert stores that an alert is no longer set aside. See alert.Alert.Resumed.
	ResumeAlert(ctx context.Context, by principal.Caller, id string) error
	SaveMarks(ctx context.Context, marks map[provider.Sub]int64) error
}

// Data reads past bars.
type Data interface {
	Bars(ctx context.Context, r marketdata.Request) (marketdata.BarSet, error)
	Route(ctx context.Context, s market.Symbol) (provider.Provider, error)
	// HasVenue reports whether a venue is set up.
	HasVenue(name string) bool
}

// Feed delivers live bars.
type Feed interface {
	Subscribe(ctx context.Context, sub provider.Sub, since int64) (provider.Sub, error)
	Unsubscribe(sub provider.Sub)
	Run(ctx context.Context, out chan<- feed.Event) error
	Status() []feed.Status
}

// Config holds the dependencies of an engine. All but Observe, Suspended, Limit, Scripts, Streams and Depth are required.
type Config struct {
	Store Store
	Data  Data
	Feed  Feed
	// Publish receives committed entries in order. The loop waits for it.
	Publish func([]notify.Entry)
	// Observe receives the events of every tracked price; it may be nil. The loop
	// waits for it.
	Observe func(provider.Event)
	Log     *slog.Logger
	Now     func() time.Time
	// Rand returns numbers from 0 to below 1 for the jitter of retries.
	Rand func() float64
	// Library has the indicators that alerts may use; the zero value is the catalogue.
	Library ta.Library
	// Suspended reports whether an owner's alerts must not fire; nil for none. See Suspend.
	Suspended func(owner principal.Owner) bool
	// Limit returns how many alerts an owner may have, on how many symbols; nil for
	// alert.MaxPerOwner on any.
	Limit func(owner principal.Owner) (alerts, symbols int)
	// OverPlan counts that a limit, alerts or symbols, has refused an alert of an owner, and returns the name of the owner's plan. It is set with Limit.
	OverPlan func(owner principal.Owner, limit string) (plan string)
	// Scripts is the memory that the scripts of alerts share with all others; nil for no bound.
	Scripts *budget.Pool
	// Streams keeps what indicators have seen of bars that previews evaluate; nil for nowhere.
	Streams *ta.Streams
	// Evaluations records which scripts are evaluated; nil for nowhere.
	Evaluations Evaluations
	// Depth is the least number of bars in a rolling window; 1500 when 0.
	Depth int
}

const (
	defaultDepth = 1500
	maxCommands  = 64  // queued commands; further callers wait
	maxEvents    = 256 // events between feed and loop, and in one commit
	maxLoads     = 4   // concurrent loads: the venues have limits
	maxTurns     = 8   // commands of clients in the queue; further ones wait for the turn of their owner
	maxOwnTurns  = 4   // of one owner
)

// errStopping is returned to commands while the loop does not run.
var errStopping = &fault.Error{Kind: fault.Unavailable, Code: "stopping", Message: "candela is shutting down; try again in a moment", Retryable: true}

// Engine evaluates alerts. It is safe for concurrent use.
type Engine struct {
	cfg      Config
	commands chan func(*loop)
	turns    *fair.Slots   // of owners, for their commands
	stopped  chan struct{} // closed after the loop has ended

	scriptTurns *fair.Slots // of the scripts of alerts
	windows     publishedMap[provider.Sub, window]
	prices      publishedMap[market.Symbol, lastPrice]
	status      atomic.Pointer[Status]
	verdicts    verdicts
	starved     starvedAlerts

	mu               sync.Mutex
	requestedSymbols map[market.Symbol]bool // of the last call of Follow
	changed          chan struct{}          // holds a token after requestedSymbols changed
}

// New returns an engine. It does nothing until Run.
func New(cfg Config) *Engine {
	cfg.Depth = cmp.Or(cfg.Depth, defaultDepth)
	e := &Engine{cfg: cfg, commands: make(chan func(*loop), maxCommands), turns: fair.NewSlots(maxTurns), stopped: make(chan struct{}), changed: make(chan struct{}, 1)}
	e.turns.SetShare(maxOwnTurns)
	e.scriptTurns = fair.NewSlots(max(1, runtime.GOMAXPROCS(0)/2)) // the other processors are for everything else
	e.status.Store(&Status{})
	return e
}

// Run runs the engine until ctx ends. It calls ready once commands are accepted. It
// evaluates no alert until Restore or Adopt names it. Before drainCtx ends it commits the
// last firings. It must be called once.
func (e *Engine) Run(ctx, drainCtx context.Context, ready func()) error {
	defer close(e.stopped)
	ctx, stop := context.WithCancel(ctx)
	l := newLoop(ctx, drainCtx, e)
	var feeding sync.WaitGroup
	feeding.Go(func() { _ = e.cfg.Feed.Run(ctx, l.events) }) // it returns the error of ctx
	ready()
	l.run()
	stop()
	feeding.Wait()
	l.running.Wait()
	return l.close()
}

// do runs a command in the loop and waits for it. If ctx ends first, the command may
// still run, unless its turn had not come.
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

// ask is do for a command that returns something.
func ask[T any](ctx context.Context, e *Engine, run func(*loop) (T, error)) (T, error) {
	var value, none T
	var failed error
	if err := e.do(ctx, func(l *loop) { value, failed = run(l) }); err != nil {
		return none, err // the command may still write to value
	}
	return value, failed
}

// askFor is ask for a caller. An owner with a thousand commands delays those of another by a
// few.
func askFor[T any](ctx context.Context, e *Engine, caller principal.Caller, run func(*loop) (T, error)) (T, error) {
	release, err := e.turns.Take(ctx, string(caller.Subject), caller.Key)
	if err != nil {
		var none T
		return none, err
	}
	defer release()
	return ask(ctx, e, run)
}

// A listing is an instrument at a venue, with the venue's clock and calendar.
type listing struct {
	symbol   market.Symbol // with its venue
	venue    provider.Provider
	caps     provider.Caps
	clock    provider.Clock
	calendar market.Calendar
	facts    market.Facts
}

// env describes bars of the instrument to indicators.
func (p *listing) env(i market.Interval) ta.Env {
	return ta.Env{Interval: i, Calendar: p.calendar, Facts: p.facts}
}

// canonical returns the instrument of a client's symbol: with its venue, as the venue
// spells it.
func (e *Engine) canonical(ctx context.Context, s market.Symbol) (market.Symbol, error) {
	venue, err := e.cfg.Data.Route(ctx, s)
	if err != nil {
		return s, err
	}
	return provider.Canonical(ctx, venue, s)
}

// resolveListing looks an instrument up at its venue. The name is not changed: alerts
// are indexed by it.
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
	p.calendar, p.facts = instrument.Calendar, instrument.Facts()
	p.facts.Symbol = p.symbol
	return p, nil
}

// closeTime returns the wall time at which the bar that opened at t closes.
func (p *listing) closeTime(i market.Interval, t int64) time.Time {
	return p.clock.Wall(p.closeUnix(i, t))
}

// closeUnix returns the venue's time at which the bar that opened at t closes.
func (p *listing) closeUnix(i market.Interval, t int64) int64 {
	return p.calendar.CloseOf(i, t)
}

// wallTime converts a time of the venue's clock to wall time.
func (p *listing) wallTime(at time.Time) time.Time {
	if p.clock.Speed == 0 {
		return at
	}
	return p.clock.Wall(at.Unix())
}

// opened returns when a bar opened on the wall.
func (p *listing) opened(bar market.Bar) time.Time { return p.wallTime(time.Unix(bar.T, 0)) }

// noBarsAtInterval reports whether the venue has no bars at the interval. It may have
// some at another: a file may hold one interval only.
func noBarsAtInterval(err error) bool {
	f := fault.Of(err)
	return f != nil && (f.Code == "no_bars" || f.Kind == fault.Invalid && f.Field == "interval")
}

// attempts is the retry state of something that may fail.
type attempts struct {
	consecutiveFailures int
	retryAt             time.Time // zero for no retry
}

// due reports whether a retry is due, and takes it off the schedule.
func (a *attempts) due(now time.Time) bool {
	due := !a.retryAt.IsZero() && !now.Before(a.retryAt)
	if due {
		a.retryAt = time.Time{}
	}
	return due
}

// failed schedules a retry and returns the delay before it.
func (e *Engine) failed(a *attempts, limit time.Duration, err error) time.Duration {
	a.consecutiveFailures++
	wait := e.backoff(a.consecutiveFailures, limit, err)
	a.retryAt = e.cfg.Now().Add(wait)
	return wait
}

// backoff returns the delay before the next attempt, at least what the error asks for.
func (e *Engine) backoff(failures int, limit time.Duration, err error) time.Duration {
	d := retry.Backoff{First: time.Second, Max: limit}.Delay(failures, e.cfg.Rand)
	if f := fault.Of(err); f != nil {
		d = max(d, f.RetryAfter)
	}
	return d
}

// isShutdown reports whether work failed because the loop stops.
func isShutdown(err error) bool { return errors.Is(err, context.Canceled) }
