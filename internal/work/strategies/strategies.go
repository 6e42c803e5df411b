// Package strategies is what people and agents do with strategies that trade by themselves: an agent proposes one with
// its back-test, the owner starts it, and both see what it does.
package strategies

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"candela/internal/kit/principal"
	"candela/internal/trading/deploy"
	"candela/internal/work/research"
	"candela/lib/backtest"
	"candela/lib/fault"
	"candela/lib/market"
)

// Bounds of a proposal.
const (
	LeastInterval = market.Minute5
	MostBars      = 10_000 // of its back-test
	MostName      = 40
	MostNote      = 500
)

// Strategies are those of one owner, or of many. It is safe for concurrent use.
type Strategies struct {
	Research *research.Research
	Bars     deploy.Bars
	// Of returns the deployments of an owner.
	Of func(owner principal.Owner) deploy.Own
}

// Proposal asks for a strategy that trades by itself.
type Proposal struct {
	research.Backtest
	Name, Note string
	LongOnly   bool
	Limits     deploy.Limits
}

// Proposed is the answer to a proposal.
type Proposed struct {
	deploy.Deployment
	Backtest *research.BacktestAnswer
}

// Needs counts what a strategy has asked for in its back-test.
type Needs = deploy.Needs

// Propose checks a strategy, tests it on the paper account over past bars and records it. Nothing trades until the
// owner starts it.
func (s *Strategies) Propose(ctx context.Context, caller principal.Caller, p Proposal) (*Proposed, error) {
	if err := check(&p); err != nil {
		return nil, err
	}
	var err error
	if p.Script, err = s.source(&p.Backtest); err != nil {
		return nil, err
	}
	libraries := make(map[string]string)
	p.Libraries = recording(s.Research, libraries)
	name := p.ScriptName
	p.Fills, p.Format, p.ScriptName = research.FillsPaper, research.FormatSummary, ""
	live, err := s.Research.Live(ctx, caller, p.Backtest)
	if err != nil {
		return nil, err
	}
	tested, err := s.Research.Backtest(ctx, caller, p.Backtest)
	if err != nil {
		return nil, err
	}
	if flags := tested.Backtest.Honesty.Flags; slices.Contains(flags, backtest.FlagRepaints) {
		return nil, fault.New(fault.Unsupported, "not_repeatable", "the strategy repaints: a trade of the past changes when later bars are known, so what it does now cannot be computed again").About("script", "", "a strategy without the flag repaints in run_backtest")
	}
	d := deploy.Deployment{
		Name: p.Name, Terms: s.terms(&p, live, tested, libraries), Record: deploy.Record{Note: p.Note, Limits: p.Limits, Report: tested.Backtest.ReportID},
	}
	d.Terms.Program.Name, d.Flags = name, tested.Backtest.Honesty.Flags
	if err := readProgram(&d.Terms.Program, &p.Backtest); err != nil {
		return nil, err
	}
	if d.Needs, err = s.needs(ctx, &d.Terms, live); err != nil {
		return nil, err
	}
	if err := refuseShorts(&p, live, d.Needs); err != nil {
		return nil, err
	}
	if d, err = s.Of(caller.Subject).Propose(ctx, caller.Client, d); err != nil {
		return nil, err
	}
	return &Proposed{Deployment: d, Backtest: tested.Backtest}, nil
}

// check returns an error that names the first argument that cannot be used.
func check(p *Proposal) error {
	p.Name = strings.TrimSpace(p.Name)
	switch {
	case p.Name == "":
		return fault.Missing("name", "a short name for the strategy, such as eth-cross")
	case len(p.Name) > MostName:
		return fault.Field("name", p.Name, fmt.Sprintf("at most %d characters", MostName))
	case p.Interval < LeastInterval:
		return fault.Field("interval", p.Interval.String(), "5m or longer: a strategy acts on closed bars")
	case p.Bars > MostBars:
		return fault.Field("bars", strconv.Itoa(p.Bars), fmt.Sprintf("at most %d", MostBars))
	case p.Time.End != 0:
		return fault.Field("to", market.Stamp(p.Time.End), "no to: a strategy goes on from the newest bar")
	case p.Grid != nil || p.Train != 0:
		return fault.Field("sweep", "a sweep", "one value for each input; use run_backtest for sweeps")
	}
	return nil
}

// source returns the script of a proposal; "" for rules.
func (s *Strategies) source(q *research.Backtest) (string, error) {
	switch {
	case q.ScriptName == "":
		return q.Script, nil
	case q.Script != "":
		return "", fault.Field("script_name", q.ScriptName, "script or script_name, not both")
	case s.Research.Scripts == nil:
		return "", fault.New(fault.Unsupported, "scripts_disabled", "stored scripts need --toolsets scripts; pass the source as script instead")
	}
	return s.Research.Scripts.Source(q.ScriptName)
}

