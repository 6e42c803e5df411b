package alerts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/conn"
	"candela/internal/store/replica/replicatest"
	"candela/lib/market"
)

// crossings puts alerts into the store that fire whenever the price crosses 110.
func crossings(t *testing.T, c *conn.Conn, symbols []string) []string {
	t.Helper()
	store, err := alerts.Open(t.Context(), c, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(symbols))
	for i, name := range symbols {
		now := time.Now().UTC().Truncate(time.Millisecond)
		a := alert.Alert{
			ID: id.New(now), Owner: "ann", Symbol: market.Symbol{Name: name}, Instrument: market.Symbol{Venue: "market", Name: name}, Created: now,
			Condition: alert.Condition{Type: alert.PriceCrosses, Threshold: decimal.NewFromInt(110)}, Repeat: alert.Repeat{MaxFires: 3}, State: alert.State{Side: -1},
		}
		if err := store.PutAlert(t.Context(), principal.Caller{Subject: "ann"}, a); err != nil {
			t.Fatal(err)
		}
		ids[i] = a.ID
	}
	return ids
}

// numbersOf returns the published firings as "alert #number", sorted.
func (r *replica) numbersOf(tb testing.TB) []string {
	tb.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]string, len(r.published))
	for i, e := range r.published {
		var f struct {
			AlertID string `json:"alert_id"`
			Fire    int
		}
		if err := json.Unmarshal(e.Data, &f); err != nil {
			tb.Fatal(err)
		}
		all[i] = fmt.Sprintf("%s #%d", f.AlertID, f.Fire)
	}
	slices.Sort(all)
	return all
}

// firedUpTo waits until each alert has fired n times, and demands each number once.
func firedUpTo(tb testing.TB, r *replica, ids []string, n int) {
	tb.Helper()
	var want []string
	for _, id := range ids {
		for k := range n {
			want = append(want, fmt.Sprintf("%s #%d", id, k+1))
		}
	}
	slices.Sort(want)
	replicatest.Eventually(tb, fmt.Sprintf("%d firings are published", len(want)), func() bool { return len(r.numbersOf(tb)) >= len(want) })
	catchUp(tb, r)
	if got := r.numbersOf(tb); !slices.Equal(got, want) {
		tb.Errorf("published %v, want %v", got, want)
	}
}

// TestAlerts_RepeatEachNumberOnceWhenAReplicaDies has alerts fire at one replica, and again
// at those that take over: they know what has fired.
func TestAlerts_RepeatEachNumberOnceWhenAReplicaDies(t *testing.T) {
	t.Parallel()
	from := newFakeMarket()
	all := startReplicas(t, replicatest.Servers(), from)
	symbols := symbolsOf(12)
	ids := crossings(t, all[0].conn, symbols)
	replicatest.Eventually(t, "the replicas evaluate all alerts", func() bool {
		n := 0
		for _, r := range all {
			if st := r.engine.Status(); st.Loading == 0 {
				n += st.Alerts
			}
		}
		return n == len(ids)
	})
	from.trade(120, symbols...)
	firedUpTo(t, all[0], ids, 1)
	all[2].conn.Close()
	from.trade(90, symbols...)
	for _, r := range all[:2] {
		firedUpTo(t, r, ids, 2)
	}
	if list := listed(t, all[0]); len(list) != len(ids) || list[0].State.Fires != 2 {
		t.Errorf("listed are %+v", list)
	}
	from.trade(130, symbols...)
	for _, r := range all[:2] {
		firedUpTo(t, r, ids, 3)
	}
	if list := listed(t, all[1]); len(list) != 0 {
		t.Errorf("%d alerts are left", len(list))
	}
	late := startReplica(t, replicatest.Servers(), prefixOf(all[0]), from)
	firedUpTo(t, late, ids, 3)
}

// TestStore_AnOlderReplicaLeavesRulesAlone reads records of extended alerts as a replica
// does that does not know them: none is active, and the notifications can be published.
func TestStore_AnOlderReplicaLeavesRulesAlone(t *testing.T) {
	t.Parallel()
	type older struct {
		State string
		Alert struct {
			ID        string
			Owner     principal.Owner
			Type      string
			Threshold decimal.Decimal
		}
		Data json.RawMessage
	}
	c := replicatest.Connect(t, replicatest.Servers(), replicatest.NewPrefix())
	ids := crossings(t, c, []string{"S1"})
	store, err := alerts.Open(t.Context(), c, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	var set alert.Alert
	for a, err := range store.Alerts(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		set = a
	}
	fire := func(n int) {
		f := alert.Firing{Alert: set, Value: 1, At: time.Now()}
		f.State = alert.State{Fires: n, LastFired: f.At}
		if got, err := store.FireAlerts(context.WithoutCancel(t.Context()), []alert.Firing{f}); err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
	}
	fire(1)
	notifications := 0
	for _, data := range store.Records(t) {
		var r older
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
		if _, known := alert.ParseType(r.Alert.Type); !known || !slices.Contains(alert.Types(), r.Alert.Type) || r.State == "active" {
			t.Errorf("an older replica misreads %s", data)
		}
		if r.State == "fired" {
			if notifications++; r.Alert.ID == ids[0] || len(r.Data) == 0 {
				t.Errorf("an older replica ends the alert with %s", data)
			}
		}
	}
	if notifications != 1 {
		t.Errorf("%d notifications", notifications)
	}
}
