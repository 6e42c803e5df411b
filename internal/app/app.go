// Package app puts the program together: it turns a configuration into parts
// that know nothing of each other, starts them in order and stops them in
// reverse. It is the only package that sees both sides of a seam. It decides
// nothing about markets, protocols or money, and main is its only caller.
package app

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"candela/internal/config"
	"candela/internal/kit/fault"
	"candela/internal/market/provider"
	"candela/internal/serve/tool"
	"candela/internal/store/statedir"
	"candela/internal/trading/broker"
)

// Deps is what the process gives the program.
type Deps struct {
	Version string // what this build calls itself
	Stdin   io.Reader
	Stdout  io.Writer // the protocol under --mcp, otherwise only what was asked for
	Stderr  io.Writer // the log
	// Halts brings the signals that halt trading; nil where there are none.
	Halts <-chan os.Signal
	Services

	keepAlive time.Duration // as httpd.Config has it; only tests set it
}

// Services are what a build can do. A nil one is not in this build, and asking
// for it is an error.
type Services struct {
	MCP   Service
	Serve Service

	Venues  []provider.Descriptor
	Brokers []broker.Descriptor
	Draw    tool.Renderer
}

// Service makes the parts of a mode, in the order in which they start. It opens
// nothing that needs closing: a part does that when it runs.
type Service func(Runtime) ([]Part, error)

// Runtime is what a Service builds its parts from.
type Runtime struct {
	Deps
	Config *config.Config
	Log    *slog.Logger

	node *node // opened before any part is made

	noTrading func() error // why trading tools refuse though --trade was given; else nil
	waiting   *waiting     // of a process that waits to take the trading over; else nil
}

// Run does what cfg asks for and returns when it is done: at once after a chart,
// otherwise when ctx ends or a part fails. A stop through ctx is no error for a
// service.
func Run(ctx context.Context, cfg *config.Config, deps Deps) error {
	rt := Runtime{Deps: deps, Config: cfg, Log: cfg.Log.Logger(deps.Stderr)}
	switch mode := cfg.Mode(); mode {
	case config.ModeMCP:
		return rt.serve(ctx, mode, deps.MCP)
	case config.ModeServe:
		return rt.serve(ctx, mode, deps.Serve)
	default:
		return rt.drawOnce(ctx)
	}
}

func (rt Runtime) serve(ctx context.Context, mode config.Mode, service Service) error {
	if service == nil {
		return absent(mode)
	}
	home := rt.Config.Home
	if err := statedir.Open(home); err != nil {
		return err
	}
	rt, release, err := rt.lockEngine(ctx, mode)
	if err != nil {
		return err
	}
	defer release()
	if rt.node, err = rt.openNode(ctx); err != nil {
		return err
	}
	defer rt.node.close() //nolint:contextcheck // it ends even when ctx has ended
	parts, err := service(rt)
	if err != nil {
		return err
	}
	rt.Log.InfoContext(ctx, "starting", "version", rt.Version, "mode", mode.String(), "trade", rt.Config.Trade, "home", home)
	return runParts(ctx, parts, rt.Config.ShutdownTimeout, rt.Log)
}

// lockEngine takes the lock of the state directory where an engine is to run. A
// client starts a program for each of its windows, and one without charts would be of
// no use in the second: over stdio the program then runs without an engine until the
// lock is free, and its trading tools say why.
func (rt Runtime) lockEngine(ctx context.Context, mode config.Mode) (Runtime, func(), error) {
	none := func() {}
	if !rt.Config.Trade {
		return rt, none, nil
	}
	role := statedir.Server
	if mode == config.ModeMCP {
		role = statedir.Window
	}
	held, err := statedir.AwaitEngine(ctx, rt.Config.Home, role)
	if err == nil {
		return rt, held.Release, nil
	}
	if mode != config.ModeMCP || !statedir.IsLocked(err) {
		return rt, none, err
	}
	rt.waiting = &waiting{config: rt.Config}
	rt.noTrading = rt.waiting.refusal
	process, _ := statedir.EngineProcess(rt.Config.Home)
	rt.Log.WarnContext(ctx, "another candela trades in this state directory: alerts and orders are refused here until it ends", "home", rt.Config.Home, "pid", process)
	withoutEngine := *rt.Config
	withoutEngine.Trade = false
	rt.Config = &withoutEngine
	return rt, none, nil
}

func absent(mode config.Mode) error {
	return &fault.Error{
		Kind: fault.Unsupported, Code: "not_in_build",
		Message: mode.String() + " is not available in this build",
	}
}
