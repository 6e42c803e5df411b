package app

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/operate/control"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/deploy"
	"candela/internal/work/strategies"
)

// TestCluster_StrategiesAtAnyReplica proposes strategies at one replica, starts them at the socket of another, and lists
// them at the third. The replicas stop one after the other: the last one has them running, with their audit.
func TestCluster_StrategiesAtAnyReplica(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	c := newCast(t, "--trade", "--toolsets", "strategies,research", "--strategies", "paper", "--yahoo=false", "--binance-url", venue.URL)
	all := []*replica{c.start(), c.start(), c.start()}
	token := all[0].Token()
	script, _ := json.Marshal(walkStrategy)
	for i, name := range []string{"shadow", "paper"} {
		text := useAgain(t, all[i].url, token, "propose_deployment", fmt.Sprintf(`{"name":%q,"symbol":"BTCUSDT","interval":"5m","bars":%d,"script":%s}`, name, 500+i, script))
		if !strings.Contains(text, `\"state\":\"proposed\"`) && !strings.Contains(text, `"state":"proposed"`) {
			t.Fatal(text)
		}
	}
	act := func(at *replica, act, name string, how strategies.How) strategies.View {
		t.Helper()
		v, reached, err := control.ActOnStrategy(t.Context(), at.home, act, name, how)
		if !reached || err != nil {
			t.Fatal(reached, err)
		}
		return v
	}
	for i, r := range all { // one of them trades
		for _, name := range []string{"shadow", "paper"} {
			if _, _, err := control.ShowStrategy(t.Context(), r.home, name); err != nil {
				t.Errorf("%s at %d: %v", name, i, err)
			}
		}
	}
	act(all[1], "start", "shadow", strategies.How{Stage: "shadow"})
	act(all[2], "start", "paper", strategies.How{Stage: "paper", Limits: deploy.Limits{Cap: decimal.NewFromInt(100)}})
	act(all[0], "pause", "paper", strategies.How{})
	for left := 3; left > 0; left-- {
		for i, r := range all[3-left:] {
			var list []strategies.View
			waitFor(t, func() bool {
				var err error
				list, _, err = control.ListStrategies(t.Context(), r.home)
				return err == nil && len(list) == 2 && list[1].Model != nil && list[0].Model != nil
			})
			if list[0].State != "paused" || list[1].State != "running" || list[0].Stage != "paper" {
				t.Errorf("with %d left, %d lists %+v", left, i, list)
			}
			if text := useAgain(t, r.url, token, "get_deployment", `{"deployment_id":"paper"}`); !strings.Contains(text, "paused") {
				t.Error(text)
			}
			if is, _, err := control.StrategyDrift(t.Context(), r.home, "shadow"); err != nil || is.Verdict != "as_tested" {
				t.Errorf("%+v %v", is, err)
			}
		}
		if left == 1 {
			if v := act(all[2], "resume", "paper", strategies.How{}); v.State != "running" {
				t.Errorf("%+v", v)
			}
			if text := useAgain(t, all[2].url, token, "stop_deployment", `{"deployment_id":"paper","close":true}`); !strings.Contains(text, "stop") {
				t.Error(text)
			}
		}
		all[3-left].stop()
	}
}
