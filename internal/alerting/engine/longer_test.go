package engine_test

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/evaluate"
	"candela/internal/kit/budget"
	"candela/lib/market"
	"candela/lib/ta"
)

// history returns closed bars of BTC up to now, as the venue has them.
func (s *scene) history(i market.Interval, n int) *market.Bars {
	bars := market.MakeBars(n, false)
	step := i.Seconds()
	for t := time.Now().Unix()/step*step - int64(n)*step; t < time.Now().Unix()/step*step; t += step {
		bars.Append(s.venue.closed(symbol("BTC"), i, t))
	}
	return &bars
}

// expected returns when a repeating alert that was set at a time fires, by the bars of the past, and with which value.
func (s *scene) expected(a alert.Alert, since time.Time) map[time.Time]float64 {
	s.t.Helper()
	if err := a.Normalize(s.library); err != nil {
		s.t.Fatal(err)
	}
	bars, probe := s.history(a.Interval, 900), alert.NewProbe(s.library, &a)
	longer, evaluators := map[market.Interval]*evaluate.Longer{}, map[string]*evaluate.Evaluator{}
	for _, i := range a.Condition.Longer() {
		longer[i] = &evaluate.Longer{Interval: i, Own: a.Interval, Bars: s.history(i, 900)}
	}
	for g := range probe.Groups() {
		env := ta.Env{Interval: cmp.Or(g.Longer, a.Interval), Budget: (*budget.Pool)(nil).Run(s.t.Context(), "ann")}
		evaluators[g.Key] = evaluate.New(g.Selection, env)
	}
	want, fired := map[time.Time]float64{}, false
	for i := 600; i < bars.Len(); i++ {
		seen, closed := bars.Slice(0, i+1), time.Unix(bars.T[i], 0).Add(a.Interval.Duration()).UTC()
		var newest []alert.LongerBar
		for _, on := range longer {
			bar, _ := on.At(bars.At(i), bars.At(i-1), func(t int64) time.Time { return time.Unix(t, 0) })
			newest = append(newest, bar)
		}
		for g := range probe.Groups() {
			if on := longer[g.Longer]; on == nil {
				probe.SetRow(g.Key, *evaluators[g.Key].Last(&seen), closed)
			} else {
				bar, n := on.At(bars.At(i), bars.At(i-1), func(t int64) time.Time { return time.Unix(t, 0) })
				known := on.Bars.Slice(0, n)
				probe.SetRow(g.Key, *evaluators[g.Key].Newest(&known), bar.Closed)
			}
		}
		probe.SetLonger(newest)
		v, known := probe.Evaluate(bars.At(i), bars.At(i-1), closed)
		if closed.After(since) && known && (v.Rises || v.Holds && !fired) {
			want[closed], fired = v.Value, true
		}
	}
	return want
}

// checkFired holds that what an alert fired is what it had to, each firing once.
func (s *scene) checkFired(all []firing, a alert.Alert, want map[time.Time]float64, late func(time.Time) bool) {
	s.t.Helper()
	n := 0
	for _, f := range all {
		if f.AlertID != a.ID {
			continue
		}
		n++
		value, due := want[f.Triggered.UTC()]
		if !due || math.Float64bits(value) != math.Float64bits(f.Value) {
			s.t.Errorf("it fired at %s with %v, want %v (%v)", f.Triggered, f.Value, value, due)
		}
		if f.Late != late(f.Triggered) {
			s.t.Errorf("the firing at %s is late: %v", f.Triggered, f.Late)
		}
	}
	if n != len(want) || n < 3 {
		s.t.Errorf("it fired %d times, want %d", n, len(want))
	}
}

func never(time.Time) bool { return false }

// TestLonger_FiresAtTheBarsOfAReplay has alerts over two and three intervals fire live at the bars at which a replay of the past has
// them fire, with the same values.
func TestLonger_FiresAtTheBarsOfAReplay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, waves)
		defer func() { s.stop() }()
		var set []alert.Alert
		for _, what := range []string{"all of 5m", "any of 5m", "all of 5m, 1h"} {
			set = append(set, s.set(alert.Alert{Symbol: symbol("BTC"), Interval: market.Minute1, Condition: everyCondition()[what], Repeat: alert.Repeat{MaxFires: 100}}))
		}
		began := time.Now()
		time.Sleep(3 * time.Hour)
		fired := s.fired()
		for _, a := range set {
			s.checkFired(fired, a, s.expected(a, began), never)
		}
	})
}

