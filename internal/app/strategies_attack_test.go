package app

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/config"
	"candela/internal/operate/control"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/porttest"
	"candela/internal/trading/deploy"
	"candela/internal/work/strategies"
)

// holdingStrategy holds one unit but for a bar of twelve, with a stop.
const holdingStrategy = `//@version=6
strategy("holding", initial_capital = 10000, default_qty_type = strategy.fixed, default_qty_value = 1)
if bar_index % 12 == 0
    strategy.close_all()
if bar_index % 12 == 1
    strategy.entry("L", strategy.long)
strategy.exit("X", "L", loss = 1000)`

// TestStrategies_AgentsStartNothing lets an agent whose token has the scope trade try to start, promote, resume, raise and
// edit strategies, and to trade what they hold: over MCP with the tools and with what are no tools, and over HTTP at the
// console.
func TestStrategies_AgentsStartNothing(t *testing.T) {
	t.Parallel()
	a := newAttack(t)
	before := a.shown()
	tried, done := 0, make(map[string]bool)
	for _, one := range a.attacks() {
		for _, id := range []string{"waiting", "paused", "holding", a.id} {
			answer := one(id)
			if tried++; !saysNo(answer) {
				t.Errorf("it was not refused: %s", answer)
			}
			done[answer] = true
		}
		if after := a.shown(); after != before {
			t.Fatalf("after %d tries: %s\nbefore: %s", tried, after, before)
		}
	}
	if ways := len(a.attacks()); ways < 40 || len(done) < 20 {
		t.Errorf("%d ways with %d different answers", ways, len(done))
	}
	for order := range strings.SplitSeq(a.tool("get_orders", `{"filter":"all"}`), `"order_id":`) {
		if strings.Contains(order, `"quantity":0.37,`) && !strings.Contains(order, `"filled_quantity":"0"`) {
			t.Errorf("an order of the agent was filled: %s", order)
		}
	}
	t.Logf("%d ways, %d tries, %d different answers", len(a.attacks()), tried, len(done))
}

// saysNo reports whether an answer says no. A script may be saved: what runs keeps its own. The cancel of an order that has
// ended returns it as it is, and a path that is written in another way leads to one that does not exist.
func saysNo(answer string) bool {
	return strings.Contains(answer, `"isError":true`) || strings.Contains(answer, `"error":`) || strings.Contains(answer, `"version":`) || strings.Contains(answer, `"status":"canceled"`) ||
		strings.HasPrefix(answer, "HTTP 4") || strings.HasPrefix(answer, "HTTP 303 /console/login") || strings.HasPrefix(answer, "HTTP 307 /strategies/")
}

// attack is a program over HTTP with three strategies and an agent.
type attack struct {
	t                        *testing.T
	home, url, token, script string
	id                       string // of the one that is paused
	stop                     string // an order of the one that holds
}

func newAttack(t *testing.T) *attack {
	t.Helper()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	hash, err := oauth.HashPassphrase(oauthtest.Passphrase, oauthtest.Cost())
	if err != nil {
		t.Fatal(err)
	}
	a := &attack{t: t, home: filepath.Join(shortDir(t), "home")}
	port := porttest.Free(t)
	cfg, err := LoadConfig(config.Input{
		Args: []string{
			"--serve", "--trade", "--toolsets=all", "--strategies", "paper", "--port", port, "--base-url", "http://localhost:9315", "--home", a.home, "--yahoo=false", "--binance-url", venue.URL,
			"--csv-dir", writeWalk(t, 6*24*60), "--replay-from", "2025-01-04T00:00:00Z", "--replay-speed", "1200",
		},
		Environ: []string{"CANDELA_OWNER_PASSWORD=" + hash, "CANDELA_SHUTDOWN_TIMEOUT=5m"},
	})
	if err != nil {
		t.Fatal(err)
	}
	a.url = "http://127.0.0.1:" + port
	scene, end := inFront(t, cfg, port, "test")
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	a.token = scene.Token()
	script, _ := json.Marshal(holdingStrategy)
	a.script = string(script)
	for i, name := range []string{"waiting", "paused", "holding"} {
		text := a.tool("propose_deployment", fmt.Sprintf(`{"name":%q,"symbol":"replay:WALKUSDT","interval":"5m","bars":%d,"script":%s}`, name, 500+i, a.script))
		if strings.Contains(text, `"isError":true`) {
			t.Fatal(text)
		}
	}
	capped := strategies.How{Stage: "paper", Limits: deploy.Limits{Cap: decimal.NewFromInt(500)}}
	a.act("start", "holding", capped)
	a.id = a.act("start", "paused", capped).ID
	a.act("pause", "paused", strategies.How{})
	waitFor(t, func() bool {
		one, _, err := control.ShowStrategy(t.Context(), a.home, "holding")
		return err == nil && one.Book != nil && one.Book.Quantity.IsPositive()
	})
	waitFor(t, func() bool { // its stop rests, and an agent cannot cancel it
		_, after, _ := strings.Cut(a.tool("get_orders", `{}`), `"order_id":"`)
		a.stop, _, _ = strings.Cut(after, `"`)
		return a.stop != "" && strings.Contains(a.tool("cancel_order", fmt.Sprintf(`{"order_id":%q}`, a.stop)), "deployment_order")
	})
	return a
}

