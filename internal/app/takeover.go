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

// successor is the tools of a window whose state directory another process trades in.
// It has charts, and takes the trading over when that process ends. It is safe for
// concurrent use.
type successor struct {
	charts  *toolset
	trading atomic.Pointer[toolset] // nil while another process trades
	wake    chan struct{}           // holds a token when that has changed
}

func newSuccessor(charts *toolset) *successor {
	return &successor{charts: charts, wake: make(chan struct{}, 1)}
}

// Tools lists the tools, which are the same before and after.
func (s *successor) Tools() []mcp.Tool { return s.charts.registry.Tools() }

// Call calls a tool of the window as it is now.
func (s *successor) Call(ctx context.Context, caller principal.Caller, name string, arguments json.RawMessage) (mcp.Result, error) {
	if t := s.trading.Load(); t != nil {
		return t.registry.Call(ctx, caller, name, arguments)
	}
	return s.charts.registry.Call(ctx, caller, name, arguments)
}

// Open begins a stream that has nothing until this process trades.
func (s *successor) Open(ctx context.Context, caller principal.Caller, lastEventID string) (notify.Stream, error) {
	return &lateStream{from: s, open: func(t *toolset) (notify.Stream, error) { return t.streams.Open(ctx, caller, lastEventID) }}, nil
}

// waiting is what a process knows that waits to take the trading over. It is safe for
// concurrent use.
type waiting struct {
	config *config.Config // with what it trades then
	failed atomic.Pointer[fault.Error]
}

// refusal is why trading tools refuse until then.
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

// fail notes why the trading was not taken over, as a start would say it: who asks over
// stdio has started this program. It reports whether that is news.
func (w *waiting) fail(err error) bool {
	next := tool.TradingFailedError(w.config.Home, err)
	last := w.failed.Swap(next)
	return last == nil || last.Message != next.Message
}

// run waits until nobody else trades in the state directory, and then trades. Where
// that fails it gives the lock back, for others to try, and waits again.
func (s *successor) run(ctx context.Context, rt Runtime, ready func()) error {
	ready()
	rt.Config, rt.noTrading = rt.waiting.config, nil
	for {
		held, err := statedir.SucceedEngine(ctx, rt.Config.Home)
		if err != nil {
			return s.charting(ctx, rt, err)
		}
		err = s.trade(ctx, rt)
		held.Release()
		if err == nil || ctx.Err() != nil || s.trading.Load() != nil {
			return err
		}
		if rt.waiting.fail(err) {
			rt.Log.ErrorContext(ctx, "trading is not taken over and will be tried again; charts work", "error", err)
		}
	}
}

// trade runs what trades, until ctx ends or a part fails.
func (s *successor) trade(ctx context.Context, rt Runtime) error {
	home := rt.Config.Home
	var err error
	if rt.node, err = rt.openLocal(ctx); err != nil {
		return err
	}
	defer rt.node.close()
	set, err := rt.tools()
	if err != nil {
		return err
	}
	rt.Log.InfoContext(ctx, "the process that traded with this state directory has ended; this one takes over", "home", home)
	return runParts(ctx, append(append(set.parts, set.control(rt)), Part{Name: "takeover", Run: func(ctx, _ context.Context, ready func()) error {
		s.trading.Store(set)
		s.wake <- struct{}{}
		rt.Log.InfoContext(ctx, "alerts and orders work in this window from now on", "home", home)
		ready()
		<-ctx.Done()
		return nil
	}}), rt.Config.ShutdownTimeout, rt.Log)
}

// charting goes on without trading.
func (*successor) charting(ctx context.Context, rt Runtime, err error) error {
	if ctx.Err() == nil {
		rt.Log.ErrorContext(ctx, "trading is not taken over; charts work", "error", err)
	}
	<-ctx.Done()
	return nil
}

// lateStream is a stream of notifications of a log that is not open yet. One goroutine
// uses it.
type lateStream struct {
	from *successor
	open func(*toolset) (notify.Stream, error)
	now  notify.Stream // nil before there is one
}

// Ready delivers when there is a log, and from then on what its stream does.
func (l *lateStream) Ready() <-chan struct{} {
	if l.now == nil {
		return l.from.wake
	}
	return l.now.Ready()
}

// Take takes from the stream, which it opens when there is a log.
func (l *lateStream) Take(dst []notify.Event) []notify.Event {
	if t := l.from.trading.Load(); l.now == nil && t != nil {
		l.now, _ = l.open(t) // an error is that of a client that has left
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
