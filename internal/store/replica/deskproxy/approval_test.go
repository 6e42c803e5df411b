package deskproxy_test

import (
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/store/replica/replicatest"
	"candela/internal/trading/order"
	"candela/lib/fault"
)

// waiting places an order at a replica that must wait for the owner.
func (f *tradeCluster) waiting(r *trader, key string) (p order.Placed) {
	f.t.Helper()
	large := bid(key)
	large.Quantity = decimal.New(1, 0)
	replicatest.Eventually(f.t, "the order is recorded", func() bool {
		var err error
		p, err = r.Place(f.t.Context(), owner(), large)
		if fe := fault.Of(err); err != nil && (fe == nil || !fe.Retryable) {
			f.t.Fatal(err)
		}
		return err == nil
	})
	if p.Status != order.PendingApproval {
		f.t.Errorf("at %s the order is %v (%s)", r.name, p.Status, p.Reason)
	}
	return p
}

// TestDesk_TheOwnerDecidesAtEveryReplica holds that orders that wait are listed and decided
// at replicas that do not trade, once.
func TestDesk_TheOwnerDecidesAtEveryReplica(t *testing.T) {
	t.Parallel()
	f := newTradeCluster(t, replicatest.Servers(), 0)
	others := f.others(f.steady())
	yes, no := f.waiting(others[0], "yes"), f.waiting(others[1], "no")
	for _, r := range f.replicas {
		if all, err := r.Pending(t.Context()); err != nil || len(all) != 2 || all[0].Approval.Expires.IsZero() {
			t.Errorf("at %s wait %+v, %v", r.name, all, err)
		}
	}
	if n := len(f.Orders()); n != 0 {
		t.Errorf("the venue has %d orders", n)
	}
	if o, err := others[1].Approve(t.Context(), yes.ID, "candela approve"); err != nil || o.ID != yes.ID || o.Approval.By != "candela approve" {
		t.Errorf("approved, it is %+v, %v", o, err)
	}
	if o, err := others[0].Refuse(t.Context(), no.ID, "candela refuse", "too large"); err != nil || o.Status != order.Denied || o.Denial.Rule != "owner_refused" || o.Reason != "The owner refused the order: too large" {
		t.Errorf("refused, it is %+v, %v", o, err)
	}
	for _, r := range f.replicas {
		for id, code := range map[string]string{yes.ID: "not_pending", no.ID: "not_pending", "never": "unknown_order"} {
			for _, decide := range []func() (order.Order, error){
				func() (order.Order, error) { return r.Approve(t.Context(), id, "candela approve") },
				func() (order.Order, error) { return r.Refuse(t.Context(), id, "candela refuse", "") },
			} {
				if o, err := decide(); fault.Of(err) == nil || fault.Of(err).Code != code || code == "not_pending" && o.ID != id {
					t.Errorf("at %s again: %+v, %v", r.name, o, err)
				}
			}
		}
		if all, err := r.Pending(t.Context()); err != nil || len(all) != 0 {
			t.Errorf("at %s wait %+v, %v", r.name, all, err)
		}
	}
	if all := f.Orders(); len(all) != 1 || all[0].ClientID != yes.ID {
		t.Errorf("the venue has %+v", all)
	}
}

// TestDesk_ClientsFollowTheirOrdersAtEveryReplica holds that a client asks for its order and withdraws it at replicas
// that do not trade, and that an order that was sent stays.
func TestDesk_ClientsFollowTheirOrdersAtEveryReplica(t *testing.T) {
	t.Parallel()
	f := newTradeCluster(t, replicatest.Servers(), 0)
	others := f.others(f.steady())
	sent, withdrawn := f.waiting(others[0], "sent"), f.waiting(others[1], "withdrawn")
	if _, err := others[1].Approve(t.Context(), sent.ID, "candela approve"); err != nil {
		t.Fatal(err)
	}
	foreign := owner()
	foreign.Key = "another token"
	for _, r := range f.replicas {
		for _, id := range []string{sent.ID, withdrawn.ID, "never"} {
			if err := r.Withdraw(t.Context(), foreign, id); fault.KindOf(err) != fault.NotFound {
				t.Errorf("at %s another token withdraws: %v", r.name, err)
			}
			if p, err := r.Asked(t.Context(), foreign, id); fault.KindOf(err) != fault.NotFound || p.ID != "" {
				t.Errorf("at %s another token reads %+v, %v", r.name, p, err)
			}
		}
		for _, id := range []string{sent.ID, withdrawn.ID} {
			if err := r.Withdraw(t.Context(), owner(), id); err != nil {
				t.Errorf("at %s: %v", r.name, err)
			}
		}
		if p, err := r.Asked(t.Context(), owner(), withdrawn.ID); err != nil || p.Status != order.Canceled || !p.NotSent {
			t.Errorf("at %s withdrawn: %+v, %v", r.name, p, err)
		}
		if p, err := r.Asked(t.Context(), owner(), sent.ID); err != nil || p.Status == order.Canceled || !p.CancelRequested.IsZero() {
			t.Errorf("at %s sent: %+v, %v", r.name, p, err)
		}
	}
}
