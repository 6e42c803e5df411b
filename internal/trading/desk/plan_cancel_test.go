package desk_test

import (
	"net/http"
	"testing"

	"candela/internal/trading/order"
)

// TestPlan_AnExitWaitsForALostCancel holds that a sale of what a stop may still hold is not sent while the
// cancel of that stop has no answer: the two would sell more than is held.
func TestPlan_AnExitWaitsForALostCancel(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]func(s *site) order.Request{
		"exit":         func(s *site) order.Request { return s.sells(s.q("0.03"), "") },
		"another stop": func(s *site) order.Request { return s.sells(s.q("0.03"), "stop 49000") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atSites(t, func(s *site) {
				stop := s.alone("stop 48500")
				lost := orderFault(s, "timeout")
				lost.On = func(r *http.Request) bool { return r.Method != http.MethodPost }
				for range 20 { // the cancel, and then the questions about it
					s.next(lost)
				}
				if o, err := s.Cancel(s.t.Context(), caller(), stop.ID); err != nil || o.Status != order.PendingCancel {
					s.t.Fatalf("the cancel is %v, %v", o.Status, err)
				}
				s.denied(r(s), "cancel_failed")
				if held := s.held(); !held.Equal(s.net("0.05")) {
					s.t.Errorf("%v is held", held)
				}
			}, binanceToo)
		})
	}
}
