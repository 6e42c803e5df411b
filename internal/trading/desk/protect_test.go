package desk_test

import (
	"slices"
	"testing"
	"time"

	"candela/internal/trading/desk"
	"candela/internal/trading/order"
)

// protected returns a resting sale of ours that the venue has in a group, with a position
// that it closes, and an entry that rests.
func (w *world) protected() (exit, entry order.Order) {
	w.t.Helper()
	w.wants(w.place(buy("0.5")), order.Filled)
	r := limit("0.5", "55000")
	r.Side = order.Sell
	exit, entry = w.place(r), w.place(limit("0.5", "49000"))
	w.venue.Publish(inGroup(exit))
	time.Sleep(time.Second)
	return exit, entry
}

// TestHalt_KeepsWhatProtects holds that a halt does not strip a position of its exit, that
// a restart does not, and that the owner may ask for that.
func TestHalt_KeepsWhatProtects(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		exit, entry := w.protected()
		if _, err := w.Halt(w.t.Context(), "candela halt", "lunch"); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		w.wants(w.order(exit.ID), order.Accepted)
		w.wants(w.order(entry.ID), order.Canceled)
		w.stop()
		w.start()
		time.Sleep(5 * time.Second)
		w.wants(w.order(exit.ID), order.Accepted)
		state, err := w.HaltAll(w.t.Context(), "candela halt", "")
		if err != nil || len(state.Restrictions) != 1 || state.Restrictions[0].Reason != "lunch" || !state.Restrictions[0].All {
			w.t.Errorf("halted as %+v, %v", state, err)
		}
		time.Sleep(5 * time.Second)
		w.wants(w.order(exit.ID), order.Canceled)
		if _, err := w.Resume(w.t.Context(), "candela resume"); err != nil {
			w.t.Fatal(err)
		}
	})
}

// TestHalt_KeepsATargetAlone holds that a halt leaves a target that stands alone as it is, as a part of the plan.
func TestHalt_KeepsATargetAlone(t *testing.T) {
	t.Parallel()
	atSites(t, func(s *site) {
		s.done(s.buys("0.04", ""))
		s.done(s.sells(s.held(), "target 53000"))
		before := s.openIDs()
		if _, err := s.Halt(s.t.Context(), "candela halt", ""); err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if after := s.openIDs(); len(before) != 1 || !slices.Equal(before, after) {
			s.t.Errorf("%q are open before the halt and %q after it", before, after)
		}
	})
}

// TestHalt_AnEntryOfAGroupProtectsNothing cancels an order of a group that would open a
// position.
func TestHalt_AnEntryOfAGroupProtectsNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		entry := w.place(limit("0.5", "49000"))
		w.venue.Publish(inGroup(entry))
		time.Sleep(time.Second)
		if _, err := w.Halt(w.t.Context(), "candela halt", ""); err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		w.wants(w.order(entry.ID), order.Canceled)
	})
}

func TestHaltStored_All(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		exit, _ := w.protected()
		w.stop()
		for range 2 { // the second changes nothing
			if _, err := desk.HaltStored(w.t.Context(), w.store, owner, desk.StoredHalt{By: "candela halt", All: true, At: time.Now()}); err != nil {
				w.t.Fatal(err)
			}
		}
		w.start()
		time.Sleep(5 * time.Second)
		w.wants(w.order(exit.ID), order.Canceled)
	})
}

// inGroup is the venue's report that an order is in a group.
func inGroup(o order.Order) order.Report {
	r := order.Report{Spec: o.Spec, VenueID: o.VenueID, Status: order.Accepted, At: time.Now().Add(time.Second)}
	r.Group = order.Group{Name: "7"}
	return r
}
