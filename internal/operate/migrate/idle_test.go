package migrate

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/lib/market"
)

// idleAlerts reads the alerts of a side by their ID.
func idleAlerts(t *testing.T, s side) map[string]alert.Alert {
	t.Helper()
	all, err := readAlerts(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	byID := make(map[string]alert.Alert, len(all))
	for _, a := range all {
		byID[a.ID] = a
	}
	return byID
}

// TestMigrate_CarriesAlertsThatNothingEvaluates copies there and back alerts that are set aside, that were resumed,
// and that this version cannot read. A damaged one does not stop it, and is not copied as another condition.
func TestMigrate_CarriesAlertsThatNothingEvaluates(t *testing.T) {
	t.Parallel()
	m, home, other := newMover(t), filepath.Join(t.TempDir(), "home"), filepath.Join(t.TempDir(), "other")
	l, owner := openLedger(t, home), principal.Caller{Subject: "owner"}
	at := time.Now().Add(-time.Hour).Truncate(time.Millisecond).UTC()
	for _, id := range []string{"plain", "aside", "resumed", "later", "damaged"} {
		a := alert.Alert{
			ID: id, Owner: "owner", Symbol: market.Symbol{Name: "BTCUSDT"}, Instrument: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Created: at,
			Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.New(100, 0)},
		}
		if id == "later" {
			a.Repeat = alert.Repeat{MaxFires: 3}
		}
		if err := l.PutAlert(t.Context(), owner, a); err != nil {
			t.Fatal(err)
		}
		if id == "aside" || id == "resumed" {
			a.Idle = &alert.Idle{State: alert.SetAside, Reason: "candela ended while it evaluated its script", At: at}
			if _, err := l.ReportAlerts(t.Context(), []alert.Firing{alert.Report(a, at)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := l.ResumeAlert(t.Context(), owner, "resumed"); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, home, `UPDATE alerts SET type = 'moonrise', rule = '{"condition":{"moonrise":{"over":7}}}' WHERE id = 'later'`)
	edit(t, home, `UPDATE alerts SET threshold = 'much' WHERE id = 'damaged'`)
	l = openLedger(t, home)
	want := idleAlerts(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	aside, resumed, later, damaged := want["aside"], want["resumed"], want["later"], want["damaged"]
	if !aside.IsSetAside() || resumed.Resumed.IsZero() || !later.IsBroken() || !damaged.IsBroken() {
		t.Fatalf("the source has %+v", want)
	}
	delete(want, "damaged")

	counts, err := m.migrate(t.Context(), home, Plan{To: "nats"})
	if d := counts["alerts"]; err != nil || d.Found != 5 || d.Copied != 4 || d.Unreadable != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	likeIdle(t, "the servers", want, idleAlerts(t, m.shared()))
	if counts, err = m.migrate(t.Context(), home, Plan{To: "nats"}); err != nil || counts["alerts"].Copied != 0 || counts["notifications"].Copied != 0 {
		t.Errorf("a second time: %+v, %v", counts, err)
	}
	if counts, err = m.migrate(t.Context(), other, Plan{To: "local"}); err != nil || counts["alerts"].Copied != 4 || counts["notifications"].Copied != 2 {
		t.Fatalf("back: %+v, %v", counts, err)
	}
	back := openLedger(t, other)
	likeIdle(t, "the other state directory", want, idleAlerts(t, back))
	if err := back.Close(); err != nil {
		t.Fatal(err)
	}
}

// edit changes a store as another version would have written it.
func edit(t *testing.T, home, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(home, ledger.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// likeIdle compares alerts. The words why one cannot be read may differ.
func likeIdle(t *testing.T, where string, want, got map[string]alert.Alert) {
	t.Helper()
	words := cmp.FilterPath(func(p cmp.Path) bool { return strings.HasSuffix(p.String(), "Idle.Reason") }, cmp.Comparer(func(a, b string) bool { return (a == "") == (b == "") }))
	if diff := cmp.Diff(want, got, words); diff != "" {
		t.Errorf("%s differ (-want +got):\n%s", where, diff)
	}
}
