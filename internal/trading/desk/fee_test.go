package desk_test

import (
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/market"
	"candela/internal/testkit/fake"
	"candela/internal/trading/order"
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
		r.Quantity, r.Risk.Amount = dec("0"), dec("10")
		p, err = d.Place(t.Context(), caller(), r)
		if err != nil || p.Estimate == nil || p.Estimate.Risk.LessThan(dec("9")) || p.Estimate.Risk.GreaterThan(dec("10")) {
			t.Errorf("sized as %+v, %v", p.Estimate, err)
		}
	})
}
