package storetest

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/internal/data/provider"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/lib/fault"
	"candela/lib/market"
)

// RunAlerts runs the suite of AlertStore. open opens the store that is kept under a
// directory: opened again after Close it has everything that was acknowledged.
func RunAlerts(t *testing.T, open func(t *testing.T, dir string) AlertStore) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, scene){
		"an alert comes back as it was put":                   alertComesBack,
		"an alert of someone else's is refused":               alertOfAnother,
		"an alert with a rule comes back as it was put":       rulesComeBack,
		"an alert with a rule fires once":                     fireRule,
		"an alert that repeats fires each number once":        fireAgain,
		"an alert may fire often in one commit":               fireManyAtOnce,
		"of many who fire it again one gets the entry":        fireAgainRace,
		"an id is active once":                                alertTwice,
		"a cancelled alert is gone":                           cancelAlert,
		"an alert is cancelled by its owner alone":            cancelByOwner,
		"a firing is an entry with the next number":           fireNumbers,
		"an alert fires once":                                 fireOnce,
		"of many who fire an alert one gets the entry":        fireRace,
		"a cancelled alert does not fire":                     fireCancelled,
		"an alert is cancelled or fires, never both":          fireOrCancel,
		"an alert of another owner does not fire":             fireOther,
		"a late firing is new to its readers":                 fireLate,
		"expired alerts are gone and those gone are no error": expire,
		"an alert is set aside until it is resumed":           setAside,
		"an idle alert is reported once and stays":            reportIdle,
		"entries are read from a number on":                   entriesAfter,
		"old entries are pruned in steps":                     pruneOld,
		"entries over the limit of their owner are pruned":    pruneMany,
		"a pruned number is not used again":                   pruneNumbers,
		"cursors are kept by owner and reader":                cursors,
		"marks are kept by series":                            marks,
		"what was acknowledged is there after a restart":      restart,
		"a context that has ended writes nothing":             endedContext,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			check(t, scene{AlertStore: open(t, dir), reopen: func(t *testing.T) AlertStore { t.Helper(); return open(t, dir) }})
		})
	}
}

// scene is an empty store, and how to open it again.
type scene struct {
	AlertStore
	reopen func(*testing.T) AlertStore
}

func start() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC) }

func caller(owner principal.Owner) principal.Caller {
	return principal.Caller{Subject: owner, Key: "key of " + string(owner), Client: "a client"}
}

// price returns a new price alert.
func price(owner principal.Owner, threshold string) alert.Alert {
	return alert.Alert{
		ID: id.New(start()), Owner: owner, Symbol: market.Symbol{Name: "BTCUSDT"}, Instrument: market.Symbol{Venue: "binance", Name: "BTCUSDT"},
		Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.RequireFromString(threshold)}, Created: start(), BarOpen: start().Add(-time.Minute),
	}
}

// signal returns a new alert of bob's with every field that an indicator's has.
func signal() alert.Alert {
	return alert.Alert{
		ID: id.New(start()), Owner: "bob", Symbol: market.Symbol{Venue: "kraken", Name: "XBT/USD"}, Instrument: market.Symbol{Venue: "kraken", Name: "XBT/USD"},
		Interval: market.Month1, Condition: alert.Condition{Type: alert.IndicatorSignal, Indicator: "cipher_b", Signal: "buy"},
		Created: start(), Expires: start().Add(time.Hour), Note: "sell \"half\"\n\u00e9\u4e16 \x00 \u2028",
	}
}

