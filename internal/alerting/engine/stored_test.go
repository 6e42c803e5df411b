package engine_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"candela/internal/alerting/alert"
	"candela/internal/market"
	"candela/internal/store/ledger"
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
		defer s.stop()
		listed, err := s.Alerts(t.Context(), ann())
		if err != nil || len(listed) != 1 || listed[0].ID != good.ID {
			t.Errorf("listed %v, %v", listed, err)
		}
		for _, id := range []string{broken.ID, useless.ID} {
			if !strings.Contains(s.log.String(), id) {
				t.Errorf("the log does not name %s", id)
			}
		}
	})
}
