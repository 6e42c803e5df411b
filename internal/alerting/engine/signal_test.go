package engine_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/alerting/alert"
	"candela/internal/testkit/longtest"
	"candela/lib/market"
	"candela/lib/ta"
)

// chart is what charts of one indicator show, by the bar that confirms it: each
// chart is computed when that bar has just closed.
type chart struct {
	selection *ta.Selection
	history   ta.History
	bars      market.Bars // up to the last one that was looked at
	signals   map[int64][]ta.Signal
}

func (v *venue) chart(t *testing.T, name string, i market.Interval, from int64) *chart {
	t.Helper()
	selection, err := ta.ResolveAlert(name)
	if err != nil {
		t.Fatal(err)
	}
	_, stable := selection.Warmup(ta.Env{Interval: i})
	c := &chart{selection: selection, history: ta.History{Interval: i, Shown: 200, Stable: stable}, signals: map[int64][]ta.Signal{}}
	c.bars = market.MakeBars(c.history.Len(), true)
	for open := from - int64(c.history.Len())*i.Seconds(); open < from; open += i.Seconds() {
		c.bars.Append(v.closed(symbol("BTC"), i, open))
	}
	return c
}

// at returns what a chart shows of the bar that opened at a time.
func (c *chart) at(v *venue, open int64) []ta.Signal {
	i := c.history.Interval
	for t := c.bars.T[c.bars.Len()-1] + i.Seconds(); t <= open; t += i.Seconds() {
		c.bars.Append(v.closed(symbol("BTC"), i, t))
		seen := c.bars.Tail(c.history.Len())
		seen = seen.Slice(c.history.Begin(&seen, false), seen.Len())
		for _, s := range c.selection.Compute(ta.Input{Env: ta.Env{Interval: i}, Bars: &seen}).Signals {
			if s.Confirmed == seen.Len()-1 {
				c.signals[t] = append(c.signals[t], s)
			}
		}
	}
	return c.signals[open]
}

// expected is the first signal that charts show for an alert, by bars that closed
// after it was made.
func (c *chart) expected(v *venue, a alert.Alert, until time.Time) (at time.Time, value float64, found bool) {
	step := a.Interval.Seconds()
	for open := a.Created.Unix() / step * step; open+step <= until.Unix(); open += step {
		for _, s := range c.at(v, open) {
			if s.Label == a.Condition.Signal {
				return time.Unix(open+step, 0), s.Y, true
			}
		}
	}
	return time.Time{}, 0, false
}

// hold compares what fired with what charts show.
func (s *scene) hold(alerts []alert.Alert, notified []firing, until time.Time) (fired int) {
	s.t.Helper()
	by := map[string]firing{}
	for _, f := range notified {
		if _, twice := by[f.AlertID]; twice {
			s.t.Errorf("fired twice: %+v", f)
		}
		by[f.AlertID] = f
	}
	charts := map[string]*chart{}
	for _, a := range alerts { // in the order they were made
		name := a.Condition.Indicator
		if charts[name] == nil {
			charts[name] = s.venue.chart(s.t, name, a.Interval, a.Created.Unix()/a.Interval.Seconds()*a.Interval.Seconds())
		}
		at, value, want := charts[name].expected(s.venue, a, until)
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
	for _, d := range ta.All() {
		for _, label := range d.Labels() {
			all = append(all, signal(name, i, d.Name, label))
		}
	}
	return all
}

// TestSignal_FiresWhatAChartShows holds every signal of the catalogue over six hours of
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
		if raced {
			time.Sleep(longtest.Pick(30*time.Minute, time.Hour))
		} else {
			time.Sleep(6 * time.Hour)
		}
		fired := s.hold(alerts, s.fired(), time.Now())
		t.Logf("%d of %d signals came", fired, len(alerts))
		if fired < len(alerts)*3/4 && !raced {
			t.Errorf("%d of %d signals came; the bars do not test much", fired, len(alerts))
		}
	})
}
