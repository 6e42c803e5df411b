package desk_test

import (
	"testing"
	"time"

	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
)

// balance returns the balance of an asset as the account shows it now.
func (w *world) balance(asset string) guard.Balance {
	w.t.Helper()
	a, err := w.Account(w.t.Context(), caller())
	if err != nil || a.Unread != "" {
		w.t.Fatalf("%+v, %v", a, err)
	}
	for _, b := range a.Balances {
		if b.Asset == asset {
			return b
		}
	}
	return guard.Balance{}
}

// TestAccount_HasAFillAtOnce reads the account before and right after each fill, in the same moment.
func TestAccount_HasAFillAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		if b := w.balance("USDT"); !b.Quantity.Equal(dec("1000000")) {
			w.t.Errorf("at first %+v", b)
		}
		w.wants(w.place(buy("0.5")), order.Filled)
		if b := w.balance("BTC"); !b.Quantity.Equal(dec("0.5")) || !b.Worth.Decimal.Equal(dec("25000")) {
			w.t.Errorf("after a purchase %+v", b)
		}
		r := buy("0.2")
		r.Side = order.Sell
		w.wants(w.place(r), order.Filled)
		if b := w.balance("BTC"); !b.Quantity.Equal(dec("0.3")) || !b.Worth.Decimal.Equal(dec("15000")) {
			w.t.Errorf("after a sale %+v", b)
		}
	})
}

// TestAccount_ValuesWhatIsNoPosition holds that an asset whose price is known has its worth when
// nothing of it was traded here, as before the first purchase or after the last sale.
func TestAccount_ValuesWhatIsNoPosition(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.venue.Move("BTC", dec("1"))
		w.place(buy("0.5"))
		r := buy("0.5")
		r.Side = order.Sell
		w.place(r)
		time.Sleep(3 * time.Second) // its price is not followed any more
		if b := w.balance("BTC"); !b.Quantity.Equal(dec("1")) || !b.Worth.Decimal.Equal(dec("50000")) {
			w.t.Errorf("the rest is %+v", b)
		}
	})
}

// TestAccount_ValuesWhatWasTradedElsewhere holds that the first trade in a symbol, of an order from
// elsewhere, has its worth before the next reconciliation.
func TestAccount_ValuesWhatWasTradedElsewhere(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		w.venue.Place(order.Spec{ID: "web_1", Symbol: brokertest.MemorySymbol(), Side: order.Buy, Type: order.Market, Quantity: dec("0.5")})
		time.Sleep(time.Second)
		if b := w.balance("BTC"); !b.Quantity.Equal(dec("0.5")) || !b.Worth.Decimal.Equal(dec("25000")) {
			w.t.Errorf("the holding is %+v", b)
		}
	})
}
