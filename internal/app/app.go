// Package app builds the program from its configuration, starts its components in order
// and stops them in reverse. It is the only package that knows both sides of each
// interface, and it contains no market, protocol or trading logic.
package app

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"candela/internal/alerting/engine"
	"candela/internal/alerting/sink"
	"candela/internal/config"
	"candela/internal/data/provider"
	"candela/internal/kit/budget"
	"candela/internal/kit/lifecycle"
	"candela/internal/store"
	"candela/internal/store/scripts"
	"candela/internal/store/statedir"
	"candela/internal/trading/broker"
	"candela/internal/work/charting"
	"candela/lib/fault"
	"candela/lib/ta"
)

// Deps holds what the process provides.
type Deps struct {
	Version string // of this build
	Stdin   io.Reader
	Stdout  io.Writer // the protocol under --mcp, otherwise requested output only
	Stderr  io.Writer // the log
	// Halts delivers the signals that halt trading; nil where there are none.
	Halts <-chan os.Signal
	// MakeRoom lets a server run so many more threads at a time, see fair.MakeRoom; nil where the
	// process is not the program's own, or long work runs as any other.
	MakeRoom func(threads int)
	// Apart runs long work that everything else should go before, see fair.Apart; nil likewise.
	Apart func(work func() error) error
	Services

	keepAlive time.Duration // as httpd.Config has it; only tests set it
	taskWait  time.Duration // as task.Config has it; only tests set it
}

// Services lists what a build can do. Requesting a nil one is an error.
type Services struct {
	MCP   Service
	Serve Service

	Venues  []provider.Descriptor
	Brokers []broker.Descriptor
	Sinks   []sink.Descriptor
	Stores  []store.Descriptor
	Draw    charting.Renderer
}

// Service builds the parts of a mode, in the order in which they start. It opens nothing
// that needs closing: parts do when they run.
type Service func(Runtime) ([]lifecycle.Part, error)

// Runtime is what a Service builds its parts from.
type Runtime struct {
	Deps
	Config *config.Config
	Log    *slog.Logger

	node *node // opened before any part is made

	shelf *scripts.Shelf // the owner's scripts; nil without a state directory

	scriptMemory *budget.Pool // what all scripts share; nil for commands
	streams      *ta.Streams  // of scans and previews of alerts

	// greeting is what the owner's terminal shows once the server listens; nil for commands.
	greeting *string

	noTrading func() error // why trading tools are unavailable in spite of --trade; else nil
}

// Run runs the configured mode. It returns after a chart is written, or when ctx ends or a
// part of a service fails. Stopping a service through ctx is not an error.
func Run(ctx context.Context, cfg *config.Config, deps Deps) error {
	deps.Stderr = &lines{to: deps.Stderr}
	rt := Runtime{Deps: deps, Config: cfg, Log: cfg.Log.Logger(deps.Stderr), scriptMemory: newScriptMemory(), streams: ta.NewStreams(maxStreams)}
	if cfg.Home != "" {
		rt.shelf = openScripts(cfg)
	}
	switch mode := cfg.Mode(); mode {
	case config.ModeMCP:
		return rt.serve(ctx, mode, deps.MCP)
	case config.ModeServe:
		return rt.serve(ctx, mode, deps.Serve)
	default:
		return rt.drawOnce(ctx)
	}
}

// mode is the one of the configuration.
func (rt Runtime) mode() mode { return modeOf(rt.Config) }

// library has the indicators of the catalogue and the owner's scripts.
func (rt Runtime) library() ta.Library {
	if rt.shelf == nil {
		return ta.Library{}
	}
	return ta.Library{Scripts: rt.shelf}
}

func (rt Runtime) serve(ctx context.Context, mode config.Mode, service Service) error {
	if service == nil {
		return absent(mode)
	}
	home := rt.Config.Home
	if err := statedir.Open(home); err != nil {
		return err
	}
	release, err := rt.lockEngine(ctx, mode)
	if err != nil {
		return err
	}
	defer release()
	if mode == config.ModeServe {
		held, err := statedir.LockServer(home)
		if err != nil {
			return err
		}
		defer held.Release()
	}
	rt.greeting = new(string)
	if rt.node, err = rt.openNode(ctx); err != nil {
		return err
	}
	defer rt.node.close()
	parts, err := service(rt)
	if err != nil {
		return err
	}
	if mode == config.ModeServe && rt.Config.Trade && rt.MakeRoom != nil {
		rt.MakeRoom(charting.LongSlots() + 1) // and one that parses what long work reads
	}
	rt.Log.InfoContext(ctx, "starting", "version", rt.Version, "mode", mode.String(), "trade", rt.Config.Trade, "home", home)
	return lifecycle.Run(ctx, parts, rt.Config.ShutdownTimeout, rt.Log)
}

// lockEngine acquires the engine lock of the state directory for a server that trades. On
// stdio a window acquires it.
func (rt Runtime) lockEngine(ctx context.Context, mode config.Mode) (release func(), err error) {
	if !rt.Config.Trade || mode == config.ModeMCP {
		return func() {}, nil
	}
	held, err := statedir.AwaitEngine(ctx, rt.Config.Home, statedir.Server)
	if err != nil {
		return nil, err
	}
	return held.Release, nil
}

func absent(mode config.Mode) error {
	return fault.New(fault.Unsupported, "not_in_build", "%s is not available in this build", mode)
}

// pruneScripts removes the versions of scripts that no alert uses any more.
func (rt Runtime) pruneScripts(ctx context.Context, e *engine.Engine) {
	if rt.shelf == nil {
		return
	}
	used, err := e.Scripts(ctx)
	if err == nil {
		err = rt.shelf.Prune(func(name string) bool { return used[name] })
	}
	if err != nil {
		rt.Log.WarnContext(ctx, "old scripts not removed", "error", err)
	}
}

// lines lets several goroutines write to what takes one write at a time: the log, and what is said beside it.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}
