// Package window holds the tools of a process that a client started on stdio with --trade, of which
// several may share a state directory: one of them trades. It decides which, and takes over when that
// one ends. It opens no venue and no account itself; package app gives it what does.
package window

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/resource"
	"candela/internal/store/statedir"
	"candela/lib/fault"
)

// Set is what a process offers its client, with or without a trading side.
type Set struct {
	Tools     mcp.ToolSet
	Tasks     mcp.TaskSet
	Resources mcp.ResourceSet  // nil without a trading side
	Streams   notify.Streams   // the same
	Parts     []lifecycle.Part // run while the set is in use
	Discard   func()           // closes a set whose parts never ran
}

// Config configures a Window. All fields are required.
type Config struct {
	Home  string // the state directory
	Grace time.Duration
	Log   *slog.Logger

	// Charts builds the set without a trading side, whose trading tools return refusal.
	Charts func(refusal func() error) (Set, error)
	// Trading builds the set with one. It reads settings, which may change between two calls.
	Trading func() (Set, error)
}

// Window is the tools of one process. Its trading side starts with the first initialize or slow call,
// because clients also start processes only to ask which protocol they speak. While another process
// trades in the state directory it serves charts. It is safe for concurrent use.
type Window struct {
	cfg     Config
	charts  Set
	first   *Set                        // with trading; built at the start, so that wrong settings stop it
	begun   chan struct{}               // closed by Begin
	settled chan struct{}               // closed when the window trades, or knows that it cannot
	trading atomic.Pointer[Set]         // nil while this process does not trade
	wake    chan struct{}               // receives once when trading is set
	failed  atomic.Pointer[fault.Error] // the last failed takeover
	begin   func()                      // closes begun; later calls do nothing
	settle  func()                      // closes settled; later calls do nothing
}

// New builds both sets. Nothing runs before Run does.
func New(cfg Config) (*Window, error) {
	w := &Window{cfg: cfg, begun: make(chan struct{}), settled: make(chan struct{}), wake: make(chan struct{}, 1)}
	w.begin = sync.OnceFunc(func() { close(w.begun) })
	w.settle = sync.OnceFunc(func() { close(w.settled) })
	first, err := cfg.Trading()
	if err != nil {
		return nil, err
	}
	w.first = &first
	w.charts, err = cfg.Charts(w.refusal)
	return w, err
}

// Begin starts trading. Later calls do nothing.
func (w *Window) Begin() { w.begin() }

// Parts returns the parts that run from the start of the process to its end.
func (w *Window) Parts() []lifecycle.Part {
	return append(w.charts.Parts, lifecycle.Part{Name: "window", Run: w.run})
}

// Tools lists the tools, which are the same with and without trading.
func (w *Window) Tools() []mcp.Tool { return w.charts.Tools.Tools() }

// Call calls a tool. It waits until the window trades or knows that it cannot.
func (w *Window) Call(ctx context.Context, caller principal.Caller, name string, arguments json.RawMessage) (mcp.Result, error) {
	if t := w.await(ctx); t != nil {
		return t.Tools.Call(ctx, caller, name, arguments)
	}
	return w.charts.Tools.Call(ctx, caller, name, arguments)
}

// await waits until the window trades or knows that it cannot; then it returns nil.
func (w *Window) await(ctx context.Context) *Set {
	select {
	case <-w.settled:
	case <-ctx.Done():
	}
	return w.trading.Load()
}

// Resources describes the resources, which are the same with and without trading.
func (w *Window) Resources() []mcp.Resource { return resource.List() }

// Read reads a resource, once this process trades.
func (w *Window) Read(ctx context.Context, caller principal.Caller, uri string) ([]byte, error) {
	if t := w.await(ctx); t != nil {
		return t.Resources.Read(ctx, caller, uri)
	}
	return nil, w.refusal()
}

// Watch watches a resource, once this process trades.
func (w *Window) Watch(ctx context.Context, caller principal.Caller, uri string) (mcp.Watch, error) {
	if t := w.await(ctx); t != nil {
		return t.Resources.Watch(ctx, caller, uri)
	}
	return nil, w.refusal()
}

// Run runs a call that may become a task.
func (w *Window) Run(ctx context.Context, caller principal.Caller, call func(context.Context) (mcp.Result, error)) (*mcp.Task, mcp.Result, error) {
	if t := w.await(ctx); t != nil {
		return t.Tasks.Run(ctx, caller, call)
	}
	return w.charts.Tasks.Run(ctx, caller, call)
}

