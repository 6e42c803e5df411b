package order_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/trading/order"
)

func TestFill_FeeInBase(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		symbol, asset, base string
		want                bool
	}{
		"the asset that is traded":                       {"BTCUSDT", "BTC", "BTC", true},
		"the currency of the price":                      {"BTCUSDT", "USDT", "BTC", false},
		"a third asset":                                  {"BTCUSDT", "BNB", "BTC", false},
		"no asset":                                       {"BTCUSDT", "", "", false},
		"a leveraged token":                              {"BNBUPUSDT", "BNB", "BNBUP", false},
		"a ticker that begins with its currency":         {"USDU", "USD", "USDU", false},
		"stored without base: a pair":                    {"BTCUSDT", "BTC", "", true},
		"stored without base: its currency":              {"BTCUSDT", "USDT", "", false},
		"stored without base: with a slash":              {"BTC/USD", "BTC", "", true},
		"stored without base: a leveraged token":         {"BNBUPUSDT", "BNB", "", false},
		"stored without base: an asset with a number":    {"1000SATSUSDT", "1000SATS", "", true},
		"stored without base: a ticker with its letters": {"USDU", "USD", "", false},
		"stored without base: a ticker like it":          {"USD", "USD", "", false},
	} {
		f := order.Fill{Symbol: symbol(tc.symbol), Fee: dec("1"), FeeAsset: tc.asset, Base: tc.base}
		if got := !f.FeeInBase().IsZero(); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// deal is a trade with its fee.
type deal struct{ quantity, price, fee, asset string }

// dealt returns a position after deals, one each second.
func dealt(t *testing.T, deals ...deal) order.Position {
	t.Helper()
	b := order.NewBook("me")
	for i, d := range deals {
		side, quantity := order.Buy, dec(d.quantity)
		if quantity.IsNegative() {
			side = order.Sell
		}
		g := origin(strconv.Itoa(i), side, quantity.Abs().String())
		f := trade(g, i, quantity.Abs().String(), d.price)
		f.Fee, f.FeeAsset, f.Base = dec(d.fee), d.asset, "BTC"
		for _, e := range []order.Event{created(g), event(g.ID, order.KindSent), filled(f)} {
			if err := b.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.Position(symbol("BTCUSDT"))
}

func figures(p order.Position) string {
	average, _ := p.Average()
	return fmt.Sprintf("%v at %v, realised %v, fees %v worth %v beside %v", p.Quantity, average, p.Realised, p.FeesInBase, p.FeesWorth, p.FeesBeside()["BTC"])
}

func TestPosition_FeesInBaseLeaveIt(t *testing.T) {
	t.Parallel()
	buy := deal{"0.5", "50000", "0.0005", "BTC"}
	var rounds []deal
	for range 10 {
		rounds = append(rounds, buy, deal{"-0.4995", "50000", "24.975", "USDT"})
	}
	for name, tc := range map[string]struct {
		deals []deal
		want  string
	}{
		"a purchase":                           {[]deal{buy}, "0.4995 at 50000, realised 0, fees 0.0005 worth 25 beside 0"},
		"a purchase after ten round trips":     {slices.Concat(rounds, []deal{{"0.005", "60000", "0.000005", "BTC"}}), "0.004995 at 60000, realised 0, fees 0.005005 worth 250.3 beside 0"},
		"a second purchase at another price":   {[]deal{buy, {"0.5", "60000", "0.0005", "BTC"}}, "0.999 at 55000, realised 0, fees 0.001 worth 55 beside 0"},
		"a sale that pays in the asset":        {[]deal{buy, {"-0.2", "60000", "0.0002", "BTC"}}, "0.2993 at 50000, realised 2002, fees 0.0007 worth 37 beside 0"},
		"a sale of all, fee from elsewhere":    {[]deal{buy, {"-0.5", "60000", "0.1", "BNB"}}, "0 at 0, realised 5000, fees 0 worth 0 beside 0.0005"},
		"a sale of some of what the fee took":  {[]deal{buy, {"-0.4998", "60000", "0.1", "BNB"}}, "0 at 0, realised 4998, fees 0.0002 worth 10 beside 0.0003"},
		"a sale of more than was bought":       {[]deal{buy, {"-0.6", "60000", "0.1", "BNB"}}, "-0.1 at 60000, realised 5000, fees 0 worth 0 beside 0.0005"},
		"fees of earlier positions stay away":  {slices.Concat(rounds, []deal{{"-0.1", "60000", "0", ""}}), "-0.1 at 60000, realised 0, fees 0.005 worth 250 beside 0"},
		"a fee of a position below zero":       {[]deal{{"-1", "50000", "0.001", "BTC"}}, "-1 at 50000, realised 0, fees 0 worth 0 beside 0.001"},
		"a purchase that closes one and opens": {[]deal{{"-1", "50000", "0", ""}, {"1.5", "40000", "0.001", "BTC"}}, "0.499 at 40000, realised 10000, fees 0.001 worth 40 beside 0"},
		"a rebate":                             {[]deal{{"1", "50000", "-0.001", "BTC"}}, "1.001 at 50000, realised 0, fees -0.001 worth -50 beside 0"},
	} {
		if got := figures(dealt(t, tc.deals...)); got != tc.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, tc.want)
		}
	}
}

// TestPosition_FeesAddUp draws trades in any order of arrival, with fees in the asset, its
// currency and a third one, and adjustments. Their sums, which are computed here from the trades
// alone, are those of the position to the last digit, also after a snapshot.
func TestPosition_FeesAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var opening, events []order.Event
		var cash, bought decimal.Decimal
		fees := make(map[string]decimal.Decimal)
		for i := range rapid.IntRange(1, 25).Draw(t, "trades") {
			signed, price := drawDecimal(t, "quantity", 1000), drawDecimal(t, "price", 1e6)
			if rapid.Bool().Draw(t, "sale") {
				signed = signed.Neg()
			}
			cash, bought = cash.Sub(signed.Mul(price)), bought.Add(signed)
			if rapid.IntRange(0, 9).Draw(t, "adjusted") == 0 {
				events = append(events, order.Event{Kind: order.KindAdjusted, At: second(i), Adjustment: &order.Adjustment{Symbol: symbol("BTCUSDT"), Quantity: signed, Price: price}})
				continue
			}
			side := order.Buy
			if signed.IsNegative() {
				side = order.Sell
			}
			g := origin(strconv.Itoa(i), side, signed.Abs().String())
			f := trade(g, i, signed.Abs().String(), price.String())
			f.FeeAsset = rapid.SampledFrom([]string{"BTC", "USDT", "BNB"}).Draw(t, "fee in")
			f.Fee = signed.Abs().Mul(decimal.New(rapid.Int64Range(-1, 5).Draw(t, "fee"), -3))
			f.Base = rapid.SampledFrom([]string{"BTC", ""}).Draw(t, "base")
			fees[f.FeeAsset] = fees[f.FeeAsset].Add(f.Fee)
			opening = append(opening, created(g), event(g.ID, order.KindSent))
			events = append(events, filled(f))
		}
		ordered, err := replay(append(opening, events...))
		if err != nil {
			t.Fatal(err)
		}
		p := ordered.Position(symbol("BTCUSDT"))
		mark := drawDecimal(t, "mark", 1e6)
		if left, right := p.Realised.Add(p.Unrealised(mark)).Sub(p.FeesWorth), cash.Add(p.Quantity.Mul(mark)); !left.Equal(right) || !p.Cash().Equal(cash) {
			t.Fatalf("%+v with cash %v: %v is not %v", p, cash, left, right)
		}
		if !p.Quantity.Add(p.FeesInBase).Equal(bought) || p.Quantity.IsZero() && !p.Cost.IsZero() || p.Quantity.Sign()*p.Cost.Sign() < 0 {
			t.Fatalf("%+v of %v bought", p, bought)
		}
		for asset, fee := range fees {
			if !p.Fees[asset].Equal(fee) {
				t.Fatalf("fees are %v, want %v %s", p.Fees, fee, asset)
			}
		}
		rng := generator(t)
		arrived := shuffled(rng, withRepeats(events))
		cut := rng.IntN(len(arrived) + 1)
		first, err := replay(append(opening, arrived[:cut]...))
		if err != nil {
			t.Fatal(err)
		}
		again, err := order.ReadSnapshot("me", snapshot(t, first))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range arrived[cut:] {
			if err := again.Apply(e); err != nil {
				t.Fatal(err)
			}
		}
		compare(t, ordered, again)
	})
}

