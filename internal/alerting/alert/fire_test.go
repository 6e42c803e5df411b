package alert_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"candela/internal/alerting/alert"
	"candela/lib/market"
	"candela/lib/ta"
)

func TestFirePrice_FiresWhatThePriceReached(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		kind      alert.Type
		threshold string
		lo, hi    float64
		fires     bool
		value     float64
	}{
		"above: the price exceeds it":              {alert.PriceAbove, "100", 99, 101, true, 101},
		"above: the price reaches it":              {alert.PriceAbove, "100", 99, 100, true, 100},
		"above: the price stays below":             {alert.PriceAbove, "100", 90, math.Nextafter(100, 0), false, 0},
		"below: the price falls below":             {alert.PriceBelow, "100", 99, 101, true, 99},
		"below: the price reaches it":              {alert.PriceBelow, "100", 100, 101, true, 100},
		"below: the price stays above":             {alert.PriceBelow, "100", math.Nextafter(100, 200), 110, false, 0},
		"a tenth is reached by a tenth":            {alert.PriceAbove, "0.1", 0.1, 0.1, true, 0.1},
		"a tenth from above":                       {alert.PriceBelow, "0.1", 0.1, 0.1, true, 0.1},
		"0.3 is not 0.1 + 0.2 but is reached":      {alert.PriceAbove, "0.3", 0.3, 0.30000000000000004, true, 0.30000000000000004},
		"one step short of 0.3":                    {alert.PriceAbove, "0.3", 0, math.Nextafter(0.3, 0), false, 0},
		"trailing zeros do not matter":             {alert.PriceAbove, "0.10000", 0.1, 0.1, true, 0.1},
		"a threshold between two floats":           {alert.PriceAbove, "0.1000000000000000055511151231257827", 0.1, 0.1, true, 0.1},
		"more digits than a float has":             {alert.PriceBelow, "64123.4500000000000000000000001", 64123.45, 64123.45, true, 64123.45},
		"satoshis":                                 {alert.PriceAbove, "0.00000001", 1e-8, 1e-8, true, 1e-8},
		"a price below zero":                       {alert.PriceBelow, "-37.63", -37.63, -30, true, -37.63},
		"above zero from below zero":               {alert.PriceAbove, "-37.63", -40, -37.63, true, -37.63},
		"zero":                                     {alert.PriceBelow, "0", 0, 1, true, 0},
		"no price":                                 {alert.PriceAbove, "0.1", math.NaN(), math.NaN(), false, 0},
		"no price, from above":                     {alert.PriceBelow, "0.1", math.NaN(), math.NaN(), false, 0},
		"a price of half a cent against two cents": {alert.PriceBelow, "0.02", 0.005, 0.005, true, 0.005},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := price(tc.kind, tc.threshold)
			got := indexOf(t, a).FirePrice(nil, btc, tc.lo, tc.hi, tc.hi, after(time.Second))
			var want []alert.Firing
			if tc.fires {
				want = []alert.Firing{{Alert: a, Value: tc.value, At: after(time.Second)}}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFirePrice_FiresOnce(t *testing.T) {
	t.Parallel()
	b := indexOf(t, price(alert.PriceAbove, "100"))
	if got := b.FirePrice(nil, btc, 101, 101, 101, start); len(got) != 1 {
		t.Fatalf("fired %d times", len(got))
	}
	if got := b.FirePrice(nil, btc, 101, 101, 101, start); len(got) != 0 {
		t.Errorf("fired again: %v", got)
	}
}

func TestFirePrice_OtherInstrumentsStayQuiet(t *testing.T) {
	t.Parallel()
	b := indexOf(t, price(alert.PriceAbove, "100"))
	if got := b.FirePrice(nil, eth, 101, 101, 101, start); len(got) != 0 {
		t.Errorf("fired %v", got)
	}
}

func TestFirePrice_FailedCommitIsTriedAgain(t *testing.T) {
	t.Parallel()
	a := price(alert.PriceAbove, "100")
	a.Expires = after(time.Minute)
	b := indexOf(t, a)
	first := b.FirePrice(nil, btc, 101, 101, 101, after(time.Second))
	// The commit fails. The price falls back and the alert's time runs out.
	if got := b.FirePrice(nil, btc, 90, 90, 90, after(2*time.Second)); len(got) != 0 {
		t.Errorf("fired again: %v", got)
	}
	if got := b.Expire(nil, after(time.Hour), nil); len(got) != 0 {
		t.Errorf("a firing expired: %v", got)
	}
	if diff := cmp.Diff(first, b.Uncommitted(nil)); diff != "" {
		t.Errorf("what is tried again is not what fired: %s", diff)
	}
	if diff := cmp.Diff([]alert.Alert{a}, b.List("local")); diff != "" {
		t.Errorf("the store has the alert, the list has not: %s", diff)
	}
	b.RemoveFired(a.ID)
	if b.Len() != 0 || len(b.Uncommitted(nil)) != 0 || b.DependsOn(a.Dependency()) {
		t.Error("something is left after the commit")
	}
}

func TestSignal_CountsBarsThatCloseAfterCreation(t *testing.T) {
	t.Parallel()
	a := signal("wavetrend", "cross_up")
	b := indexOf(t, a)
	var key string
	for g := range b.Groups(a.Dependency()) {
		key = g.Key
		if g.Selection.Def.Name != "wavetrend" || g.Selection.Key() != g.Key {
			t.Errorf("group %s of %s", g.Key, g.Selection.Def.Name)
		}
	}
	if got := b.FireSignal(nil, a.Dependency(), key, ta.Signal{Label: "cross_up", Y: 12.5}, start, false); len(got) != 0 {
		t.Error("a bar that closed when the alert was made fired it")
	}
	if got := b.FireSignal(nil, a.Dependency(), key, ta.Signal{Label: "cross_down", Y: 12.5}, after(time.Hour), false); len(got) != 0 {
		t.Error("another signal fired it")
	}
	got := b.FireSignal(nil, a.Dependency(), key, ta.Signal{Label: "cross_up", Y: 12.5}, after(time.Hour), true)
	if diff := cmp.Diff([]alert.Firing{{Alert: a, Value: 12.5, At: after(time.Hour), Late: true}}, got); diff != "" {
		t.Error(diff)
	}
}

// TestSignal_HasTheWordsOfItsScript holds that what a script says reaches the record, also of a firing that is committed later
// and of an alert that fires again.
func TestSignal_HasTheWordsOfItsScript(t *testing.T) {
	t.Parallel()
	a, again := signal("wavetrend", "cross_up"), signal("wavetrend", "cross_up")
	again.Repeat = alert.Repeat{MaxFires: 3}
	b := indexOf(t, a, again)
	said := ta.Signal{Label: "cross_up", Y: 12.5, Text: "go \"now\""}
	var key string
	for g := range b.Groups(a.Dependency()) {
		key = g.Key
	}
	fired := b.FireSignal(nil, a.Dependency(), key, said, after(time.Hour), false)
	b.SetRow(a.Dependency(), key, alert.Row{Signals: []ta.Signal{said}}, after(time.Hour))
	bar := market.Bar{T: start.Unix(), O: 1, H: 1, L: 1, C: 1}
	fired = b.FireClose(fired, a.Dependency(), bar, market.Bar{}, after(time.Hour), false)
	if len(fired) != 2 {
		t.Fatalf("%d firings", len(fired))
	}
	for _, all := range [][]alert.Firing{fired, b.Uncommitted(nil)} {
		for _, f := range all {
			read, ok := alert.ParseFired(f.AppendJSON(nil))
			if !ok || read.Text != said.Text || !strings.Contains(string(f.AppendJSON(nil)), `"message":"go \"now\""`) {
				t.Errorf("%s", f.AppendJSON(nil))
			}
		}
	}
}

// TestFireClose_OnceABar evaluates a bar twice, as when an alert with a longer history comes beside. Bars of a replay close
// at fractions of a millisecond: each fires an alert that repeats once, also after the index was built again.
func TestFireClose_OnceABar(t *testing.T) {
	t.Parallel()
	a := signal("wavetrend", "cross_up")
	a.Repeat = alert.Repeat{MaxFires: 9}
	b := indexOf(t, a)
	n := a.Dependency()
	var key string
	for g := range b.Groups(n) {
		key = g.Key
	}
	fire := func(b *alert.Index, closed time.Time) []alert.Firing {
		b.SetRow(n, key, alert.Row{Signals: []ta.Signal{{Label: "cross_up", Y: 1}}}, closed)
		return b.FireClose(nil, n, market.Bar{T: start.Unix(), C: 1}, market.Bar{}, closed, false)
	}
	first, second := after(time.Hour+1234567), after(time.Hour+1534567)
	got := fire(b, first)
	if len(got) != 1 {
		t.Fatalf("%d firings", len(got))
	}
	b.Committed(&got[0])
	if again := fire(b, first); len(again) != 0 {
		t.Error("the same bar fires again")
	}
	stored := got[0].Alert
	stored.State = got[0].State
	if again := fire(indexOf(t, stored), first); len(again) != 0 {
		t.Error("the same bar fires again after a restart")
	}
	if next := fire(b, second); len(next) != 1 {
		t.Error("the next bar, 0.3 ms later, does not fire")
	}
}

func TestGroups_OnePerIndicator(t *testing.T) {
	t.Parallel()
	b := indexOf(t, signal("wavetrend", "cross_up"), signal("wavetrend", "cross_down"), signal("wavetrend", "cross_up"), signal("macd", "cross_up"))
	var names []string
	for g := range b.Groups(alert.Dependency{Instrument: btc, Interval: market.Hour4}) {
		names = append(names, g.Selection.Def.Name)
	}
	if diff := cmp.Diff([]string{"macd", "wavetrend"}, names); diff != "" {
		t.Error(diff)
	}
}

// TestFirePrice_ManyComeAndGo lets a heap grow and shrink far beyond what the
// property test draws.
func TestFirePrice_ManyComeAndGo(t *testing.T) {
	t.Parallel()
	const n = 5_000
	random, b := rand.New(rand.NewPCG(5, 6)), alert.NewIndex()
	waiting, gone := make(map[int][]string), []string(nil) // by threshold; to be removed
	for range n {
		threshold := 1 + random.IntN(n/2)
		a := price(alert.PriceAbove, strconv.Itoa(threshold))
		a.Expires = after(time.Duration(1+random.IntN(n)) * time.Second)
		if err := b.Add(a); err != nil {
			t.Fatal(err)
		}
		if random.IntN(2) == 0 {
			waiting[threshold] = append(waiting[threshold], a.ID)
		} else {
			gone = append(gone, a.ID)
		}
	}
	for _, id := range gone {
		b.Remove("local", id)
	}
	for at := range n/2 + 1 {
		var got []string
		for _, f := range b.FirePrice(nil, btc, float64(at), float64(at), float64(at), start) {
			got = append(got, f.ID)
			b.RemoveFired(f.ID)
		}
		slices.Sort(got)
		slices.Sort(waiting[at])
		if !slices.Equal(waiting[at], got) {
			t.Fatalf("%d fired %v, want %v", at, got, waiting[at])
		}
	}
	if _, some := b.NextExpiry(); some || b.Len() != 0 || b.DependsOn(alert.Dependency{Instrument: btc}) {
		t.Errorf("%d are left", b.Len())
	}
}
