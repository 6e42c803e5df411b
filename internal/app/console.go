package app

import (
	"context"
	"net/http"
	"slices"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/owner"
	"candela/internal/access/owners"
	"candela/internal/access/usage"
	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/kit/lru"
	"candela/internal/serve/console"
	"candela/internal/serve/tool"
	"candela/internal/store/ledger"
	"candela/internal/trading/desk"
)

// console returns the owner's console, nil where it is off or where tokens come from elsewhere.
func (rt Runtime) console(logins *oauth.Server, use *usage.Tracker, h *health, tools *toolset) (http.Handler, error) {
	if !rt.Config.HTTP.Console || logins == nil {
		return nil, nil //nolint:nilnil // no console is not an error
	}
	logins.OnEvent(func(_ context.Context, e oauth.Event) { trackUse(use, e) })
	ports := tools.trading.consolePorts()
	rt.research(&ports, tools)
	if rt.shelf != nil && rt.Config.NATS.URL == "" && !rt.Config.ManyOwners() {
		ports.Scripts = rt.shelf
	}
	ports.Clients, ports.Health = consoleClients{logins, use}, h.parts
	return console.New(console.Config{
		Owner: owner.New(logins, time.Now), BaseURL: rt.Config.HTTP.BaseURL, Version: rt.release(), Log: rt.Log, Now: time.Now,
		Ports: ports,
	})
}

// research connects the console with the tools that draw and test. Each replica has its own
// back-tests, so that a console over several would show others at every visit.
func (rt Runtime) research(ports *console.Ports, tools *toolset) {
	ports.Charts = consoleCharts{tools.registry}
	if rt.Config.NATS.URL == "" && slices.Contains(rt.Config.Toolsets, tool.ResearchSet) {
		ports.Reports = tools.registry
	}
}

// consolePorts connects the console with the trading side.
func (t *trading) consolePorts() console.Ports {
	if t == nil {
		return console.Ports{}
	}
	ports := console.Ports{Account: consoleAccount{t.orders, t}, Alerts: t.alerts, NotEvaluated: t.engine.NotEvaluated, Prices: t.engine, Policy: t.policies.Now, PolicyText: t.policies.Text, Receivers: t.consoleReceivers, Firings: t.firings, Day: t.day, Market: consoleMarket{t.bars}}
	if t.history != nil {
		ports.History, ports.Audit = consoleHistory{t.history, &lru.Cache[string, ledger.Event]{Limit: maxSetters}}, consoleAudit{t.history}
	}
	return ports
}

// consoleReceivers lists where messages to the owner go.
func (t *trading) consoleReceivers() []console.Receiver {
	all := make([]console.Receiver, 0, len(t.senders))
	for _, one := range t.senders {
		now := one.Status()
		all = append(all, console.Receiver{Name: now.Name, Delivered: now.Delivered, Problem: now.Problem, Took: one.Took, Test: func(ctx context.Context) (string, bool) {
			a := one.Test(ctx)
			return a.Text, a.Outcome == sink.Delivered
		}})
	}
	return all
}

// maxFirings bounds how many firings the console lists.
const maxFirings = 200

// firings returns the newest firings of the owner's alerts, newest first.
func (t *trading) firings() []console.Firing {
	tail := t.inbox.Tail(accountOwner)
	defer tail.Close()
	var all []console.Firing
	for seq := uint64(0); len(all) < maxFirings; {
		entry, _, _ := tail.Next(seq, notify.PollTTL, maxFirings)
		if entry == nil {
			break
		}
		seq = entry.Seq
		if fired, ok := alert.ParseFired(entry.Data); ok && fired.State == "" { // others wait and are idle
			all = append(all, console.Firing{Fired: fired, Seq: entry.Seq})
		}
	}
	slices.Reverse(all)
	return all
}

// maxSetters bounds how many alerts are remembered with who set them, which never changes.
const maxSetters = 4096

// consoleHistory finds the alerts that orders answered, and who set alerts.
type consoleHistory struct {
	open    func() *ledger.Audit
	setters *lru.Cache[string, ledger.Event]
}

// Setter returns the client that set an alert.
func (h consoleHistory) Setter(ctx context.Context, alertID string) (string, time.Time, error) {
	if e, ok := h.setters.Get(alertID); ok {
		return e.Client, e.At, nil
	}
	audit := h.open()
	if audit == nil {
		return "", time.Time{}, owners.ErrNotOpen
	}
	e, found, err := audit.Setter(ctx, alertID)
	if err != nil || !found {
		return "", time.Time{}, err
	}
	h.setters.Put(alertID, ledger.Event{Client: e.Client, At: e.At}, 1)
	return e.Client, e.At, nil
}

// Cause returns the alert that an order answered.
func (h consoleHistory) Cause(ctx context.Context, orderID string) (string, time.Time, error) {
	audit := h.open()
	if audit == nil {
		return "", time.Time{}, owners.ErrNotOpen
	}
	e, found, err := audit.Cause(ctx, orderID)
	if err != nil || !found {
		return "", time.Time{}, err
	}
	return e.Subject, e.At, nil
}

// Answers returns the orders that followed a firing.
func (h consoleHistory) Answers(ctx context.Context, alertID string) ([]string, error) {
	audit := h.open()
	if audit == nil {
		return nil, owners.ErrNotOpen
	}
	events, err := audit.Answers(ctx, alertID)
	ids := make([]string, 0, len(events))
	for _, e := range events {
		ids = append(ids, e.Subject)
	}
	return ids, err
}

// consoleAudit reads the audit log while the store is open.
type consoleAudit struct{ open func() *ledger.Audit }

// Page returns a part of the log.
func (a consoleAudit) Page(ctx context.Context, f ledger.Filter) (ledger.Page, error) {
	if log := a.open(); log != nil {
		return log.Page(ctx, f)
	}
	return ledger.Page{}, owners.ErrNotOpen
}

// Verify checks the chain of the log.
func (a consoleAudit) Verify(ctx context.Context) (ledger.Report, error) {
	if log := a.open(); log != nil {
		return log.Verify(ctx)
	}
	return ledger.Report{}, owners.ErrNotOpen
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
