package guard_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"candela/internal/trading/guard"
)

func raise(s guard.State, k guard.RestrictionKind, subject string) guard.State {
	s, _ = s.Restrict(guard.Restriction{Kind: k, Subject: subject, Since: noon})
	return s
}

func TestState_CausesComeAndGo(t *testing.T) {
	t.Parallel()
	var s guard.State
	if s.Level().String() != "ACTIVE" || s.Explain() != "" {
		t.Errorf("%v, %q", s.Level(), s.Explain())
	}
	s = raise(raise(s, guard.FeedLost, "binance"), guard.FeedLost, "kraken")
	if s.Level().String() != "REDUCING" || len(s.Restrictions) != 2 {
		t.Errorf("%+v", s)
	}
	later, changed := s.Restrict(guard.Restriction{Kind: guard.FeedLost, Subject: "kraken", Since: noon.Add(time.Hour)})
	if changed || !later.Restrictions[1].Since.Equal(noon) {
		t.Errorf("a restriction in force started again: %+v", later)
	}
	s = raise(s, guard.OwnerHalt, "")
	if s.Level().String() != "HALTED" {
		t.Error(s.Level())
	}
	if _, changed := s.Lift(guard.OwnerHalt, ""); changed {
		t.Error("what the owner did is undone without the owner")
	}
	if _, changed := s.Lift(guard.FeedLost, "coinbase"); changed {
		t.Error("a feed that was not lost comes back")
	}
	s, _ = s.Lift(guard.FeedLost, "kraken")
	s, changed = s.Resume()
	if !changed || s.Level() != guard.Reducing || len(s.Restrictions) != 1 || s.Restrictions[0].Subject != "binance" {
		t.Errorf("%+v", s)
	}
	if _, changed = s.Resume(); changed {
		t.Error("resumed twice")
	}
	s, changed = s.Lift(guard.FeedLost, "binance")
	if !changed || s.Level() != guard.Active {
		t.Errorf("%+v", s)
	}
}

// TestCauses_Table holds what each cause does and what ends it.
func TestCauses_Table(t *testing.T) {
	t.Parallel()
	want := map[guard.RestrictionKind]struct {
		level guard.Level
		self  bool // ends by itself
	}{
		guard.OwnerHalt: {guard.Halted, false}, guard.HostHalt: {guard.Halted, true}, guard.HostOwner: {guard.Halted, false}, guard.StoreFailure: {guard.Halted, false}, guard.Unreconciled: {guard.Halted, true},
		guard.DailyLoss: {guard.Reducing, false}, guard.FeedLost: {guard.Reducing, true}, guard.ClockSkew: {guard.Reducing, true},
		guard.Mismatch: {guard.Reducing, true}, guard.VenueSilent: {guard.Reducing, true},
		guard.Unprotected: {guard.Reducing, true}, guard.LegOverfill: {guard.Reducing, false},
		guard.Liquidated: {guard.Halted, false}, guard.NearEnd: {guard.Reducing, true},
		guard.Restored: {guard.Halted, false}, guard.HostRestored: {guard.Halted, true},
	}
	rows := guard.Restrictions(guard.Default())
	if len(rows) != len(want) {
		t.Errorf("%d causes", len(rows))
	}
	for _, row := range rows {
		s := raise(guard.State{}, row.Kind, "")
		_, cleared := s.Lift(row.Kind, "")
		_, resumed := s.Resume()
		w := want[row.Kind]
		if s.Level() != w.level || row.Level != w.level || cleared != w.self || resumed == w.self {
			t.Errorf("%v: %v, cleared %v, resumed %v", row.Kind, s.Level(), cleared, resumed)
		}
		if row.When == "" || !strings.Contains(s.Explain(), string(row.Kind)) || !strings.Contains(s.Explain(), "; lifted ") {
			t.Errorf("%v: %q", row.Kind, s.Explain())
		}
	}
	unknown := raise(guard.State{}, "meteor", "")
	_, cleared := unknown.Lift("meteor", "")
	if _, resumed := unknown.Resume(); unknown.Level() != guard.Halted || cleared || !resumed {
		t.Errorf("a cause of another build: %v", unknown.Level())
	}
}

func TestState_Why(t *testing.T) {
	t.Parallel()
	s, _ := guard.State{}.Restrict(guard.Restriction{Kind: guard.OwnerHalt, By: "candela halt", Reason: "going on holiday", Since: noon})
	s = raise(s, guard.FeedLost, "binance")
	want := "feed_lost (binance); lifted by itself, when prices arrive again. " +
		"owner_halt by candela halt: going on holiday; lifted with candela resume"
	if s.Explain() != want {
		t.Error(s.Explain())
	}
}

func TestState_Skew(t *testing.T) {
	t.Parallel()
	p := guard.Default()
	var s guard.State
	for i, tc := range []struct {
		skew    time.Duration
		changed bool
		level   guard.Level
	}{
		{time.Second, false, guard.Active},
		{-1001 * time.Millisecond, true, guard.Reducing},
		{2 * time.Second, false, guard.Reducing},
		{-time.Second, true, guard.Active},
	} {
		var changed bool
		if s, changed = s.CheckSkew(p, "binance", tc.skew, noon); changed != tc.changed || s.Level() != tc.level {
			t.Errorf("step %d: %+v", i, s)
		}
	}
	s, _ = s.CheckSkew(p, "binance", time.Hour, noon)
	if why := s.Explain(); !strings.Contains(why, "the clocks differ by 1h0m0s; the limit is 1s") {
		t.Error(why)
	}
}

