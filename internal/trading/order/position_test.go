package order_test

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/testkit/longtest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

func throughJSON[T any](t *testing.T, v T) T {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var back T
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return back
}

func TestPosition_Trade(t *testing.T) {
	t.Parallel()
	type step struct{ quantity, price, held, cost, realised string }
	for name, steps := range map[string][]step{
		"opens, adds, closes": {
			{"1", "100", "1", "100", "0"},
			{"1", "110", "2", "210", "0"},
			{"-1", "120", "1", "105", "15"},
			{"-1", "90", "0", "0", "0"},
		},
		"a short one earns when the price falls": {
			{"-2", "100", "-2", "-200", "0"},
			{"1", "90", "-1", "-100", "10"},
			{"1", "120", "0", "0", "-10"},
		},
		"a flip closes all and opens the rest": {
			{"2", "100", "2", "200", "0"},
			{"-5", "110", "-3", "-330", "20"},
			{"4", "100", "1", "100", "50"},
		},
		"a third does not end, and nothing is lost": {
			{"3", "10", "3", "30", "0"},
			{"0.1", "0.7", "3.1", "30.07", "0"},
			{"-1", "20", "2.1", "20.37", "10.3"},
			{"-1.1", "20", "1", "9.7", "21.63"},
			{"-0.7", "0", "0.3", "2.91", "14.84"},
			{"-0.3", "0", "0", "0", "11.93"},
		},
		"what does not end is rounded far out": {
			{"3", "1", "3", "3", "0"},
			{"4", "2", "7", "11", "0"},
			{"-1", "0", "6", "9.428571428571428571", "-1.571428571428571429"},
			{"-6", "0", "0", "0", "-11"},
		},
	} {
		p := order.Position{Symbol: symbol("BTCUSDT")}
		for i, s := range steps {
			p = p.Trade(dec(s.quantity), dec(s.price))
			if !p.Quantity.Equal(dec(s.held)) || !p.Cost.Equal(dec(s.cost)) || !p.Realised.Equal(dec(s.realised)) {
				t.Errorf("%s, step %d: %v, cost %v, realised %v", name, i, p.Quantity, p.Cost, p.Realised)
			}
		}
	}
}

func TestPosition_Reading(t *testing.T) {
	t.Parallel()
	flat := order.Position{}
	long := flat.Trade(dec("3"), dec("10"))
	short := flat.Trade(dec("-3"), dec("10"))
	if flat.Side() != 0 || long.Side() != order.Buy || short.Side() != order.Sell {
		t.Error("sides")
	}
	if _, ok := flat.Average(); ok {
		t.Error("nothing has an average")
	}
	if a, ok := short.Average(); !ok || !a.Equal(dec("10")) {
		t.Errorf("average %v", a)
	}
	if !long.Unrealised(dec("11")).Equal(dec("3")) || !short.Unrealised(dec("11")).Equal(dec("-3")) || !long.Cash().Equal(dec("-30")) {
		t.Error("profit")
	}
	long.Fees, long.Base, long.FeesInBase = order.Fees{"BTC": dec("0.003"), "BNB": dec("1")}, "BTC", dec("0.002")
	if beside := long.FeesBeside(); len(beside) != 2 || !beside["BTC"].Equal(dec("0.001")) || !beside["BNB"].Equal(dec("1")) {
		t.Errorf("beside the position are %v", beside)
	}
}

