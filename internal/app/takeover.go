package app

import (
	"context"
	"encoding/json"
	"os"
	"sync/atomic"

	"candela/internal/alerting/notify"
	"candela/internal/config"
	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/tool"
	"candela/internal/store/statedir"
)

// successor holds the tools of a window while another process trades in its state
// directory. It serves charts, and takes over trading when that process ends. It is safe
// for concurrent use.
type successor struct {
	charts  *toolset
	trading atomic.Pointer[toolset] // nil while another process trades
	wake    chan struct{}           // receives once when trading is set
}

func newSuccessor(charts *toolset) *successor {
	return &successor{charts: charts, wake: make(chan struct{}, 1)}
}

// Tools lists the tools, which are the same before and after.
func (s *successor) Tools() []mcp.Tool { return s.charts.registry.Tools() }

// Call calls a tool, with trading once it was taken over.
func (s *successor) Call(ctx context.Context, caller principal.Caller, name string, arguments json.RawMessage) (mcp.Result, error) {
	if t := s.trading.Load(); t != nil {
		return t.registry.Call(ctx, caller, name, arguments)
	}
	return s.charts.registry.Call(ctx, caller, name, arguments)
}

// Open returns a stream that is empty until this process trades.
func (s *successor) Open(ctx context.Context, caller principal.Caller, lastEventID string) (notify.Stream, error) {
	return &lateStream{from: s, open: func(t *toolset) (notify.Stream, error) { return t.streams.Open(ctx, caller, lastEventID) }}, nil
}

// waiting is the state of a process that waits to take over trading. It is safe for
// concurrent use.
type waiting struct {
	config *config.Config // to trade with
	failed atomic.Pointer[fault.Error]
}

// refusal returns why trading tools are unavailable until then.
func (w *waiting) refusal() error {
	home := w.config.Home
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
func (w *waiting) fail(err error) bool {
	next := tool.TradingFailedError(w.config.Home, err)
	last := w.failed.Swap(next)
	return last == nil || last.Message != next.Message
}

// run waits until no other process trades in the state directory, and then trades. If that
// fails it releases the lock, so that others can try, and waits again.
func (s *successor) run(ctx context.Context, rt Runtime, ready func()) error {
	ready()
	rt.Config, rt.noTrading = rt.waiting.config, nil
	for {
		held, err := statedir.SucceedEngine(ctx, rt.Config.Home)
		if err != nil {
			if ctx.Err() == nil {
				rt.Log.ErrorContext(ctx, "trading takeover failed", "error", err)
			}
			<-ctx.Done() // without trading
			return nil
		}
		err = s.trade(ctx, rt)
		held.Release()
		if err == nil || ctx.Err() != nil || s.trading.Load() != nil {
			return err
		}
		if rt.waiting.fail(err) {
			rt.Log.ErrorContext(ctx, "trading takeover failed; retrying", "error", err)
		}
	}
}

// trade runs the trading side until ctx ends or a part fails.
func (s *successor) trade(ctx context.Context, rt Runtime) error {
	home := rt.Config.Home
	rt.node = rt.openLocal()
	set, err := rt.tools()
	if err != nil {
		return err
	}
	rt.Log.InfoContext(ctx, "trading takeover started: the other process has ended", "home", home)
	return runParts(ctx, append(append(set.parts, set.control(rt)), Part{Name: "takeover", Run: func(ctx, _ context.Context, ready func()) error {
		s.trading.Store(set)
		s.wake <- struct{}{}
		rt.Log.InfoContext(ctx, "trading taken over", "home", home)
		ready()
		<-ctx.Done()
		return nil
	}}), rt.Config.ShutdownTimeout, rt.Log)
}

// lateStream is a stream of an inbox that opens later. One goroutine uses it.
type lateStream struct {
	from *successor
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
