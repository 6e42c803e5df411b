package app

import (
	"context"
	"net/http"
	"slices"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/owner"
	"candela/internal/access/usage"
	"candela/internal/serve/console"
	"candela/internal/serve/console/source"
	"candela/internal/serve/httpd"
	"candela/internal/serve/tool"
	"candela/internal/trading/desk"
	"candela/internal/trading/order"
	"candela/internal/work/strategies"
)

// console returns the owner's console, nil where it is off or where tokens come from elsewhere.
func (rt Runtime) console(logins *oauth.Server, use *usage.Tracker, h *source.Health, tools *toolset) (http.Handler, error) {
	if !rt.Config.HTTP.Console || logins == nil {
		return nil, nil //nolint:nilnil // no console is not an error
	}
	logins.OnEvent(func(_ context.Context, e oauth.Event) error {
		source.TrackUse(use, e)
		return nil
	})
	ports := tools.trading.consolePorts()
	rt.research(&ports, tools)
	if mode := rt.mode(); rt.shelf != nil && !mode.shared && !mode.many {
		ports.Scripts = rt.shelf
	}
	ports.Clients, ports.Health = source.Clients{Server: logins, Use: use}, h.Parts
	return console.New(console.Config{
		Owner: owner.New(logins, time.Now), BaseURL: rt.Config.HTTP.BaseURL, Version: rt.release(), Log: rt.Log, Now: time.Now,
		Confirm: rt.node.confirm, Ports: ports,
	})
}

// research connects the console with the tools that draw and test. Each replica has its own
// back-tests, so that a console over several would show others at every visit.
func (rt Runtime) research(ports *console.Ports, tools *toolset) {
	ports.Charts = source.Charts{Charting: tools.charting, Library: tools.library, Symbols: tools.symbols}
	if !rt.mode().shared && slices.Contains(rt.Config.Toolsets, tool.ResearchSet) {
		ports.Reports = tools.research
	}
}

// consolePorts connects the console with the trading side.
func (t *trading) consolePorts() console.Ports {
	if t == nil {
		return console.Ports{}
	}
	ports := console.Ports{Account: consoleAccount{t.orders, t}, Alerts: t.alerts, NotEvaluated: t.engine.NotEvaluated, Prices: t.engine, Policy: t.policies.Now, PolicyText: t.policies.Text, Day: t.day, Market: source.Market{Bars: t.bars}}
	ports.Receivers = func() []console.Receiver { return source.Receivers(t.senders) }
	ports.Firings = func() []console.Firing { return source.Firings(t.inbox, accountOwner) }
	ports.Closed = func() []order.NoticeRecord { return source.Closed(t.inbox, accountOwner) }
	ports.Receipts, ports.Drawings = t.receipts, t.drawings()
	ports.Audit = t.events
	if t.strategies != nil {
		ports.Strategies = strategies.Owner{Strategies: t.strategies, Subject: accountOwner}
	}
	if t.history != nil {
		ports.History = source.NewHistory(t.history)
	}
	return ports
}

// consoleAccount is the account with its status.
type consoleAccount struct {
	account
	side *trading
}

// Status returns the state of the account.
func (a consoleAccount) Status(ctx context.Context) (desk.Status, []string, bool) {
	return a.side.status(ctx)
}

// newHealth describes a program whose server is built.
func newHealth(t *trading, server *httpd.Server) *source.Health {
	h := &source.Health{Trading: t.health()}
	h.Server.Store(server)
	return h
}

// health describes the trading side for the console, nil without one.
func (t *trading) health() *source.Trading {
	if t == nil {
		return nil
	}
	return &source.Trading{Store: t.stats, Engine: t.engine.Status, Desk: t.deskStatus}
}

// deskStatus returns how the account is that is traded in this process, false if another replica does.
func (t *trading) deskStatus() (desk.Status, bool) {
	if d := t.running(); d != nil {
		return d.Status(), true
	}
	return desk.Status{}, false
}

// day returns samples of the P&L of the day, nil while another replica trades.
func (t *trading) day() []desk.Sample {
	if d := t.running(); d != nil {
		return d.Day()
	}
	return nil
}
