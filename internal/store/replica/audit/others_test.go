package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"candela/internal/access/owners"
	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/store/chain"
	"candela/internal/store/ledger"
	"candela/internal/store/replica/alerts"
	"candela/internal/store/replica/audit"
	"candela/internal/store/replica/auditlog"
	"candela/internal/store/replica/conn"
	ownerstore "candela/internal/store/replica/owners"
	"candela/internal/store/replica/replicatest"
	"candela/internal/testkit/longtest"
)

// openLog opens the audit log over a connection.
func openLog(t *testing.T, c *conn.Conn) *auditlog.Log {
	t.Helper()
	l, err := auditlog.Open(t.Context(), c, time.Now)
	check(t, err)
	return l
}

// moved runs a mover until end is called, which waits for it.
func moved(t *testing.T, m auditlog.Mover) (end func()) {
	t.Helper()
	m.Logger = slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = m.Run(ctx) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// kinds returns the events of the stream AUDIT about a subject, in their order.
func kinds(t *testing.T, c *conn.Conn, owner principal.Owner, subject string) (all []string) {
	t.Helper()
	for part, err := range (auditlog.Reader{Conn: c}).OfOwner(t.Context(), owner) {
		check(t, err)
		for _, e := range part.Events {
			if e.Subject == subject {
				all = append(all, e.Kind)
			}
		}
	}
	return all
}

func sound(t *testing.T, c *conn.Conn) audit.Report {
	t.Helper()
	report, err := audit.Verify(t.Context(), c, nil)
	check(t, err)
	if len(report.Breaks) > 0 {
		t.Errorf("%v", report.Breaks)
	}
	return report
}

// TestOthers_EachOnceOverTakeovers sets, cancels and fires alerts at two replicas while those that move the events are stopped and replaced, at
// times two at once, and logins are recorded beside them. Each event is in the log once, in its order, and the chains are sound.
func TestOthers_EachOnceOverTakeovers(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	conns := make([]*conn.Conn, 3)
	logs, stores := make([]*auditlog.Log, 3), make([]*alerts.Store, 3)
	for i := range conns {
		conns[i] = replicatest.Connect(t, replicatest.Servers(), prefix)
		logs[i] = openLog(t, conns[i])
		var err error
		stores[i], err = alerts.Open(t.Context(), conns[i], time.Now)
		check(t, err)
	}
	orders := take(t, conns[0], time.Now, new(checkpoints)) // which names the key
	check(t, orders.RecordPolicy(t.Context(), []byte(`{}`), "sha256:1"))
	random := rand.New(rand.NewPCG(longtest.Seed(), 1))
	want := make(map[string][]string)
	var order []string
	end := moved(t, auditlog.Mover{To: logs[0], From: stores[0]})
	rounds := longtest.Pick(60, 1500)
	for i := range rounds {
		a := replicatest.PriceAlert(i)
		s := stores[random.IntN(3)]
		check(t, s.PutAlert(t.Context(), principal.Caller{Subject: "ann", Key: "6acb604a74", Client: "C <1>"}, a))
		want[a.ID], order = []string{"alert_set"}, append(order, a.ID)
		switch random.IntN(4) {
		case 0:
			check(t, stores[random.IntN(3)].CancelAlert(t.Context(), principal.Caller{Subject: "ann"}, a.ID))
			want[a.ID] = append(want[a.ID], "alert_canceled")
		case 1:
			got, err := s.FireAlerts(t.Context(), []alert.Firing{{Alert: a, Value: 1, At: time.Now()}})
			if check(t, err); len(got) != 1 {
				t.Fatal(got)
			}
			want[a.ID] = append(want[a.ID], fmt.Sprintf("alert_fired %d", got[0].Seq))
		case 2:
			check(t, logs[random.IntN(3)].Record(t.Context(), principal.Caller{Subject: "ann"}, "token_revoked", "t"+a.ID, []byte("{ }")))
			want["t"+a.ID] = []string{"token_revoked"}
		}
		if random.IntN(8) == 0 { // another replica takes over, at times before the former one has stopped
			before, at := end, random.IntN(3)
			if random.IntN(2) == 0 {
				before()
				before = func() {}
			}
			end = moved(t, auditlog.Mover{To: logs[at], From: stores[at]})
			before()
			check(t, logs[at].NoteHeads(t.Context()))
		}
	}
	reader := replicatest.Connect(t, replicatest.Servers(), prefix)
	last := order[len(order)-1]
	replicatest.Eventually(t, "the last event was moved", func() bool { return len(kinds(t, reader, "ann", last)) == len(want[last]) })
	end()
	found := make(map[string][]string)
	lines, err := audit.Recent(t.Context(), reader, 100_000)
	check(t, err)
	for _, e := range lines {
		if e.Owner != "ann" || e.Kind == chain.CheckpointKind {
			continue
		}
		text := e.Kind
		var body struct {
			Notification int
			Symbol       string
		}
		check(t, json.Unmarshal(e.Body, &body))
		if e.Kind == "alert_fired" {
			text = fmt.Sprintf("%s %d", text, body.Notification)
		}
		if e.Kind == "alert_set" && (e.Actor != "6acb604a74" || e.Client != "C <1>" || body.Symbol == "") {
			t.Errorf("%+v", e)
		}
		found[e.Subject] = append(found[e.Subject], text)
	}
	for subject, events := range want {
		if !slices.Equal(found[subject], events) {
			t.Errorf("seed %d: %s has the events %v, want %v", longtest.Seed(), subject, found[subject], events)
		}
	}
	if len(found) != len(want) {
		t.Errorf("events about %d subjects, want %d", len(found), len(want))
	}
	report := sound(t, reader)
	if report.Others["ann"].Events == 0 || report.Others[""].Events == 0 || report.Checkpoints == 0 && rounds > 300 {
		t.Errorf("%+v", report)
	}
	state, err := reader.StreamState(t.Context(), reader.StreamName("AUDIT"))
	check(t, err)
	t.Logf("%d events of %d subjects in a chain of %d, %d checkpoints; %d bytes for an event", len(lines), len(want), report.Others["ann"].Events, report.Checkpoints, state.Bytes/report.Others["ann"].Events)
	pagesAreTheList(t, reader, lines)
}

// pagesAreTheList reads the log page by page, as the console does, and compares it with the list.
func pagesAreTheList(t *testing.T, c *conn.Conn, lines []audit.Line) {
	t.Helper()
	var all []ledger.Event
	f := ledger.Filter{Limit: 7}
	for {
		p, err := (audit.Log{Conn: c}).Page(t.Context(), f)
		check(t, err)
		all = append(all, p.Events...)
		if f.Before = p.Next; f.Before == "" {
			break
		}
	}
	slices.Reverse(all)
	if len(all) != len(lines) {
		t.Fatalf("%d events in pages, %d in the list", len(all), len(lines))
	}
	for i := range all {
		if all[i].Hash != lines[i].Hash {
			t.Fatalf("event %d of pages is %+v, of the list %+v", i, all[i], lines[i])
		}
	}
	p, err := (audit.Log{Conn: c}).Page(t.Context(), ledger.Filter{Limit: 500, Kinds: []string{"alert_set"}, Actor: "6acb", Text: "c <1>"})
	check(t, err)
	if len(p.Events) == 0 || slices.ContainsFunc(p.Events, func(e ledger.Event) bool { return e.Kind != "alert_set" }) {
		t.Errorf("%d events of a kind", len(p.Events))
	}
}

// TestOthers_WhatIsAlteredIsFound alters the stream AUDIT as somebody with the secret and the servers could.
func TestOthers_WhatIsAlteredIsFound(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	c := replicatest.Connect(t, replicatest.Servers(), prefix)
	l := openLog(t, c)
	take(t, c, time.Now, new(checkpoints))
	for i := range 5 {
		for _, owner := range []principal.Owner{"ann", "bob"} {
			check(t, l.Record(t.Context(), principal.Caller{Subject: owner, Client: "Claude"}, "token_revoked", strconv.Itoa(i), []byte("{}")))
		}
	}
	check(t, l.NoteHeads(t.Context()))
	noted := sound(t, c).Others["ann"]
	check(t, l.Record(t.Context(), principal.Caller{Subject: "ann"}, "token_revoked", "last", []byte("{}")))
	sound(t, c)
	var all []conn.Message
	for m, err := range c.Consume(t.Context(), c.StreamName("AUDIT"), jetstream.OrderedConsumerConfig{}) {
		check(t, err)
		opened := c.Seals.Unseal(t.Context(), m, 0)
		if all = append(all, opened); m.Pending == 0 {
			break
		}
	}
	change := func(at int) []conn.Message {
		altered := slices.Clone(all)
		altered[at].Data = []byte(strings.Replace(string(altered[at].Data), `"client":"Claude"`, `"client":"Claudf"`, 1))
		return altered
	}
	for name, one := range map[string]struct {
		messages       []conn.Message
		found, foundBy bool // by verify alone, by verify with the chain that was noted
	}{
		"nothing":                             {all, false, false},
		"a byte changed":                      {change(2), true, true},
		"a byte changed before it was noted":  {change(9), true, true},
		"a message removed":                   {slices.Delete(slices.Clone(all), 2, 3), true, true},
		"all of an owner removed":             {slices.DeleteFunc(slices.Clone(all), func(m conn.Message) bool { return strings.HasSuffix(m.Subject, conn.EncodeToken("bob")) }), true, true},
		"two messages swapped":                {append([]conn.Message{all[2], all[1], all[0]}, all[3:]...), true, true},
		"a message twice":                     {slices.Insert(slices.Clone(all), 4, all[2]), true, true},
		"the last message removed":            {all[:len(all)-1], false, false},
		"yesterday restored":                  {all[:4], false, true},
		"the end removed but not what it was": {append(slices.Clone(all[:8]), all[10]), true, true},
	} {
		to := replicatest.NewPrefix()
		other := replicatest.Connect(t, replicatest.Servers(), to)
		openLog(t, other)
		take(t, other, time.Now, new(checkpoints))
		for i, m := range one.messages {
			put(t, other, "AUDIT", i, conn.Message{Subject: to + strings.TrimPrefix(m.Subject, prefix), Data: m.Data})
		}
		for _, expected := range []map[principal.Owner]chain.Chain{nil, {"ann": noted}} {
			want := one.found
			if expected != nil {
				want = one.foundBy
			}
			report, err := audit.Verify(t.Context(), other, expected)
			check(t, err)
			if found := len(report.Breaks) > 0; found != want {
				t.Errorf("%s, with a chain that was noted %v: found %v: %v", name, expected != nil, found, report.Breaks)
			}
		}
	}
}

// removedBefore is a log from which a replica that moves events removes them as soon as the erasure has begun.
type removedBefore struct{ audit.Owned }

func (r removedBefore) EraseOwner(ctx context.Context, owner principal.Owner) (chain.Chain, error) {
	if _, err := r.Owned.EraseOwner(ctx, owner); err != nil {
		return chain.Chain{}, err
	}
	return r.Owned.EraseOwner(ctx, owner)
}

// TestOthers_OfOwners records what happens to owners, exports what one has, and erases the owner, at two replicas.
func TestOthers_OfOwners(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	open := func() (*conn.Conn, *auditlog.Log, *alerts.Store, *ownerstore.Store) {
		c := replicatest.ConnectMany(t, replicatest.Servers(), prefix)
		l := openLog(t, c)
		kept, err := alerts.Open(t.Context(), c, time.Now)
		check(t, err)
		o, err := ownerstore.Open(t.Context(), c, time.Now, kept)
		check(t, err)
		o.Audit = audit.Owned{Log: l}
		check(t, o.Follow(t.Context(), replicatest.Quiet(), func(principal.Owner, owners.State) {}))
		t.Cleanup(o.Close)
		return c, l, kept, o
	}
	c, l, kept, o := open()
	_, there, _, other := open()
	writer := take(t, c, time.Now, new(checkpoints))
	for _, id := range []principal.Owner{"ann", "bob"} {
		_, err := o.SeeOwner(t.Context(), owners.Owner{ID: id})
		check(t, err)
		a := replicatest.PriceAlert(1)
		a.Owner = id
		check(t, kept.PutAlert(t.Context(), principal.Caller{Subject: id}, a))
		_, err = writer.AppendEvents(t.Context(), principal.Caller{Subject: id}, replicatest.Placed(id, "order of "+string(id)))
		check(t, err)
		check(t, writer.SaveState(t.Context(), principal.Caller{Subject: id}, "guard", []byte(`{"level":1}`)))
		check(t, writer.AppendJournal(t.Context(), id, "paper", [][]byte{[]byte(`{"n":1}`), []byte(`{"n":2}`)}))
		check(t, there.Record(t.Context(), principal.Caller{Subject: id}, "owner_logged_in", "", []byte("{}")))
	}
	_, err := other.SetOwnerPlan(t.Context(), "bob", "small")
	check(t, err)
	defer moved(t, auditlog.Mover{To: l, From: kept, Gone: o.Gone})()
	defer moved(t, auditlog.Mover{To: there, From: other})()
	replicatest.Eventually(t, "the events of bob were moved", func() bool {
		return len(kinds(t, c, "", "bob")) == 2 && sound(t, c).Others["bob"].Events == 2
	})
	rows := make(map[string]int)
	var exported chain.Chain
	for row, err := range other.ExportOwner(t.Context(), "bob") {
		check(t, err)
		rows[row.Table]++
		if strings.Contains(string(row.JSON), "ann") {
			t.Errorf("bob's export has %s", row.JSON)
		}
		if row.Table == "audit" {
			var e struct{ Hash chain.Hash }
			check(t, json.Unmarshal(row.JSON, &e))
			exported.Add(e.Hash)
		}
	}
	want := map[string]int{"owners": 1, "alerts": 1, "orders": 1, "states": 1, "journal": 2, "audit": 2, "audit_orders": 3}
	if fmt.Sprint(rows) != fmt.Sprint(want) || exported != sound(t, c).Others["bob"] {
		t.Errorf("exported %v, want %v; %+v", rows, want, exported)
	}
	_, err = o.SetOwnerState(t.Context(), "bob", owners.Suspended)
	check(t, err)
	other.Audit = removedBefore{audit.Owned{Log: there}}
	proof, err := other.EraseOwner(t.Context(), "bob")
	check(t, err)
	if proof.Events != 2 || proof.LastHash != exported.Hash.String() {
		t.Errorf("%+v", proof)
	}
	replicatest.Eventually(t, "the erasure is in the log", func() bool { return slices.Contains(kinds(t, c, "", "bob"), "owner_erased") })
	if got := kinds(t, c, "", "bob"); !slices.Equal(got, []string{"owner_began", "owner_plan_set", "owner_suspended", "owner_erased"}) {
		t.Errorf("events about bob: %v", got)
	}
	if report := sound(t, c); report.Others["bob"].Events != 0 || report.Others["ann"].Events != 2 {
		t.Errorf("%+v", report)
	}
}

// TestOthers_OnceWithoutAnAcknowledgement loses the acknowledgement of each write, also of the first of the stream.
func TestOthers_OnceWithoutAnAcknowledgement(t *testing.T) {
	t.Parallel()
	line := replicatest.NewProxy(t, replicatest.Servers())
	c := replicatest.ConnectAt(t, line.URL, replicatest.NewPrefix())
	l := openLog(t, c)
	var want []string
	for i := range 3 {
		kind := fmt.Sprintf("login_%d", i)
		want = append(want, kind)
		line.CutAtNextReply()
		check(t, l.Record(t.Context(), principal.Caller{Subject: "ann"}, kind, "s", []byte("{}")))
	}
	if got := kinds(t, c, "ann", "s"); !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
	sound(t, c)
}
