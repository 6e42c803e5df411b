package console_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/access/oauth/oauthtest"
	"candela/internal/trading/deploy"
	"candela/internal/trading/drift"
	"candela/internal/work/strategies"
	"candela/lib/fault"
)

// plays are a proposed strategy and one that runs on paper.
type plays struct {
	mu   sync.Mutex
	acts []string
}

func (p *plays) done() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.acts)
}

func (*plays) ListOwn(context.Context) ([]strategies.View, error) {
	run := strategies.View{ID: "run1", Name: "eth-cross <b>", State: "running", Stage: "paper", Program: "script eth_cross", Symbol: "binance:ETHUSDT", Interval: "15m", Intents: 7, Through: "2026-11-12T11:45:00Z"}
	run.Model = &strategies.Model{Side: "long", Quantity: dec("0.5"), Average: dec("2001"), Price: dec("2040"), Net: dec("-12.5"), Open: dec("19.5"), Trades: 3}
	return []strategies.View{run, {ID: "new1", Name: "btc-rsi", State: "proposed", Program: "rules", Symbol: "binance:BTCUSDT", Interval: "1h"}}, nil
}

func (p *plays) ShowOwn(ctx context.Context, id string) (one strategies.Shown, err error) {
	all, _ := p.ListOwn(ctx)
	i := slices.IndexFunc(all, func(v strategies.View) bool { return v.ID == id })
	if i < 0 {
		return one, fault.New(fault.NotFound, "strategy_not_found", "no strategy has the id or the name %q", id)
	}
	one.View = all[i]
	one.Record = deploy.Record{ProposedBy: "Claude", ProposedAt: noon(), Note: "it </script> worked", Report: "2f00", Needs: deploy.Needs{Entries: 12, Closes: 9}, Flags: []string{"few_trades"}}
	one.Terms = strategies.Terms{Account: deploy.Account{Capital: dec("5000"), FeeBps: dec("10"), SlipBps: dec("5")}}
	if one.State == "running" {
		one.StartedAt, one.StartedBy, one.Limits.Cap = noon(), "candela strategies", dec("500")
		one.Book = &strategies.Book{Quantity: dec("0.4"), Average: dec("2001.6"), Net: dec("-13.4")}
		one.Gates = []strategies.Gate{{Name: "proven", Met: true, Needs: "30 closed trades"}, {Name: "few_trades", Needs: "no such flag", Waive: true}, {Name: "quiet", Needs: "no pause", Money: true}}
		one.Recent = []strategies.Intent{{Bar: "2026-11-12T11:45:00Z", Intent: deploy.Intent{Kind: deploy.EntryKind, ID: "L", Quantity: dec("0.5"), StopLoss: dec("1960")}}}
	}
	return one, nil
}

func (*plays) DriftOwn(context.Context, string) (strategies.Drift, error) {
	account, gap := dec("13.75"), dec("-4.74")
	return strategies.Drift{
		Verdict: "costlier", Means: "The account is away.", Model: dec("18.49"), Account: &account, Gap: &gap, Currency: "USDT", Entries: 9, Causes: map[string]int{drift.Partial: 1},
		Steps: []drift.Step{{Name: drift.Quantity, Cause: drift.Partial, Amount: dec("-3.7")}, {Name: drift.Delay, Amount: dec("-1.04")}}, Mark: dec("2040"), Through: "2026-11-12T11:45:00Z",
		Curve: []strategies.Point{{At: noon()}, {At: noon(), Model: -4, Account: -6}, {At: noon(), Model: 18.49, Account: 13.75}},
	}, nil
}

func (*plays) Stages(context.Context) ([]string, error) { return []string{"shadow", "paper"}, nil }

func (p *plays) Act(ctx context.Context, by, act, id string, how strategies.How) (strategies.View, error) {
	one, err := p.ShowOwn(ctx, id)
	if err == nil && act == "start" && how.Stage == string(deploy.Paper) && how.Limits.Cap.Equal(decimal.Zero) {
		err = fault.Missing("--cap", "the most that the strategy may hold")
	}
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.acts = append(p.acts, strings.TrimSpace(fmt.Sprintf("%s %s by %s: %s %s %t %s", act, id, by, how.Stage, how.Limits.Cap, how.Close, strings.Join(how.Accept, ","))))
	}
	return one.View, err
}

// TestStrategies_AreShownWithTheirDrift opens the list and both strategies.
func TestStrategies_AreShownWithTheirDrift(t *testing.T) {
	t.Parallel()
	b := newScene(t).browser().login()
	shows(t, b, "/console/strategies", `href="/console/strategies/run1"`, "eth-cross &lt;b&gt;", "waits for you", "\u221212.50", "ETHUSDT 15m")
	if r := b.get("/console/strategies"); strings.Index(r.body, "btc-rsi") > strings.Index(r.body, "eth-cross") {
		t.Error("the proposal does not come first")
	}
	shows(t, b, "/console/strategies/run1", "From the model to the account", "partial", "\u22123.70", "&#43;13.75", "costlier", "1,960", "/console/strategies/run1/stop", "by candela strategies", "M82 12H", `d="M0,119.`, "&#43;18.49",
		"Before it trades on the account of the broker", "30 closed trades", "open; may be accepted", "open; for real money only", "/console/strategies/run1/promote")
	shows(t, b, "/console/strategies/new1", "/console/strategies/new1/start", "it &lt;/script&gt; worked", "How far to trust the back-test", "few &lt;trades&gt;", "112 trades over 500 bars", "12 entries at the market, 9 exits at the market", "few trades</span>", `aria-label="Equity over the back-test"`)
	if r := b.get("/console/strategies/none"); r.status != http.StatusNotFound {
		t.Errorf("an unknown one: %d", r.status)
	}
}

// TestStrategies_OwnerActs starts with the passphrase alone, and stops in both ways.
func TestStrategies_OwnerActs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser().login()
	shows(t, b, "/console/strategies/new1/start", "<option selected>shadow</option>", "<option>paper</option>", `name="passphrase"`)
	if r := b.post("/console/strategies/new1/start", "stage", "shadow"); r.status == http.StatusSeeOther {
		t.Error("started without the passphrase")
	}
	shows(t, b, "/console/strategies/run1/promote", "What it holds on paper is closed", "few_trades", `name="passphrase"`)
	if r := b.post("/console/strategies/run1/promote", "cap", "300"); r.status == http.StatusSeeOther {
		t.Error("promoted without the passphrase")
	}
	if r := b.post("/console/strategies/new1/start", "stage", "paper", "passphrase", oauthtest.Passphrase); !strings.Contains(r.body, "the most that the strategy may hold") {
		t.Errorf("without a cap: %d %.300s", r.status, r.body)
	}
	for _, c := range [][]string{
		{"new1/start", "stage", "paper", "cap", "500", "passphrase", oauthtest.Passphrase},
		{"run1/promote", "cap", "300", "accept", "few_trades", "passphrase", oauthtest.Passphrase},
		{"run1/pause"},
		{"run1/stop", "held", "keep it, with its stops; it is yours then"},
		{"run1/stop", "held", "close it at the market"},
		{"new1/decline"},
	} {
		if r := b.post("/console/strategies/"+c[0], c[1:]...); r.status != http.StatusSeeOther {
			t.Errorf("%v: %d %.300s", c, r.status, r.body)
		}
	}
	want := []string{
		"start new1 by the console: paper 500 false", "promote run1 by the console:  300 false few_trades", "pause run1 by the console:  0 false", "stop run1 by the console:  0 false", "stop run1 by the console:  0 true",
		"decline new1 by the console:  0 false",
	}
	if got := s.plays.done(); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}