func firing(a alert.Alert) alert.Firing {
	return alert.Firing{Alert: a, Value: 1.25, At: start().Add(time.Minute)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantKind(t *testing.T, err error, kind fault.Kind) {
	t.Helper()
	if err == nil || fault.KindOf(err) != kind {
		t.Fatalf("got %v, want a fault of kind %v", err, kind)
	}
}

func collect[T any](t *testing.T, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var all []T
	for v, err := range seq {
		must(t, err)
		all = append(all, v)
	}
	return all
}

// put stores alerts, each by its owner.
func put(t *testing.T, s AlertStore, alerts ...alert.Alert) {
	t.Helper()
	for _, a := range alerts {
		must(t, s.PutAlert(t.Context(), caller(a.Owner), a))
	}
}

// active demands exactly these alerts.
func active(t *testing.T, s AlertStore, want ...alert.Alert) {
	t.Helper()
	got := collect(t, s.Alerts(t.Context()))
	byID := func(a, b alert.Alert) int { return strings.Compare(a.ID, b.ID) }
	slices.SortFunc(got, byID)
	want = slices.SortedFunc(slices.Values(want), byID)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func fire(t *testing.T, s AlertStore, firings ...alert.Firing) []notify.Entry {
	t.Helper()
	entries, err := s.FireAlerts(t.Context(), firings)
	must(t, err)
	return entries
}

// ascending demands numbers from 1 on that ascend.
func ascending(t *testing.T, entries []notify.Entry) {
	t.Helper()
	last := uint64(0)
	for _, e := range entries {
		if e.Seq <= last {
			t.Errorf("number %d follows %d", e.Seq, last)
		}
		last = e.Seq
	}
}

// log demands exactly these entries.
func log(t *testing.T, s AlertStore, want ...notify.Entry) {
	t.Helper()
	if diff := cmp.Diff(want, collect(t, s.Entries(t.Context(), 0))); diff != "" {
		t.Error(diff)
	}
}

func alertComesBack(t *testing.T, s scene) {
	t.Helper()
	all := []alert.Alert{price("ann", "0.000000000000000000000001"), price("ann", "123456789012345678901234567890.5"), signal()}
	put(t, s, all...)
	active(t, s, all...)
}

func alertOfAnother(t *testing.T, s scene) {
	t.Helper()
	wantKind(t, s.PutAlert(t.Context(), caller("bob"), price("ann", "1")), fault.Invalid)
	active(t, s)
}

func alertTwice(t *testing.T, s scene) {
	t.Helper()
	a := price("ann", "1")
	put(t, s, a)
	changed := a
	changed.Note = "another"
	wantKind(t, s.PutAlert(t.Context(), caller("ann"), changed), fault.Conflict)
	active(t, s, a)
}

func cancelAlert(t *testing.T, s scene) {
	t.Helper()
	a, b := price("ann", "1"), price("ann", "2")
	put(t, s, a, b)
	must(t, s.CancelAlert(t.Context(), caller("ann"), a.ID))
	wantKind(t, s.CancelAlert(t.Context(), caller("ann"), a.ID), fault.NotFound)
	wantKind(t, s.CancelAlert(t.Context(), caller("ann"), "never"), fault.NotFound)
	active(t, s, b)
}

func cancelByOwner(t *testing.T, s scene) {
	t.Helper()
	a := price("ann", "1")
	put(t, s, a)
	foreign := s.CancelAlert(t.Context(), caller("bob"), a.ID)
	wantKind(t, foreign, fault.NotFound)
	unknown := s.CancelAlert(t.Context(), caller("bob"), "never")
	if got, want := fault.Of(foreign).Public(), fault.Of(unknown).Public(); got != want {
		t.Errorf("someone else's alert reads %q, none reads %q", got, want)
	}
	active(t, s, a)
}

func fireNumbers(t *testing.T, s scene) {
	t.Helper()
	a, b, c := price("ann", "1"), signal(), price("ann", "2")
	put(t, s, a, b, c)
	got := slices.Concat(fire(t, s, firing(b), firing(a)), fire(t, s, firing(c)))
	if len(got) != 3 {
		t.Fatalf("%d entries", len(got))
	}
	for i, f := range []alert.Firing{firing(b), firing(a), firing(c)} {
		want := notify.Entry{
			Seq: got[i].Seq, Owner: f.Owner, Symbol: f.Instrument, Type: f.Condition.Type.String(),
			At: got[i].At, Data: f.AppendJSON(nil),
		}
		if diff := cmp.Diff(want, got[i]); diff != "" {
			t.Error(diff)
		}
	}
	ascending(t, got)
	active(t, s)
	log(t, s, got...)
	if none := fire(t, s); len(none) != 0 {
		t.Errorf("nothing fired gives %v", none)
	}
}

func fireOnce(t *testing.T, s scene) {
	t.Helper()
	a, b := price("ann", "1"), price("ann", "2")
	put(t, s, a, b)
	got := fire(t, s, firing(a), firing(a))
	got = append(got, fire(t, s, firing(a), firing(b))...)
	ascending(t, got)
	if len(got) != 2 || string(got[1].Data) != string(appendJSON(firing(b))) {
		t.Errorf("entries %+v", got)
	}
	log(t, s, got...)
}

func appendJSON(f alert.Firing) []byte { return f.AppendJSON(nil) }

func fireRace(t *testing.T, s scene) {
	t.Helper()
	const alerts, callers = 20, 10
	firings := make([]alert.Firing, alerts)
	for i := range firings {
		firings[i] = firing(price("ann", "1"))
		put(t, s, firings[i].Alert)
	}
	var won atomic.Int64
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			mine := slices.Concat(firings[i:], firings[:i]) // each in another order
			entries, err := s.FireAlerts(context.WithoutCancel(t.Context()), mine)
			if err != nil {
				t.Error(err)
			}
			won.Add(int64(len(entries)))
		})
	}
	wg.Wait()
	if won.Load() != alerts {
		t.Errorf("%d entries for %d alerts", won.Load(), alerts)
	}
	kept := collect(t, s.Entries(t.Context(), 0))
	ascending(t, kept)
	if len(kept) != alerts {
		t.Errorf("%d entries are kept", len(kept))
	}
	active(t, s)
}

