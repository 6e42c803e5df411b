package desk_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

const owned = "candela approve" // who decides in these tests

// inApproval is inWorld with a desk that asks the owner above 1,000.
func inApproval(t *testing.T, test func(w *world)) {
	t.Helper()
	inWorld(t, func(w *world) {
		w.stop()
		w.policy.Approval.Above = guard.Limit{Value: dec("1000")}
		w.start()
		time.Sleep(2 * time.Second)
		test(w)
	})
}

// held places an order that must wait.
func (w *world) held(r order.Request) order.Order {
	w.t.Helper()
	o := w.place(r)
	w.wants(o, order.PendingApproval)
	return o
}

// unsent checks that an order ended with a rule and never reached the venue.
func (w *world) unsent(id, rule string) {
	w.t.Helper()
	o := w.order(id)
	if w.taken(id) != 0 || o.Denial.Rule != rule || o.Status != order.Denied {
		w.t.Errorf("sent %d times, %v by %q (%s), want denied by %q", w.taken(id), o.Status, o.Denial.Rule, o.Reason, rule)
	}
}

func (w *world) price(p string) {
	w.market.Set(brokertest.MemorySymbol(), order.Quote{Last: dec(p)})
	w.venue.SetPrice(dec(p))
}

func TestApproval_WaitsAndIsSentOnce(t *testing.T) {
	t.Parallel()
	inApproval(t, func(w *world) {
		var heard []string
		w.stop()
		w.asked = func(o order.Order) { heard = append(heard, o.ID) }
		w.start()
		time.Sleep(2 * time.Second)
		r := buy("0.5")
		r.Key = "once"
		o := w.held(r)
		if a := o.Approval; !a.Price.Equal(dec("50000")) || a.Expires.Sub(a.Asked) != 5*time.Minute || !a.Decided.IsZero() {
			w.t.Errorf("the approval is %+v", a)
		}
		if again := w.place(r); again.ID != o.ID {
			w.t.Errorf("the same key places %s", again.ID)
		}
		if s := w.Status(); s.Pending != 1 || s.Open != 1 || w.taken(o.ID) != 0 {
			w.t.Errorf("the status is %+v, sent %d times", s, w.taken(o.ID))
		}
		if all, err := w.Pending(w.t.Context()); err != nil || len(all) != 1 || all[0].ID != o.ID || len(heard) != 1 {
			w.t.Errorf("waiting are %+v, %v; the owner heard of %v", all, err, heard)
		}
		before := w.store.Commits()
		done, err := w.Approve(w.t.Context(), o.ID, owned)
		if err != nil || done.Status != order.Filled || done.Approval.By != owned || done.Approval.Decided.IsZero() {
			w.t.Errorf("approved, it is %+v, %v", done, err)
		}
		var kinds []order.Kind
		for _, e := range w.store.Audit() {
			if e.Event.OrderID == o.ID && (e.Event.Kind == order.KindApproved || e.Event.Kind == order.KindSent) {
				kinds = append(kinds, e.Event.Kind)
				if e.By.Client != owned {
					w.t.Errorf("%v is by %+v", e.Event.Kind, e.By)
				}
			}
		}
		if len(kinds) != 2 || w.store.Commits() == before {
			w.t.Errorf("the log has %v", kinds)
		}
		_, err = w.Approve(w.t.Context(), o.ID, owned)
		if f := fault.Of(err); f == nil || f.Code != "not_pending" || !strings.Contains(f.Message, "filled, approved at") {
			w.t.Errorf("approved twice: %v", err)
		}
		if n := w.taken(o.ID); n != 1 {
			w.t.Errorf("sent %d times", n)
		}
	})
}

