package desk_test

import (
	"strings"
	"testing"

	"candela/internal/trading/guard"
)

// TestSetPolicy_JudgesTheNextOrder holds that a policy takes effect at once, for orders and for
// what clients read.
func TestSetPolicy_JudgesTheNextOrder(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		w.place(buy("0.03"))
		p := w.policy
		p.MaxOrderQuantity = guard.Limit{Value: dec("0.01")}
		if err := w.SetPolicy(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Place(t.Context(), caller(), buy("0.02")); err == nil || !strings.Contains(err.Error(), "max_order_quantity") {
			t.Errorf("an order above the new limit: %v", err)
		}
		a, err := w.Account(t.Context(), caller())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range a.Rules {
			if r.Name == "max_order_quantity" && r.Limit != "0.01" {
				t.Errorf("the account shows %+v", r)
			}
		}
		if err := w.SetPolicy(t.Context(), w.policy); err != nil {
			t.Fatal(err)
		}
		w.place(buy("0.02"))
	})
}
