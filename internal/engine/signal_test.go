package engine_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alert"
	"candela/internal/indicator"
	"candela/internal/market"
)

// expected is the first signal that a chart of the bars shows for an alert, by
// bars that closed after it was made.
func (v *venue) expected(t *testing.T, a alert.Alert, until time.Time) (at time.Time, value float64, found bool) {
	t.Helper()
	selection, err := indicator.Resolve(indicator.Request{Name: a.Condition.Indicator})
	if err != nil {
		t.Fatal(err)
	}
	env, step := indicator.Env{Interval: a.Interval}, a.Interval.Seconds()
	_, stable := selection.Warmup(env)
	history := indicator.History{Interval: a.Interval, Shown: 200, Stable: stable}
	bars := market.MakeBars(history.Len(), true)
	last := a.Created.Unix() / step * step
	for open := last - int64(history.Len())*step; open < last; open += step {
		bars.Append(v.closed(symbol(a.Symbol.Name), a.Interval, open))
	}
	for open := last; open+step <= until.Unix(); open += step {
		bars.Append(v.closed(symbol(a.Symbol.Name), a.Interval, open))
		seen := bars.Tail(history.Len())
		seen = seen.Slice(history.Begin(&seen, false), seen.Len())
		for _, s := range selection.Compute(indicator.Input{Env: env, Bars: &seen}).Signals {
			if s.Confirmed == seen.Len()-1 && s.Label == a.Condition.Signal {
				return time.Unix(open+step, 0), s.Y, true
			}
		}
	}
	return time.Time{}, 0, false
}

// hold compares what fired with what charts show.
func (s *scene) hold(alerts []alert.Alert, told []firing, until time.Time) (fired int) {
	s.t.Helper()
	by := map[string]firing{}
	for _, f := range told {
		if _, twice := by[f.AlertID]; twice {
			s.t.Errorf("fired twice: %+v", f)
		}
		by[f.AlertID] = f
	}
	for _, a := range alerts {
		at, value, want := s.venue.expected(s.t, a, until)
		f, got := by[a.ID]
		delete(by, a.ID)
		if want != got {
			s.t.Errorf("%s %s of %v: fired %v %+v, charts say %v at %v", a.Condition.Indicator, a.Condition.Signal, a.Created, got, f, want, at)
			continue
		}
		if got && (math.Float64bits(f.Value) != math.Float64bits(value) || !f.Triggered.Equal(at)) {
			s.t.Errorf("%s %s: fired %v at %v, charts say %v at %v", a.Condition.Indicator, a.Condition.Signal, f.Value, f.Triggered, value, at)
		}
		if got {
			fired++
		}
	}
	for id, f := range by {
		s.t.Errorf("%s fired and was never set: %+v", id, f)
	}
	return fired
}

// everySignal is an alert on each signal of the catalogue.
func everySignal(name string, i market.Interval) []alert.Alert {
	var all []alert.Alert
	for _, d := range indicator.All() {
		for _, label := range d.Labels() {
			all = append(all, signal(name, i, d.Name, label))
		}
	}
	return all
}

// TestSignal_FiresWhatAChartShows holds every signal of the catalogue over a day of
// minutes against charts, to the last bit.
func TestSignal_FiresWhatAChartShows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, waves)
		defer s.stop()
		var alerts []alert.Alert
		for _, a := range everySignal("BTC", market.Minute1) {
			alerts = append(alerts, s.set(a))
		}
		time.Sleep(12 * time.Hour)
		fired := s.hold(alerts, s.fired(), time.Now())
		t.Logf("%d of %d signals came", fired, len(alerts))
		if fired < len(alerts)*3/4 {
			t.Errorf("%d of %d signals came; the bars do not test much", fired, len(alerts))
		}
	})
}
