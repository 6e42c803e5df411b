package margin_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/longtest"
	"candela/internal/trading/margin"
)

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// opened is a position that one trade opened.
func opened(quantity, price, leverage string) margin.Position {
	p, _ := margin.Position{}.Trade(dec(quantity), dec(price), dec(leverage))
	return p
}

func TestPosition_NumbersOfTheManual(t *testing.T) {
	t.Parallel()
	tick, usual := dec("0.01"), margin.Usual("BTC")
	short, long := opened("-0.1", "50000", "5"), opened("0.1", "50000", "5")
	for name, tc := range map[string]struct{ got, want decimal.Decimal }{
		"margin":              {short.Margin, dec("1000")},
		"unrealised at 49000": {short.Unrealised(dec("49000")), dec("100")},
		"equity at 49000":     {short.Equity(dec("49000")), dec("1100")},
		"funding received":    {margin.FundingAt(short.Quantity, dec("50000"), dec("0.0001")), dec("-0.5")},
		"funding paid":        {margin.FundingAt(long.Quantity, dec("50000"), dec("0.0001")), dec("0.5")},
		"margin of a third":   {opened("1", "100", "3").Margin, dec("33.333333333333333334")},
		"distance of a short": {margin.Distance(short, dec("59760.95"), dec("50000")), dec("19.5219")},
		"distance when past":  {margin.Distance(long, dec("40160.65"), dec("40000")), dec("-0.4016")},
		"average":             {short.Average(), dec("50000")},
	} {
		if !tc.got.Equal(tc.want) {
			t.Errorf("%s: got %s, want %s", name, tc.got, tc.want)
		}
	}
	for name, tc := range map[string]struct {
		p    margin.Position
		want string
	}{
		"short": {short, "59760.95"}, "long": {long, "40160.65"}, "a long without a loan": {opened("0.1", "50000", "1"), ""}, "none": {margin.Position{}, ""},
		"short after funding": {short.Pay(dec("10")), "59661.35"},
	} {
		price, ok := usual.Liquidation(tc.p, tick)
		if ok != (tc.want != "") || ok && !price.Equal(dec(tc.want)) {
			t.Errorf("%s: liquidation at %s (%v), want %q", name, price, ok, tc.want)
		}
	}
}

// demanded is the maintenance margin of a notional as a tax with rising rates: each part pays the rate of
// its own bracket. It knows nothing of amounts.
func demanded(brackets margin.Tiers, notional *big.Rat) *big.Rat {
	sum, from := new(big.Rat), new(big.Rat)
	for i, b := range brackets {
		to := b.Notional.Rat()
		if i == len(brackets)-1 || to.Cmp(notional) > 0 {
			to = notional
		}
		if part := new(big.Rat).Sub(to, from); part.Sign() > 0 {
			sum.Add(sum, part.Mul(part, b.Maintenance.Rat()))
		}
		from = b.Notional.Rat()
	}
	return sum
}

// lost reports whether a position has no more than is demanded at a price, in fractions.
func lost(brackets margin.Tiers, p margin.Position, price *big.Rat) bool {
	quantity := p.Quantity.Rat()
	equity := new(big.Rat).Mul(quantity, price)
	equity.Sub(equity, p.Cost.Rat()).Add(equity, p.Margin.Rat())
	notional := new(big.Rat).Mul(quantity, price)
	return equity.Cmp(demanded(brackets, notional.Abs(notional))) <= 0
}

// searched finds the liquidation price by halving: the price nearest to the entry, in ticks, at which a
// position is lost.
func searched(brackets margin.Tiers, p margin.Position, tick *big.Rat) (*big.Rat, bool) {
	at := func(n int64) *big.Rat { return new(big.Rat).Mul(tick, new(big.Rat).SetInt64(n)) }
	isLost := func(n int64) bool { return lost(brackets, p, at(n)) }
	far, near := int64(1), int64(1)
	if p.Quantity.IsPositive() { // lost below, alive above
		if !isLost(far) {
			return nil, false
		}
		near = 2
		for isLost(near) {
			near *= 2
		}
		for near-far > 1 {
			if middle := far + (near-far)/2; isLost(middle) {
				far = middle
			} else {
				near = middle
			}
		}
		return at(near), true // the venue acts before the margin is less than is demanded
	}
	far = 2
	for !isLost(far) {
		far *= 2
	}
	for far-near > 1 {
		if middle := near + (far-near)/2; isLost(middle) {
			far = middle
		} else {
			near = middle
		}
	}
	return at(near), true
}

