package paper_test

import (
	"bytes"
	"errors"
	"testing"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
)

// TestHoldings_APairReservesOnce opens an account whose journal has two sales in one
// group: they need the units once.
func TestHoldings_APairReservesOnce(t *testing.T) {
	t.Parallel()
	j := &papertest.Journal{}
	v := open(t, j)
	v.submit(t, spec(order.Buy, order.Market, "1", ""))
	v.submit(t, spec(order.Sell, order.Limit, "0.5", "60000"))
	v.submit(t, spec(order.Sell, order.Limit, "0.5", "61000"))
	grouped := &papertest.Journal{}
	for line, err := range j.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(line, []byte(`"sell"`)) {
			line = bytes.Replace(line, []byte(`"asset":`), []byte(`"group":{"name":"7"},"asset":`), 1)
		}
		if err := grouped.Append(t.Context(), line); err != nil {
			t.Fatal(err)
		}
	}
	again, err := v.Again(t.Context(), grouped)
	if err != nil {
		t.Fatal(err)
	}
	all, err := again.Holdings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		if h.Asset == "BTC" && !h.Available.Equal(dec("0.5")) {
			t.Errorf("available are %v of %v", h.Available, h.Quantity)
		}
	}
	pair, err := again.Open(t.Context())
	if err != nil || len(pair) != 2 || pair[0].Group.Name != "7" || pair[1].Group != pair[0].Group {
		t.Errorf("open are %+v, %v", pair, err)
	}
	if _, err := again.Submit(t.Context(), spec(order.Sell, order.Market, "0.6", "")); !errors.Is(err, broker.ErrRejected) {
		t.Errorf("the units of the pair were sold: %v", err)
	}
	if _, err := again.Submit(t.Context(), spec(order.Sell, order.Market, "0.5", "")); err != nil {
		t.Error(err)
	}
}