// TestLonger_WaitsForABarThatComesLater holds that an alert waits for a longer bar that the venue has later, and is late if that is
// more than 30 seconds; no other alert waits. What waited when the engine stopped fires after a restart.
func TestLonger_WaitsForABarThatComesLater(t *testing.T) {
	t.Parallel()
	for _, behind := range []time.Duration{20 * time.Second, 130 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := newScene(t, waves)
			defer func() { s.stop() }()
			plain := alert.Alert{Symbol: symbol("BTC"), Interval: market.Minute1, Condition: everyCondition()["rsi <"], Repeat: alert.Repeat{MaxFires: 100}}
			compound := plain
			compound.Condition = everyCondition()["all of 5m"]
			plain, compound = s.set(plain), s.set(compound)
			began := time.Now()
			time.Sleep(time.Minute)
			s.venue.setBehind(market.Minute5, behind)
			for range 12 {
				time.Sleep(5 * time.Minute)
				if behind > 100*time.Second {
					time.Sleep(time.Until(time.Now().Truncate(5 * time.Minute).Add(5*time.Minute + 40*time.Second)))
					s.stop() // while a bar waits
					s.start()
				}
			}
			s.venue.setBehind(market.Minute5, 0)
			time.Sleep(10 * time.Minute)
			fired := s.fired()
			s.checkFired(fired, plain, s.expected(plain, began), never)
			s.checkFired(fired, compound, s.expected(compound, began), func(at time.Time) bool {
				return behind-time.Duration(at.Unix()%300)*time.Second > 30*time.Second
			})
		})
	}
}

// TestLonger_ScriptsAreMembers has a script answer on longer bars and beside them, at the bars of a replay.
func TestLonger_ScriptsAreMembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, g := newGate(t)
		defer func() { s.stop() }()
		script := alert.Condition{Type: alert.IndicatorSignal, Indicator: "gate", Signal: "bar"}
		low := alert.Condition{Type: alert.NewLow, Bars: 5}
		var set []alert.Alert
		for _, c := range []alert.Condition{
			{Type: alert.All, Members: []alert.Condition{low, on(market.Minute5, script)}},
			{Type: alert.All, Members: []alert.Condition{script, on(market.Minute5, low)}},
			{Type: alert.Any, Members: []alert.Condition{low, on(market.Minute5, script), on(market.Hour1, script)}},
		} {
			set = append(set, s.set(alert.Alert{Symbol: symbol("BTC"), Interval: market.Minute1, Condition: c, Repeat: alert.Repeat{MaxFires: 300}}))
		}
		began := time.Now()
		time.Sleep(15 * time.Minute)
		g.shut.Store(true) // the script does not answer
		time.Sleep(6 * time.Minute)
		s.stop()
		g.shut.Store(false)
		s.start()
		time.Sleep(20 * time.Minute)
		all := s.fired()
		for _, a := range set {
			want := s.expected(a, began)
			fired := map[time.Time]int{}
			for _, f := range all {
				if f.AlertID == a.ID {
					fired[f.Triggered.UTC()]++
				}
			}
			for at := range want {
				if fired[at] != 1 {
					t.Errorf("%s: %d firings at %s", a.Describe(), fired[at], at)
				}
			}
			if len(fired) != len(want) || len(want) < 3 {
				t.Errorf("%s: %d firings, want %d", a.Describe(), len(fired), len(want))
			}
		}
	})
}

// TestLonger_WhatItNeedsIsFollowedAndNothingElse holds that the longer bars are followed while an alert needs them.
func TestLonger_WhatItNeedsIsFollowedAndNothingElse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, waves)
		defer func() { s.stop() }()
		a := s.set(alert.Alert{Symbol: symbol("BTC"), Condition: alert.Condition{Type: alert.All, Members: []alert.Condition{
			on(market.Minute5, alert.Condition{Type: alert.NewHigh, Bars: 5}), on(market.Hour1, alert.Condition{Type: alert.NewHigh, Bars: 5}),
		}}})
		if a.Interval != market.Minute5 {
			t.Errorf("the alert is on %s", a.Interval)
		}
		time.Sleep(2 * time.Minute)
		if got := s.venue.streamed(); !slices.Equal(got, []string{"venue:BTC 1h", "venue:BTC 5m"}) {
			t.Errorf("streamed: %q", got)
		}
		if now := s.Preview(t.Context(), a); !now.Known || now.From.IsZero() {
			t.Errorf("what is true now is not known: %+v", now)
		}
		if err := s.Cancel(t.Context(), ann(), a.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if got := s.venue.streamed(); len(got) > 0 {
			t.Errorf("still streamed: %q", got)
		}
	})
}