// TestLiquidation_SecondDerivation holds the price beside one that is searched for, with the margin as a
// tax: in every tier, for both sides, after adding, reducing and funding.
func TestLiquidation_SecondDerivation(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(longtest.Seed(), 1))
	tiersSeen, none := make(map[decimal.Decimal]int), 0
	for n := range longtest.Pick(500, 20_000) {
		brackets := margin.Usual([]string{"BTC", "DOGE"}[n%2])
		tick := dec([]string{"0.1", "0.01", "0.5"}[rng.IntN(3)])
		price := decimal.New(1+rng.Int64N(10_000_000), -2)
		worth := decimal.New(1+rng.Int64N(9), rng.Int32N(10)) // 1 to 9e9, so that every tier is met
		quantity := worth.DivRound(price, 3).Add(dec("0.001"))
		if rng.IntN(2) == 0 {
			quantity = quantity.Neg()
		}
		leverage := decimal.NewFromInt(1 + rng.Int64N(brackets.At(worth).MaxLeverage.IntPart()))
		p, _ := margin.Position{}.Trade(quantity, price, leverage)
		switch rng.IntN(4) {
		case 0:
			p, _ = p.Trade(quantity, price.Mul(dec("1.01")), leverage)
		case 1:
			p, _ = p.Trade(quantity.Neg().DivRound(decimal.NewFromInt(3), 3), price, leverage)
		case 2:
			p = p.Pay(p.Margin.Mul(decimal.New(rng.Int64N(400)-200, -3)))
		}
		want, lives := searched(brackets, p, tick.Rat())
		got, ok := brackets.Liquidation(p, tick)
		// The search knows prices from one tick on; the price itself may lie below.
		if !lives && ok && got.LessThanOrEqual(tick) {
			lives, want = true, got.Rat()
		}
		exact := ok && lives && lost(brackets, p, got.Rat())
		if ok != lives || ok && got.Rat().Cmp(want) != 0 && !exact {
			t.Fatalf("case %d: %s at %s, %sx: liquidation at %s (%v), searched %v (%v)", n, p.Quantity, p.Average(), leverage, got, ok, want, lives)
		}
		if !ok {
			none++
			continue
		}
		tiersSeen[brackets.At(got.Mul(p.Quantity.Abs())).Maintenance]++
		if left := p.Equity(got); left.IsNegative() {
			t.Fatalf("case %d: %s are left at %s", n, left, got)
		}
	}
	if len(tiersSeen) < 10 || none == 0 {
		t.Errorf("the cases met %d tiers, and %d positions that nothing liquidates", len(tiersSeen), none)
	}
}

// account is a second ledger: all that went in and out, and nothing else.
type account struct {
	p                        margin.Position
	cash, deposits, proceeds decimal.Decimal
	fees, funding            decimal.Decimal
	liquidations, trades     int
}

func (a *account) trade(quantity, price, leverage decimal.Decimal) {
	if before := a.p.Quantity; !a.p.Opens(quantity) && quantity.Abs().GreaterThan(before.Abs()) {
		a.trade(before.Neg(), price, leverage)
		quantity = quantity.Add(before)
		if quantity.IsZero() {
			return
		}
	}
	after, cash := a.p.Trade(quantity, price, leverage)
	fee := quantity.Abs().Mul(price).Mul(dec("0.0005"))
	a.p, a.cash, a.fees = after, a.cash.Add(cash).Sub(fee), a.fees.Add(fee)
	a.proceeds = a.proceeds.Sub(quantity.Mul(price))
	a.trades++
}

func (a *account) liquidate(price decimal.Decimal) {
	after, cash := a.p.Trade(a.p.Quantity.Neg(), price, decimal.NewFromInt(1))
	a.proceeds = a.proceeds.Add(a.p.Quantity.Mul(price))
	a.p, a.fees = after, a.fees.Add(cash) // what is left is the fee
	a.liquidations++
}

