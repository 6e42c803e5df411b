package alert_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

var (
	start = time.UnixMilli(1_700_000_000_000).UTC()
	btc   = market.Symbol{Venue: "binance", Name: "BTCUSDT"}
	eth   = market.Symbol{Venue: "binance", Name: "ETHUSDT"}
)

// price returns an alert of owner "local" on BTCUSDT, made at start.
func price(kind alert.Type, threshold string) alert.Alert {
	return alert.Alert{
		ID: id.New(start), Owner: "local", Symbol: market.Symbol{Name: "BTCUSDT"}, Instrument: btc,
		Condition: alert.Condition{Type: kind, Threshold: decimal.RequireFromString(threshold)}, Created: start,
	}
}

// signal returns an alert on a signal of 4h bars, made at start.
func signal(indicator, label string) alert.Alert {
	a := price(alert.IndicatorSignal, "0")
	a.Interval = market.Hour4
	a.Condition = alert.Condition{Type: alert.IndicatorSignal, Indicator: indicator, Signal: label}
	return a
}

// indexOf returns an index with the alerts in it.
func indexOf(tb testing.TB, alerts ...alert.Alert) *alert.Index {
	tb.Helper()
	b := alert.NewIndex()
	for _, a := range alerts {
		if err := b.Add(a); err != nil {
			tb.Fatal(err)
		}
	}
	return b
}

func after(d time.Duration) time.Time { return start.Add(d) }

func TestIndex_ReturnsTheAddedAlerts(t *testing.T) {
	t.Parallel()
	full := price(alert.PriceAbove, "70000.00")
	full.Expires, full.Note = after(time.Hour), "take profit"
	long := price(alert.PriceBelow, "-123456789012345678901234567890.123456789")
	onSignal := signal("wavetrend", "cross_up")
	b := indexOf(t, full, long, onSignal)
	for _, want := range []alert.Alert{full, long, onSignal} {
		got, there := b.Get("local", want.ID)
		if diff := cmp.Diff(want, got); !there || diff != "" {
			t.Errorf("Get: %v %s", there, diff)
		}
	}
	if b.Len() != 3 || b.Count("local") != 3 {
		t.Errorf("Len %d, Count %d", b.Len(), b.Count("local"))
	}
}

func TestIndex_AnswersTheOwnerAlone(t *testing.T) {
	t.Parallel()
	mine := price(alert.PriceAbove, "1")
	b := indexOf(t, mine)
	if _, there := b.Get("other", mine.ID); there {
		t.Error("Get shows another owner's alert")
	}
	if _, there := b.Remove("other", mine.ID); there || b.Len() != 1 {
		t.Error("Remove takes another owner's alert")
	}
	if got := b.List("other"); len(got) != 0 {
		t.Errorf("List shows %v", got)
	}
	if _, there := b.Remove("local", mine.ID); !there || b.Len() != 0 || b.Count("local") != 0 {
		t.Error("Remove left the alert")
	}
}

func TestIndex_ListsByCreation(t *testing.T) {
	t.Parallel()
	var want []string
	b := alert.NewIndex()
	for _, n := range []int{3, 0, 4, 1, 2} {
		a := price(alert.PriceAbove, "5")
		a.Created = after(time.Duration(n) * time.Second)
		a.ID = id.New(a.Created)
		if n%2 == 1 {
			a.Instrument = eth
		}
		if err := b.Add(a); err != nil {
			t.Fatal(err)
		}
		want = append(want, a.ID)
	}
	slices.Sort(want)
	var got, onETH []string
	for _, a := range b.List("local") {
		got = append(got, a.ID)
	}
	for _, a := range b.ListOn("local", eth) {
		onETH = append(onETH, a.ID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{want[1], want[3]}, onETH); diff != "" {
		t.Error(diff)
	}
}

func TestIndex_RejectsMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	b := alert.NewIndex()
	for range alert.MaxPerOwner {
		if err := b.Add(price(alert.PriceAbove, "5")); err != nil {
			t.Fatal(err)
		}
	}
	more := price(alert.PriceAbove, "5")
	err := fault.Of(b.Check(&more))
	if err == nil || err.Code != "too_many_alerts" || err.Value != "10000" || err.Allowed != "at most 10000 active alerts" {
		t.Errorf("Check: %+v", err)
	}
	// Add accepts a stored alert whatever the limit was when it was created.
	if err := b.Add(more); err != nil {
		t.Error(err)
	}
	more.ID, more.Owner = id.New(start), "other"
	if err := b.Check(&more); err != nil {
		t.Errorf("the limit of one owner bound another: %v", err)
	}
}