// TestPosition_Identity checks realised + unrealised = cash + quantity x mark,
// exactly, after every trade of random sequences with flips. Cash and
// quantity are computed here, from the trades alone and in whole numbers, so that
// nothing of what is tested is taken for granted.
func TestPosition_Identity(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(longtest.Seed()+6, 11))
	sequences := longtest.Pick(1000, 10_000)
	flips, cuts, closes := 0, 0, 0
	for n := range sequences {
		p := order.Position{}
		cash, held := new(big.Int), new(big.Int) // in units of the 16th and the 8th decimal
		for range 1 + rng.IntN(30) {
			quantity := decimal.New(1+rng.Int64N(100_000), -rng.Int32N(9))
			if rng.IntN(2) == 0 {
				quantity = quantity.Neg()
			}
			if rng.IntN(6) == 0 && !p.Quantity.IsZero() {
				quantity = p.Quantity.Neg() // close, exactly
			}
			price := decimal.New(rng.Int64N(10_000_000), -rng.Int32N(9))
			was := p.Quantity.Sign()
			p = p.Trade(quantity, price)
			cash.Sub(cash, new(big.Int).Mul(units(quantity, 8), units(price, 8)))
			held.Add(held, units(quantity, 8))
			switch now := p.Quantity.Sign(); {
			case was != 0 && now == -was:
				flips++
			case was != 0 && now == 0:
				closes++
			case was != 0 && was != quantity.Sign():
				cuts++
			}
			mark := decimal.New(rng.Int64N(10_000_000), -rng.Int32N(9))
			left := units(p.Realised.Add(p.Unrealised(mark)), 16)
			right := new(big.Int).Add(cash, new(big.Int).Mul(held, units(mark, 8)))
			if left.Cmp(right) != 0 || units(p.Quantity, 8).Cmp(held) != 0 {
				t.Fatalf("sequence %d: %v + %v is not %v", n, p.Realised, p.Unrealised(mark), right)
			}
			if units(p.Cash(), 16).Cmp(cash) != 0 || p.Quantity.IsZero() && !p.Cost.IsZero() || p.Quantity.Sign()*p.Cost.Sign() < 0 {
				t.Fatalf("sequence %d: %+v with cash %v", n, p, cash)
			}
			if places := -p.Realised.Exponent(); places > 18 {
				t.Fatalf("sequence %d: %d decimals", n, places)
			}
		}
	}
	t.Logf("%d sequences with %d flips, %d partial and %d full closes", sequences, flips, cuts, closes)
	if flips < sequences || cuts < sequences || closes < sequences {
		t.Error("too few flips or closes to say anything")
	}
}

// units returns d as a whole number of units of its given decimal, and nil when
// that is not exact.
func units(d decimal.Decimal, places int32) *big.Int {
	if d = d.Shift(places); !d.IsInteger() {
		return nil
	}
	return d.BigInt()
}

// TestPosition_PartialCloseKeepsTheAverage holds the one division: a cut leaves
// the average where it was, to the last decimal of what is shown, and takes the
// difference to the price as profit.
func TestPosition_PartialCloseKeepsTheAverage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := order.Position{}.Trade(drawDecimal(t, "first", 1e6), drawDecimal(t, "price", 1e6)).
			Trade(drawDecimal(t, "second", 1e6), drawDecimal(t, "price", 1e6))
		part := p.Quantity.Mul(decimal.New(rapid.Int64Range(1, 999).Draw(t, "thousandths"), -3))
		price := drawDecimal(t, "price", 1e6)
		after := p.Trade(part.Neg(), price)
		exact := new(big.Rat).Quo(p.Cost.Rat(), p.Quantity.Rat())
		got := new(big.Rat).Quo(after.Cost.Rat(), after.Quantity.Rat())
		// Half a unit of the 18th decimal of cost, over the quantity that is left.
		bound := new(big.Rat).Quo(big.NewRat(1, 2e18), after.Quantity.Rat())
		if diff := new(big.Rat).Sub(got, exact); diff.Abs(diff).Cmp(bound) > 0 {
			t.Fatalf("the average moved from %v to %v", exact.FloatString(30), got.FloatString(30))
		}
	})
}

