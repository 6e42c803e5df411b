// Package tool defines the MCP tools: names, descriptions, arguments and results.
// Each tool validates its arguments and calls an interface declared in this
// package. It has no state of its own.
//
// The args of a tool are declared once; both its input schema and its decoder are
// derived from them.
package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/serve/mcp"
	"candela/internal/trading/order"
	"candela/internal/work/charting"
	"candela/internal/work/drawings"
	"candela/internal/work/research"
	"candela/internal/work/strategies"
	"candela/internal/work/wording"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// Config holds the services behind the tools. Charting is required. Without
// Trading the trading tools are listed but return an error.
type Config struct {
	Charting *charting.Charting
	Research *research.Research // nil without the tool set research
	Trading  *Trading           // nil without --trade
	Log      *slog.Logger

	// Symbols finds instruments by name, for find_symbols and for errors about symbols. It
	// may be nil without the tool set market.
	Symbols Symbols

	// Scripts stores scripts, for the tool set scripts; it may be nil without it.
	Scripts Scripts

	// Library has the indicators; the zero value is the catalogue.
	Library ta.Library

	// Peers are the other replicas, which have reports of their own; nil on a single node.
	Peers Peers

	// Toolsets names the sets of tools besides those that are always there.
	Toolsets []string

	// Confirm returns an error if a caller may no longer change anything. It is called before a tool
	// that is not read-only; nil where a caller's context ends with its login at once.
	Confirm func(ctx context.Context, caller principal.Caller) error

	// TradingDisabled returns the error of the trading tools when Trading is nil. If it
	// is nil too, the error says that --trade is missing.
	TradingDisabled func() error
}

// Trading holds the services behind the trading tools. All but Strategies and Drawings are required.
type Trading struct {
	Mode          order.Mode // of all orders
	Orders        Orders
	Positions     Positions
	Account       Accounts
	Receipts      Receipts
	Tradable      func(market.Symbol) bool // whether orders in an instrument are possible
	Alerts        Alerts
	NotEvaluated  func(*alert.Alert) string // why nothing evaluates an alert, "" if it is evaluated; may be nil
	Notifications Notifications
	Subscriptions Subscriptions
	Strategies    *strategies.Strategies // nil where none run
	Drawings      *drawings.Shelf        // may be nil without the set drawings

	library ta.Library
}

// Registry holds the tools in the order they are listed. It is safe for concurrent
// use.
type Registry struct {
	tools   []registeredTool
	names   []string
	absent  []absentTool
	log     *slog.Logger
	symbols Symbols
	library ta.Library
	confirm func(ctx context.Context, caller principal.Caller) error
}

// absentTool is a tool of a set that the owner has not turned on.
type absentTool struct{ name, set string }

func (a absentTool) String() string {
	flags := "--toolsets " + a.set
	switch a.set {
	case StrategiesSet:
		flags = "--trade --strategies shadow " + flags
	case DrawingsSet:
		flags = "--trade " + flags
	}
	return a.name + " is a tool of the set " + a.set + ", which is off: the owner starts candela with " + flags + "."
}

// off returns the first tool of a set that is off which a text names, -1 for none.
func (r *Registry) off(text string) int {
	return slices.IndexFunc(r.absent, func(a absentTool) bool { return strings.Contains(text, a.name) })
}

// registeredTool is a tool that is ready to run.
type registeredTool struct {
	tool  mcp.Tool
	scope principal.Scope // that a caller needs
	run   runner
	names []string // of its arguments, in whose words a call is read; none where it is not read
}

// runner runs a tool with its arguments, a valid JSON object.
type runner func(ctx context.Context, caller principal.Caller, arguments json.RawMessage) (mcp.Result, error)