// act is what the owner does.
func (a *attack) act(act, name string, how strategies.How) strategies.View {
	a.t.Helper()
	v, _, err := control.ActOnStrategy(a.t.Context(), a.home, act, name, how)
	if err != nil {
		a.t.Fatal(err)
	}
	return v
}

// tool calls a tool with the token of the agent.
func (a *attack) tool(name, arguments string) string {
	return a.rpc("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
}

func (a *attack) rpc(method, params string) string {
	a.t.Helper()
	_, text := ask(a.t, http.MethodPost, a.url+"/mcp", a.token, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
	return text
}

// shown is what the owner sees of the strategies, but for what follows from their bars.
func (a *attack) shown() string {
	a.t.Helper()
	var all strings.Builder
	for _, name := range []string{"waiting", "paused", "holding"} {
		s, _, err := control.ShowStrategy(a.t.Context(), a.home, name)
		if err != nil {
			a.t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %s %s %s %s %+v %s %d; ", s.Name, s.State, s.Stage, s.Cause, s.TermsHash, s.Limits, s.StartedBy, s.Terms.Source)
	}
	list, _, err := control.ListStrategies(a.t.Context(), a.home)
	if err != nil {
		a.t.Fatal(err)
	}
	fmt.Fprint(&all, len(list))
	return all.String()
}

// attacks are the ways, each for a strategy by its name or its id. None of them ends one, which an agent may.
func (a *attack) attacks() (all []func(id string) string) {
	for _, one := range attacksByTool(a.script, a.stop) {
		name, arguments, _ := strings.Cut(one, " ")
		all = append(all, func(id string) string { return a.tool(name, strings.ReplaceAll(arguments, "ID", id)) })
	}
	for _, one := range []string{
		`strategies/start {"id":"ID"}`, `control/strategies {"id":"ID","act":"start"}`, `resources/read {"uri":"candela://strategies/ID/start"}`,
		`tools/call {"name":"candela","arguments":{"command":"strategies start ID"}}`, `tools/call {"name":"strategies/ID/resume","arguments":{}}`,
	} {
		method, params, _ := strings.Cut(one, " ")
		all = append(all, func(id string) string { return a.rpc(method, strings.ReplaceAll(params, "ID", id)) })
	}
	for _, act := range []string{"start", "resume", "promote"} {
		for _, with := range []http.Header{
			{},
			{"Authorization": {"Bearer " + a.token}},
			{"Cookie": {"candela_console=" + a.token}, "Origin": {"http://localhost:9315"}},
			{"Authorization": {"Bearer " + a.token}, "Origin": {a.url}},
		} {
			all = append(all, func(id string) string { return a.console(http.MethodPost, "/console/strategies/"+id+"/"+act, with) })
		}
	}
	for _, path := range []string{"/strategies/ID/start", "/console/../strategies/ID/resume", "/control/strategies/ID/promote", "/mcp/strategies/ID/start"} {
		all = append(all, func(id string) string {
			return a.console(http.MethodPost, strings.ReplaceAll(path, "ID", id), http.Header{"Authorization": {"Bearer " + a.token}})
		})
	}
	return append(all, func(id string) string {
		return a.console(http.MethodGet, "/console/strategies/"+id+"/start?stage=paper&cap=1000000", http.Header{"Authorization": {"Bearer " + a.token}})
	})
}

// console sends a form with all that an act takes, and a wrong passphrase.
func (a *attack) console(method, path string, header http.Header) string {
	a.t.Helper()
	ctx := a.t.Context()
	r, err := http.NewRequestWithContext(ctx, method, a.url+path, strings.NewReader("stage=paper&cap=1000000&max_loss=1000000&passphrase=guessed&token=guessed"))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header = header.Clone()
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return fmt.Sprintf("HTTP %d %s %s", answer.StatusCode, answer.Header.Get("Location"), body)
}

// attacksByTool are calls of tools with ID for a strategy.
func attacksByTool(script, stop string) []string {
	return []string{
		`start_deployment {"deployment_id":"ID"}`, `resume_deployment {"deployment_id":"ID"}`, `promote_deployment {"deployment_id":"ID","stage":"live"}`,
		`update_deployment {"deployment_id":"ID","cap":1000000}`, `pause_deployment {"deployment_id":"ID"}`,
		`propose_deployment {"name":"ID","deployment_id":"ID","stage":"paper","symbol":"replay:WALKUSDT","interval":"5m","script":` + script + `}`,
		`propose_deployment {"name":"ID","symbol":"replay:WALKUSDT","interval":"5m","bars":700,"script":` + script + `}`,
		`propose_deployment {"name":"x","symbol":"replay:WALKUSDT","interval":"5m","bars":700,"cap":1000,"script":` + script + `}`,
		`propose_deployment {"name":"x","symbol":"replay:WALKUSDT","interval":"5m","bars":700,"state":"running","script":` + script + `}`,
		`get_deployment {"deployment_id":"ID","part":"start"}`, `get_deployment {"deployment_id":"ID","state":"running"}`,
		`get_deployment {"deployment_id":"ID","limits":{"cap":1000000}}`, `list_deployments {"start":"ID"}`,
		`stop_deployment {"deployment_id":"ID","stage":"live"}`, `stop_deployment {"deployment_id":"ID","resume":true}`, `stop_deployment {"deployment_id":"ID","close":"start"}`,
		`stop_deployment {"deployment_id":"../ID/start"}`, `stop_deployment {"deployment_id":"00000000-0000-7000-8000-000000000000"}`,
		`save_script {"name":"ID","source":` + script + `}`, `save_script {"name":"holding","source":` + script + `,"replace":true}`,
		`place_order {"symbol":"replay:WALKUSDT","side":"buy","type":"market","quantity":0.37,"deployment":"ID"}`,
		`place_order {"symbol":"replay:WALKUSDT","side":"buy","type":"market","quantity":0.37,"deployment_id":"ID"}`,
		`place_order {"symbol":"replay:WALKUSDT","side":"buy","type":"market","quantity":0.37,"idempotency_key":"s1-` + strings.Repeat("0a", 20) + `"}`,
		`place_order {"symbol":"replay:WALKUSDT","side":"sell","type":"market","quantity":0.37,"reduce_only":true,"note":"for ID"}`,
		`place_order {"symbol":"replay:WALKUSDT","side":"sell","type":"market","quantity":0.37,"note":"for ID"}`,
		`place_order {"symbol":"replay:WALKUSDT","side":"sell","type":"market","size_pct":100,"reduce_only":true,"note":"for ID"}`,
		`place_order {"symbol":"replay:WALKUSDT","side":"sell","type":"limit","limit_price":1,"quantity":0.37,"replaces":"` + stop + `","note":"ID"}`,
		`cancel_order {"order_id":"` + stop + `","deployment_id":"ID"}`, `cancel_order {"order_id":"` + stop + `"}`, `cancel_order {"order_id":"ID"}`,
	}
}
