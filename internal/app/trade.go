package app

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"candela/internal/access/owners"
	"candela/internal/alerting/alert"
	"candela/internal/alerting/approval"
	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/config"
	"candela/internal/data/feed"
	"candela/internal/data/provider"
	"candela/internal/kit/lifecycle"
	"candela/internal/serve/tool"
	"candela/internal/store"
	"candela/internal/store/statedir"
	"candela/internal/trading/accounts"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/deploy"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/policy"
	"candela/internal/work/drawings"
	"candela/internal/work/strategies"
)

// trading is the trading side of the program: a node's own parts, and those that are the
// same on every node.
type trading struct {
	side

	bars     *bars
	policies policy.InForce
	engine   *engine.Engine
	venue    place
	paper    atomic.Pointer[paper.Broker]      // the paper account that prices fill; nil when there is none
	desk     atomic.Pointer[desk.Desk]         // that holds stops and sends them by prices; nil when there is none
	beside   atomic.Pointer[accounts.Pair]     // the same desk with a paper account beside it, for strategies; nil when there is none
	accounts atomic.Pointer[accounts.Accounts] // those of many owners, instead of both; nil for one owner
	clocks   map[string]provider.Clock         // of venues that keep their own time

	receivers  []sink.Target
	senders    []*sink.Sink
	strategies *strategies.Strategies // nil where none run
	// deployments makes those of the one owner, which begin with their Run; nil where none run.
	deployments func(journal store.Journals) *deploy.Deployments
	notices     *sink.Outbox    // messages to the owner besides alerts
	decider     sink.Decider    // what pressed buttons are passed to; nil for nothing
	asker       *approval.Asker // asks the owner about orders; nil without a receiver
}

// newTrading builds the trading side over the bars. Nothing runs before its parts do.
func (rt Runtime) newTrading(b *bars) (*trading, error) {
	t := &trading{bars: b}
	var err error
	if t.receivers, err = receivers(rt.Config, rt.Sinks); err != nil {
		return nil, err
	}
	t.policies.Source, t.policies.Desks, t.policies.Log = policySource(rt.Config), t.desks, rt.Log
	if err = t.policies.Load(); err != nil {
		return nil, err
	}
	rt.node.inForce = t.policies.Brief
	if len(t.receivers) > 0 {
		cfg := approval.Config{
			Post: func(n sink.Notice) error { return t.notices.Post(n) }, Desk: func() approval.Approver { return t.orders },
			Detail: rt.Config.Sinks.ApprovalDetail, Log: rt.Log, Now: time.Now,
		}
		if rt.Config.Mode() == config.ModeServe {
			cfg.Base = rt.Config.HTTP.BaseURL
		}
		t.asker = approval.New(cfg)
		t.decider = t.asker
	}
	t.side, err = rt.node.trading(t)
	if t.plans != nil {
		t.plans.Audit = t.audit
	}
	return t, err
}

// newEngine builds the engine on a store. It passes committed firings to publish. Alerts of suspended
// owners do not fire. evaluations records which scripts are evaluated.
func (t *trading) newEngine(rt Runtime, store engine.Store, publish func([]notify.Entry), limits *owners.Limits, evaluations engine.Evaluations) {
	t.engine = engine.New(engine.Config{
		Store: store, Data: t.bars.Service,
		Feed:    feed.NewHub(t.bars.Route, feed.Config{Log: rt.Log, Rand: rand.Float64, Now: time.Now}),
		Publish: publish, Observe: t.observe, Log: rt.Log, Now: time.Now, Rand: rand.Float64, Library: rt.library(), Scripts: rt.scriptMemory, Streams: rt.streams, Suspended: limits.Suspended(), Limit: limits.Alerts(), OverPlan: limits.Refused(),
		Evaluations: evaluations,
	})
	t.bars.engine = t.engine
}

// policySource is where the order policy is read.
func policySource(cfg *config.Config) policy.Source {
	return policy.Source{Path: cfg.Trading.Policy, Usual: filepath.Join(cfg.Home, statedir.PolicyName), Live: cfg.Trading.Live, Conditions: alert.ReadClaim}
}

// PolicyInFile returns how the policy file of a configuration is, where no program runs.
func PolicyInFile(cfg *config.Config) policy.Status { return policySource(cfg).InFile() }

// desks returns what a policy is put in force at in this process.
func (t *trading) desks() (one, many policy.Desk) {
	if beside := t.beside.Load(); beside != nil {
		one = beside
	} else if d := t.desk.Load(); d != nil {
		one = d
	}
	if all := t.accounts.Load(); all != nil {
		many = all
	}
	return one, many
}

// newDesk returns a desk with the policy in force.
func (t *trading) newDesk(cfg desk.Config) (d *desk.Desk) {
	t.policies.Start(func(p guard.Policy) {
		cfg.Policy = p
		d = desk.New(cfg)
		t.desk.Store(d)
	})
	return d
}

// applyPolicy returns what puts the policy of the file in force, nil without a trading side.
func (t *trading) applyPolicy() func(context.Context) (policy.Status, error) {
	if t == nil {
		return nil
	}
	return t.policies.Apply
}

// reloadPlans returns what puts the plans of the file in force, nil for one owner.
func (t *trading) reloadPlans() func(context.Context) (owners.PlansReloaded, error) {
	if t == nil || t.plans == nil {
		return nil
	}
	return t.plans.Reload
}

// tools returns the parts behind the trading tools.
func (t *trading) tools() *tool.Trading {
	return &tool.Trading{
		Mode: t.venue.Mode(), Orders: t.orders, Positions: t.orders, Account: t.orders, Receipts: t.receipts, Tradable: t.tradable,
		Strategies: t.strategies, Drawings: t.drawings(), Alerts: t.alerts, NotEvaluated: t.engine.NotEvaluated, Notifications: t.inbox, Subscriptions: subscriptions{t.inbox, t.bars, t.alerts},
	}
}

// drawings returns what owners keep on charts.
func (t *trading) drawings() *drawings.Shelf {
	return &drawings.Shelf{Store: t.kept, Resolve: broker.ChartSymbols(t.bars.Route), Now: time.Now}
}

// parts returns the parts that must run before a transport answers. They stop in
// reverse: the desk hears the outcome of orders in flight, the engine commits its last
// firings, then the sinks and the inbox save their cursors.
func (t *trading) parts(rt Runtime) []lifecycle.Part {
	return slices.Concat(t.first, t.sinks(rt), []lifecycle.Part{{Name: "engine", Run: t.engine.Run}}, t.rest)
}

// endTokens drops orders that wait to be sent and whose tokens have ended.
func (t *trading) endTokens(keys ...string) {
	if d := t.running(); d != nil {
		d.RevokeTokens(keys...)
	}
}