// New returns the tools over cfg.
func New(cfg Config) (*Registry, error) {
	r := &Registry{log: cfg.Log, symbols: cfg.Symbols, confirm: cfg.Confirm, library: cfg.Library}
	trading := &Trading{}
	if cfg.Trading != nil {
		*trading = *cfg.Trading
	}
	trading.library = cfg.Library
	charts := &charts{Charting: cfg.Charting, research: cfg.Research, library: cfg.Library, peers: cfg.Peers, saved: slices.Contains(cfg.Toolsets, DrawingsSet)}
	charts.serveReports()
	for _, s := range slices.Concat([]toolSpec{
		charts.generateChart(), charts.listIndicators(), charts.getIndicators(),
		trading.placeOrder(), trading.cancelOrder().urgently(), trading.getOrders(), trading.getPositions(), getBalance(slices.Contains(cfg.Toolsets, AccountSet)),
		trading.setAlert(), trading.listAlerts(), trading.cancelAlert().urgently(),
		trading.getNotifications(), trading.subscribe(), trading.unsubscribe(), trading.listSubscriptions(),
		findSymbols(cfg.Symbols, trading.Tradable), trading.getAccount(), trading.getTrades(),
	}, scriptTools(cfg.Scripts), []toolSpec{charts.runBacktest(), charts.testAlert(), charts.scanSymbols(), charts.getReport()}, charts.strategyTools(trading), trading.drawingTools()) {
		if s.set != "" && !slices.Contains(cfg.Toolsets, s.set) {
			r.absent = append(r.absent, absentTool{s.name, s.set})
			continue
		}
		d, err := s.build()
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", s.name, err)
		}
		if s.trading && cfg.Trading == nil {
			d.run, d.names = tradingDisabled(cfg.TradingDisabled), nil
		}
		if cfg.Trading == nil {
			d.scope = principal.Charts // there is no account: what is missing is --trade, not access
		}
		r.tools = append(r.tools, d)
		r.names = append(r.names, s.name)
	}
	return r, nil
}

// Tools lists every tool, including disabled ones.
func (r *Registry) Tools() []mcp.Tool {
	tools := make([]mcp.Tool, len(r.tools))
	for i, d := range r.tools {
		tools[i] = d.tool
	}
	return tools
}

// Call runs a tool if the caller's scope allows it, which is checked here and nowhere
// else. A failure of the tool is a Result; only an unknown name is an error.
func (r *Registry) Call(ctx context.Context, caller principal.Caller, name string, arguments json.RawMessage) (mcp.Result, error) {
	i := slices.Index(r.names, name)
	if i < 0 {
		return mcp.Result{}, r.unknown(name)
	}
	if need := r.tools[i].scope; caller.Scope < need {
		return newToolError(ctx, outOfScope(name, need, caller.Scope)).result(), nil
	}
	one := &r.tools[i]
	if r.confirm != nil && !one.tool.Annotations.ReadOnly {
		if err := r.confirm(ctx, caller); err != nil {
			return r.failed(ctx, name, err).result(), nil
		}
	}
	var understood []string
	var result mcp.Result
	var err error
	if one.names != nil {
		arguments, understood, err = wording.Read(wording.Call{Tool: name, Arguments: arguments, Names: one.names, Library: r.library, Now: time.Now()})
	}
	if err == nil {
		result, err = one.run(ctx, caller, arguments)
	}
	if err == nil {
		result, err = bounded(name, result)
	}
	if err != nil {
		result = r.failed(ctx, name, err).result()
	}
	return said(result, understood), nil
}

// failed is the error of a tool. What nobody expected is logged.
func (r *Registry) failed(ctx context.Context, name string, err error) toolError {
	if !canceledByCaller(ctx, err) && (fault.Of(err) == nil || fault.KindOf(err) == fault.Internal) {
		r.log.LogAttrs(ctx, slog.LevelError, "[MCP] tool failed", slog.String("tool", name), slog.Any("error", err))
	}
	if r.symbols != nil {
		err = r.symbols.Suggest(ctx, err)
	}
	return newToolError(ctx, err)
}

// said adds what was understood of a call to its answer: to an object, else as a text of its own.
func said(r mcp.Result, understood []string) mcp.Result {
	if len(understood) == 0 {
		return r
	}
	if text := r.Content[0].Text; len(text) > 0 && text[0] == '{' {
		r.Content[0].Text = wording.Say(text, understood)
	} else {
		r.Content = append(r.Content, mcp.Content{Text: wording.Say([]byte("{}"), understood)})
	}
	r.Structured = wording.Say(r.Structured, understood)
	return r
}

// outOfScope is the error of a call that the caller's token does not allow.
func outOfScope(tool string, need, has principal.Scope) error {
	return fault.New(fault.Unauthorized, "insufficient_scope", "%s needs the scope %s, and the token of this client has %s; "+
		"the owner can connect the client again and approve it with more access", tool, need, has)
}

