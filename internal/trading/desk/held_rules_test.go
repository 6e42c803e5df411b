package desk_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// TestHeld_RequireStop holds that require_stop wants a stop at the venue, and that the last
// stop of a position is kept also if candela holds it.
func TestHeld_RequireStop(t *testing.T) {
	t.Parallel()
	inHeld(t, func(w *world) {
		p := w.placed(bracket(buy("0.5")))
		time.Sleep(time.Second)
		w.stop()
		w.policy.RequireStop = guard.StopAlways
		w.bars = func(context.Context, market.Symbol, time.Time) ([]market.Bar, error) { return nil, nil }
		w.start()
		time.Sleep(2 * time.Second)
		_, err := w.Place(w.t.Context(), caller(), bracket(buy("0.1")))
		if f := fault.Of(err); f == nil || !strings.Contains(f.Message, "require_stop: stop_loss 48000: memory cannot hold this stop in memory:BTCUSDT, candela would") {
			w.t.Errorf("refused with %v", err)
		}
		for _, id := range []string{p.Legs[0].ID, p.ID} {
			if _, err := w.Cancel(w.t.Context(), caller(), id); fault.Of(err) == nil || fault.Of(err).Code != "last_stop" {
				w.t.Errorf("the cancel of %s: %v", id, err)
			}
		}
		w.wants(w.order(p.Legs[0].ID), order.Held)
		if _, err := w.Cancel(w.t.Context(), caller(), p.Legs[1].ID); err != nil {
			w.t.Errorf("the target: %v", err)
		}
	})
}

// TestHeld_OpenRisk holds that max_open_risk measures a position to the stop that candela
// holds, and in full where there is none.
func TestHeld_OpenRisk(t *testing.T) {
	t.Parallel()
	inHeld(t, func(w *world) {
		used := func() string {
			a, err := w.Account(w.t.Context(), caller())
			if err != nil {
				w.t.Fatal(err)
			}
			for _, u := range a.Usage {
				if u.Rule == "max_open_risk" {
					return u.Used.String()
				}
			}
			return ""
		}
		p := w.placed(bracket(buy("0.5")))
		time.Sleep(time.Second)
		// 0.5 x (50000 - 48000), the fee of 0.1 % of both trades and 0.5 % of the stop.
		if got := used(); got != "1169" {
			w.t.Errorf("with a held stop %s is at risk", got)
		}
		if _, err := w.Cancel(w.t.Context(), caller(), p.Legs[0].ID); err != nil {
			w.t.Fatal(err)
		}
		if got := used(); got != "25000" {
			w.t.Errorf("without a stop %s is at risk", got)
		}
	})
}

// TestHeld_Approval holds that legs which candela holds wait with their entry, and work after
// the owner's yes.
func TestHeld_Approval(t *testing.T) {
	t.Parallel()
	inHeld(t, func(w *world) {
		w.stop()
		w.policy.Approval.Above = guard.Limit{Value: dec("1")}
		w.start()
		time.Sleep(2 * time.Second)
		p := w.placed(bracket(buy("0.5")))
		w.wants(p.Order, order.PendingApproval)
		w.wants(p.Legs[0], order.PendingApproval)
		if o, err := w.Approve(w.t.Context(), p.ID, "owner"); err != nil || o.Status != order.Filled {
			w.t.Fatalf("approved as %v, %v", o.Status, err)
		}
		time.Sleep(time.Second)
		w.wants(w.order(p.Legs[0].ID), order.Held)
		w.tick("48000")
		w.wants(w.order(p.Legs[0].ID), order.Filled)
		w.flat()
	})
}
