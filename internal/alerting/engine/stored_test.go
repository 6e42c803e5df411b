package engine_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/store/ledger"
	"candela/lib/market"
	"candela/lib/ta"
)

func TestRestore_ABrokenConditionStopsNoOtherAlert(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, steps(nil))
		bar := alert.Alert{Symbol: symbol("BTC"), Interval: market.Minute1, Condition: everyCondition()["rsi <"]}
		broken, useless, good := s.set(bar), s.set(bar), s.set(bar)
		s.stop()
		db, err := sql.Open("sqlite", filepath.Join(s.dir, ledger.FileName))
		if err != nil {
			t.Fatal(err)
		}
		for id, rule := range map[string]string{broken.ID: `{"condition":{"type":"later"}}`, useless.ID: `{"condition":{"type":"new_high","bars":0}}`} {
			if _, err := db.ExecContext(t.Context(), "UPDATE alerts SET rule = ? WHERE id = ?", rule, id); err != nil {
				t.Fatal(err)
			}
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		s.start()
		defer func() { s.stop() }()
		listed, err := s.Alerts(t.Context(), ann())
		if err != nil || len(listed) != 3 {
			t.Fatalf("listed %v, %v", listed, err)
		}
		for i := range listed {
			a := &listed[i]
			if why := s.NotEvaluated(a); a.IsBroken() != (a.ID != good.ID) || a.IsBroken() != (why != "") {
				t.Errorf("%s is broken: %v, %q", a.ID, a.IsBroken(), why)
			}
		}
		at := slices.IndexFunc(listed, func(a alert.Alert) bool { return a.ID == broken.ID })
		if got := listed[at].Describe(); got != `a condition of the type "value" on BTC on 1m that this version of candela cannot read` {
			t.Errorf("described as %q", got)
		}
		time.Sleep(2 * time.Second)
		if now := s.Status(); now.Alerts != 1 || now.Broken != 2 {
			t.Errorf("status %+v", now)
		}
		if used, err := s.Scripts(t.Context()); err == nil {
			t.Errorf("the scripts in use are %v, though one alert cannot be read", used)
		}
		for _, id := range []string{broken.ID, useless.ID} {
			if !strings.Contains(s.log.String(), id) {
				t.Errorf("the log does not name %s", id)
			}
		}
		reported := map[string]int{}
		for _, f := range s.fired() {
			if f.State == alert.Broken && f.Error != "" {
				reported[f.AlertID]++
			}
		}
		if len(reported) != 2 || reported[broken.ID] != 1 || reported[useless.ID] != 1 {
			t.Errorf("reported %v", reported)
		}
		s.stop()
		s.start()
		time.Sleep(2 * time.Second)
		if got := s.fired(); len(got) != 0 {
			t.Errorf("reported again after a restart: %+v", got)
		}
		for _, id := range []string{broken.ID, useless.ID} {
			if err := s.Cancel(t.Context(), ann(), id); err != nil {
				t.Error(err)
			}
		}
		if listed, err := s.Alerts(t.Context(), ann()); err != nil || len(listed) != 1 || listed[0].ID != good.ID {
			t.Errorf("after the cancels there is %v, %v", listed, err)
		}
	})
}

// A script that is gone leaves its alert broken, as after a restore without scripts/pinned. The alert
// is evaluated again when the script is back.
func TestRestore_AnAlertWhoseScriptIsGoneIsListedAsBroken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		def := fragileDef(t, 4_000_000_000)
		with := ta.Library{Scripts: single{def}}
		s := &scene{t: t, venue: newVenue(waves), dir: t.TempDir(), library: with}
		time.Sleep(time.Until(monday))
		s.from = s.venue
		s.start()
		defer func() { s.stop() }()
		set := s.set(signal("BTC", market.Minute1, "fragile@0123456789ab", "never"))
		for _, step := range []struct {
			library ta.Library
			broken  bool
		}{{ta.Library{}, true}, {with, false}} {
			s.stop()
			s.library = step.library
			s.start()
			time.Sleep(2 * time.Second)
			all, err := s.Alerts(t.Context(), ann())
			if err != nil || len(all) != 1 || all[0].ID != set.ID || all[0].IsBroken() != step.broken {
				t.Fatalf("listed %+v, %v", all, err)
			}
			used, err := s.Scripts(t.Context())
			if err != nil || !used["fragile@0123456789ab"] {
				t.Errorf("scripts in use: %v, %v", used, err)
			}
			if step.broken && !strings.Contains(s.NotEvaluated(&all[0]), "fragile@0123456789ab") {
				t.Errorf("the reason is %q", s.NotEvaluated(&all[0]))
			}
		}
	})
}
