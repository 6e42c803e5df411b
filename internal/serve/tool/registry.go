package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"candela/internal/kit/fair"
	"candela/internal/kit/fault"
	"candela/internal/kit/principal"
	"candela/internal/market"
	"candela/internal/serve/mcp"
	"candela/internal/serve/rpc"
	"candela/internal/trading/order"
)

// Config is the parts behind the tools. Bars and Painter are required. Without
// Trading the trading tools are listed and refuse.
type Config struct {
	Bars     BarSource
	Renderer Renderer
	Trading  *Trading // nil without --trade
	Log      *slog.Logger

	// Near returns the symbols that are likely meant by one that no venue has, best
	// first, and what to say about it; nil for nothing to say. It asks no venue.
	Near func(market.Symbol) (near []string, why string)

	// TradingDisabled returns what the trading tools answer with where Trading is nil; nil
	// itself says that --trade was not given.
	TradingDisabled func() error
}

// Trading is the parts behind the trading tools. All are required.
type Trading struct {
	Mode          order.Mode // of all orders
	Orders        Orders
	Positions     Positions
	Alerts        Alerts
	Notifications Notifications
	Subscriptions Subscriptions
}

// Registry is the 15 tools in the order they are listed. It is safe for
// concurrent use.
type Registry struct {
	tools []registeredTool
	names []string
	log   *slog.Logger
	near  func(market.Symbol) ([]string, string)
}

// registeredTool is one tool. run reads the arguments itself, so that each tool has
// a struct of its own for them; trading tools run only with the parts.
type registeredTool struct {
	tool    mcp.Tool
	trading bool
	run     func(ctx context.Context, caller principal.Caller, arguments json.RawMessage) (mcp.Result, error)
}

// New returns the tools over cfg.
func New(cfg Config) (*Registry, error) {
	r := &Registry{log: cfg.Log, near: cfg.Near}
	trading := cfg.Trading
	if trading == nil {
		trading = &Trading{}
	}
	charts := &charts{source: cfg.Bars, renderer: cfg.Renderer, alerts: trading.Alerts, account: trading.Positions, log: cfg.Log, turns: fair.NewSlots(slots())}
	specs := slices.Concat(charts.specs(), trading.orderSpecs(), trading.alertSpecs(), trading.notificationSpecs())
	for _, s := range specs {
		d, err := s.build()
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", s.name, err)
		}
		if d.trading && cfg.Trading == nil {
			d.run = tradingDisabled(cfg.TradingDisabled)
		}
		r.tools = append(r.tools, d)
		r.names = append(r.names, s.name)
	}
	return r, nil
}

// Tools lists all 15, whether or not they can be used.
func (r *Registry) Tools() []mcp.Tool {
	tools := make([]mcp.Tool, len(r.tools))
	for i, d := range r.tools {
		tools[i] = d.tool
	}
	return tools
}

// Call runs a tool. Whatever goes wrong in one is a result that says so; only a
// name that no tool has is an error.
func (r *Registry) Call(ctx context.Context, caller principal.Caller, name string, arguments json.RawMessage) (mcp.Result, error) {
	i := slices.Index(r.names, name)
	if i < 0 {
		return mcp.Result{}, r.unknown(name)
	}
	result, err := r.tools[i].run(ctx, caller, arguments)
	if err == nil {
		return result, nil
	}
	if !canceledByCaller(ctx, err) && (fault.Of(err) == nil || fault.KindOf(err) == fault.Internal) {
		r.log.LogAttrs(ctx, slog.LevelError, "[MCP] tool failed", slog.String("tool", name), slog.Any("error", err))
	}
	return errorResult(ctx, r.suggest(err)), nil
}

// suggest adds to the error that a symbol is unknown which ones may be meant. A venue's
// own suggestions come after those: it knows its spelling, not what people mean.
func (r *Registry) suggest(err error) error {
	f := fault.Of(err)
	if r.near == nil || f == nil || f.Code != "unknown_symbol" {
		return err
	}
	symbol, failed := market.ParseSymbol(f.Value)
	if failed != nil {
		return err
	}
	near, why := r.near(symbol)
	if len(near) == 0 && why == "" {
		return err
	}
	told := *f
	told.Message, _, _ = strings.Cut(f.Message, "; did you mean")
	if why != "" {
		told.Message += ": " + why
	}
	if len(near) > 0 {
		told.Message += "; did you mean " + strings.Join(near, " or ") + "?"
		told.Suggestions = near
	}
	return &told
}