// TestPosition_RandomSequencesAreExact trades, pays and liquidates at random: nothing is ever lost or made
// by rounding.
func TestPosition_RandomSequencesAreExact(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(longtest.Seed(), 2))
	liquidations, trades := 0, 0
	for n := range longtest.Pick(500, 100_000) {
		brackets, tick := margin.Usual([]string{"BTC", "SOL"}[n%2]), dec("0.1")
		a := account{cash: dec("100000"), deposits: dec("100000")}
		price := decimal.New(10_000+rng.Int64N(90_000), -1)
		for range 1 + rng.IntN(40) {
			price = decimal.Max(price.Add(decimal.New(rng.Int64N(4001)-2000, -1)), dec("100"))
			if at, ok := brackets.Liquidation(a.p, tick); ok && brackets.Liquidated(a.p, price, tick) {
				cash := a.cash
				a.liquidate(at)
				if !a.cash.Equal(cash) || !a.p.Margin.IsZero() {
					t.Fatalf("sequence %d: a liquidation took %s besides the margin", n, cash.Sub(a.cash))
				}
			}
			switch rng.IntN(5) {
			case 0:
				paid := margin.FundingAt(a.p.Quantity, price, decimal.New(rng.Int64N(61)-30, -5))
				a.p, a.funding = a.p.Pay(paid), a.funding.Add(paid)
			case 1:
				a.trade(a.p.Quantity.Neg().DivRound(decimal.NewFromInt(1+rng.Int64N(3)), 3), price, dec("3"))
			default:
				a.trade(decimal.New(rng.Int64N(4001)-2000, -3), price, decimal.NewFromInt(1+rng.Int64N(20)))
			}
			a.check(t, n)
		}
		a.trade(a.p.Quantity.Neg(), price, dec("1"))
		a.check(t, n)
		if !a.p.Margin.IsZero() || !a.p.Cost.IsZero() || !a.p.Realised.Equal(a.proceeds) {
			t.Fatalf("sequence %d: %+v is left of a closed position, which brought %s", n, a.p, a.proceeds)
		}
		liquidations, trades = liquidations+a.liquidations, trades+a.trades
	}
	if liquidations == 0 || trades < 1000 {
		t.Errorf("%d trades and %d liquidations", trades, liquidations)
	}
}

func (a *account) check(t *testing.T, n int) {
	t.Helper()
	have := a.cash.Add(a.p.Margin)
	if want := a.deposits.Add(a.p.Realised).Sub(a.fees).Sub(a.funding); !have.Equal(want) || !a.funding.Equal(a.p.Funding) {
		t.Fatalf("sequence %d: cash and margin are %s, want %s", n, have, want)
	}
}

// TestPosition_Mirrored holds that a short earns on mirrored prices what a long earns.
func TestPosition_Mirrored(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(longtest.Seed(), 3))
	twice := dec("20000")
	for n := range 10_000 {
		var long, short margin.Position
		for range 1 + rng.IntN(20) {
			price, quantity := decimal.New(90_000+rng.Int64N(20_000), -1), decimal.New(rng.Int64N(201)-100, -2)
			if after := long.Quantity.Add(quantity); after.Sign()*long.Quantity.Sign() < 0 {
				quantity = long.Quantity.Neg()
			}
			long, _ = long.Trade(quantity, price, dec("5"))
			short, _ = short.Trade(quantity.Neg(), twice.Sub(price), dec("5"))
			if !long.Quantity.Equal(short.Quantity.Neg()) || !long.Realised.Sub(short.Realised).Abs().LessThan(dec("0.000000000001")) ||
				!long.Unrealised(price).Sub(short.Unrealised(twice.Sub(price))).Abs().LessThan(dec("0.000000000001")) {
				t.Fatalf("sequence %d: %+v and %+v", n, long, short)
			}
		}
		price := dec("9990")
		long, _ = long.Trade(long.Quantity.Neg(), price, dec("5"))
		short, _ = short.Trade(short.Quantity.Neg(), twice.Sub(price), dec("5"))
		if !long.Realised.Equal(short.Realised) {
			t.Fatalf("sequence %d: the long earned %s, the short %s", n, long.Realised, short.Realised)
		}
	}
}
