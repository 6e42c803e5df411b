package guard_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// TestReport_EachChangeOnce restricts and lifts, and restarts in between: each change is reported once.
func TestReport_EachChangeOnce(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_790_000_000, 0)
	var s guard.State
	for _, step := range []struct {
		name   string
		change func()
		want   string
	}{
		{"nothing", func() {}, ""},
		{"a halt", func() { s, _ = s.Restrict(guard.Restriction{Kind: guard.OwnerHalt, Reason: "lunch", Since: now}) }, "trading_state HALTED"},
		{"another cause", func() {
			s, _ = s.Restrict(guard.Restriction{Kind: guard.Unprotected, Subject: "binance:BTCUSDT", Reason: "no stop", Since: now})
		}, "position_unprotected BTCUSDT"},
		{"another position", func() {
			s, _ = s.Restrict(guard.Restriction{Kind: guard.Unprotected, Subject: "binance:ETHUSDT", Since: now})
		}, "position_unprotected ETHUSDT"},
		{"a resume", func() { s, _ = s.Resume() }, "trading_state REDUCING"},
		{"a stop", func() { s, _ = s.Lift(guard.Unprotected, "binance:BTCUSDT") }, "position_protected BTCUSDT"},
		{"the last stop", func() { s, _ = s.Lift(guard.Unprotected, "binance:ETHUSDT") }, "trading_state ACTIVE, position_protected ETHUSDT"},
	} {
		step.change()
		var got []string
		var notices []order.Notice
		s, notices = s.Report(order.Live, now)
		for _, n := range notices {
			r, ok := order.ParseNotice(n.Data)
			if !ok || r.Mode != "live" || !strings.Contains(r.Text(), r.Symbol+r.State) {
				t.Errorf("%s: %s", step.name, n.Data)
			}
			got = append(got, r.Event+" "+r.Symbol+r.State)
		}
		if strings.Join(got, ", ") != step.want {
			t.Errorf("%s reports %q, want %q", step.name, got, step.want)
		}
		if _, again := s.Report(order.Live, now); len(again) != 0 {
			t.Errorf("%s is reported twice", step.name)
		}
		stored, err := json.Marshal(s)
		var read guard.State
		if err != nil || json.Unmarshal(stored, &read) != nil {
			t.Fatal(err)
		}
		if _, again := read.Report(order.Live, now); len(again) != 0 {
			t.Errorf("%s is reported again after a restart", step.name)
		}
	}
}