// TestBook_AnyOrderOfFills draws orders that trade at the same time, and gives
// their fills to a book as they happened, and to another repeated and in any
// order.
func TestBook_AnyOrderOfFills(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rng := generator(t)
		var opening, fills []order.Event
		for i := range rapid.IntRange(1, 6).Draw(t, "orders") {
			g := origin(string(rune('a'+i)), rapid.SampledFrom([]order.Side{order.Buy, order.Sell}).Draw(t, "side"), "1")
			g.Quantity = drawDecimal(t, "quantity", 1000)
			opening = append(opening, created(g), event(g.ID, order.KindSent))
			for _, part := range split(rng, g.Quantity, rapid.IntRange(1, 6).Draw(t, "fills")) {
				f := trade(g, len(fills), "1", "1") // a time and trade id of its own
				f.At = second(rapid.IntRange(0, 10).Draw(t, "at"))
				f.Quantity, f.Price = part, drawDecimal(t, "price", 1000)
				fills = append(fills, filled(f))
			}
		}
		as, err := replay(append(opening, fills...))
		if err != nil {
			t.Fatal(err)
		}
		other, err := replay(append(opening, shuffled(rng, twice(rng, fills))...))
		if err != nil {
			t.Fatal(err)
		}
		compare(t, as, other)
		var sum decimal.Decimal
		for _, o := range other.Orders() {
			if o.Status != order.Filled || !o.Filled.Equal(o.Quantity) {
				t.Fatalf("%+v", o)
			}
			sum = sum.Add(o.Quantity.Mul(decimal.NewFromInt(o.Side.Sign())))
		}
		if p := other.Position(symbol("BTCUSDT")); !p.Quantity.Equal(sum) {
			t.Fatalf("the position is %v, the orders sum to %v", p.Quantity, sum)
		}
	})
}

// compare wants two books with equal orders and positions.
func compare(t *rapid.T, a, b *order.Book) {
	t.Helper()
	left, right := a.Orders(), b.Orders()
	if len(left) != len(right) {
		t.Fatalf("%d orders and %d", len(left), len(right))
	}
	for i := range left {
		if diff := same(left[i], right[i]); diff != "" {
			t.Fatal(diff)
		}
	}
	if diff := cmp.Diff(a.Positions(), b.Positions()); diff != "" {
		t.Fatal(diff)
	}
	day := second(0)
	if diff := cmp.Diff(a.Traded(day), b.Traded(day)); diff != "" {
		t.Fatal(diff)
	}
}

// TestBook_FundingCountsOnce holds that payments change no realised profit, count once in any order, and
// survive a snapshot.
func TestBook_FundingCountsOnce(t *testing.T) {
	t.Parallel()
	s, at := market.Symbol{Venue: "binance", Name: "BTCUSDT.P"}, time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	pay := func(after time.Duration, amount string) order.Event {
		return order.Event{Kind: order.KindFunded, At: at.Add(after), Funding: &order.Funding{Symbol: s, At: at.Add(after), Amount: decimal.RequireFromString(amount)}}
	}
	b := order.NewBook("me")
	for _, e := range []order.Event{pay(8*time.Hour, "-0.5"), pay(0, "1.25"), pay(8*time.Hour, "-0.5"), pay(0, "1.25"), pay(30*time.Hour, "2")} {
		if err := b.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	data, err := b.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	again, err := order.ReadSnapshot("me", data)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []*order.Book{b, again} {
		p := one.Position(s)
		realised, _, funding := one.EarnedDays()[0].Since(0)
		_, _, today := one.EarnedDays()[0].Since(at.Add(24*time.Hour).Unix() / 86400)
		if !p.Funding.Equal(decimal.RequireFromString("2.75")) || !funding.Equal(p.Funding) || !today.Equal(decimal.NewFromInt(2)) || !p.Realised.IsZero() || !realised.IsZero() {
			t.Errorf("%+v, %s in days, %s on the last", p, funding, today)
		}
	}
	for name, e := range map[string]order.Event{"without funding": {Kind: order.KindFunded}, "without a symbol": {Kind: order.KindFunded, Funding: &order.Funding{At: at}}} {
		if b.Check(e) == nil {
			t.Errorf("%s: passes", name)
		}
	}
}