func (r *Registry) unknown(name string) *rpc.Error {
	message := "unknown tool " + quote(truncate(name))
	if near := fault.Nearest(name, r.names); len(near) > 0 {
		message += ", did you mean " + quote(near[0]) + "?"
	}
	return &rpc.Error{Code: rpc.CodeInvalidParams, Message: message + "; tools: " + strings.Join(r.names, ", ")}
}

// toolSpec is how a tool is written down.
type toolSpec struct {
	name        string
	title       string
	description string
	input       args
	output      *schema // nil for none
	hints       hints
	meta        json.RawMessage
	trading     bool
	run         func(ctx context.Context, caller principal.Caller, arguments json.RawMessage) (mcp.Result, error)
}

// hints are a tool's annotations.
type hints struct{ readOnly, destructive, idempotent, openWorld bool }

func (s toolSpec) build() (registeredTool, error) {
	input, err := marshalPlain(s.input.schema())
	if err != nil {
		return registeredTool{}, err
	}
	d := registeredTool{trading: s.trading, run: s.run, tool: mcp.Tool{
		Name: s.name, Title: s.title, Description: s.description, InputSchema: input, Meta: s.meta,
		Annotations: mcp.Annotations{
			Title: s.title, ReadOnly: s.hints.readOnly, Destructive: s.hints.destructive,
			Idempotent: s.hints.idempotent, OpenWorld: s.hints.openWorld,
		},
	}}
	if s.output != nil {
		if d.tool.OutputSchema, err = marshalPlain(s.output); err != nil {
			return registeredTool{}, err
		}
	}
	return d, nil
}

// withoutArgs is the run of a tool without arguments.
func withoutArgs(run func(ctx context.Context, caller principal.Caller) (mcp.Result, error)) func(context.Context, principal.Caller, json.RawMessage) (mcp.Result, error) {
	return func(ctx context.Context, caller principal.Caller, arguments json.RawMessage) (mcp.Result, error) {
		if err := (args{}).decode(arguments); err != nil {
			return mcp.Result{}, err
		}
		return run(ctx, caller)
	}
}

// tradingDisabled is the run of every trading tool that cannot be used, whatever its
// arguments.
func tradingDisabled(reason func() error) func(context.Context, principal.Caller, json.RawMessage) (mcp.Result, error) {
	if reason == nil {
		reason = func() error {
			return &fault.Error{
				Kind: fault.Unsupported, Code: "trading_disabled",
				Message: "trading tools are disabled: start with --trade",
			}
		}
	}
	return func(context.Context, principal.Caller, json.RawMessage) (mcp.Result, error) {
		return mcp.Result{}, reason()
	}
}

// TradingVacantError is what the trading tools of a program answer that takes the trading
// over unless the process that traded comes back.
func TradingVacantError(home string) error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: "trading_elsewhere", Field: "home", Value: home, Retryable: true, RetryAfter: 10 * time.Second,
		Message: fmt.Sprintf("the candela process that traded with state directory %s has ended and may be starting again; this one takes over within seconds, "+
			"or a minute after candela --serve has ended. Charts and indicators work here", home),
	}
}

// TradingFailedError is what they answer where it could not.
func TradingFailedError(home string, cause error) *fault.Error {
	return &fault.Error{
		Kind: fault.Unavailable, Code: "trading_not_taken_over", Retryable: true, Cause: cause,
		Message: fmt.Sprintf("nobody trades with state directory %s, and this candela cannot take over: %v. Once that is mended it does within seconds; charts and indicators work here", home, cause),
	}
}

// TradingElsewhereError is what the trading tools of a second program on a state directory
// answer while the process with the number trades there; 0 is one that is not known.
func TradingElsewhereError(home string, process int) error {
	who := "another candela process"
	if process > 0 {
		who += fmt.Sprintf(" (pid %d)", process)
	}
	return &fault.Error{
		Kind: fault.Conflict, Code: "trading_elsewhere", Field: "home", Value: home,
		Message: fmt.Sprintf("%s trades with state directory %s, perhaps one that another window or client started; this one takes over when it ends. "+
			"Use that one, or end it and try again some seconds later; candela --serve --trade serves several clients at once. Charts and indicators work here", who, home),
	}
}
