package desk_test

import (
	"testing"

	"candela/internal/trading/order"
)

// TestPlan_OneCommit holds that an order and the change of the plan that it asks for are stored together,
// before anything is sent: a crash leaves both or none.
func TestPlan_OneCommit(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.done(s.buys("0.05", "stop 48000 target 55000"))
		s.done(s.sells(s.held(), "stop 48500"))
		s.done(s.sells(s.q("0.02"), "target 54000"))
		created, planned := make(map[string]int), make(map[string]int)
		for _, e := range s.store.Audit() {
			switch e.Event.Kind {
			case order.KindCreated:
				created[e.Event.OrderID] = e.Batch
			case order.KindPlanned:
				for _, l := range e.Event.Plan.Lines {
					if planned[l.By] == 0 {
						planned[l.By] = e.Batch
					}
				}
			default:
			}
		}
		if len(planned) != 3 {
			s.t.Errorf("%d orders changed the plan, want 3", len(planned))
		}
		for id, batch := range planned {
			if created[id] != batch {
				s.t.Errorf("order %s is stored in batch %d, and its plan in %d", id, created[id], batch)
			}
		}
	})
}