// Get returns a task: a call of before or after this process trades, or an order.
func (w *Window) Get(ctx context.Context, caller principal.Caller, id string) (*mcp.Task, error) {
	found, err := w.charts.Tasks.Get(ctx, caller, id)
	if t := w.await(ctx); errors.Is(err, mcp.ErrNoTask) && t != nil {
		return t.Tasks.Get(ctx, caller, id)
	}
	return found, err
}

// Cancel cancels a task.
func (w *Window) Cancel(ctx context.Context, caller principal.Caller, id string) error {
	err := w.charts.Tasks.Cancel(ctx, caller, id)
	if t := w.await(ctx); errors.Is(err, mcp.ErrNoTask) && t != nil {
		return t.Tasks.Cancel(ctx, caller, id)
	}
	return err
}

// Open returns a stream that is empty until this process trades.
func (w *Window) Open(ctx context.Context, caller principal.Caller, lastEventID string) (notify.Stream, error) {
	return &lateStream{from: w, open: func(t *Set) (notify.Stream, error) { return t.Streams.Open(ctx, caller, lastEventID) }}, nil
}

// run trades from when the client begins, or from when no other process does.
func (w *Window) run(ctx, _ context.Context, ready func()) error {
	ready()
	home := w.cfg.Home
	select {
	case <-w.begun:
	case <-ctx.Done():
		return nil
	}
	held, err := statedir.AwaitEngine(ctx, home, statedir.Window)
	if err == nil {
		defer held.Release()
		return w.giveUp(w.trade(ctx, w.first))
	}
	if !statedir.IsLocked(err) {
		return w.giveUp(err)
	}
	w.first.Discard()
	w.first = nil // it has read settings that may change
	process, _ := statedir.EngineProcess(home)
	w.cfg.Log.WarnContext(ctx, "trading unavailable until the other candela of this state directory ends", "home", home, "pid", process)
	w.settle()
	return w.succeed(ctx)
}

// giveUp ends the program with an error. Calls that wait for trading get the reason.
func (w *Window) giveUp(err error) error {
	if err != nil {
		w.fail(err)
		w.settle()
	}
	return err
}

// succeed waits until no other process trades in the state directory, and then trades. If
// that fails it releases the lock, so that others can try, and waits again.
func (w *Window) succeed(ctx context.Context) error {
	home, log := w.cfg.Home, w.cfg.Log
	for {
		held, err := statedir.SucceedEngine(ctx, home)
		if err != nil {
			if ctx.Err() == nil {
				log.ErrorContext(ctx, "trading takeover failed", "error", err)
			}
			<-ctx.Done()
			return nil
		}
		set, err := w.cfg.Trading()
		if err == nil {
			log.InfoContext(ctx, "trading takeover started: the other process has ended", "home", home)
			err = w.trade(ctx, &set)
		}
		held.Release()
		if err == nil || ctx.Err() != nil || w.trading.Load() != nil {
			return err
		}
		if w.fail(err) {
			log.ErrorContext(ctx, "trading takeover failed; retrying", "error", err)
		}
	}
}

// trade runs the trading side until ctx ends or a part fails.
func (w *Window) trade(ctx context.Context, set *Set) error {
	return lifecycle.Run(ctx, append(set.Parts, lifecycle.Part{Name: "trading", Run: func(ctx, _ context.Context, ready func()) error {
		w.trading.Store(set)
		w.wake <- struct{}{}
		w.settle()
		ready()
		<-ctx.Done()
		return nil
	}}), w.cfg.Grace, w.cfg.Log.With("of", "trading"))
}

// lateStream is a stream of an inbox that opens later. One goroutine uses it.
type lateStream struct {
	from *Window
	open func(*Set) (notify.Stream, error)
	now  notify.Stream // nil until the inbox is open
}

// Ready signals when the inbox is open, and from then on as its stream does.
func (l *lateStream) Ready() <-chan struct{} {
	if l.now == nil {
		return l.from.wake
	}
	return l.now.Ready()
}

// Take reads from the stream, which it opens once the inbox is open.
func (l *lateStream) Take(dst []notify.Event) []notify.Event {
	if t := l.from.trading.Load(); l.now == nil && t != nil {
		l.now, _ = l.open(t) // it fails only for a client that has disconnected
	}
	if l.now == nil {
		return dst
	}
	return l.now.Take(dst)
}

// Close ends the stream.
func (l *lateStream) Close() {
	if l.now != nil {
		l.now.Close()
	}
}
