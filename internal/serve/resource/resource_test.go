package resource_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/notify"
	"candela/internal/alerting/notify/local"
	"candela/internal/kit/principal"
	"candela/internal/serve/resource"
	"candela/lib/fault"
)

// reader is a caller that may see alerts.
func reader() principal.Caller {
	return principal.Caller{Subject: "owner", Key: "k", Scope: principal.Read}
}

// log is a log of alerts that a test appends to.
type log struct {
	*local.Inbox
	seq uint64
}

func newLog(t *testing.T) *log {
	t.Helper()
	inbox, err := local.Open(local.Config{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return &log{Inbox: inbox}
}

// fire appends an alert of an owner with so many more bytes.
func (l *log) fire(owner principal.Owner, padding int) {
	l.seq++
	l.Append([]notify.Entry{{Seq: l.seq, Owner: owner, At: time.Now(), Data: fmt.Appendf(nil, `{"alert_id":"a-%d","pad":%q}`, l.seq, strings.Repeat("x", padding))}})
}

// read returns the ids of the alerts that a caller reads, and how many were left out.
func read(t *testing.T, s *resource.Set, caller principal.Caller) (ids []string, left int) {
	t.Helper()
	text, err := s.Read(t.Context(), caller, resource.FiredURI)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 256<<10+100 {
		t.Errorf("%d bytes", len(text))
	}
	var got struct {
		Notifications []struct {
			ID string `json:"alert_id"`
		}
		Left int `json:"left_out"`
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for _, n := range got.Notifications {
		ids = append(ids, n.ID)
	}
	return ids, got.Left
}

func TestRead_ShowsTheLastHourOfTheOwnerAndTakesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		s := resource.New(l)
		if ids, left := read(t, s, reader()); len(ids)+left != 0 {
			t.Fatalf("%v, %d left out of an empty log", ids, left)
		}
		l.fire("owner", 0)
		time.Sleep(40 * time.Minute)
		l.fire("other", 0)
		l.fire("owner", 0)
		for range 2 {
			if ids, left := read(t, s, reader()); fmt.Sprint(ids, left) != "[a-1 a-3] 0" {
				t.Fatalf("%v, %d left out", ids, left)
			}
		}
		batch, err := l.Poll(t.Context(), reader(), 0, notify.Bound{})
		if err != nil || len(batch.Entries) != 2 {
			t.Fatalf("the queue has %d entries after reading, %v", len(batch.Entries), err)
		}
		batch.Settle(true)
		if ids, _ := read(t, s, reader()); len(ids) != 2 {
			t.Fatalf("%v after a poll took them", ids)
		}
		time.Sleep(30 * time.Minute)
		if ids, _ := read(t, s, reader()); fmt.Sprint(ids) != "[a-3]" {
			t.Fatalf("%v after more than an hour", ids)
		}
	})
}

func TestRead_IsBounded(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	s := resource.New(l)
	for range 1500 {
		l.fire("owner", 0)
	}
	if ids, left := read(t, s, reader()); len(ids) != 1000 || ids[0] != "a-501" || left != 0 {
		t.Errorf("%d alerts from %s, %d left out", len(ids), ids[0], left)
	}
	for range 10 {
		l.fire("owner", 50_000)
	}
	if ids, left := read(t, s, reader()); len(ids) != 5 || ids[4] != "a-1510" || left != 995 {
		t.Errorf("%v, %d left out", ids, left)
	}
}

func TestWatch_ReportsAlertsOfTheOwner(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	watch, err := resource.New(l).Watch(t.Context(), reader(), resource.FiredURI)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	l.fire("other", 0)
	select {
	case <-watch.Ready():
		t.Fatal("another owner's alert was reported")
	default:
	}
	l.fire("owner", 0)
	<-watch.Ready()
}

func TestResources_NeedTheScope(t *testing.T) {
	t.Parallel()
	s := resource.New(newLog(t))
	for _, scope := range []principal.Scope{principal.NoScope, principal.Charts} {
		caller := principal.Caller{Subject: "owner", Scope: scope}
		_, failed := s.Read(t.Context(), caller, resource.FiredURI)
		_, refused := s.Watch(t.Context(), caller, resource.FiredURI)
		for _, err := range []error{failed, refused} {
			if f := fault.Of(err); f == nil || f.Code != "insufficient_scope" {
				t.Errorf("with the scope %s: %v", scope, err)
			}
		}
	}
}

// TestEvents_AreAResourceOfTheirOwn has order events and alerts in one log: each resource lists and reports its own kind, of
// its owner.
func TestEvents_AreAResourceOfTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		s := resource.New(l)
		watch, err := s.Watch(t.Context(), reader(), resource.EventsURI)
		if err != nil {
			t.Fatal(err)
		}
		defer watch.Close()
		happens := func(owner principal.Owner) {
			l.seq++
			l.Append([]notify.Entry{{Seq: l.seq, Owner: owner, Kind: notify.Order, At: time.Now(), Data: fmt.Appendf(nil, `{"event":"order_filled","order_id":"o-%d"}`, l.seq)}})
		}
		l.fire("owner", 0)
		happens("other")
		select {
		case <-watch.Ready():
			t.Fatal("an alert, or another owner's event, was reported")
		default:
		}
		happens("owner")
		<-watch.Ready()
		const event = `{"event":"order_filled","seq":3,"order_id":"o-3"}`
		for uri, want := range map[string]string{resource.EventsURI: `{"notifications":[` + event + `]}`, resource.FiredURI: `{"notifications":[{"alert_id":"a-1","pad":""}]}`} {
			for range 2 { // it takes nothing
				if text, err := s.Read(t.Context(), reader(), uri); err != nil || string(text) != want {
					t.Errorf("%s is %s, %v, want %s", uri, text, err, want)
				}
			}
		}
		batch, err := l.Poll(t.Context(), reader(), 0, notify.Bound{Kinds: notify.Orders})
		if err != nil || len(batch.Entries) != 1 || string(batch.Entries[0].Data) != event {
			t.Errorf("polled %+v, %v", batch, err)
		}
		batch.Settle(true)
		time.Sleep(61 * time.Minute)
		if text, err := s.Read(t.Context(), reader(), resource.EventsURI); err != nil || string(text) != `{"notifications":[]}` {
			t.Errorf("after an hour %s, %v", text, err)
		}
	})
}
