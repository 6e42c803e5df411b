package desk_test

import (
	"testing"
	"time"

	"candela/internal/trading/order"
)

// TestPlan_AnExitAcrossLines holds that an exit over more than the older entry brought leaves the rest
// with the stop and the target of the newer, whatever they are, and keeps them through a restart.
func TestPlan_AnExitAcrossLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ older, newer string }{
		"a stop alone, then a pair":  {"stop 48000", "stop 49000 target 53000"},
		"a pair, then a stop alone":  {"stop 48000 target 54000", "stop 49000"},
		"two pairs":                  {"stop 48000 target 54000", "stop 49000 target 53000"},
		"two stops":                  {"stop 48000", "stop 49000"},
		"a wider one is the newer":   {"stop 49000 target 53000", "stop 48000"},
		"a target alone, and a pair": {"target 54000", "stop 49000 target 53000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				s.done(s.buys("0.02", c.older))
				s.done(s.buys("0.03", c.newer))
				s.planned(s.want(s.net("0.02"), c.older), s.want(s.net("0.03"), c.newer))
				s.sold(s.q("0.035"))
				for range 2 {
					s.planned(s.want(s.net("0.02", "0.03", "-0.035"), c.newer))
					s.again(s.kill)
				}
			})
		})
	}
}

// TestPlan_AnExitOfTheOlderLine holds that an exit of a part of the older entry touches no order of the
// newer.
func TestPlan_AnExitOfTheOlderLine(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.done(s.buys("0.02", "stop 48000"))
		newer := s.done(s.buys("0.03", "stop 49000 target 53000"))
		s.sold(s.q("0.01"))
		s.planned(s.want(s.net("0.02", "-0.01"), "stop 48000"), s.want(s.net("0.03"), "stop 49000 target 53000"))
		for _, o := range s.legs(newer) {
			if o.Status.Final() || o.CancelTried {
				s.t.Errorf("the %v of the newer is %v", o.Role, o.Status)
			}
		}
	})
}

// TestPlan_AnExitWithoutAnAnswer holds that while nothing is known of an exit the rest is protected,
// that this takes no longer than answers do, and that all is protected once it is known that the exit
// was never there.
func TestPlan_AnExitWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, sold := range map[string]bool{"lost": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				s.done(s.buys("0.03", "stop 48000 target 55000"))
				s.delay(50 * time.Millisecond)
				s.fails(name)
				exit, began := s.sells(s.q("0.005"), ""), time.Now()
				calls := make(chan order.Placed, 1)
				go func() {
					p, _ := s.Place(s.t.Context(), caller(), exit)
					calls <- p
				}()
				rest := s.net("0.03", "-0.005")
				s.until("the stop ends", s.bareAtVenue)
				bare := time.Now()
				s.until("the rest is protected", func() bool { return s.stopsAtVenue().Equal(order.RoundDown(rest, s.q("0.00001"))) })
				if took := time.Since(bare); took > 200*time.Millisecond {
					s.t.Errorf("the rest was bare for %v, %v after the call", took, time.Since(began))
				}
				<-calls
				s.delay(0)
				time.Sleep(3 * time.Minute)
				if !sold {
					rest = s.net("0.03")
				}
				if held := s.held(); !held.Equal(rest) {
					s.t.Errorf("%v is held, want %v", held, rest)
				}
				s.planned(s.want(rest, "stop 48000 target 55000"))
			}, binanceToo, alpacaToo)
		})
	}
}