// A review says why an order waits and whether it would pass now, and decides nothing.
func TestApproval_Review(t *testing.T) {
	t.Parallel()
	inApproval(t, func(w *world) {
		r := buy("0.5")
		r.Note = "the low held"
		o := w.held(r)
		if o.Note != "the low held" {
			w.t.Errorf("the note is %q", o.Note)
		}
		review, err := w.Review(w.t.Context(), o.ID)
		if err != nil || review.Denial != nil || len(review.Because) != 1 || !review.Because[0].Value.GreaterThan(dec("1000")) {
			w.t.Errorf("%+v, %v", review, err)
		}
		if _, err := w.Halt(w.t.Context(), "me", ""); err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.Review(w.t.Context(), o.ID); fault.Of(err) == nil || fault.Of(err).Code != "not_pending" {
			w.t.Errorf("after a halt: %v", err)
		}
		if w.taken(o.ID) != 0 {
			w.t.Error("it was sent")
		}
	})
}

func TestApproval_Refused(t *testing.T) {
	t.Parallel()
	inApproval(t, func(w *world) {
		o := w.held(buy("0.5"))
		done, err := w.Refuse(w.t.Context(), o.ID, "candela refuse", "too\nmuch")
		if err != nil || !strings.Contains(done.Reason, "The owner refused the order: too") || strings.Contains(done.Reason, "\n") {
			w.t.Errorf("refused, it is %+v, %v", done, err)
		}
		w.unsent(o.ID, "owner_refused")
		for what, decide := range map[string]func() (order.Order, error){
			"yes": func() (order.Order, error) { return w.Approve(w.t.Context(), o.ID, owned) },
			"no":  func() (order.Order, error) { return w.Refuse(w.t.Context(), o.ID, owned, "") },
		} {
			got, err := decide()
			if f := fault.Of(err); f == nil || f.Code != "not_pending" || !strings.Contains(f.Message, "owner_refused") || got.ID != o.ID {
				w.t.Errorf("%s after a no: %+v, %v", what, got, err)
			}
		}
		_, err = w.Approve(w.t.Context(), "0198-none", owned)
		if f := fault.Of(err); f == nil || f.Code != "unknown_order" {
			w.t.Errorf("an unknown order: %v", err)
		}
		time.Sleep(time.Hour)
		w.unsent(o.ID, "owner_refused")
	})
}

func TestApproval_Expires(t *testing.T) {
	t.Parallel()
	inApproval(t, func(w *world) {
		o := w.held(buy("0.5"))
		r := buy("0.6")
		r.NotAfter = time.Now().Add(time.Minute)
		early := w.held(r)
		time.Sleep(time.Minute)
		if _, err := w.Approve(w.t.Context(), early.ID, owned); fault.Of(err) == nil {
			w.t.Error("approved at its end")
		}
		w.unsent(early.ID, "approval_expired")
		time.Sleep(4*time.Minute - 2*time.Second)
		w.wants(w.order(o.ID), order.PendingApproval)
		time.Sleep(3 * time.Second)
		w.unsent(o.ID, "approval_expired")
		if s := w.Status(); s.Pending != 0 || s.Open != 0 {
			w.t.Errorf("the status is %+v", s)
		}
	})
}

func TestApproval_EndsBeforeAYes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule string
		do   func(w *world, id string)
	}{
		"a halt": {"halted", func(w *world, _ string) { _, _ = w.Halt(w.t.Context(), "candela halt", "lunch") }},
		"a halt that was lifted": {"halted", func(w *world, _ string) {
			_, _ = w.Halt(w.t.Context(), "candela halt", "lunch")
			_, _ = w.Resume(w.t.Context(), "candela resume")
		}},
		"its login revoked":   {"login_revoked", func(w *world, _ string) { w.RevokeTokens("other", caller().Key) }},
		"all logins revoked":  {"login_revoked", func(w *world, _ string) { w.RevokeTokens() }},
		"a price that moved":  {"approval_price_moved", func(w *world, _ string) { w.price("50251") }},
		"a price that fell":   {"approval_price_moved", func(w *world, _ string) { w.price("49749") }},
		"a rule that applies": {"reducing", func(w *world, _ string) { w.market.SetLagging("memory"); time.Sleep(2 * time.Second) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inApproval(t, func(w *world) {
				o := w.held(buy("0.5"))
				c.do(w, o.ID)
				got, err := w.Approve(w.t.Context(), o.ID, owned)
				if f := fault.Of(err); f == nil || !strings.Contains(f.Message, c.rule) || got.Status != order.Denied {
					w.t.Errorf("approved after %s: %v, %v", name, got.Status, err)
				}
				time.Sleep(10 * time.Minute)
				w.unsent(o.ID, c.rule)
			})
		})
	}
}

