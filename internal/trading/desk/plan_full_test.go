package desk_test

import (
	"testing"
	"time"
)

// TestPlan_ARefusedExitWhereStopsAreFull holds that all of a line is protected after an exit of a part of it that
// the venue refused, though the venue has no room for one more stop.
func TestPlan_ARefusedExitWhereStopsAreFull(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		var lines []string
		for _, words := range []string{"stop 48000", "stop 48100 target 55000", "stop 48200", "stop 48300", "stop 48400"} {
			s.done(s.buys("0.02", words))
			lines = append(lines, s.want(s.net("0.02"), words))
		}
		for range 2 { // of the first line, and then of the second one
			s.fails("refused")
			if p, err := s.Place(s.t.Context(), caller(), s.sells(s.q("0.025"), "")); err == nil {
				s.t.Errorf("the exit is %v", p.Status)
			}
			time.Sleep(10 * time.Second)
			s.planned(lines...)
			if n := s.stopCount(); n != 5 {
				s.t.Errorf("the venue has %d stops", n)
			}
		}
	}, binanceToo)
}

// TestPlan_MaxStopsCountsOrders holds that a line with two stops counts twice against what the venue holds.
func TestPlan_MaxStopsCountsOrders(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		for _, words := range []string{"stop 48000", "stop 48100", "stop 48200", "stop 48300"} {
			s.done(s.buys("0.02", words))
		}
		s.fails("refused")
		if p, err := s.Place(s.t.Context(), caller(), s.sells(s.q("0.01"), "")); err == nil {
			s.t.Errorf("the exit is %v", p.Status)
		}
		time.Sleep(10 * time.Second)
		if n := s.stopCount(); n != 5 {
			s.t.Fatalf("the venue has %d stops", n)
		}
		s.denied(s.buys("0.02", "stop 48400"), "max_stops")
		s.done(s.sells(s.net("0.02", "0.02", "0.02", "0.02"), "stop 48500")) // one for each line
		if n := s.stopCount(); n != 4 {
			s.t.Errorf("the venue has %d stops after a change of all", n)
		}
		s.done(s.buys("0.02", "stop 48400"))
	}, binanceToo)
}

// stopCount counts the stops at the venue.
func (s *site) stopCount() int {
	s.t.Helper()
	open, err := s.broker.Open(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	n := 0
	for _, r := range open {
		if r.IsStop() {
			n++
		}
	}
	return n
}
