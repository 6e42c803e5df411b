package paper_test

import (
	"errors"
	"testing"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// TestSubmit_LeastQuantity trades a symbol for which the market states no rules: less than
// 0.00000001 is refused, but what is left of a holding can be closed.
func TestSubmit_LeastQuantity(t *testing.T) {
	t.Parallel()
	v := open(t, &papertest.Journal{})
	euro := market.Symbol{Venue: "yahoo", Name: "EURUSD=X"}
	held := func() string {
		all, err := v.Holdings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range all {
			if h.Symbol == euro {
				return h.Quantity.String()
			}
		}
		return ""
	}
	for _, step := range []struct {
		side     order.Side
		quantity string
		taken    bool
		held     string
	}{
		{order.Buy, "0.00000000000000000001", false, ""},
		{order.Buy, "0.000000009", false, ""},
		{order.Buy, "0.00000001", true, "0.00000001"},
		{order.Buy, "1", true, "1.00000001"},
		{order.Sell, "0.000000009", false, "1.00000001"},
		{order.Sell, "1.0000000099", true, "0.0000000001"},
		{order.Sell, "0.00000000005", false, "0.0000000001"},
		{order.Buy, "0.0000000001", false, "0.0000000001"},
		{order.Sell, "0.0000000001", true, ""},
	} {
		o := spec(step.side, order.Market, step.quantity, "0")
		o.Symbol = euro
		_, err := v.Submit(t.Context(), o)
		if taken := err == nil; taken != step.taken || held() != step.held {
			t.Fatalf("%v %s: %v, then %q is held", step.side, step.quantity, err, held())
		}
		if f := fault.Of(err); err != nil && (!errors.Is(err, broker.ErrRejected) || f.Field != "quantity" || f.Value != step.quantity || f.Allowed != "at least 0.00000001, or all that is held") {
			t.Errorf("%v %s: %v", step.side, step.quantity, err)
		}
	}
	inst, err := v.Instrument(t.Context(), euro)
	if err != nil || inst.MinQuantity.String() != "0.00000001" || !inst.Step.IsZero() {
		t.Errorf("%+v, %v", inst, err)
	}
	small := spec(order.Sell, order.Market, "0.000001", "0") // BTCUSDT has the venue's rules
	if _, err := v.Submit(t.Context(), small); fault.Of(err) == nil || fault.Of(err).Allowed != "multiples of 0.00001" {
		t.Errorf("%v", err)
	}
}
