package order_test

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/trading/order"
	"candela/lib/market"
)

// TestTrigger holds when an order that candela holds is reached, price by price.
func TestTrigger(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		order  order.Order
		prices [][2]float64 // low and high
		at     int          // index of the price that reaches it, -1 for none
	}{
		"a stop that sells":                       {held(order.Sell, "48000", "", ""), [][2]float64{{48000.01, 60000}, {48000, 50000}}, 1},
		"a stop that buys":                        {held(order.Buy, "52000", "", ""), [][2]float64{{40000, 51999.99}, {51000, 52000}}, 1},
		"a target that sells":                     {held(order.Sell, "", "55000", ""), [][2]float64{{40000, 54999}, {54000, 55000}}, 1},
		"a target that buys":                      {held(order.Buy, "", "45000", ""), [][2]float64{{45001, 60000}, {44000, 46000}}, 1},
		"a price with digits that floats lack":    {held(order.Sell, "0.1", "", ""), [][2]float64{{0.10000001, 0.2}, {0.1, 0.1}}, 1},
		"a trail that sells":                      {held(order.Sell, "", "", "2"), [][2]float64{{50000, 50000}, {50500, 52000}, {50961, 51000}, {50960, 50990}}, 3},
		"a trail that buys":                       {held(order.Buy, "", "", "2"), [][2]float64{{50000, 50000}, {48000, 49000}, {48500, 48959}, {48500, 48960}}, 3},
		"a trail with its worst price first":      {held(order.Sell, "", "", "2"), [][2]float64{{50000, 50000}, {50000, 60000}}, -1},
		"a trail without a price before":          {held(order.Sell, "", "", "2"), [][2]float64{{1, 100}}, -1},
		"a trail never follows the wrong way":     {held(order.Sell, "", "", "2"), [][2]float64{{100, 100}, {99, 99}, {98.5, 98.5}, {98, 98}}, 3},
		"a stop that becomes a limit order":       {withLimit(held(order.Sell, "48000", "", ""), "47900"), [][2]float64{{47950, 47950}}, 0},
		"nothing reaches what is far from prices": {held(order.Sell, "1", "", ""), [][2]float64{{2, 3}}, -1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trigger, at := order.NewTrigger(tc.order), -1
			for i, p := range tc.prices {
				if trigger.See(p[0], p[1]) {
					at = i
					break
				}
			}
			if at != tc.at {
				t.Errorf("reached by price %d, want %d", at, tc.at)
			}
		})
	}
}

// held is a stop, a target or a trail that candela holds.
func held(side order.Side, stop, target, trail string) order.Order {
	o := order.Order{Origin: order.Origin{Holder: order.HolderCandela}, Status: order.Held}
	o.ID, o.Symbol, o.Side, o.Type, o.Quantity, o.Role = "1", market.Symbol{Venue: "binance", Name: "BTCUSDT"}, side, order.Market, dec("1"), order.StopLoss
	switch {
	case stop != "":
		o.StopPrice = dec(stop)
	case target != "":
		o.Role, o.Type, o.Price = order.TakeProfit, order.Limit, dec(target)
	default:
		o.TrailPercent = dec(trail)
	}
	return o
}

func withLimit(o order.Order, price string) order.Order {
	o.Type, o.Price = order.Limit, dec(price)
	return o
}

// TestHeld_Events holds the life of an order that candela holds, and what is not possible.
func TestHeld_Events(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	step := func(o order.Order, kinds ...order.Kind) (order.Order, error) {
		var err error
		for _, k := range kinds {
			if o, err = order.Apply(o, order.Event{Kind: k, OrderID: o.ID, At: at, VenueAt: at, Price: dec("50000"), Quantity: dec("0.5")}); err != nil {
				return o, err
			}
		}
		return o, nil
	}
	o := held(order.Sell, "", "", "2")
	o.Status, o.Group = order.New, order.Group{Name: "entry", Leg: true}
	o, err := step(o, order.KindHeld)
	if err != nil || o.Status != order.Held || !o.Waiting || !o.Local() || o.NeedsQuery() {
		t.Fatalf("held is %+v, %v", o, err)
	}
	if o, err = step(o, order.KindAccepted, order.KindTrailed, order.KindResized); err != nil || o.Status != order.Held || o.Waiting || !o.Best.Equal(dec("50000")) || !o.Quantity.Equal(dec("0.5")) {
		t.Fatalf("working is %+v, %v", o, err)
	}
	if gone, err := step(o, order.KindCancelRequested, order.KindCanceled); err != nil || gone.Status != order.Canceled {
		t.Errorf("cancelled is %+v, %v", gone, err)
	}
	sent, err := step(o, order.KindTriggered, order.KindSent)
	if err != nil || sent.Status != order.Submitted || sent.Local() || !sent.Fired || sent.Triggered.IsZero() {
		t.Fatalf("sent is %+v, %v", sent, err)
	}
	if out := sent.Outgoing(); !out.TrailPercent.IsZero() || !out.StopPrice.IsZero() || out.Group != (order.Group{}) || out.IsStop() || out.ID != "1" {
		t.Errorf("the venue gets %+v", out)
	}
	for _, k := range []order.Kind{order.KindSent, order.KindTrailed} {
		if _, err := step(sent, k); err == nil {
			t.Errorf("%v twice", k)
		}
	}
	if o, err := step(sent, order.KindAccepted); err != nil || o.Status != order.Accepted {
		t.Errorf("at the venue it is %v, %v", o.Status, err)
	}
	native := o
	native.Holder, native.Status = "", order.New
	for _, k := range []order.Kind{order.KindHeld, order.KindTrailed} {
		if _, err := step(native, k); err == nil {
			t.Errorf("%v of an order that candela does not hold", k)
		}
	}
	native.Status = order.Held
	if _, err := step(native, order.KindSent); err == nil {
		t.Error("a leg that the venue holds is sent")
	}
}

// TestTrail_GoesOnFromItsBest holds that a trail that candela holds begins at the best price of its order,
// and that the venue gets no best price with the sale.
func TestTrail_GoesOnFromItsBest(t *testing.T) {
	t.Parallel()
	g := order.Origin{Holder: order.HolderCandela, Spec: order.Spec{
		ID: "o", Symbol: market.Symbol{Venue: "binance", Name: "BTCUSDT"}, Side: order.Sell, Type: order.Market, Quantity: decimal.NewFromInt(1), Role: order.StopLoss,
		TrailPercent: decimal.NewFromInt(10), Best: decimal.NewFromInt(200),
	}}
	o, err := order.Apply(order.Order{}, order.Event{Kind: order.KindCreated, OrderID: "o", Origin: &g})
	if err != nil {
		t.Fatal(err)
	}
	trigger := order.NewTrigger(o)
	if trigger.Level() != 180 || trigger.See(181, 190) || !trigger.See(180, 190) {
		t.Errorf("its level is %v", trigger.Level())
	}
	if sent := o.Outgoing(); !sent.Best.IsZero() || !sent.TrailPercent.IsZero() {
		t.Errorf("sent is %+v", sent)
	}
	if o, err = order.Apply(o, order.Event{Kind: order.KindHeld, OrderID: "o"}); err != nil {
		t.Fatal(err)
	}
	o, err = order.Apply(o, order.Event{Kind: order.KindTrailed, OrderID: "o", Price: decimal.NewFromInt(190)})
	if err != nil || !o.Best.Equal(decimal.NewFromInt(200)) {
		t.Errorf("after a worse price the best one is %s, %v", o.Best, err)
	}
}