func TestApproval_OnlyItsClientLosesIt(t *testing.T) {
	t.Parallel()
	inApproval(t, func(w *world) {
		o := w.held(buy("0.5"))
		w.RevokeTokens("another")
		time.Sleep(3 * time.Second)
		w.wants(w.order(o.ID), order.PendingApproval)
		// A call that was on its way when its login ended does not wait either.
		w.RevokeTokens("late")
		time.Sleep(3 * time.Second)
		late := principal.Caller{Subject: owner, Key: "late", Expires: time.Now().Add(time.Hour)}
		if got, err := w.Place(w.t.Context(), late, buy("0.7")); err == nil || got.Denial.Rule != "login_revoked" {
			w.t.Errorf("placed as %+v, %v", got, err)
		}
	})
}

func TestApproval_Withdrawn(t *testing.T) {
	t.Parallel()
	inApproval(t, func(w *world) {
		o := w.held(buy("0.5"))
		got, err := w.Cancel(w.t.Context(), caller(), o.ID)
		if err != nil || got.Status != order.Canceled || !got.NotSent {
			w.t.Errorf("withdrawn, it is %+v, %v", got, err)
		}
		if _, err := w.Approve(w.t.Context(), o.ID, owned); fault.Of(err) == nil || w.taken(o.ID) != 0 {
			w.t.Errorf("approved after that: %v, sent %d times", err, w.taken(o.ID))
		}
	})
}

func TestApproval_NeverOfAnOrderThatReduces(t *testing.T) {
	t.Parallel()
	inApproval(t, func(w *world) {
		o := w.held(buy("0.5"))
		if _, err := w.Approve(w.t.Context(), o.ID, owned); err != nil {
			w.t.Fatal(err)
		}
		r := buy("0.5")
		r.Side = order.Sell
		w.wants(w.place(r), order.Filled)
		w.wants(w.place(buy("0.01")), order.Filled) // below the limit
	})
}

func TestApproval_FiveOfAClientMayWait(t *testing.T) {
	t.Parallel()
	inApproval(t, func(w *world) {
		for _, price := range []string{"49001", "49002", "49003", "49004", "49005"} {
			w.held(limit("0.5", price))
		}
		sixth, err := w.Place(w.t.Context(), caller(), limit("0.5", "49006"))
		if err == nil || sixth.Denial.Rule != "max_pending_approvals" {
			w.t.Errorf("the sixth is %+v, %v", sixth, err)
		}
		other := caller()
		other.Key = "token-2"
		o, err := w.Place(w.t.Context(), other, limit("0.5", "49006"))
		if err != nil || o.Status != order.PendingApproval {
			w.t.Errorf("that of another client is %v, %v", o.Status, err)
		}
		if n := len(w.venue.Orders()); n != 0 {
			w.t.Errorf("the venue has %d orders", n)
		}
	})
}

// An order that waits counts as if it were sent.
func TestApproval_CountsInTheLimits(t *testing.T) {
	t.Parallel()
	inApproval(t, func(w *world) {
		w.stop()
		w.policy.MaxExposure = guard.Limit{Value: dec("30000")}
		w.start()
		time.Sleep(2 * time.Second)
		o := w.held(limit("0.5", "50000"))
		if got, err := w.Place(w.t.Context(), caller(), limit("0.2", "50000")); err == nil || got.Denial.Rule != "max_exposure" {
			w.t.Errorf("beside it %+v is placed, %v", got, err)
		}
		// It does not count against itself.
		if got, err := w.Approve(w.t.Context(), o.ID, owned); err != nil || got.Status != order.Filled {
			w.t.Errorf("approved, it is %v, %v", got.Status, err)
		}
	})
}

