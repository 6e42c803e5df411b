package recordtest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"candela/internal/kit/principal"
)

// RunInbox tests the contract of notify.Inbox with one process at a time. maxOutage is how
// long the store may be unavailable, 0 for never.
func RunInbox(t *testing.T, maxOutage time.Duration, open Opener) {
	t.Helper()
	run(t, maxOutage, open, map[string]func(*testing.T, *Installation){
		"a subscription survives a restart":       testOutlives,
		"an unsubscription survives a restart":    testEndOutlives,
		"a shutdown loses no cursor":              testStop,
		"a crash loses nothing":                   testCrash,
		"a returning client inherits its backlog": testComesBack,
		"another client inherits nothing":         testStranger,
		"settled entries are not polled again":    testPolled,
		"undelivered entries are polled first":    testNotArrived,
		"a crash returns unsettled entries":       testPolledCrash,
	})
}

func run(t *testing.T, maxOutage time.Duration, open Opener, tests map[string]func(*testing.T, *Installation)) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newInstallation(t, maxOutage, open))
		})
	}
}

func testOutlives(t *testing.T, w *Installation) {
	t.Helper()
	r := w.start()
	r.subscribe("k", "A", "B")
	r.kill()
	w.fire("A", "C")
	r = w.start()
	got := r.subscription("k")
	if !got.Active || got.Connected || got.Queued != 1 || len(got.Filter.Symbols) != 2 {
		t.Fatalf("%+v", got)
	}
	wantEvents(t, r.stream("k", ""), 1)
}

func testEndOutlives(t *testing.T, w *Installation) {
	t.Helper()
	r := w.start()
	r.subscribe("k", "A")
	for i := range 2 {
		existed, err := r.Unsubscribe(t.Context(), caller("k"))
		if err != nil || existed != (i == 0) {
			t.Fatalf("%v, %v", existed, err)
		}
	}
	r.kill()
	w.fire("A")
	r = w.start()
	if got := r.subscription("k"); got.Active {
		t.Fatalf("%+v", got)
	}
	r.subscribe("k", "A")
	wantEvents(t, r.stream("k", ""))
}

func testStop(t *testing.T, w *Installation) {
	t.Helper()
	r := w.start()
	r.subscribe("k")
	s := r.stream("k", "")
	w.fire("A", "B")
	wantEvents(t, s, 1, 2)
	s.Close()
	w.fire("C")
	r.shutdown()
	r = w.start()
	if got := r.subscription("k"); got.Queued != 1 || got.Connected {
		t.Fatalf("%+v", got)
	}
	wantEvents(t, r.stream("k", ""), 3)
}

func testCrash(t *testing.T, w *Installation) {
	t.Helper()
	r := w.start()
	r.subscribe("k")
	s := r.stream("k", "")
	w.fire("A", "B")
	wantEvents(t, s, 1, 2)
	w.fire("C")
	r.kill()
	w.fire("D")
	r = w.start()
	all := []uint64{1, 2, 3, 4}
	if got := taken(r.stream("k", "")); len(got) < 2 || !slices.Equal(got, all[4-len(got):]) {
		t.Fatalf("got %v after a crash", got)
	}
	wantEvents(t, r.stream("k", "2"), 3, 4)
}

func testComesBack(t *testing.T, w *Installation) {
	t.Helper()
	r := w.start()
	r.subscribe("first", "A")
	w.fire("A")
	r.shutdown()
	w.end("first")
	r = w.start()
	w.fire("A")
	if got := r.subscription("second"); !got.Active || got.Queued != 2 {
		t.Fatalf("%+v", got)
	}
	wantEvents(t, r.stream("second", ""), 1, 2)
	if got := r.subscription("third"); got.Active {
		t.Fatalf("subscription leaked to another token: %+v", got)
	}
}

func testStranger(t *testing.T, w *Installation) {
	t.Helper()
	r := w.start()
	r.subscribe("first", "A")
	r.shutdown()
	w.end("first")
	r = w.start()
	for i, change := range []func(client *string, owner *principal.Owner){
		func(client *string, _ *principal.Owner) { *client = "other" },
		func(client *string, _ *principal.Owner) { *client = "" },
		func(_ *string, owner *principal.Owner) { *owner = "other" },
	} {
		c := caller(fmt.Sprint("stranger-", i))
		change(&c.ClientKey, &c.Subject)
		if got, err := r.Subscription(t.Context(), c); err != nil || got.Active {
			t.Fatalf("%+v has %+v, %v", c, got, err)
		}
	}
}

func testPolled(t *testing.T, w *Installation) {
	t.Helper()
	r := w.start()
	w.fire("A", "B")
	b, got := r.poll()
	if !slices.Equal(got, []uint64{1, 2}) {
		t.Fatalf("%v", got)
	}
	b.Settle(true)
	w.fire("C")
	r.shutdown()
	r = w.start()
	if _, got := r.poll(); !slices.Equal(got, []uint64{3}) {
		t.Fatalf("%v", got)
	}
}

func testNotArrived(t *testing.T, w *Installation) {
	t.Helper()
	r := w.start()
	w.fire("A", "B")
	first, _ := r.poll()
	w.fire("C")
	second, got := r.poll()
	if !slices.Equal(got, []uint64{3}) {
		t.Fatalf("%v", got)
	}
	second.Settle(false)
	first.Settle(false)
	first.Settle(true) // ignored
	w.fire("D")
	if _, got := r.poll(); !slices.Equal(got, []uint64{1, 2, 3, 4}) {
		t.Fatalf("%v", got)
	}
}

func testPolledCrash(t *testing.T, w *Installation) {
	t.Helper()
	r := w.start()
	w.fire("A")
	arrived, _ := r.poll()
	w.fire("B")
	_, _ = r.poll() // unsettled when the process dies
	arrived.Settle(true)
	if file, ok := r.Inbox.(interface{ Flush() error }); ok {
		if err := file.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	w.fire("C")
	r.kill()
	r = w.start()
	var all []uint64
	Eventually(t, func() error {
		_, got := r.poll()
		all = append(all, got...)
		slices.Sort(all)
		if !slices.Equal(all, []uint64{2, 3}) {
			return fmt.Errorf("polled %v", all)
		}
		return nil
	})
}