// TestIndex_FreesMemoryWithTheLastAlert lets alerts of ever new owners and symbols
// come and go in every way they can.
func TestIndex_FreesMemoryWithTheLastAlert(t *testing.T) {
	t.Parallel()
	b := alert.NewIndex()
	for i := range 3_000 {
		a := price(alert.PriceAbove, "1234567890123456789012345")
		if i%4 == 1 {
			a = signal("macd", "cross_up")
		}
		a.Owner, a.Note, a.Expires = principal.Owner("owner-"+strconv.Itoa(i)), "note", after(time.Hour)
		a.Symbol.Name = "COIN" + strconv.Itoa(i)
		a.Instrument = market.Symbol{Venue: "binance", Name: a.Symbol.Name}
		if err := b.Add(a); err != nil {
			t.Fatal(err)
		}
		switch i % 4 {
		case 0:
			b.FirePrice(nil, a.Instrument, 1e30, 1e30, 1e30, start)
			b.RemoveFired(a.ID)
		case 1:
			b.FireSignal(nil, a.Dependency(), keyOf(t, "macd"), ta.Signal{Label: "cross_up", Y: 1}, after(time.Minute), false)
			b.Remove(a.Owner, a.ID)
		case 2:
			b.Remove(a.Owner, a.ID)
		case 3:
			b.Expire(nil, a.Expires, nil)
		}
		if held, _ := b.Held(); held != 0 {
			t.Fatalf("alert %d left %d behind", i, held)
		}
	}
	if _, rows := b.Held(); rows > 600 {
		t.Errorf("%d rows are kept for one alert at a time", rows)
	}
}

func TestIndex_NamesInactiveAlertsByDependency(t *testing.T) {
	t.Parallel()
	onETH := price(alert.PriceAbove, "5")
	onETH.Instrument = eth
	active, above, below, onSignal := price(alert.PriceAbove, "1"), price(alert.PriceAbove, "2"), price(alert.PriceBelow, "0.5"), signal("wavetrend", "cross_up")
	b := indexOf(t, active)
	for _, a := range []alert.Alert{onETH, above, below, onSignal} {
		if err := b.AddInactive(a); err != nil {
			t.Fatal(err)
		}
	}
	got := b.Inactive(func(d alert.Dependency) bool { return d.Instrument == btc })
	if len(got) != 2 || got[0].Dependency != above.Dependency() || len(got[0].Keys) != 2 || got[1].Dependency != onSignal.Dependency() || len(got[1].Keys) != 1 {
		t.Fatalf("inactive: %+v", got)
	}
	key := got[1].Keys[0]
	if owner, there := b.OwnerOf(key); !there || owner != onSignal.Owner {
		t.Errorf("the owner is %q, %v", owner, there)
	}
	if a, ok := b.ActivateKey(key); !ok || a.ID != onSignal.ID {
		t.Errorf("activated %+v, %v", a, ok)
	}
	if _, ok := b.ActivateKey(key); ok {
		t.Error("activated twice")
	}
	b.Remove(onSignal.Owner, onSignal.ID)
	if _, there := b.OwnerOf(key); there {
		t.Error("an alert that was removed has an owner")
	}
	if got := b.Inactive(func(alert.Dependency) bool { return true }); len(got) != 2 {
		t.Errorf("inactive: %+v", got)
	}
}

func TestIndex_RefusesAnIDOfAnotherForm(t *testing.T) {
	t.Parallel()
	good := price(alert.PriceAbove, "1").ID
	for _, id := range []string{"", good[1:], good + "0", strings.ToUpper("abcdef01") + good[8:], "ab-cd-ef" + good[8:], good[:35] + "-", good[:34] + "-0", strings.ReplaceAll(good, "-", "0"), good[:35] + "g"} {
		a := price(alert.PriceAbove, "1")
		a.ID = id
		if alert.NewIndex().Add(a) == nil {
			t.Errorf("%q was added", id)
		}
	}
}

func TestIndex_RemovesTheAlertsOfASymbol(t *testing.T) {
	t.Parallel()
	other := price(alert.PriceAbove, "5")
	other.Instrument = eth
	fires, waits, onSignal := price(alert.PriceAbove, "1"), price(alert.PriceBelow, "0.5"), signal("wavetrend", "cross_up")
	b := indexOf(t, fires, waits, onSignal, other)
	if got := b.FirePrice(nil, btc, 1, 1, 1, start); len(got) != 1 { // and stays pending
		t.Fatalf("fired %v", got)
	}
	isBTC := func(n alert.Dependency) bool { return n.Instrument == btc }
	if got := b.Where(isBTC); len(got) != 3 || slices.ContainsFunc(got, func(a alert.Alert) bool { return a.Instrument != btc }) {
		t.Errorf("selected %v", got)
	}
	b.RemoveWhere(isBTC)
	if b.Len() != 1 || len(b.Uncommitted(nil)) != 0 || b.DependsOn(fires.Dependency()) || b.DependsOn(onSignal.Dependency()) || !b.DependsOn(other.Dependency()) {
		t.Errorf("%d alerts and %v pending are left", b.Len(), b.Uncommitted(nil))
	}
	for a, want := range map[string]bool{fires.ID: false, onSignal.ID: false, other.ID: true, "none": false} {
		if b.Has(a) != want {
			t.Errorf("the index has %s: %v", a, !want)
		}
	}
	for _, a := range []alert.Alert{fires, waits, onSignal} {
		if err := b.Add(a); err != nil { // as the next who adopts them does
			t.Error(err)
		}
	}
	if got := b.FirePrice(nil, btc, 1, 1, 1, start); len(got) != 1 || b.Len() != 4 {
		t.Errorf("fired %v of %d", got, b.Len())
	}
}
