package desk_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/desk"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

func TestHalt_CancelsAndRefuses(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		o := w.place(limit("0.5", "49000"))
		// The first cancel fails: it is tried again while the halt lasts.
		w.venue.Fail(brokertest.Fault{Fate: broker.ErrNotSent})
		if _, err := w.Halt(w.t.Context(), "candela halt", "lunch"); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		w.wants(w.order(o.ID), order.Canceled)
		_, err := w.Place(w.t.Context(), caller(), buy("0.5"))
		if f := fault.Of(err); f == nil || f.Code != "order_denied" || !strings.Contains(f.Message, "lunch") || !strings.Contains(f.Message, "candela halt") {
			w.t.Errorf("an order during halt: %v", err)
		}
		w.stop()
		w.start()
		time.Sleep(5 * time.Second)
		w.level(guard.Halted)
		if _, err := w.Resume(w.t.Context(), "candela resume"); err != nil {
			w.t.Fatal(err)
		}
		w.level(guard.Active)
		w.wants(w.place(buy("0.5")), order.Filled)
	})
}

// TestHalt_WaitsForNoOrder halts while the venue answers no order.
func TestHalt_WaitsForNoOrder(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		o := w.place(limit("0.5", "49000"))
		for i := range 6 {
			if i < 4 { // the others wait for these
				w.venue.Fail(brokertest.Fault{Hang: true})
			}
			go func() { _, _ = w.Place(w.t.Context(), caller(), limit("0.1", strconv.Itoa(48000+i))) }()
			synctest.Wait()
		}
		began := time.Now()
		if _, err := w.Orders(w.t.Context(), caller(), false); err != nil || time.Since(began) > 0 {
			w.t.Errorf("reading took %v, %v", time.Since(began), err)
		}
		if _, err := w.Halt(w.t.Context(), "owner", ""); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(time.Second)
		w.wants(w.order(o.ID), order.Canceled)
		time.Sleep(3 * time.Minute)
		open, err := w.Orders(w.t.Context(), caller(), true)
		if err != nil || len(open) != 0 {
			w.t.Errorf("open are %+v, %v", open, err)
		}
		if n := len(w.venue.Orders()); n != 1 {
			w.t.Errorf("the venue has %d orders: those that waited were sent", n)
		}
	})
}

func TestHalt_ByFile(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		o := w.place(limit("0.5", "49000"))
		if err := os.WriteFile(w.halt, nil, 0o600); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		w.level(guard.Halted)
		w.wants(w.order(o.ID), order.Canceled)
		if _, err := w.Resume(w.t.Context(), "candela resume"); fault.KindOf(err) != fault.Conflict {
			w.t.Errorf("resumed while the file is there: %v", err)
		}
		if err := os.Remove(w.halt); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		w.level(guard.Halted) // a file that went missing is no word of the owner's
		if _, err := w.Resume(w.t.Context(), "candela resume"); err != nil {
			w.t.Error(err)
		}
		w.level(guard.Active)
	})
}

func TestSetHalt_InTheState(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.stop()
		if _, err := desk.HaltStored(w.t.Context(), w.store, owner, desk.StoredHalt{By: "candela halt", At: time.Now()}); err != nil {
			w.t.Fatal(err)
		}
		w.start()
		time.Sleep(5 * time.Second)
		w.level(guard.Halted)
		w.stop()
		if _, err := desk.LiftStored(w.t.Context(), w.store, owner, "candela resume"); err != nil {
			w.t.Fatal(err)
		}
		w.start()
		time.Sleep(5 * time.Second)
		w.level(guard.Active)
	})
}
