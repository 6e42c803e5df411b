package app

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"time"

	"candela/internal/alerting/sink"
	"candela/internal/config"
	"candela/internal/kit/lifecycle"
	"candela/internal/kit/principal"
	"candela/internal/operate/control"
	"candela/internal/serve/tool"
	"candela/internal/store"
	"candela/internal/trading/deploy"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/internal/work/research"
	"candela/internal/work/strategies"
	"candela/lib/fault"
	"candela/lib/market"
)

// newStrategies lets strategies run by themselves, if the settings say so. They begin when the trading side has.
func (t *trading) newStrategies(rt Runtime, of *research.Research) {
	if !rt.Config.RunsStrategies() {
		return
	}
	feed := &strategies.Feed{Source: of.Charting.Bars, Open: t.engine.FollowBars, Log: rt.Log}
	t.deployments = func(journal store.Journals) *deploy.Deployments {
		return feed.New(deploy.Config{
			Owner: accountOwner, Journal: journal, Brokers: t.strategyBrokers(rt), Log: rt.Log, Now: time.Now,
			Programs: &strategies.Programs{Research: of, Wall: func(venue string, at int64) time.Time { return t.clocks[venue].Wall(at) }},
			Restored: t.restored, Changed: func(ctx context.Context, d deploy.Deployment, by deploy.Change) {
				t.auditStrategy(ctx, rt, &d, by)
				t.postStrategy(&d, rt.Config.Sinks.ApprovalDetail)
			},
		})
	}
	t.strategies = &strategies.Strategies{Research: of, Bars: &strategies.Bars{Source: of.Charting.Bars}}
	t.rest = append(t.rest, lifecycle.Part{Name: "bars of strategies", Run: func(ctx, _ context.Context, ready func()) error { return feed.Run(ctx, ready) }})
	if ask := t.askStrategies; ask != nil { // they run with the desk of a term
		t.strategies.Of = func(owner principal.Owner) deploy.Own {
			return deploy.Own{Ask: func(ctx context.Context, a deploy.Ask) (deploy.Answer, error) { return ask(ctx, owner, a) }}
		}
		return
	}
	own := t.deployments(t.journals)
	t.strategies.Of = func(principal.Owner) deploy.Own { return own.Own() }
	t.rest = append(t.rest, lifecycle.Part{Name: "strategies", Run: own.Run})
}

// askStrategies answers a call to the strategies of an owner.
type askStrategies func(ctx context.Context, owner principal.Owner, a deploy.Ask) (deploy.Answer, error)

// termStrategies are the strategies of the one owner at a replica: they run while it trades.
type termStrategies struct {
	own atomic.Pointer[deploy.Deployments]
}

// Run runs them for one term.
func (t *termStrategies) Run(ctx, hard context.Context) error {
	return t.own.Load().Run(ctx, hard, func() {})
}

// Ask answers a call during a term.
func (t *termStrategies) Ask(ctx context.Context, _ principal.Owner, a deploy.Ask) (deploy.Answer, error) {
	return t.own.Load().Answer(ctx, a)
}

// strategyBrokers returns where strategies trade, by stage.
func (t *trading) strategyBrokers(rt Runtime) map[deploy.Stage]deploy.Broker {
	all, highest := make(map[deploy.Stage]deploy.Broker), rt.Config.Trading.Strategies
	if highest != config.StrategiesShadow {
		all[deploy.Paper] = deploy.Broker{Desk: t.desk.Load(), Account: accountOwner}
	}
	if beside := t.beside.Load(); beside != nil {
		all[deploy.Paper] = deploy.Broker{Desk: beside.Paper, Account: accountOwner}
		if highest == config.StrategiesLive {
			all[deploy.Live] = deploy.Broker{Desk: beside.Desk, Account: rt.account(), Money: rt.Config.Trading.Live, Capabilities: t.holds}
		}
	}
	return all
}

// holds returns what the broker holds of a symbol, or why no order in it is taken.
func (t *trading) holds(ctx context.Context, s market.Symbol) (order.Capabilities, error) {
	if !t.tradable(s) {
		return order.Capabilities{}, fault.New(fault.Unsupported, "not_a_market", "no order in %s is taken: the broker %s trades symbols of its own, and the policy may leave this one out", s, t.venue.Name())
	}
	return t.venue.Capabilities(ctx, s)
}

// restored reports whether an account was put back from a backup and its owner has not resumed it.
func (t *trading) restored() bool {
	if beside := t.beside.Load(); beside != nil {
		return beside.Restored()
	}
	_, is := t.desk.Load().Status().State.Find(guard.Restored)
	return is
}

// auditStrategy records what happened to a strategy in the audit log, where the node has one.
func (t *trading) auditStrategy(ctx context.Context, rt Runtime, d *deploy.Deployment, by deploy.Change) {
	if t.audit == nil {
		return
	}
	body, err := json.Marshal(strategies.EventOf(d, by))
	if err == nil {
		err = t.audit(ctx, principal.Caller{Subject: accountOwner, Client: by.By}, "strategy_"+by.Kind, d.ID, body)
	}
	if err != nil {
		rt.Log.ErrorContext(ctx, "audit entry not written", "kind", "strategy_"+by.Kind, "about", d.ID, "error", err)
	}
}

// noticeTTL is how long news of a strategy is offered to a receiver that does not accept it.
const noticeTTL = 24 * time.Hour

// postStrategy sends where a strategy stands to the receivers of the owner.
func (t *trading) postStrategy(d *deploy.Deployment, detail bool) {
	title, text := strategies.News(d, detail)
	n := sink.Notice{ID: "strategy-" + d.ID, Title: title, Text: text, Until: time.Now().Add(noticeTTL)}
	_ = t.notices.Post(n) // a full outbox loses news, which candela strategies list has
}

// toolsets returns the sets of tools that are listed: that of strategies only where strategies run.
func (rt Runtime) toolsets() []string {
	return slices.DeleteFunc(slices.Clone(rt.Config.Toolsets), func(set string) bool { return set == tool.StrategiesSet && !rt.Config.RunsStrategies() })
}

// strategyCommands returns what the control socket does with strategies, nil where none run.
func (t *trading) strategyCommands() control.Strategies {
	if t == nil || t.strategies == nil {
		return nil
	}
	return strategies.Owner{Strategies: t.strategies, Subject: accountOwner}
}