func fireCancelled(t *testing.T, s scene) {
	t.Helper()
	a := price("ann", "1")
	put(t, s, a)
	must(t, s.CancelAlert(t.Context(), caller("ann"), a.ID))
	if got := fire(t, s, firing(a)); len(got) != 0 {
		t.Errorf("entries %+v", got)
	}
	log(t, s)
}

func fireOrCancel(t *testing.T, s scene) {
	t.Helper()
	var fired, cancelled atomic.Int64
	var wg sync.WaitGroup
	const alerts = 30
	for range alerts {
		a := price("ann", "1")
		put(t, s, a)
		wg.Go(func() {
			entries, err := s.FireAlerts(context.WithoutCancel(t.Context()), []alert.Firing{firing(a)})
			if err != nil {
				t.Error(err)
			}
			fired.Add(int64(len(entries)))
		})
		wg.Go(func() {
			err := s.CancelAlert(context.WithoutCancel(t.Context()), caller("ann"), a.ID)
			if err == nil {
				cancelled.Add(1)
			} else if fault.KindOf(err) != fault.NotFound {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if fired.Load()+cancelled.Load() != alerts {
		t.Errorf("%d fired and %d were cancelled, of %d", fired.Load(), cancelled.Load(), alerts)
	}
	if got := collect(t, s.Entries(t.Context(), 0)); int64(len(got)) != fired.Load() {
		t.Errorf("%d entries for %d firings", len(got), fired.Load())
	}
}

func fireOther(t *testing.T, s scene) {
	t.Helper()
	a := price("ann", "1")
	put(t, s, a)
	stolen := firing(a)
	stolen.Owner = "bob"
	if got := fire(t, s, stolen); len(got) != 0 {
		t.Errorf("entries %+v", got)
	}
	active(t, s, a)
}

func fireLate(t *testing.T, s scene) {
	t.Helper()
	a := price("ann", "1")
	put(t, s, a)
	f := firing(a)
	f.At, f.Late = start().AddDate(-1, 0, 0), true
	before := time.Now().Add(-time.Minute)
	if got := fire(t, s, f); len(got) != 1 || got[0].At.Before(before) {
		t.Errorf("entries %+v", got)
	}
}

func expire(t *testing.T, s scene) {
	t.Helper()
	a, b, c := price("ann", "1"), signal(), price("ann", "2")
	put(t, s, a, b, c)
	must(t, s.CancelAlert(t.Context(), caller("ann"), a.ID))
	must(t, s.ExpireAlerts(t.Context(), []alert.Alert{a, b}))
	must(t, s.ExpireAlerts(t.Context(), nil))
	active(t, s, c)
	log(t, s)
}

// fill fires n alerts of an owner.
func fill(t *testing.T, s AlertStore, owner principal.Owner, n int) []notify.Entry {
	t.Helper()
	firings := make([]alert.Firing, n)
	for i := range firings {
		firings[i] = firing(price(owner, strconv.Itoa(i+1)))
		put(t, s, firings[i].Alert)
	}
	return fire(t, s, firings...)
}

func entriesAfter(t *testing.T, s scene) {
	t.Helper()
	all := fill(t, s, "ann", 10)
	for n, after := range map[int]uint64{0: 0, 4: all[3].Seq, 9: all[8].Seq, 10: all[9].Seq, 11: all[9].Seq + 1} {
		want := all[min(n, 10):]
		got := collect(t, s.Entries(t.Context(), after))
		if diff := cmp.Diff(want, got, cmp.Transformer("empty", func(e []notify.Entry) []notify.Entry { return append([]notify.Entry{}, e...) })); diff != "" {
			t.Errorf("after %d: %s", after, diff)
		}
	}
	for e, err := range s.Entries(t.Context(), 0) {
		must(t, err)
		if e.Seq == all[2].Seq {
			break // a reader may stop early and go on using the store
		}
	}
	fill(t, s, "ann", 1)
}

func prune(t *testing.T, s AlertStore, before time.Time, keep, limit int) int {
	t.Helper()
	n, err := s.PruneEntries(t.Context(), before, keep, limit)
	must(t, err)
	return n
}

func pruneOld(t *testing.T, s scene) {
	t.Helper()
	all := slices.Concat(fill(t, s, "ann", 5), fill(t, s, "bob", 5))
	if n := prune(t, s, all[0].At.Add(-time.Microsecond), 100, 100); n != 0 {
		t.Errorf("%d entries pruned that are young", n)
	}
	later := all[9].At.Add(time.Hour)
	if n := prune(t, s, later, 100, 4); n != 4 {
		t.Errorf("%d entries pruned in a step of 4", n)
	}
	log(t, s, all[4:]...)
	if n := prune(t, s, later, 100, 100); n != 6 {
		t.Errorf("%d entries pruned of 6", n)
	}
	log(t, s)
}

func pruneMany(t *testing.T, s scene) {
	t.Helper()
	ann, bob := fill(t, s, "ann", 7), fill(t, s, "bob", 2)
	ann = append(ann, fill(t, s, "ann", 1)...)
	if n := prune(t, s, time.Time{}, 3, 2); n != 2 {
		t.Errorf("%d entries pruned in a step of 2", n)
	}
	if n := prune(t, s, time.Time{}, 3, 100); n != 3 {
		t.Errorf("%d entries pruned of 3", n)
	}
	log(t, s, slices.Concat(ann[5:7], bob, ann[7:])...)
}

func pruneNumbers(t *testing.T, s scene) {
	t.Helper()
	last := func(s AlertStore) uint64 {
		t.Helper()
		last, err := s.LastEntry(t.Context())
		must(t, err)
		return last
	}
	before := last(s)
	given := fill(t, s, "ann", 3)
	if given[0].Seq <= before {
		t.Errorf("number %d follows %d", given[0].Seq, before)
	}
	if n := prune(t, s, time.Now().Add(time.Hour), 0, 100); n != 3 {
		t.Errorf("%d entries pruned of 3", n)
	}
	kept := last(s)
	if kept < given[2].Seq {
		t.Errorf("the last number is %d after %d was given", kept, given[2].Seq)
	}
	must(t, s.Close())
	again := s.reopen(t)
	if now := last(again); now < kept {
		t.Errorf("the last number is %d after a restart and was %d", now, kept)
	}
	if got := fill(t, again, "ann", 1); got[0].Seq <= kept {
		t.Errorf("number %d follows %d", got[0].Seq, kept)
	}
	must(t, again.Close())
}

func cursors(t *testing.T, s scene) {
	t.Helper()
	must(t, s.SaveCursors(t.Context(), "ann", map[string]uint64{"poll": 3, "stream": 1 << 40}))
	must(t, s.SaveCursors(t.Context(), "bob", map[string]uint64{"poll": 4}))
	must(t, s.SaveCursors(t.Context(), "ann", map[string]uint64{"poll": 5, "other": 1}))
	must(t, s.SaveCursors(t.Context(), "ann", map[string]uint64{"other": 0}))
	must(t, s.SaveCursors(t.Context(), "ann", nil))
	got, err := s.Cursors(t.Context())
	must(t, err)
	want := map[principal.Owner]map[string]uint64{"ann": {"poll": 5, "stream": 1 << 40}, "bob": {"poll": 4}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func marks(t *testing.T, s scene) {
	t.Helper()
	sub := func(name string, iv market.Interval) provider.Sub {
		return provider.Sub{Symbol: market.Symbol{Venue: "binance", Name: name}, Interval: iv}
	}
	must(t, s.SaveMarks(t.Context(), map[provider.Sub]int64{sub("A", market.Minute1): 60, sub("A", market.Month1): 3600, sub("B", market.Minute1): 1, sub("A", 0): 180}))
	must(t, s.SaveMarks(t.Context(), map[provider.Sub]int64{sub("A", market.Minute1): 120, sub("B", market.Minute1): 0}))
	must(t, s.SaveMarks(t.Context(), nil))
	got, err := s.Marks(t.Context())
	must(t, err)
	want := map[provider.Sub]int64{sub("A", market.Minute1): 120, sub("A", market.Month1): 3600, sub("A", 0): 180}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func restart(t *testing.T, s scene) {
	t.Helper()
	a, b, c := price("ann", "1"), signal(), price("ann", "3")
	put(t, s, a, b, c)
	entries := fire(t, s, firing(c))
	must(t, s.SaveCursors(t.Context(), "ann", map[string]uint64{"poll": 1}))
	must(t, s.Close())
	again := s.reopen(t)
	active(t, again, a, b)
	log(t, again, entries...)
	got, err := again.Cursors(t.Context())
	must(t, err)
	if got["ann"]["poll"] != 1 {
		t.Errorf("cursors %v", got)
	}
	if e := fire(t, again, firing(c), firing(a)); len(e) != 1 || e[0].Seq <= entries[0].Seq {
		t.Errorf("entries %+v", e)
	}
	must(t, again.Close())
}

func endedContext(t *testing.T, s scene) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.PutAlert(ctx, caller("ann"), price("ann", "1")); err == nil {
		t.Error("an alert is stored for a caller who is gone")
	}
	active(t, s)
}
