package app

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"candela/internal/alerting/notify"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/resource"
	"candela/internal/serve/tool"
	"candela/internal/store/statedir"
	"candela/lib/fault"
)

// window holds the tools of a process that a client started on stdio with --trade. Its
// trading side starts with the first initialize or slow call, because clients also start
// processes only to ask which protocol they speak. While another process trades in the
// state directory the window serves charts, and it takes over when that process ends. It
// is safe for concurrent use.
type window struct {
	rt      Runtime
	charts  *toolset
	first   *toolset                    // with trading; built at the start, so that wrong settings stop it
	begun   chan struct{}               // closed by begin
	settled chan struct{}               // closed when the window trades, or knows that it cannot
	trading atomic.Pointer[toolset]     // nil while this process does not trade
	wake    chan struct{}               // receives once when trading is set
	failed  atomic.Pointer[fault.Error] // the last failed takeover
	begin   func()                      // starts trading; later calls do nothing
	settle  func()                      // closes settled; later calls do nothing
}

func (rt Runtime) openWindow() (*window, error) {
	w := &window{rt: rt, begun: make(chan struct{}), settled: make(chan struct{}), wake: make(chan struct{}, 1)}
	w.begin = sync.OnceFunc(func() { close(w.begun) })
	w.settle = sync.OnceFunc(func() { close(w.settled) })
	var err error
	if w.first, err = rt.tools(); err != nil {
		return nil, err
	}
	withoutEngine := *rt.Config
	withoutEngine.Trade = false
	rt.Config, rt.noTrading = &withoutEngine, w.refusal
	w.charts, err = rt.tools()
	return w, err
}

// Tools lists the tools, which are the same with and without trading.
func (w *window) Tools() []mcp.Tool { return w.charts.registry.Tools() }

// Call calls a tool. It waits until the window trades or knows that it cannot.
func (w *window) Call(ctx context.Context, caller principal.Caller, name string, arguments json.RawMessage) (mcp.Result, error) {
	if t := w.await(ctx); t != nil {
		return t.registry.Call(ctx, caller, name, arguments)
	}
	return w.charts.registry.Call(ctx, caller, name, arguments)
}

// await waits until the window trades or knows that it cannot; then it returns nil.
func (w *window) await(ctx context.Context) *toolset {
	select {
	case <-w.settled:
	case <-ctx.Done():
	}
	return w.trading.Load()
}

// Resources describes the resources, which are the same with and without trading.
func (w *window) Resources() []mcp.Resource { return resource.List() }

// Read reads a resource, once this process trades.
func (w *window) Read(ctx context.Context, caller principal.Caller, uri string) ([]byte, error) {
	if t := w.await(ctx); t != nil {
		return t.resources.Read(ctx, caller, uri)
	}
	return nil, w.refusal()
}

// Watch watches a resource, once this process trades.
func (w *window) Watch(ctx context.Context, caller principal.Caller, uri string) (mcp.Watch, error) {
	if t := w.await(ctx); t != nil {
		return t.resources.Watch(ctx, caller, uri)
	}
	return nil, w.refusal()
}

// Run runs a call that may become a task.
func (w *window) Run(ctx context.Context, caller principal.Caller, call func(context.Context) (mcp.Result, error)) (*mcp.Task, mcp.Result, error) {
	if t := w.await(ctx); t != nil {
		return t.tasks.Run(ctx, caller, call)
	}
	return w.charts.tasks.Run(ctx, caller, call)
}

// Get returns a task: a call of before or after this process trades, or an order.
func (w *window) Get(ctx context.Context, caller principal.Caller, id string) (*mcp.Task, error) {
	found, err := w.charts.tasks.Get(ctx, caller, id)
	if t := w.await(ctx); errors.Is(err, mcp.ErrNoTask) && t != nil {
		return t.tasks.Get(ctx, caller, id)
	}
	return found, err
}

// Cancel cancels a task.
func (w *window) Cancel(ctx context.Context, caller principal.Caller, id string) error {
	err := w.charts.tasks.Cancel(ctx, caller, id)
	if t := w.await(ctx); errors.Is(err, mcp.ErrNoTask) && t != nil {
		return t.tasks.Cancel(ctx, caller, id)
	}
	return err
}

// Open returns a stream that is empty until this process trades.
func (w *window) Open(ctx context.Context, caller principal.Caller, lastEventID string) (notify.Stream, error) {
	return &lateStream{from: w, open: func(t *toolset) (notify.Stream, error) { return t.streams.Open(ctx, caller, lastEventID) }}, nil
}

// refusal returns why trading tools are unavailable.
func (w *window) refusal() error {
	home := w.rt.Config.Home
	process, ended := statedir.EngineProcess(home)
	if f := w.failed.Load(); f != nil && (ended || process == os.Getpid()) {
		return f
	}
	if ended {
		return tool.TradingVacantError(home)
	}
	return tool.TradingElsewhereError(home, process)
}

// fail records why trading could not be taken over and reports whether the reason is new.
// The message is complete, as at a start: a client on stdio has started this program.
func (w *window) fail(err error) bool {
	next := tool.TradingFailedError(w.rt.Config.Home, err)
	last := w.failed.Swap(next)
	return last == nil || last.Message != next.Message
}

// run trades from when the client begins, or from when no other process does.
func (w *window) run(ctx context.Context, ready func()) error {
	ready()
	home, log := w.rt.Config.Home, w.rt.Log
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
	w.first.trading.bars.close()
	w.first = nil // it has read settings that may change
	process, _ := statedir.EngineProcess(home)
	log.WarnContext(ctx, "trading unavailable until the other candela of this state directory ends", "home", home, "pid", process)
	w.settle()
	return w.succeed(ctx)
}

// giveUp ends the program with an error. Calls that wait for trading get the reason.
func (w *window) giveUp(err error) error {
	if err != nil {
		w.fail(err)
		w.settle()
	}
	return err
}

// succeed waits until no other process trades in the state directory, and then trades. If
// that fails it releases the lock, so that others can try, and waits again.
func (w *window) succeed(ctx context.Context) error {
	home, log := w.rt.Config.Home, w.rt.Log
	for {
		held, err := statedir.SucceedEngine(ctx, home)
		if err != nil {
			if ctx.Err() == nil {
				log.ErrorContext(ctx, "trading takeover failed", "error", err)
			}
			<-ctx.Done()
			return nil
		}
		set, err := w.rt.tools()
		if err == nil {
			log.InfoContext(ctx, "trading takeover started: the other process has ended", "home", home)
			err = w.trade(ctx, set)
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
func (w *window) trade(ctx context.Context, set *toolset) error {
	return lifecycle.Run(ctx, append(append(set.parts, set.control(w.rt)...), lifecycle.Part{Name: "trading", Run: func(ctx, _ context.Context, ready func()) error {
		w.trading.Store(set)
		w.wake <- struct{}{}
		w.settle()
		ready()
		<-ctx.Done()
		return nil
	}}), w.rt.Config.ShutdownTimeout, w.rt.Log.With("of", "trading"))
}

// lateStream is a stream of an inbox that opens later. One goroutine uses it.
type lateStream struct {
	from *window
	open func(*toolset) (notify.Stream, error)
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
