package paper_test

import (
	"strconv"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
)

// from returns a sale of 1 that trails and goes on from a best price.
func from(best, percent string) order.Spec {
	o := trailing(percent)
	o.Best = dec(best)
	return o
}

// TestSubmit_TrailGoesOn places a trail of one BTC that has followed a price before. The last
// price is 50,000, the slippage five basis points.
func TestSubmit_TrailGoesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o                order.Spec
		want, stop, best string
	}{
		"it begins at the last price":            {trailing("4"), "accepted 0/1", "48000", "50000"},
		"it goes on from the best price":         {from("52000", "3.9"), "accepted 0/1", "49972", "52000"},
		"a worse price than the last is no best": {from("49000", "4"), "accepted 0/1", "48000", "50000"},
		"it sells at once beyond its stop":       {from("52000", "2"), "filled 1/1 1@49975", "50960", "52000"},
		"it sells at once at its stop":           {from("62500", "20"), "filled 1/1 1@49975", "50000", "62500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := open(t, &papertest.Journal{})
			v.submit(t, spec(order.Buy, order.Market, "1", ""))
			reports := v.Tap()
			v.place(t, c.o)
			for _, r := range append(reports(), v.order(t, "stop")) {
				if !r.StopPrice.Equal(dec(c.stop)) || !r.Best.Equal(dec(c.best)) {
					t.Errorf("the stop is at %s with the best price %s, want %s and %s", r.StopPrice, r.Best, c.stop, c.best)
				}
			}
			r := v.order(t, "stop")
			if got := shown(r); got != c.want || r.Triggered.IsZero() == (r.Status == order.Filled) {
				t.Errorf("it is %q and was triggered at %v, want %q", got, r.Triggered, c.want)
			}
		})
	}
}

// TestObserve_TrailReportsItsLevel holds that a trail that moves says where it stands, also
// after a restart.
func TestObserve_TrailReportsItsLevel(t *testing.T) {
	t.Parallel()
	v := open(t, &papertest.Journal{})
	v.submit(t, spec(order.Buy, order.Market, "1", ""))
	v.place(t, from("51000", "4"))
	reports := v.Tap()
	v.bars(0, bar{50000, 50900, 50000, 50900, 9}, bar{50900, 52000, 50900, 52000, 9})
	all := reports()
	if len(all) != 1 || !all[0].StopPrice.Equal(dec("49920")) || !all[0].Best.Equal(dec("52000")) {
		t.Errorf("reported are %+v", all)
	}
	again, err := v.Again(t.Context(), v.journal)
	if err != nil {
		t.Fatal(err)
	}
	if r := (&venue{Broker: again}).order(t, "stop"); !r.StopPrice.Equal(dec("49920")) || !r.Best.Equal(dec("52000")) {
		t.Errorf("after a restart %+v", r)
	}
}

// TestSwap_PairWithTrailBeyondItsStop sells at once, and the target ends.
func TestSwap_PairWithTrailBeyondItsStop(t *testing.T) {
	t.Parallel()
	v := open(t, &papertest.Journal{})
	v.submit(t, spec(order.Buy, order.Market, "1", ""))
	orders := group(order.Request{
		Side: order.Sell, Type: order.Market, Quantity: dec("1"), ReduceOnly: true,
		Protect: order.Protection{TrailPercent: dec("1"), TakeProfit: dec("60000")},
	})
	orders[1].Best = dec("51000")
	if _, err := v.Swap(t.Context(), nil, [][]order.Spec{orders}); err != nil {
		t.Fatal(err)
	}
	v.wantOrders(t, map[string]string{"stop": "filled 1/1 1@49975", "head": "canceled 0/1"})
}

// TestSwap_TrailStaysWhereItIs replaces a trail again and again while the price moves: it fills
// when and where the one would have that was never replaced.
func TestSwap_TrailStaysWhereItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		kept, moved := open(t, &papertest.Journal{}), open(t, &papertest.Journal{})
		o := trailing(decimal.New(rapid.Int64Range(10, 500).Draw(rt, "percent"), -2).String())
		for _, v := range []*venue{kept, moved} {
			v.submit(t, spec(order.Buy, order.Market, "1", ""))
			v.place(t, o)
		}
		last := 50000.0
		for i := range rapid.IntRange(1, 20).Draw(rt, "bars") {
			next := float64(rapid.IntRange(4_800_000, 5_300_000).Draw(rt, "price")) / 100
			for _, v := range []*venue{kept, moved} {
				v.bars(i, bar{last, max(last, next), min(last, next), next, 9})
				v.market.Set(btc(), order.Quote{Last: decimal.NewFromFloat(next)})
			}
			last = next
			want, got := kept.order(t, "stop"), moved.order(t, o.ID)
			if shown(want) != shown(got) || !want.StopPrice.Equal(got.StopPrice) || !want.Best.Equal(got.Best) {
				rt.Fatalf("bar %d: %s with the stop at %s, want %s at %s", i, shown(got), got.StopPrice, shown(want), want.StopPrice)
			}
			if got.Status.Final() {
				return
			}
			old := o
			o.ID, o.Best = "stop "+strconv.Itoa(i), got.Best
			if _, err := moved.Swap(t.Context(), []order.Handle{old.Handle()}, [][]order.Spec{{o}}); err != nil {
				rt.Fatal(err)
			}
		}
	})
}