func TestApproval_LimitOrderGoesAsItIs(t *testing.T) {
	t.Parallel()
	inApproval(t, func(w *world) {
		o := w.held(limit("0.5", "49000"))
		w.price("50900")
		got, err := w.Approve(w.t.Context(), o.ID, owned)
		if err != nil || got.Status != order.Accepted {
			w.t.Errorf("approved, it is %v, %v", got.Status, err)
		}
	})
}

func TestApproval_SurvivesARestart(t *testing.T) {
	t.Parallel()
	inApproval(t, func(w *world) {
		o, gone := w.held(buy("0.5")), w.held(buy("0.6"))
		w.kill()
		var heard []string
		w.asked = func(o order.Order) { heard = append(heard, o.ID) }
		time.Sleep(time.Minute)
		w.start()
		time.Sleep(2 * time.Second)
		w.wants(w.order(o.ID), order.PendingApproval)
		if len(heard) != 2 {
			w.t.Errorf("after the start the owner heard of %v", heard)
		}
		got, err := w.Approve(w.t.Context(), o.ID, owned)
		if err != nil || got.Status != order.Filled || w.taken(o.ID) != 1 {
			w.t.Errorf("approved, it is %v, %v, sent %d times", got.Status, err, w.taken(o.ID))
		}
		w.kill()
		time.Sleep(time.Hour)
		w.start()
		time.Sleep(2 * time.Second)
		w.unsent(gone.ID, "approval_expired")
	})
}

// After the yes is recorded and before the order is sent, the program is killed.
func TestApproval_KilledBeforeItIsSentIsNeverSent(t *testing.T) {
	t.Parallel()
	inApproval(t, func(w *world) {
		o := w.held(limit("0.5", "48000"))
		for range 4 { // which hold up the others
			w.venue.Fail(brokertest.Fault{Hang: true})
			go func() { _, _ = w.Place(w.t.Context(), caller(), limit("0.01", "49000")) }()
			time.Sleep(3 * time.Second)
		}
		go func() { _, _ = w.Approve(w.t.Context(), o.ID, owned) }()
		time.Sleep(time.Second)
		w.wants(w.order(o.ID), order.Submitted)
		w.kill()
		w.start()
		time.Sleep(5 * time.Minute)
		w.wants(w.order(o.ID), order.Canceled)
		if n := w.taken(o.ID); n != 0 {
			w.t.Errorf("sent %d times", n)
		}
	})
}

// A yes that cannot be saved, or that meets no price, decides nothing.
func TestApproval_NothingDecided(t *testing.T) {
	t.Parallel()
	inApproval(t, func(w *world) {
		o := w.held(buy("0.5"))
		w.market.Forget(brokertest.MemorySymbol())
		_, err := w.Approve(w.t.Context(), o.ID, owned)
		if f := fault.Of(err); f == nil || f.Code != "no_price" || !f.Retryable {
			w.t.Errorf("without a price: %v", err)
		}
		w.price("50000")
		w.store.Fail(errors.New("the disk is full"))
		_, err = w.Approve(w.t.Context(), o.ID, owned)
		if f := fault.Of(err); f == nil || f.Code != "store_failed" {
			w.t.Errorf("without a store: %v", err)
		}
		w.wants(w.order(o.ID), order.PendingApproval)
		if _, err = w.Refuse(w.t.Context(), o.ID, owned, ""); fault.Of(err) == nil {
			w.t.Error("refused without a store")
		}
		w.store.Fail(nil)
		time.Sleep(2 * time.Minute)
		w.unsent(o.ID, "halted") // which the failure of the store did
	})
}
