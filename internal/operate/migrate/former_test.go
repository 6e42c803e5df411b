package migrate

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/kit/principal"
	"candela/internal/market"
	"candela/internal/store/statedir"
)

// TestMigrate_GivesTheFormerOwnersThingsToTheOwner copies a state directory in which an
// earlier version kept what was set up over stdio for another owner. At the servers all
// is the one owner's, and no notification is lost to a sink or to who polls. The source
// stays as it is.
func TestMigrate_GivesTheFormerOwnersThingsToTheOwner(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	l := openLedger(t, home)
	var fired []alert.Firing
	for i, owner := range []string{"local", "owner", "local", "owner", "local"} {
		a := alert.Alert{
			ID: "alert-" + string(rune('1'+i)), Owner: owner, Symbol: market.Symbol{Name: "BTCUSDT"}, Instrument: market.Symbol{Venue: "binance", Name: "BTCUSDT"},
			Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.New(100, 0)}, Created: time.Now().UTC(),
		}
		if err := l.PutAlert(t.Context(), principal.Caller{Subject: owner, Key: "key"}, a); err != nil {
			t.Fatal(err)
		}
		if i < 4 {
			fired = append(fired, alert.Firing{Alert: a, Value: 101, At: time.Now().UTC()})
		}
	}
	if _, err := l.FireAlerts(t.Context(), fired); err != nil {
		t.Fatal(err)
	}
	for owner, cursors := range map[string]map[string]uint64{"local": {"sink:webhook": 3, "sink:ntfy": 5}, "owner": {"sink:webhook": 5}} {
		if err := l.SaveCursors(t.Context(), owner, cursors); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	const saved = `{"version":1,"polling":{"local":{"cursor":4}},"subscriptions":{"local":{"owner":"local","symbols":["BTCUSDT"],"since":1}}}`
	if err := os.WriteFile(filepath.Join(home, statedir.SubscriptionsName), []byte(saved), 0o600); err != nil {
		t.Fatal(err)
	}
	before := lookAt(t, home)
	m := newMover(t)
	for range 2 {
		if _, err := m.migrate(t.Context(), home, Plan{To: "nats"}); err != nil {
			t.Fatal(err)
		}
	}
	wantLike(t, before, lookAt(t, home))
	there := m.shared()
	for a, err := range there.Alerts(t.Context()) {
		if err != nil || a.Owner != "owner" {
			t.Errorf("%+v, %v", a, err)
		}
	}
	var seqs []uint64
	for e, err := range there.Entries(t.Context(), 0) {
		if err != nil || e.Owner != "owner" {
			t.Errorf("%+v, %v", e, err)
		}
		seqs = append(seqs, e.Seq)
	}
	cursors, err := there.Cursors(t.Context())
	if err != nil || len(seqs) != 4 || len(cursors) != 1 || cursors["owner"]["sink:webhook"] != seqs[2] || cursors["owner"]["sink:ntfy"] <= seqs[3] {
		t.Fatalf("%v of %v, %v", cursors, seqs, err)
	}
	back := filepath.Join(t.TempDir(), "home")
	if _, err := m.migrate(t.Context(), back, Plan{To: "local"}); err != nil {
		t.Fatal(err)
	}
	log, err := local.Open(local.Config{Path: filepath.Join(back, statedir.SubscriptionsName), Now: time.Now, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	l = openLedger(t, back)
	entries, err := collect(l.Entries(t.Context(), 0))
	if err != nil {
		t.Fatal(err)
	}
	log.Restore(entries[len(entries)-1].Seq, entries)
	if s, err := log.Subscription(t.Context(), principal.Caller{Subject: "owner", Key: "local"}); err != nil || !s.Active {
		t.Errorf("the subscription is %+v, %v", s, err)
	}
	batch, err := log.Poll(t.Context(), principal.Caller{Subject: "owner"}, 0, notify.Bound{})
	if err != nil {
		t.Fatal(err)
	}
	var waiting []uint64
	for _, e := range batch.Entries {
		waiting = append(waiting, e.Seq)
	}
	// The owner never polled, and has not had its own two.
	if want := []uint64{entries[1].Seq, entries[3].Seq}; !slices.Equal(waiting, want) {
		t.Errorf("%v wait to be polled, want %v", waiting, want)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
