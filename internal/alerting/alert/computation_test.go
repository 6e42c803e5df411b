package alert_test

import (
	"fmt"
	"strconv"
	"testing"

	"candela/internal/alerting/alert"
	"candela/internal/kit/id"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta"
)

// onLine returns an alert on a line of an indicator of 1m bars.
func onLine(tb testing.TB, name, params string) alert.Alert {
	tb.Helper()
	a := price(alert.PriceAbove, "0")
	a.Interval = market.Minute1
	a.Condition = alert.Condition{
		Type: alert.Value, Op: alert.Greater,
		Left: alert.Operand{Indicator: name, Params: params}, Right: alert.Operand{Number: dec("30")},
	}
	if err := a.Normalize(ta.Library{}); err != nil {
		tb.Fatal(err)
	}
	return a
}

// addUntilRefused adds alerts, each with another length, until one is refused, and returns how many
// were added and the error.
func addUntilRefused(tb testing.TB, b *alert.Index, most int, next func(n int) alert.Alert) (int, *fault.Error) {
	tb.Helper()
	for n := range most {
		a := next(n)
		if err := b.Check(&a); err != nil {
			return n, fault.Of(err)
		}
		if err := b.Add(a); err != nil {
			tb.Fatal(err)
		}
	}
	return most, nil
}

func TestCheck_BoundsTheComputationsOfAnOwner(t *testing.T) {
	t.Parallel()
	length := func(n int) string { return fmt.Sprintf(`{"length":%d}`, n+2) }
	for name, tc := range map[string]struct {
		limit int
		next  func(n int) alert.Alert
	}{
		"values": {alert.MaxComputations, func(n int) alert.Alert { return onLine(t, "sma", fmt.Sprintf(`{"period":%d}`, n%400+2)) }},
		"values on ticks": {alert.MaxTicking, func(n int) alert.Alert {
			a := onLine(t, "rsi", length(n))
			a.OnTick = true
			return a
		}},
		"percent changes": {alert.MaxComputations, func(n int) alert.Alert {
			a := onLine(t, "rsi", "")
			a.Condition = alert.Condition{Type: alert.PercentChange, Bars: n + 1, Op: alert.Greater, Threshold: dec("5")}
			return a
		}},
		"values on longer bars": {alert.MaxComputations, func(n int) alert.Alert {
			a := onLine(t, "rsi", "")
			plain := alert.Condition{Type: alert.PriceAbove, Threshold: dec("5")}
			longer := alert.Condition{Type: alert.NewHigh, Bars: n/2 + 1, Interval: []market.Interval{market.Hour1, market.Hour4}[n%2]}
			a.Condition = alert.Condition{Type: alert.All, Members: []alert.Condition{plain, longer}}
			return a
		}},
		"new highs": {alert.MaxComputations, func(n int) alert.Alert {
			a := onLine(t, "rsi", "")
			a.Condition = alert.Condition{Type: alert.NewHigh, Bars: n + 1}
			return a
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := alert.NewIndex()
			intervals := []market.Interval{market.Minute1, market.Hour1, market.Hour4}
			next := func(n int) alert.Alert {
				a := tc.next(n)
				if name == "values" {
					a.Interval = intervals[n/400%3] // each interval counts
				}
				return a
			}
			n, err := addUntilRefused(t, b, tc.limit+1, next)
			if n != tc.limit || err == nil || err.Code != "too_many_indicators" || err.Value != strconv.Itoa(tc.limit) {
				t.Fatalf("%d were accepted, then %+v", n, err)
			}
			same := next(0)
			same.ID, same.Condition.Threshold = id.New(start), dec("7")
			if err := b.Check(&same); err != nil {
				t.Errorf("an alert that shares a computation: %v", err)
			}
			other := next(n)
			other.Owner = "other"
			if err := b.Check(&other); err != nil {
				t.Errorf("an alert of another owner: %v", err)
			}
			for _, a := range b.List("local") {
				b.Remove("local", a.ID)
			}
			if held, _ := b.Held(); held != 0 {
				t.Errorf("the empty index holds %d", held)
			}
			if err := b.Check(&same); err != nil {
				t.Errorf("after all were removed: %v", err)
			}
		})
	}
}
