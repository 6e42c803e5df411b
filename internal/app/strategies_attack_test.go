package app

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/operate/control"
	"candela/internal/trading/deploy"
	"candela/internal/work/strategies"
)

// TestStrategies_AgentsStartNothing lets an agent that may trade try to start, promote, resume, raise and edit strategies,
// and to trade what they hold.
func TestStrategies_AgentsStartNothing(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "own")
	p := startIn(t, home, "--strategies", "paper", "--csv-dir", writeWalk(t, 6*24*60), "--replay-from", "2025-01-04T00:00:00Z", "--replay-speed", "1")
	script, _ := json.Marshal(walkStrategy)
	for _, name := range []string{"waiting", "paused"} {
		if text, failed := p.settled("propose_deployment", fmt.Sprintf(`{"name":%q,"symbol":"replay:WALKUSDT","interval":"5m","bars":%d,"script":%s}`, name, 500+len(name), script)); failed {
			t.Fatal(text)
		}
	}
	act := func(act string, how strategies.How) {
		t.Helper()
		if _, _, err := control.ActOnStrategy(t.Context(), home, act, "paused", how); err != nil {
			t.Fatal(err)
		}
	}
	act("start", strategies.How{Stage: "paper", Limits: deploy.Limits{Cap: decimal.NewFromInt(100)}})
	act("pause", strategies.How{})
	before := shownStrategies(t, home)
	text, _ := p.call("get_deployment", `{"deployment_id":"paused"}`)
	var one struct {
		ID string `json:"deployment_id"`
	}
	if err := json.Unmarshal([]byte(text), &one); err != nil {
		t.Fatal(err)
	}
	tries := 0
	for _, attack := range attacksOnStrategies(one.ID, string(script)) {
		for _, id := range []string{"waiting", "paused", one.ID} {
			tool, arguments, _ := strings.Cut(strings.ReplaceAll(attack, "ID", id), " ")
			_, _ = p.call(tool, arguments)
			tries++
		}
	}
	if after := shownStrategies(t, home); after != before || tries < 40 {
		t.Errorf("after %d tries: %s\nbefore: %s", tries, after, before)
	}
	if text, _ := p.call("get_orders", `{"filter":"all"}`); strings.Contains(text, `"status":"filled"`) {
		t.Errorf("orders were filled: %s", text)
	}
}

// shownStrategies is what the owner sees of strategies, but for the bars that they have seen.
func shownStrategies(t *testing.T, home string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"waiting", "paused"} {
		s, _, err := control.ShowStrategy(t.Context(), home, name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s %s %s %s %s %+v %s; ", s.Name, s.State, s.Stage, s.Cause, s.TermsHash, s.Limits, s.StartedBy)
	}
	return all.String()
}

// attacksOnStrategies are calls of tools with ID for a strategy. None of them ends one.
func attacksOnStrategies(id, script string) []string {
	return []string{
		`start_deployment {"deployment_id":"ID"}`, `resume_deployment {"deployment_id":"ID"}`, `promote_deployment {"deployment_id":"ID","stage":"live"}`,
		`propose_deployment {"name":"ID","deployment_id":"ID","stage":"paper","symbol":"replay:WALKUSDT","interval":"5m","script":` + script + `}`,
		`propose_deployment {"name":"ID","symbol":"replay:WALKUSDT","interval":"5m","bars":700,"script":` + script + `}`,
		`get_deployment {"deployment_id":"ID","part":"start"}`, `get_deployment {"deployment_id":"ID","state":"running"}`,
		`get_deployment {"deployment_id":"ID","limits":{"cap":1000000}}`, `list_deployments {"start":"ID"}`,
		`stop_deployment {"deployment_id":"ID","stage":"live"}`, `stop_deployment {"deployment_id":"ID","resume":true}`, `stop_deployment {"deployment_id":"ID","close":"start"}`,
		`save_script {"name":"ID","source":` + script + `}`,
		`place_order {"symbol":"replay:WALKUSDT","side":"buy","type":"market","quantity":1,"deployment":"ID"}`,
		`place_order {"symbol":"replay:WALKUSDT","side":"buy","type":"market","quantity":1,"deployment_id":"` + id + `"}`,
		`place_order {"symbol":"replay:WALKUSDT","side":"buy","type":"market","quantity":1,"idempotency_key":"s1-` + strings.Repeat("0a", 20) + `"}`,
		`place_order {"symbol":"replay:WALKUSDT","side":"sell","type":"market","quantity":1,"reduce_only":true,"note":"for ID"}`,
	}
}
