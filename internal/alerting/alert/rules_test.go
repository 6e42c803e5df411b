package alert_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/id"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

func TestFirePrice_AlreadyTrueFiresAtOnce(t *testing.T) {
	t.Parallel()
	old, fresh := price(alert.PriceAbove, "200"), price(alert.PriceAbove, "100")
	b := indexOf(t, old, fresh)
	got := b.FirePrice(nil, btc, 150, 150, 150, start) // the price when fresh was set
	if diff := cmp.Diff([]alert.Firing{{Alert: fresh, Value: 150, At: start}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFirePrice_AppendsInTheOrderReached(t *testing.T) {
	t.Parallel()
	high, low, under, top := price(alert.PriceAbove, "30"), price(alert.PriceAbove, "10"), price(alert.PriceBelow, "20"), price(alert.PriceBelow, "25")
	kept := alert.Firing{Value: 1}
	got := indexOf(t, high, low, under, top).FirePrice([]alert.Firing{kept}, btc, 5, 40, 40, start)
	want := []alert.Firing{kept, {Alert: low, Value: 40, At: start}, {Alert: high, Value: 40, At: start}, {Alert: top, Value: 5, At: start}, {Alert: under, Value: 5, At: start}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFirePrice_CostsNothingWhenNothingFires(t *testing.T) {
	b := indexOf(t, price(alert.PriceAbove, "100"), price(alert.PriceBelow, "50"), signal("macd", "cross_up"))
	buf := make([]alert.Firing, 0, 4)
	if n := testing.AllocsPerRun(100, func() {
		buf = b.FirePrice(buf[:0], btc, 60, 90, 90, start)
		buf = b.FirePrice(buf[:0], eth, 60, 90, 90, start)
	}); n != 0 || len(buf) != 0 {
		t.Errorf("%v allocations, %d firings", n, len(buf))
	}
}

func TestFireBar_CountsWhatHappenedAfterCreation(t *testing.T) {
	t.Parallel()
	bar := market.Bar{O: 95, H: 110, L: 90, C: 100}
	cases := map[string]struct {
		kind      alert.Type
		threshold string
		opened    time.Duration // of the bar, after the alert was made
		value     float64       // 0 for no firing
	}{
		"a bar that opened later counts by its high":      {alert.PriceAbove, "105", time.Second, 110},
		"a bar that opened with the alert is later":       {alert.PriceAbove, "105", 0, 110},
		"a bar that opened later counts by its low":       {alert.PriceBelow, "95", time.Second, 90},
		"the high of a bar that opened before is no news": {alert.PriceAbove, "105", -time.Second, 0},
		"the low of a bar that opened before is no news":  {alert.PriceBelow, "95", -time.Second, 0},
		"its close is, from below":                        {alert.PriceAbove, "100", -time.Second, 100},
		"its close is, from above":                        {alert.PriceBelow, "100", -time.Second, 100},
		"a bar that closed with the alert is old":         {alert.PriceAbove, "1", -time.Minute, 0},
		"a bar that closed a second after counts":         {alert.PriceAbove, "1", -59 * time.Second, 100},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, bar := price(tc.kind, tc.threshold), bar
			opened := after(tc.opened)
			bar.T = opened.Unix()
			closed := opened.Add(time.Minute)
			var want []alert.Firing
			if tc.value != 0 {
				want = []alert.Firing{{Alert: a, Value: tc.value, At: closed, Late: true}}
			}
			if diff := cmp.Diff(want, indexOf(t, a).FireBar(nil, btc, bar, closed, true)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := indexOf(t).FireBar(nil, eth, bar, start, true); got != nil {
		t.Errorf("an empty index fired %v", got)
	}
}

// Of the bar that had not reached the threshold when the alert was made, the high
// and low are news.
func TestFireBar_CountsTheWholeBarOfBarOpen(t *testing.T) {
	t.Parallel()
	bar := market.Bar{T: after(-20 * time.Second).Unix(), O: 95, H: 110, L: 90, C: 100}
	for since, want := range map[time.Duration]int{-20 * time.Second: 2, -21 * time.Second: 2, -19 * time.Second: 0, -24 * time.Hour: 0} {
		up, down := price(alert.PriceAbove, "105"), price(alert.PriceBelow, "95")
		up.BarOpen, down.BarOpen = after(since), after(since)
		b := indexOf(t, up, down)
		if got := b.FireBar(nil, btc, bar, after(time.Minute), true); len(got) != want {
			t.Errorf("a bar of 20 s before, since %v: %d fired, want %d", since, len(got), want)
		}
	}
}

func TestSignal_OldSignalsNeverFireNewAlerts(t *testing.T) {
	t.Parallel()
	old, fresh := signal("macd", "cross_up"), signal("macd", "cross_up")
	fresh.Created = after(4 * time.Hour)
	b := indexOf(t, fresh, old)
	key := keyOf(t, "macd")
	// The bar closed when fresh was set; it is evaluated a moment later.
	got := b.FireSignal(nil, old.Dependency(), key, ta.Signal{Label: "cross_up", Y: 1}, after(4*time.Hour), false)
	if diff := cmp.Diff([]alert.Firing{{Alert: old, Value: 1, At: after(4 * time.Hour)}}, got); diff != "" {
		t.Error(diff)
	}
	if got := b.FireSignal(nil, old.Dependency(), key, ta.Signal{Label: "cross_up", Y: 2}, after(8*time.Hour), false); len(got) != 1 || got[0].ID != fresh.ID {
		t.Errorf("the next bar fired %v", got)
	}
	for name, n := range map[string]alert.Dependency{
		"another interval": {Instrument: btc, Interval: market.Hour1}, "another instrument": {Instrument: eth, Interval: market.Hour4},
	} {
		if got := b.FireSignal(nil, n, key, ta.Signal{Label: "cross_up", Y: 1}, after(9*time.Hour), false); got != nil {
			t.Errorf("%s fired %v", name, got)
		}
	}
	if got := b.FireSignal(nil, old.Dependency(), "rsi()", ta.Signal{Label: "cross_up", Y: 1}, after(9*time.Hour), false); got != nil {
		t.Errorf("another indicator fired %v", got)
	}
}

func TestExpire_RemovesExpiredAlerts(t *testing.T) {
	t.Parallel()
	never, second, first := price(alert.PriceAbove, "100"), price(alert.PriceBelow, "50"), signal("macd", "cross_up")
	second.Expires, first.Expires = after(2*time.Minute), after(time.Minute)
	b := indexOf(t, never, second, first)
	if next, some := b.NextExpiry(); !some || !next.Equal(first.Expires) {
		t.Errorf("NextExpiry is %v %v", next, some)
	}
	if got := b.Expire(nil, first.Expires.Add(-time.Millisecond), nil); len(got) != 0 {
		t.Errorf("too early: %v", got)
	}
	if diff := cmp.Diff([]alert.Alert{first, second}, b.Expire(nil, after(time.Hour), nil)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]alert.Alert{never}, b.List("local")); diff != "" {
		t.Error(diff)
	}
	if _, some := b.NextExpiry(); some {
		t.Error("something is to expire still")
	}
}

// An outage is caught up bar by bar, and only then does Expire run: what came
// true in time fires, what came true after the expiry does not.
func TestExpire_BarsBeforeItCountBarsAfterItDoNot(t *testing.T) {
	t.Parallel()
	a := price(alert.PriceAbove, "100")
	a.Expires = after(10 * time.Minute)
	bar := market.Bar{T: after(5 * time.Minute).Unix(), H: 101, L: 99, C: 100}
	if got := indexOf(t, a).FireBar(nil, btc, bar, after(6*time.Minute), true); len(got) != 1 {
		t.Error("a bar in time did not fire it")
	}
	if got := indexOf(t, a).FireBar(nil, btc, bar, a.Expires, true); len(got) != 0 {
		t.Error("a bar that closed at the expiry fired it")
	}
	if got := indexOf(t, a).FirePrice(nil, btc, 101, 101, 101, a.Expires); len(got) != 0 {
		t.Error("a tick at the expiry fired it")
	}
}

func TestRemoveFired_IgnoresAnUnknownAlert(t *testing.T) {
	t.Parallel()
	a := price(alert.PriceAbove, "100")
	b := indexOf(t, a)
	b.FirePrice(nil, btc, 101, 101, 101, start)
	b.Remove("local", a.ID) // cancelled while the commit was under way
	b.RemoveFired(a.ID)
	b.RemoveFired("no id at all")
	if b.Len() != 0 || len(b.Uncommitted(nil)) != 0 {
		t.Errorf("Len %d, pending %v", b.Len(), b.Uncommitted(nil))
	}
}

func TestDependencies_AreCounted(t *testing.T) {
	t.Parallel()
	first, second := signal("macd", "cross_up"), signal("wavetrend", "cross_up")
	onPrice := price(alert.PriceBelow, "1")
	b := indexOf(t, first, second, onPrice)
	bars, quote := first.Dependency(), onPrice.Dependency()
	b.Remove("local", first.ID)
	if !b.DependsOn(bars) || !b.DependsOn(quote) {
		t.Error("a need was dropped too early")
	}
	b.Remove("local", second.ID)
	b.Remove("local", onPrice.ID)
	if b.DependsOn(bars) || b.DependsOn(quote) {
		t.Error("a need outlived its alerts")
	}
	for n := range b.Needs() {
		t.Errorf("%v is needed by nobody", n)
	}
}

func TestCheck_Refuses(t *testing.T) {
	t.Parallel()
	there := price(alert.PriceAbove, "1")
	b := indexOf(t, there)
	with := func(a alert.Alert, change func(*alert.Alert)) alert.Alert { change(&a); return a }
	cases := map[string]struct {
		alert alert.Alert
		want  string
	}{
		"the same alert again":     {there, "in the index already"},
		"an id of another form":    {with(there, func(a *alert.Alert) { a.ID = "alert-1" }), "not of the form"},
		"an id in capitals":        {with(there, func(a *alert.Alert) { a.ID = strings.ToUpper(id.New(start)) }), "not of the form"},
		"an id without dashes":     {with(there, func(a *alert.Alert) { a.ID = strings.Repeat("0", 36) }), "not of the form"},
		"no owner":                 {with(price(alert.PriceAbove, "1"), func(a *alert.Alert) { a.Owner = "" }), "lacks owner"},
		"no condition":             {with(price(alert.PriceAbove, "1"), func(a *alert.Alert) { a.Condition.Type = 0 }), "no known type"},
		"a price no float reaches": {price(alert.PriceAbove, "1e400"), "condition.price_above"},
		"a price with an interval": {with(price(alert.PriceAbove, "1"), func(a *alert.Alert) { a.Interval = market.Hour1 }), "interval"},
		"a signal without one":     {with(signal("macd", "cross_up"), func(a *alert.Alert) { a.Interval = 0 }), "interval is required"},
		"an unknown indicator":     {signal("mcad", "cross_up"), `did you mean "macd"`},
		"a signal it never gives":  {signal("macd", "cross_over"), "condition.indicator_signal.signal"},
	}
	for name, tc := range cases {
		err := b.Check(&tc.alert)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: Check says %v", name, err)
		}
		if add := b.Add(tc.alert); add == nil || add.Error() != err.Error() {
			t.Errorf("%s: Add says %v", name, add)
		}
	}
	if b.Len() != 1 || b.Count("local") != 1 {
		t.Errorf("a refused alert is in the index: %d", b.Len())
	}
	var wrong *fault.Error
	big := price(alert.PriceBelow, "-1e4000000")
	if wrong = fault.Of(b.Check(&big)); wrong == nil || wrong.Value != "-1e4000000" {
		t.Errorf("Check: %+v", wrong)
	}
}

func TestAdd_KeepsTheNameOfTheCatalogue(t *testing.T) {
	t.Parallel()
	b := indexOf(t, signal("WT", "cross_up"))
	if got := b.List("local")[0].Condition.Indicator; got != "wavetrend" {
		t.Errorf("the alert waits for %q", got)
	}
}

func TestToFloat_Extremes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"0": 0, "1e-400": 0, "5e-324": 5e-324, "1.7976931348623157e308": math.MaxFloat64, "1e400": math.Inf(1),
		"0e2000000000": 0, "-1e-2000000000": math.Copysign(0, -1), "99999999999999999999": 1e20, "12345678901234567": 12345678901234568,
	} {
		if got := alert.Nearest(decimal.RequireFromString(text)); got != want {
			t.Errorf("%s is %v, want %v", text, got, want)
		}
	}
}

func TestParseType(t *testing.T) {
	t.Parallel()
	for _, name := range alert.Types() {
		if kind, ok := alert.ParseType(name); !ok || kind.String() != name {
			t.Errorf("%s is %v", name, kind)
		}
	}
	if kind, ok := alert.ParseType(""); ok || kind.String() != "" {
		t.Errorf("no name is %v", kind)
	}
}

// keyOf returns the key of an indicator with the catalogue's defaults.
func keyOf(tb testing.TB, name string) string {
	tb.Helper()
	s, err := ta.ResolveAlert(name)
	if err != nil {
		tb.Fatal(err)
	}
	return s.Key()
}
