package app

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"candela/internal/alerting/engine"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/sink"
	"candela/internal/data/feed"
	"candela/internal/data/provider"
	"candela/internal/kit/lifecycle"
	"candela/internal/serve/tool"
	"candela/internal/trading/accounts"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/desk"
)

const (
	pruneEvery = time.Hour
	pruneStep  = 1000 // notifications removed in one write
)

// trading is the trading side of the program: a node's own parts, and those that are the
// same on every node.
type trading struct {
	side

	bars     *bars
	policies policies
	engine   *engine.Engine
	venue    place
	paper    atomic.Pointer[paper.Broker]      // the paper account that prices fill; nil when there is none
	desk     atomic.Pointer[desk.Desk]         // that holds stops and sends them by prices; nil when there is none
	accounts atomic.Pointer[accounts.Accounts] // those of many owners, instead of both; nil for one owner
	clocks   map[string]provider.Clock         // of venues that keep their own time

	receivers []sink.Target
	senders   []*sink.Sink
	notices   *sink.Outbox // messages to the owner besides alerts
	decider   sink.Decider // what pressed buttons are passed to; nil for nothing
	asker     *asker       // asks the owner about orders; nil without a receiver
}

// newTrading builds the trading side over the bars. Nothing runs before its parts do.
func (rt Runtime) newTrading(b *bars) (*trading, error) {
	t := &trading{bars: b}
	var err error
	if t.receivers, err = receivers(rt.Config, rt.Sinks); err != nil {
		return nil, err
	}
	if err = t.policies.read(rt); err != nil {
		return nil, err
	}
	rt.node.inForce = t.policies.brief
	if len(t.receivers) > 0 {
		t.asker = rt.newAsker(t)
		t.decider = t.asker
	}
	t.side, err = rt.node.trading(t)
	return t, err
}

// newEngine builds the engine on a store. It passes committed firings to publish. Alerts of suspended
// owners do not fire. evaluations records which scripts are evaluated.
func (t *trading) newEngine(rt Runtime, store engine.Store, publish func([]notify.Entry), limits *ownerLimits, evaluations engine.Evaluations) {
	t.engine = engine.New(engine.Config{
		Store: store, Data: t.bars.Service,
		Feed:    feed.NewHub(t.bars.Route, feed.Config{Log: rt.Log, Rand: rand.Float64, Now: time.Now}),
		Publish: publish, Observe: t.observe, Log: rt.Log, Now: time.Now, Rand: rand.Float64, Library: rt.library(), Scripts: rt.scriptMemory, Suspended: limits.suspended(), Limit: limits.alerts(),
		Evaluations: evaluations,
	})
	t.bars.engine = t.engine
}

// tools returns the parts behind the trading tools.
func (t *trading) tools() *tool.Trading {
	return &tool.Trading{Mode: t.venue.Mode(), Orders: t.orders, Positions: t.orders, Account: t.orders, Tradable: t.tradable, Alerts: t.alerts, NotEvaluated: t.engine.NotEvaluated, Notifications: t.inbox, Subscriptions: subscriptions{t.inbox, t.bars, t.alerts}}
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
