package alert_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"candela/internal/alerting/alert"
	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/pine"
	"candela/lib/ta"
)

// shelf is a library of scripts by name.
type shelf map[string]*ta.Def

func (s shelf) Script(name string) (*ta.Def, error) {
	name, _, _ = strings.Cut(name, "@")
	return s[name], nil
}
func (s shelf) Inline(string) (*ta.Def, error) { return nil, nil }
func (s shelf) Stored() []*ta.Def              { return nil }
func (s shelf) Pin(*ta.Def) error              { return nil }

// scripts compiles scripts, each the body of an indicator.
func scripts(tb testing.TB, bodies map[string]string) ta.Library {
	tb.Helper()
	all := shelf{}
	for name, body := range bodies {
		def, err := pine.Compile(name, "//@version=6\nindicator(\"x\")\n"+body+"\nalertcondition(close > open, \"up\")\n", nil)
		if err != nil {
			tb.Fatal(err)
		}
		def.Version = "0123456789ab"
		all[name] = def
	}
	return ta.Library{Scripts: all}
}

func onScript(name, params string, interval market.Interval) alert.Alert {
	a := price(alert.PriceAbove, "0")
	a.Interval = interval
	a.Condition = alert.Condition{Type: alert.IndicatorSignal, Indicator: name, Params: params, Signal: "up"}
	return a
}

func TestNormalize_RefusesAScriptThatNeedsBarsAnAlertDoesNotHave(t *testing.T) {
	t.Parallel()
	l := scripts(t, map[string]string{
		"day":   "plot(request.security(syminfo.tickerid, \"D\", close))",
		"five":  "plot(request.security(syminfo.tickerid, \"5\", close))",
		"inner": "plot(array.size(request.security_lower_tf(syminfo.tickerid, \"15\", close)))",
		"other": "plot(request.security(\"BINANCE:ETHUSDT\", \"60\", close))",
		"odd":   "plot(request.security(\"no such thing\", \"60\", close))",
	})
	for _, tc := range []struct {
		name     string
		interval market.Interval
		refused  bool
	}{
		{"day", market.Hour1, false},
		{"day", market.Day1, false},
		{"day", market.Week1, true},
		{"five", market.Minute1, false},
		{"five", market.Minute5, false},
		{"five", market.Hour1, true},
		{"inner", market.Minute15, true},
		{"inner", market.Hour1, true},
		{"other", market.Hour1, true},
		{"odd", market.Hour1, true},
	} {
		a := onScript(tc.name, "", tc.interval)
		err := fault.Of(a.Normalize(l))
		if (err != nil) != tc.refused {
			t.Errorf("%s on %s: %v, refused should be %v", tc.name, tc.interval, err, tc.refused)
		} else if err != nil && (err.Field != "condition.indicator_signal.indicator" || err.Value != tc.name || !strings.Contains(err.Allowed, "alert")) {
			t.Errorf("%s on %s is refused with %+v", tc.name, tc.interval, err)
		}
	}
}

func TestCheck_BoundsTheScriptsOfAnOwner(t *testing.T) {
	t.Parallel()
	l := scripts(t, map[string]string{"mean": "n = input.int(9, \"Length\")\nplot(ta.sma(close, n))"})
	next := func(n int) alert.Alert {
		a := onScript("mean", "", market.Minute1)
		if n > 0 {
			a.Condition.Params = fmt.Sprintf(`{"n":%d}`, 20+n)
		}
		if err := a.Normalize(l); err != nil {
			t.Fatal(err)
		}
		return a
	}
	b := alert.NewIndexOf(l)
	added, err := addUntilRefused(t, b, alert.MaxScripts+1, next)
	if added != alert.MaxScripts || err == nil || err.Code != "too_many_indicators" || err.Value != strconv.Itoa(alert.MaxScripts) || !strings.Contains(err.Message, "Pine scripts") {
		t.Fatalf("%d streams of scripts were taken, then %+v", added, err)
	}
	same, other := next(3), next(100)
	if err := b.Check(&same); err != nil {
		t.Errorf("an alert that shares a stream: %v", err)
	}
	for _, a := range b.List("local")[:1] {
		b.Remove("local", a.ID)
	}
	if err := b.Check(&other); err != nil {
		t.Errorf("after one was removed: %v", err)
	}
	other.Owner = "somebody else"
	if err := b.Check(&other); err != nil {
		t.Errorf("another owner: %v", err)
	}
}
