package desk_test

import (
	"net/http"
	"testing"
	"time"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// TestPlan_APassedTargetSells holds that a line whose target the price passes while its orders are ended is closed at
// the target, as the target would have closed it, and is not left to wait for the price.
func TestPlan_APassedTargetSells(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(s *site){
		"in a partial exit": func(s *site) {
			s.delay(50 * time.Millisecond)
			calls := make(chan error, 1)
			go func() {
				_, err := s.Place(s.t.Context(), caller(), s.sells(s.q("0.01"), ""))
				calls <- err
			}()
			s.until("the pair ends", s.bareAtVenue)
			s.move("53000")
			if err := <-calls; err != nil {
				s.t.Error(err)
			}
			s.delay(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				s.done(s.buys("0.03", "stop 48000 target 52000"))
				meanwhile(s)
				time.Sleep(20 * time.Second)
				if held := s.held(); held.GreaterThan(s.q("0.0001")) {
					s.t.Errorf("above the target %v is held, protected by %v", held, s.working())
				}
			}, binanceToo, alpacaToo)
		})
	}
}

// TestPlan_ARefusedTargetIsTriedAgain cancels the stop of a pair at a venue that refuses the target that is left. It
// is placed later, and the position is not sold for want of a target, whatever the policy says of a stop.
func TestPlan_ARefusedTargetIsTriedAgain(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.policy.OnUnprotected = guard.UnprotectedExit
		s.again(s.stop)
		s.done(s.buys("0.1", "stop 48000 target 55000"))
		refused := orderFault(s, "balance")
		refused.On = func(r *http.Request) bool { return posted(r, "type=LIMIT", `"type":"limit"`) }
		for range 3 {
			s.next(refused)
		}
		if _, err := s.Cancel(s.t.Context(), caller(), s.legOf(order.StopLoss).ID); err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(time.Minute)
		s.planned(s.want(s.net("0.1"), "target 55000"))
	}, binanceToo, alpacaToo)
}