// withRepeats adds each fill again.
func withRepeats(events []order.Event) []order.Event {
	all := slices.Clone(events)
	for _, e := range events {
		if e.Kind == order.KindFill {
			all = append(all, e)
		}
	}
	return all
}

// TestPosition_Current holds that the figures of the open position are without those of
// earlier ones.
func TestPosition_Current(t *testing.T) {
	t.Parallel()
	first := []deal{{"1", "100", "0.001", "BTC"}, {"-0.999", "110", "0.5", "USDT"}}
	show := func(p order.Position) string {
		now := p.Current()
		return fmt.Sprint(now.Realised, now.Fees["BTC"], now.Fees["USDT"], len(now.Fees), now.FeesInBase, now.FeesWorth)
	}
	for name, tc := range map[string]struct {
		more []deal
		want string
	}{
		"none is open":                 {nil, "0 0 0 0 0 0"},
		"the next":                     {[]deal{{"2", "100", "0.002", "BTC"}}, "0 0.002 0 1 0.002 0.2"},
		"a part of the next is closed": {[]deal{{"2", "100", "0", ""}, {"-1", "120", "0.25", "USDT"}}, "20 0 0.25 1 0 0"},
		"one order closes and opens":   {[]deal{{"2", "100", "0", ""}, {"-3", "120", "0.25", "USDT"}}, "0 0 0.25 1 0 0"},
	} {
		if got := show(dealt(t, slices.Concat(first, tc.more)...)); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