func (r *Registry) unknown(name string) error {
	message := "unknown tool " + quote(truncate(name)) + "; use " + strings.Join(r.names, ", ")
	near, advice := fault.Nearest(name, r.names), wording.UnknownTool(name)
	switch i := r.off(name); {
	case i >= 0:
		return mcp.UnknownTool(message + ". " + r.absent[i].String())
	case advice == "" && len(near) > 0:
		return mcp.UnknownTool(message + "; did you mean " + quote(near[0]) + "?")
	}
	if advice = cmp.Or(advice, wording.UnknownToolByPart(name)); advice != "" {
		message += ". " + advice
	}
	if i := r.off(advice); i >= 0 {
		message += " " + r.absent[i].String()
	}
	return mcp.UnknownTool(message)
}

// toolSpec declares a tool.
type toolSpec struct {
	name        string
	title       string
	description string
	output      *schema // nil for none
	hints       hints
	meta        json.RawMessage
	trading     bool
	set         string          // the tool set it belongs to, "" for the tools that are always there
	scope       principal.Scope // that a caller needs
	urgent      bool            // runs beside the requests that a client may have under way
	long        bool            // may take so long that it becomes a task
	call        call
}

// urgently returns the tool as one that must run when others may not: it cancels.
func (s toolSpec) urgently() toolSpec {
	s.urgent = true
	return s
}

// call is the arguments of a tool and the function that runs it with them.
type call struct {
	input args
	run   runner
}

// calling returns the call of run. declare returns the arguments and where they are
// read to, separately for each call.
func calling[A any](declare func() (*A, args), run func(context.Context, principal.Caller, *A) (mcp.Result, error)) call {
	_, input := declare()
	return call{input, func(ctx context.Context, caller principal.Caller, raw json.RawMessage) (mcp.Result, error) {
		a, input := declare()
		if err := input.decode(raw); err != nil {
			return mcp.Result{}, err
		}
		return run(ctx, caller, a)
	}}
}

// reusing is calling for arguments that are costly to declare: calls use the declaration of an earlier one, and
// get a copy of what was read. declare must return arguments that write to nothing but its A.
func reusing[A any](declare func() (*A, args), run func(context.Context, principal.Caller, *A) (mcp.Result, error)) call {
	type declared struct {
		into  *A
		empty A
		input args
	}
	_, input := declare()
	var idle sync.Pool // of *declared
	return call{input, func(ctx context.Context, caller principal.Caller, raw json.RawMessage) (mcp.Result, error) {
		d, ok := idle.Get().(*declared)
		if !ok {
			a, input := declare()
			d = &declared{a, *a, input}
		}
		err := d.input.decode(raw)
		a := *d.into
		*d.into = d.empty
		idle.Put(d)
		if err != nil {
			return mcp.Result{}, err
		}
		return run(ctx, caller, &a)
	}}
}

// noArgs declares that a tool accepts no arguments.
func noArgs() (*struct{}, args) { return nil, nil }

// hints holds a tool's annotations.
type hints struct{ readOnly, destructive, idempotent, openWorld bool }

func (s toolSpec) build() (registeredTool, error) {
	if s.scope == principal.NoScope {
		return registeredTool{}, errors.New("no scope is declared; it must be principal.Charts, Read or Trade")
	}
	if s.output != nil {
		s.output.AdditionalProperties = nil // understood may stand beside the rest
	}
	input, err := strictjson.Marshal(s.call.input.schema())
	if err != nil {
		return registeredTool{}, err
	}
	d := registeredTool{run: s.call.run, scope: s.scope, names: s.call.input.names(), tool: mcp.Tool{
		Name: s.name, Title: s.title, Description: s.description, InputSchema: input, Meta: s.meta, Urgent: s.urgent, Long: s.long,
		Annotations: mcp.Annotations{
			Title: s.title, ReadOnly: s.hints.readOnly, Destructive: s.hints.destructive,
			Idempotent: s.hints.idempotent, OpenWorld: s.hints.openWorld,
		},
	}}
	if s.output != nil {
		if d.tool.OutputSchema, err = strictjson.Marshal(s.output); err != nil {
			return registeredTool{}, err
		}
	}
	return d, nil
}

// tradingDisabled makes a trading tool return reason for any arguments.
func tradingDisabled(reason func() error) runner {
	if reason == nil {
		reason = func() error {
			return fault.New(fault.Unsupported, "trading_disabled", "trading tools are disabled: restart candela with --trade")
		}
	}
	return func(context.Context, principal.Caller, json.RawMessage) (mcp.Result, error) {
		return mcp.Result{}, reason()
	}
}