func TestState_DailyLoss(t *testing.T) {
	t.Parallel()
	p := guard.Default() // 1000 a day
	var s guard.State
	step := func(name, total string, after time.Duration, changed bool, level guard.Level) {
		t.Helper()
		var got bool
		if s, got = s.CheckLoss(p, dec(total), noon.Add(after)); got != changed || s.Level() != level {
			t.Errorf("%s: changed %v, %v, %+v", name, got, s.Level(), s.Day)
		}
	}
	step("the first day begins where it is", "-5000", 0, true, guard.Active)
	step("a profit", "-4000", time.Hour, false, guard.Active)
	step("a loss up to the limit", "-6000", time.Hour, false, guard.Active)
	step("beyond it", "-6000.01", time.Hour, true, guard.Reducing)
	step("a recovery on the same day", "-5000", 2*time.Hour, false, guard.Reducing)
	if _, changed := s.Lift(guard.DailyLoss, ""); changed {
		t.Error("a loss clears by itself")
	}
	step("a new day starts from zero", "-6500", 12*time.Hour, true, guard.Active)
	step("and has a limit of its own", "-7500.5", 13*time.Hour, true, guard.Reducing)
	var resumed bool
	if s, resumed = s.Resume(); !resumed || s.Level() != guard.Active {
		t.Errorf("%+v", s)
	}
	step("the owner accepts what was lost", "-7500.5", 14*time.Hour, false, guard.Active)
	step("and as much again", "-8500.5", 15*time.Hour, false, guard.Active)
	step("but no more", "-8500.51", 15*time.Hour, true, guard.Reducing)
	p.MaxDailyLoss = guard.Limit{Off: true}
	step("a day without a limit", "-99999", 40*time.Hour, true, guard.Active)
	step("loses what it may", "-999999", 41*time.Hour, false, guard.Active)

	// A halt that the owner ends forgives no loss.
	halted := raise(s, guard.OwnerHalt, "")
	if halted, _ = halted.Resume(); !halted.Day.Forgiven.IsZero() {
		t.Errorf("%+v", halted.Day)
	}
}

func TestState_Restart(t *testing.T) {
	t.Parallel()
	s := raise(raise(raise(guard.State{}, guard.OwnerHalt, ""), guard.FeedLost, "binance"), guard.Mismatch, "")
	s, _ = s.CheckLoss(guard.Default(), dec("-3"), noon)
	s = s.Restart(noon)
	kinds := make([]guard.RestrictionKind, 0, 2)
	for _, c := range s.Restrictions {
		kinds = append(kinds, c.Kind)
	}
	if !slices.Equal(kinds, []guard.RestrictionKind{guard.OwnerHalt, guard.Unreconciled}) || s.Day.Date != "2026-01-31" {
		t.Errorf("%+v", s)
	}
}

// TestState_Starting distinguishes an order before the first reconciliation from a denied one.
func TestState_Starting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		s    guard.State
		want bool
	}{
		"nothing":                         {guard.State{}, false},
		"a start":                         {guard.State{}.Restart(noon), true},
		"a start after a bad day":         {raise(guard.State{}, guard.DailyLoss, "").Restart(noon), true},
		"a start without prices":          {raise(guard.State{}.Restart(noon), guard.FeedLost, "binance"), true},
		"a start after a halt":            {raise(guard.State{}, guard.OwnerHalt, "").Restart(noon), false},
		"a start with a store that fails": {raise(guard.State{}.Restart(noon), guard.StoreFailure, ""), false},
		"a halt of another build":         {raise(guard.State{}.Restart(noon), "meteor", ""), false},
		"prices that do not come":         {raise(guard.State{}, guard.FeedLost, "binance"), false},
	} {
		if got := c.s.AwaitsReconciliation(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestState_JSON(t *testing.T) {
	t.Parallel()
	s, _ := guard.State{}.Restrict(guard.Restriction{Kind: guard.FeedLost, Subject: "binance", Reason: "silent", By: "desk", Since: noon})
	s, _ = s.CheckLoss(guard.Default(), dec("-1.5"), noon)
	s, _ = s.CheckLoss(guard.Default(), dec("-2000"), noon)
	for _, want := range []guard.State{{}, s} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got guard.State
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestState_Model lets causes come and go in any order and compares with a set.
func TestState_Model(t *testing.T) {
	t.Parallel()
	type key struct {
		kind    guard.RestrictionKind
		subject string
	}
	table := make(map[guard.RestrictionKind]guard.RestrictionInfo)
	var kinds []guard.RestrictionKind
	for _, r := range guard.Restrictions(guard.Default()) {
		table[r.Kind], kinds = r, append(kinds, r.Kind)
	}
	self := []guard.RestrictionKind{guard.HostHalt, guard.HostRestored, guard.Unreconciled, guard.FeedLost, guard.ClockSkew, guard.Mismatch, guard.VenueSilent, guard.Unprotected, guard.NearEnd}
	rapid.Check(t, func(t *rapid.T) {
		var s guard.State
		set := make(map[key]bool)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			k := key{rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "subject")}
			before := slices.Clone(s.Restrictions)
			was := s
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				s, _ = s.Resume()
				for k := range set {
					if !slices.Contains(self, k.kind) {
						delete(set, k)
					}
				}
			case 1, 2:
				s, _ = s.Lift(k.kind, k.subject)
				if slices.Contains(self, k.kind) {
					delete(set, k)
				}
			default:
				s, _ = s.Restrict(guard.Restriction{Kind: k.kind, Subject: k.subject, Since: noon})
				set[k] = true
			}
			level := guard.Active
			for k := range set {
				level = max(level, table[k.kind].Level)
			}
			if s.Level() != level || len(s.Restrictions) != len(set) {
				t.Fatalf("%v with %v, the model %v with %v", s.Level(), s.Restrictions, level, set)
			}
			if !slices.Equal(was.Restrictions, before) {
				t.Fatal("a change reached the state it was made from")
			}
		}
	})
}