// terms returns what is recorded of a proposal but for its program.
func (s *Strategies) terms(p *Proposal, live *research.Live, tested *research.Answer, libraries map[string]string) deploy.Terms {
	t := deploy.Terms{
		Symbol: live.Facts.Symbol, Interval: p.Interval, Quote: live.Facts.Quote, Tick: decimal.NewFromFloat(live.Tick), Step: decimal.NewFromFloat(live.Step),
		First: tested.First, From: tested.From, Engine: backtest.Engine, Program: deploy.Program{Libraries: libraries},
		Account: deploy.Account{
			Capital: decimal.NewFromFloat(live.Config().Capital), Size: deploy.SizeScript, LongOnly: p.LongOnly, FeeBps: decimal.NewFromFloat(p.Fee), SlipBps: decimal.NewFromFloat(p.Slip),
		},
	}
	if live.Config().Perp != nil {
		t.Leverage, t.FeeBps = decimal.NewFromFloat(p.Leverage), decimal.NewFromFloat(live.Config().Commission*100)
	}
	switch rules := p.Script == ""; {
	case p.Quantity > 0:
		t.Size, t.SizeBy = deploy.SizeFixed, decimal.NewFromFloat(p.Quantity)
	case p.Chosen.Percent || rules:
		t.Size, t.SizeBy = deploy.SizePercent, decimal.NewFromFloat(p.Percent)
	}
	return t
}

// readProgram records the source of a script, or rules as they were read.
func readProgram(to *deploy.Program, q *research.Backtest) (err error) {
	to.Script, to.Inputs = q.Script, q.Inputs
	for _, side := range []struct {
		name string
		text []byte
		to   *json.RawMessage
	}{{"long", q.Rules.Long, &to.Long}, {"short", q.Rules.Short, &to.Short}} {
		if side.text == nil {
			continue
		}
		read, err := q.Rules.Read(side.name, side.text)
		if err != nil {
			return err
		}
		if *side.to, err = json.Marshal(read); err != nil {
			return err
		}
	}
	return nil
}

// recording returns the stored libraries, and notes those that are asked for.
func recording(r *research.Research, asked map[string]string) func(path string) (string, bool) {
	return func(path string) (string, bool) {
		if r.Scripts == nil {
			return "", false
		}
		source, ok := r.Scripts.Library(path)
		if ok {
			asked[path] = source
		}
		return source, ok
	}
}

// needs counts what a strategy asks for over the bars of its back-test.
func (s *Strategies) needs(ctx context.Context, t *deploy.Terms, live *research.Live) (n deploy.Needs, err error) {
	bars, err := s.Bars.Closed(ctx, t.Symbol, t.Interval, t.First)
	if err != nil {
		return n, err
	}
	m, err := deploy.NewModel("", t, live.Program)
	if err != nil {
		return n, err
	}
	defer m.Close()
	for _, b := range bars {
		intents, err := m.Step(b)
		if err != nil {
			return n, fault.New(fault.Unsupported, "script_failed", "%v", err)
		}
		for i := range intents {
			n.Count(&intents[i])
		}
	}
	return n, nil
}

// refuseShorts refuses a strategy that sells short where nothing is lent, unless it is to trade long alone.
func refuseShorts(p *Proposal, live *research.Live, n deploy.Needs) error {
	if n.Shorts == 0 || p.LongOnly || live.Config().Perp != nil {
		return nil
	}
	return fault.New(fault.Unsupported, "needs_short", "the strategy sold short %d times, and nothing is lent in %s; set long_only to let its sales only close, or choose a perpetual future", n.Shorts, live.Facts.Symbol).About("symbol", live.Facts.Symbol.String(), "a perpetual future such as BTCUSDT.P, or long_only")
}

// List returns the caller's strategies, the newest first.
func (s *Strategies) List(ctx context.Context, caller principal.Caller) ([]deploy.Deployment, error) {
	return s.Of(caller.Subject).List(ctx)
}

// Get returns one of the caller's strategies by its id or name, with its book.
func (s *Strategies) Get(ctx context.Context, caller principal.Caller, id string) (d deploy.Deployment, book *Book, err error) {
	own := s.Of(caller.Subject)
	if d, err = own.Get(ctx, id); err == nil {
		book, err = bookOf(ctx, own, &d)
	}
	return d, book, err
}

// Stop ends one of the caller's strategies. What it holds is closed at the market, or stays with its stops.
func (s *Strategies) Stop(ctx context.Context, caller principal.Caller, id string, closes bool) (deploy.Deployment, error) {
	return s.Of(caller.Subject).Act(ctx, deploy.Ask{Act: deploy.AskStop, By: caller.Client, Name: id, Close: closes})
}
