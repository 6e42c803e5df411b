package app

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/operate/control"
	"candela/internal/store/chain"
	"candela/internal/store/ledger"
	"candela/internal/trading/deploy"
	"candela/internal/work/strategies"
)

const walkStrategy = `//@version=6
strategy("walk", initial_capital = 10000, default_qty_type = strategy.percent_of_equity, default_qty_value = 50)
if ta.crossover(ta.sma(close, 3), ta.sma(close, 9))
    strategy.entry("L", strategy.long)
strategy.exit("X", "L", profit = 150, loss = 120)
if ta.crossunder(ta.sma(close, 3), ta.sma(close, 9))
    strategy.close_all()`

// TestStrategies_GoOnWhereTheirTestEnded proposes a strategy over MCP in a replay, starts it as its owner, and holds its model, after
// bars have closed, to a back-test over the same bars. An agent cannot start it, and it is there again after a restart.
func TestStrategies_GoOnWhereTheirTestEnded(t *testing.T) { //nolint:tparallel // its parts use one state directory
	t.Parallel()
	home := filepath.Join(t.TempDir(), "own")
	settings := []string{"--strategies", "shadow", "--csv-dir", writeWalk(t, 6*24*60), "--replay-from", "2025-01-04T00:00:00Z", "--replay-speed", "6000"}
	t.Run("shadow", func(t *testing.T) { //nolint:paralleltest // the next part goes on from it
		p := startIn(t, home, settings...)
		script, _ := json.Marshal(walkStrategy)
		text, failed := p.settled("propose_deployment", fmt.Sprintf(`{"name":"walk","symbol":"replay:WALKUSDT","interval":"5m","bars":600,"script":%s}`, script))
		if failed || !strings.Contains(text, `"state":"proposed"`) || !strings.Contains(text, "candela strategies start") {
			t.Fatal(text)
		}
		if text, failed = p.call("propose_deployment", fmt.Sprintf(`{"name":"walk","symbol":"replay:WALKUSDT","interval":"15m","bars":600,"script":%s}`, script)); !failed || !strings.Contains(text, "strategy_exists") {
			t.Errorf("a second one of the name: %s", text)
		}
		if v, reached, err := control.ActOnStrategy(t.Context(), home, "start", "walk", strategies.How{Stage: "shadow"}); err != nil || !reached || v.State != "running" {
			t.Fatalf("%+v %v %v", v, reached, err)
		}
		now := p.watch(12)
		sameAsTested(t, p, &now, script)
		if text, failed = p.call("get_deployment", `{"deployment_id":"walk","part":"intents"}`); failed || strings.Count(text, `"key":"s1-`) < 10 {
			t.Error(text)
		}
	})
	p := startIn(t, home, settings...)
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		text, failed := p.call("list_deployments", "{}")
		if !failed && strings.Contains(text, `"state":"running"`) && strings.Contains(text, `"model":{`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("after a restart: ", text)
		}
	}
	if text, failed := p.call("stop_deployment", `{"deployment_id":"walk"}`); failed || !strings.Contains(text, `"state":"stopped"`) {
		t.Error(text)
	}
	if _, _, err := control.ActOnStrategy(t.Context(), home, "start", "walk", strategies.How{Stage: "shadow"}); err == nil {
		t.Error("a strategy that was stopped starts again")
	}
}

// watch returns the strategy once it has wanted something so many times.
func (p *program) watch(intents int) strategies.Detail {
	p.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		text, failed := p.call("get_deployment", `{"deployment_id":"walk"}`)
		var d strategies.Detail
		if err := json.Unmarshal([]byte(text), &d); failed || err != nil || d.State != "running" {
			p.t.Fatal(text, err)
		}
		if d.Intents >= intents {
			return d
		}
		if time.Now().After(deadline) {
			p.t.Fatal("too few intents: ", text)
		}
	}
}

