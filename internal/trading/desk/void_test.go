package desk_test

import (
	"testing"
	"time"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
)

// TestVoid_SettlesAnOrderThatNeverArrived holds that at a venue that drops late requests an order without an answer
// ends as soon as it can no longer arrive, also after a restart, and that one which arrives before is found.
func TestVoid_SettlesAnOrderThatNeverArrived(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		void, late, settled time.Duration
		restart             bool
		status              order.Status
	}{
		"it never arrives":                      {void: 5 * time.Second, settled: 20 * time.Second, status: order.Canceled},
		"it never arrives, and candela stops":   {void: 5 * time.Second, settled: 20 * time.Second, restart: true, status: order.Canceled},
		"it never arrives, and nothing is void": {settled: 95 * time.Second, status: order.Canceled},
		"it arrives too late":                   {void: 5 * time.Second, late: 6 * time.Second, settled: 20 * time.Second, status: order.Canceled},
		"it arrives in time":                    {void: 5 * time.Second, late: 4 * time.Second, settled: 20 * time.Second, status: order.Filled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.venue.Void(tc.void)
				w.venue.Fail(brokertest.Fault{Fate: broker.ErrUnknown, Late: tc.late})
				began := time.Now()
				o := w.place(buy("0.1"))
				if tc.restart {
					w.stop()
					w.start()
				}
				for !w.order(o.ID).Status.Final() && time.Since(began) < 5*time.Minute {
					time.Sleep(time.Second)
				}
				if w.wants(w.order(o.ID), tc.status); time.Since(began) > tc.settled {
					t.Errorf("it was settled after %v", time.Since(began))
				}
				time.Sleep(2 * time.Minute)
				w.wants(w.order(o.ID), tc.status)
				if n, want := w.taken(o.ID), map[bool]int{true: 1}[tc.status == order.Filled]; n != want {
					t.Errorf("the venue took it %d times, want %d", n, want)
				}
				w.equal()
			})
		})
	}
}

// TestReceipt_IsNoVerdict holds that an order which a venue has taken and not judged is neither accepted nor lost: it
// ends as the venue judges it, also when candela stops in between.
func TestReceipt_IsNoVerdict(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		quantity string
		status   order.Status
		restart  bool
	}{
		"taken":                  {"0.1", order.Filled, false},
		"refused":                {"1000", order.Rejected, false},
		"refused while stopped":  {"1000", order.Rejected, true},
		"accepted while stopped": {"0.1", order.Filled, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				w.venue.Receipts()
				if tc.restart {
					done := make(chan struct{})
					go func() {
						defer close(done)
						_, _ = w.Place(w.t.Context(), caller(), buy(tc.quantity))
					}()
					time.Sleep(100 * time.Millisecond)
					w.stop()
					<-done
					time.Sleep(time.Hour)
					w.start()
					time.Sleep(20 * time.Second)
				} else {
					_, _ = w.Place(w.t.Context(), caller(), buy(tc.quantity))
					time.Sleep(2 * time.Second)
				}
				all := w.store.Book(owner).Orders()
				if len(all) != 1 {
					t.Fatalf("%+v", all)
				}
				w.wants(all[0], tc.status)
				w.equal()
			})
		})
	}
}
