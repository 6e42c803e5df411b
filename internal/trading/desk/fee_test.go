package desk_test

import (
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/testkit/fake"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// TestEstimate_HasTheFeeOfTheAccount holds that an estimate and a quantity that follows from a
// risk count what the venue takes, and not what the policy assumes.
func TestEstimate_HasTheFeeOfTheAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := fake.NewNetwork()
		f, shut := binanceFloor(network, 1)
		t.Cleanup(shut)
		d := openDay(t, 1, network, f)
		d.policy.TakerFeePct = dec("5")
		d.start()
		time.Sleep(5 * time.Second)
		price := f.(onBinance).Price("BTCUSDT") //nolint:errcheck,forcetypeassert // the test chose it
		r := order.Request{
			Symbol: market.Symbol{Name: "BTCUSDT"}, Side: order.Buy, Type: order.Limit, Price: price.Round(2), Quantity: dec("0.01"), DryRun: true,
			Protect: order.Protection{StopLoss: price.Mul(dec("0.9")).Round(2)},
		}
		p, err := d.Place(t.Context(), caller(), r)
		if err != nil || p.Estimate == nil || !p.Estimate.Fee.Equal(p.Estimate.Value.Mul(dec("0.001"))) {
			t.Errorf("the estimate is %+v, %v", p.Estimate, err)
		}
		r.Quantity, r.Sizing.Amount = dec("0"), dec("10")
		p, err = d.Place(t.Context(), caller(), r)
		if err != nil || p.Estimate == nil || p.Estimate.Risk.LessThan(dec("9")) || p.Estimate.Risk.GreaterThan(dec("10")) {
			t.Errorf("sized as %+v, %v", p.Estimate, err)
		}
	})
}

// TestPositions_AreWithoutTheFeesInBase makes ten round trips that pay in the asset, and then a
// purchase, which alone is the position.
func TestPositions_AreWithoutTheFeesInBase(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		w.venue.FeeInBase()
		trade := func(side order.Side, quantity string) {
			t.Helper()
			r := buy(quantity)
			r.Side = side
			w.wants(w.place(r), order.Filled)
			time.Sleep(10 * time.Second)
		}
		for range 10 {
			trade(order.Buy, "0.5")
			trade(order.Sell, "0.4995")
		}
		w.venue.SetPrice(dec("60000"))
		w.market.Set(brokertest.MemorySymbol(), order.Quote{Last: dec("60000"), At: time.Now()})
		trade(order.Buy, "0.005")
		check := func() {
			t.Helper()
			all, err := w.Positions(t.Context(), caller())
			if err != nil || len(all) != 1 {
				t.Fatalf("%+v, %v", all, err)
			}
			p := all[0]
			entry, _ := p.Average()
			if !p.Quantity.Equal(dec("0.004995")) || !entry.Equal(dec("60000")) || !p.Unrealised(p.Quote.Last).IsZero() {
				t.Errorf("%v at %v, unrealised %v", p.Quantity, entry, p.Unrealised(p.Quote.Last))
			}
		}
		check()
		w.stop()
		w.start()
		check()
	})
}

// TestFill_OfAnUnknownInstrumentHasItsBase holds that a fill that the stream reports before the
// instrument is known is stored with the asset that is traded.
func TestFill_OfAnUnknownInstrumentHasItsBase(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		w.venue.FeeInBase()
		w.venue.Place(order.Spec{ID: "web_1", Symbol: brokertest.MemorySymbol(), Side: order.Buy, Type: order.Market, Quantity: dec("0.5")})
		time.Sleep(time.Second)
		all, err := w.Orders(t.Context(), caller(), false)
		if err != nil || len(all) != 1 || len(all[0].Fills) != 1 || all[0].Fills[0].Base != "BTC" {
			t.Errorf("%+v, %v", all, err)
		}
	})
}