// sameAsTested holds the model of a strategy to a back-test over the bars that it has seen.
func sameAsTested(t *testing.T, p *program, d *strategies.Detail, script []byte) {
	t.Helper()
	through, err := time.Parse(time.RFC3339, d.Through)
	if err != nil {
		t.Fatal(err)
	}
	text, failed := p.settled("run_backtest", fmt.Sprintf(`{"symbol":"replay:WALKUSDT","interval":"5m","from":%q,"to":%q,"fill_model":"paper","fee_bps":%s,"slip_bps":%s,"script":%s}`,
		d.Terms.From, through.Add(5*time.Minute+time.Second).Format(time.RFC3339), d.Terms.FeeBps, d.Terms.SlipBps, script))
	var tested struct {
		Result struct {
			Net    json.Number `json:"net"`
			Open   json.Number `json:"open_profit"`
			Trades int         `json:"trades"`
		} `json:"result"`
		Data struct{ From, To string } `json:"data"`
	}
	if err := json.Unmarshal([]byte(text), &tested); failed || err != nil {
		t.Fatal(text, err)
	}
	if tested.Data.To != d.Through || tested.Data.From != d.Terms.From {
		t.Fatalf("the back-test has the bars %+v, the strategy %s to %s", tested.Data, d.Terms.From, d.Through)
	}
	net, _ := tested.Result.Net.Float64()
	if got := d.Model.Net.InexactFloat64(); fmt.Sprintf("%.2f", got) != fmt.Sprintf("%.2f", net) || d.Model.Trades != tested.Result.Trades {
		t.Errorf("the model has %d trades and %v, the back-test %d and %v", d.Model.Trades, got, tested.Result.Trades, net)
	}
}

// TestStrategies_TradeOnPaper lets a strategy trade on the paper account in a replay. What it holds is its own, and goes when it
// is stopped with close.
func TestStrategies_TradeOnPaper(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "own")
	p := startIn(t, home, "--strategies", "paper", "--csv-dir", writeWalk(t, 6*24*60), "--replay-from", "2025-01-04T00:00:00Z", "--replay-speed", "1200")
	script, _ := json.Marshal(walkStrategy)
	if text, failed := p.settled("propose_deployment", fmt.Sprintf(`{"name":"walk","symbol":"replay:WALKUSDT","interval":"5m","bars":600,"capital":4000,"script":%s}`, script)); failed {
		t.Fatal(text)
	}
	if _, _, err := control.ActOnStrategy(t.Context(), home, "start", "walk", strategies.How{Stage: "paper"}); err == nil || !strings.Contains(err.Error(), "--cap") {
		t.Errorf("without a cap: %v", err)
	}
	if v, _, err := control.ActOnStrategy(t.Context(), home, "start", "walk", strategies.How{Stage: "paper", Limits: deploy.Limits{Cap: decimal.NewFromInt(3000)}}); err != nil || v.Stage != "paper" {
		t.Fatalf("%+v %v", v, err)
	}
	one := func() (d struct {
		Book  strategies.Book
		State string
	},
	) {
		text, failed := p.call("get_deployment", `{"deployment_id":"walk"}`)
		if err := json.Unmarshal([]byte(text), &d); failed || err != nil || d.State != "running" {
			t.Fatal(text, err)
		}
		return d
	}
	deadline := time.Now().Add(patience)
	for {
		for d := one(); d.Book.Trades == 0 || !d.Book.Quantity.IsPositive(); d = one() {
			if time.Now().After(deadline) {
				t.Fatalf("it has not traded: %+v", d)
			}
			time.Sleep(50 * time.Millisecond)
		}
		text, failed := p.call("place_order", `{"symbol":"replay:WALKUSDT","side":"sell","type":"market","quantity":1,"reduce_only":true}`)
		if strings.Contains(text, "; 0 of replay:WALKUSDT is held") {
			continue // the strategy has sold meanwhile
		}
		if !failed || !strings.Contains(text, "deployment_units") && !strings.Contains(text, "walk") {
			t.Errorf("a client sells what the strategy holds: %s", text)
		}
		break
	}
	if text, failed := p.call("stop_deployment", `{"deployment_id":"walk","close":true}`); failed || !strings.Contains(text, `"state":"stop`) {
		t.Fatal(text)
	}
	for ; ; time.Sleep(50 * time.Millisecond) {
		text, _ := p.call("get_positions", `{}`)
		if !strings.Contains(text, "WALKUSDT") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it still holds: %s", text)
		}
	}
	for ; ; time.Sleep(50 * time.Millisecond) {
		got := strategyEvents(t, home)
		if slices.Equal(got, []string{"strategy_proposed", "strategy_started", "strategy_stopping", "strategy_stopped"}) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the audit log has %v", got)
		}
	}
}

// strategyEvents returns the kinds of events of strategies in the audit log, oldest first.
func strategyEvents(t *testing.T, home string) (kinds []string) {
	t.Helper()
	log, err := ledger.OpenAudit(t.Context(), home)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	events, err := log.Recent(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(events, func(x, y chain.Event) int { return cmp.Compare(x.Seq, y.Seq) })
	for _, e := range events {
		if strings.HasPrefix(e.Kind, "strategy_") {
			kinds = append(kinds, e.Kind)
			if !strings.Contains(string(e.Body), `"name":"walk"`) || e.Owner != accountOwner {
				t.Errorf("%+v", e)
			}
		}
	}
	return kinds
}
