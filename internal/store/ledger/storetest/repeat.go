package storetest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/lib/market"
)

// rules returns an alert of every type that is kept as a rule, and of the first types with
// what only a rule can have.
func rules() []alert.Alert {
	rsi := alert.Condition{
		Type: alert.Value, Left: alert.Operand{Indicator: "rsi", Params: `{"length":7}`, Line: "RSI"}, Op: alert.Less,
		Right: alert.Operand{Number: decimal.RequireFromString("30.5")},
	}
	all := []alert.Condition{
		{Type: alert.PriceCrosses, Threshold: decimal.RequireFromString("70000.000000000000000000000001")},
		rsi,
		{Type: alert.Value, Left: alert.Operand{Price: "close"}, Op: alert.CrossesAbove, Right: alert.Operand{Indicator: "macd", Line: "Signal"}},
		{Type: alert.Value, Left: alert.Operand{Price: "close"}, Op: alert.Enters, Low: decimal.NewFromInt(1), High: decimal.NewFromInt(2)},
		{Type: alert.PercentChange, Bars: 24, Op: alert.GreaterEqual, Threshold: decimal.NewFromInt(5)},
		{Type: alert.NewHigh, Bars: 20},
		{Type: alert.NewLow, Bars: 20},
		{Type: alert.All, Members: []alert.Condition{rsi, {Type: alert.NewHigh, Bars: 3}}},
		{Type: alert.Any, Members: []alert.Condition{rsi, {Type: alert.IndicatorSignal, Indicator: "macd", Signal: "cross_up"}}},
		{Type: alert.IndicatorSignal, Indicator: "rsi", Params: `{"length":7}`, Signal: "rsi_oversold"},
	}
	var alerts []alert.Alert
	for _, c := range all {
		a := price("ann", "1")
		if a.Condition = c; !c.Type.OnPrice() {
			a.Interval, a.BarOpen = market.Hour1, time.Time{}
		}
		alerts = append(alerts, a)
	}
	alerts[1].OnTick = true
	return append(alerts, repeating(price("ann", "1"), 3))
}

// repeating returns an alert that fires n times.
func repeating(a alert.Alert, n int) alert.Alert {
	a.Repeat = alert.Repeat{MaxFires: n, Cooldown: time.Minute}
	return a
}

// nth returns the nth firing of an alert.
func nth(a alert.Alert, n int) alert.Firing {
	f := firing(a)
	f.At = f.At.Add(time.Duration(n) * time.Minute).Truncate(time.Millisecond)
	f.State = alert.State{Fires: n, LastFired: f.At, Side: int8(n%2*2 - 1)}
	return f
}

// after returns an alert as it is after its nth firing.
func after(a alert.Alert, n int) alert.Alert {
	a.State = nth(a, n).State
	return a
}

func rulesComeBack(t *testing.T, s scene) {
	t.Helper()
	all := rules()
	put(t, s, all...)
	same(t, encoded(t, all), encoded(t, collect(t, s.Alerts(t.Context()))))
}

// encoded returns the alerts by ID as text, in which equal numbers are equal.
func encoded(t *testing.T, all []alert.Alert) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for _, a := range all {
		rule, err := a.Rule()
		must(t, err)
		a.Condition = alert.Condition{}
		texts[a.ID] = fmt.Sprintf("%s %+v", rule, a)
	}
	return texts
}

func fireRule(t *testing.T, s scene) {
	t.Helper()
	var want []notify.Entry
	for _, a := range rules() {
		if a.Repeat.Repeats() {
			continue
		}
		put(t, s, a)
		got := fire(t, s, nth(a, 1), nth(a, 1))
		if len(got) != 1 || got[0].Type != a.Condition.Type.String() {
			t.Fatalf("entries %+v of %s", got, a.Condition.Type)
		}
		want = append(want, got...)
	}
	active(t, s)
	log(t, s, want...)
}

func fireAgain(t *testing.T, s scene) {
	t.Helper()
	a := repeating(price("ann", "1"), 3)
	put(t, s, a)
	got := fire(t, s, nth(a, 1))
	active(t, s, after(a, 1))
	got = append(got, fire(t, s, nth(a, 1), nth(a, 2))...)
	active(t, s.reopen(t), after(a, 2))
	got = append(got, fire(t, s, nth(a, 2))...)
	got = append(got, fire(t, s, nth(a, 3))...)
	got = append(got, fire(t, s, nth(a, 3), nth(a, 4))...)
	ascending(t, got)
	if len(got) != 3 {
		t.Fatalf("%d entries", len(got))
	}
	for i := range got {
		if want := nth(a, i+1); string(got[i].Data) != string(want.AppendJSON(nil)) {
			t.Errorf("firing %d is %s", i+1, got[i].Data)
		}
	}
	active(t, s)
	log(t, s, got...)
}

func fireManyAtOnce(t *testing.T, s scene) {
	t.Helper()
	a, b, c := repeating(price("ann", "1"), 100), repeating(price("bob", "1"), 3), price("ann", "2")
	put(t, s, a, b, c)
	all := make([]alert.Firing, 50)
	for n := range all {
		all[n] = nth(a, n+1)
	}
	got := fire(t, s, slices.Concat(all, []alert.Firing{nth(b, 1), firing(c), nth(b, 2), nth(b, 3)})...)
	if len(got) != 54 {
		t.Errorf("%d entries", len(got))
	}
	active(t, s, after(a, 50))
	if read := collect(t, s.Entries(t.Context(), 0)); len(read) != 54 {
		t.Errorf("%d entries are kept", len(read))
	}
}

func fireAgainRace(t *testing.T, s scene) {
	t.Helper()
	const firings, callers = 10, 5
	a := repeating(price("ann", "1"), firings+1)
	put(t, s, a)
	var won atomic.Int64
	for n := range firings {
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				got, err := s.FireAlerts(t.Context(), []alert.Firing{nth(a, n+1)})
				if err != nil {
					t.Error(err)
				}
				won.Add(int64(len(got)))
			})
		}
		wg.Wait()
	}
	if won.Load() != firings {
		t.Errorf("%d firings were stored %d times", firings, won.Load())
	}
	active(t, s, after(a, firings))
	must(t, s.CancelAlert(t.Context(), caller("ann"), a.ID))
	if got := fire(t, s, nth(a, firings+1)); len(got) != 0 {
		t.Errorf("a cancelled alert fired: %+v", got)
	}
	active(t, s)
}
