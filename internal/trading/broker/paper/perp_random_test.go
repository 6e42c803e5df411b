package paper_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"candela/internal/data/provider"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/order"
)

// TestPerpetual_RandomAccounts trades longs and shorts with brackets, stops, trails, exits, funding, cancels,
// restarts and liquidations at random: cash and margin are exact after every step. At the end all is
// closed, and the cash follows from fills and payments alone, which know nothing of margins.
func TestPerpetual_RandomAccounts(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(longtest.Seed(), 4))
	seen := make(map[string]int)
	for n := range longtest.Pick(150, 100_000) {
		v := newPerps(t, []string{"3", "10", "40"}[n%3], paper.Usual())
		if n%2 == 0 {
			v.SnapshotEvery(5)
		}
		for range 5 + rng.IntN(30) {
			v.random(rng, seen)
			v.exact()
		}
		reduced(t, v)
		v.flatten(rng)
		v.exact()
		v.ledger(n, seen)
	}
	t.Log(seen)
	for _, kind := range []string{
		"long opened", "short opened", "long added", "short added", "long reduced", "short reduced", "long closed", "short closed",
		"long liquidated", "short liquidated", "stop", "trail", "target", "funding", "restart", "cancel", "refused",
	} {
		if seen[kind] < 5 {
			t.Errorf("%s was met %d times", kind, seen[kind])
		}
	}
}

// reduced holds that nothing that reduces is open without a position.
func reduced(t *testing.T, v *perps) {
	t.Helper()
	open, _ := v.Open(t.Context())
	for _, o := range open {
		if o.ReduceOnly && !o.Group.Leg && o.Status != order.Held && v.position().Quantity.IsZero() {
			t.Fatalf("%s is open without a position", o.ID)
		}
	}
}

// random lets one thing happen.
func (v *perps) random(rng *rand.Rand, seen map[string]int) {
	at := func() float64 { return 46_000 + float64(rng.IntN(81))*100 }
	price := func() decimal.Decimal { return decimal.NewFromFloat(at()) }
	r := order.Request{Side: []order.Side{order.Buy, order.Sell}[rng.IntN(2)], Type: order.Market, Quantity: quantity(rng.IntN(5))}
	switch rng.IntN(12) {
	case 0, 1, 2, 3:
		o, c := at(), at()
		v.step(o, max(o, c, at()), min(o, c, at()), c)
		return
	case 4:
		v.due(decimal.New(rng.Int64N(61)-30, -5))
		return
	case 5:
		if open, _ := v.Open(v.tb.Context()); len(open) > 0 {
			seen["cancel"]++
			v.cancel(open[rng.IntN(len(open))])
		}
		return
	case 6:
		seen["restart"]++
		v.restart()
		return
	case 7:
		r.ReduceOnly = true
	case 8:
		r.ReduceOnly, r.Protect = true, order.Protection{StopLoss: price()}
		if rng.IntN(2) == 0 {
			r.Protect = order.Protection{TrailPercent: dec("0.7")}
		}
	case 9:
		r.Protect = order.Protection{StopLoss: price(), TakeProfit: price()}
	case 10:
		r.Type, r.Price = order.Limit, price()
	}
	v.now = v.now.Add(time.Second)
	v.quote()
	if _, err := v.send(r); err != nil {
		seen["refused"]++
	}
}

// due lets a funding time come, and asks for its payment.
func (v *perps) due(rate decimal.Decimal) {
	v.rates = append(v.rates, provider.Funding{At: v.now, Rate: rate.InexactFloat64(), Mark: v.bar.C})
	v.now = v.now.Add(time.Second)
	v.quote()
	v.payments()
}

func (v *perps) payments() []order.Funding {
	paid, err := v.Funding(v.tb.Context(), time.Time{})
	if err != nil {
		v.tb.Fatal(err)
	}
	return paid
}

func (v *perps) cancel(o order.Report) {
	if _, err := v.Cancel(v.tb.Context(), o.Handle()); err != nil {
		v.tb.Fatal(err)
	}
}

// flatten cancels all and closes the position in two parts, with a restart between.
func (v *perps) flatten(rng *rand.Rand) {
	for open, _ := v.Open(v.tb.Context()); len(open) > 0; open, _ = v.Open(v.tb.Context()) {
		v.cancel(open[0])
	}
	for _, part := range []decimal.Decimal{decimal.New(1+rng.Int64N(9), -1), decimal.NewFromInt(1)} {
		held := v.position().Quantity
		side := order.Sell
		if held.IsNegative() {
			side = order.Buy
		}
		v.now = v.now.Add(time.Second)
		v.quote()
		if quantity := held.Abs().Mul(part).RoundUp(5); quantity.IsPositive() {
			v.sent(side, quantity.String(), func(r *order.Request) { r.ReduceOnly = true })
		}
		v.restart()
	}
	if p := v.position(); !p.Quantity.IsZero() || !p.Cost.IsZero() || !p.Margin.IsZero() {
		v.tb.Fatalf("%+v is left of what was closed", p)
	}
}

// ledger holds a closed account beside a ledger of its fills and payments, and counts what it met.
func (v *perps) ledger(n int, seen map[string]int) {
	fills, _, err := v.Fills(v.tb.Context(), perpetual().Symbol, "")
	if err != nil {
		v.tb.Fatal(err)
	}
	paid, cash, held := v.payments(), dec("100000"), decimal.Zero
	orders := make(map[string]order.Report)
	for _, o := range v.Taken() {
		orders[o.ID] = o
	}
	for _, f := range fills {
		for len(paid) > 0 && !paid[0].At.After(f.At) { // a trade at the time itself comes after it
			cash = v.pays(paid[0], held, cash)
			paid = paid[1:]
			seen["funding"]++
		}
		signed := f.Quantity.Mul(decimal.NewFromInt(f.Side.Sign()))
		seen[turned(held, signed, f)]++
		switch o := orders[f.OrderID]; {
		case o.TrailPercent.IsPositive():
			seen["trail"]++
		case o.StopPrice.IsPositive():
			seen["stop"]++
		case o.Role == order.TakeProfit:
			seen["target"]++
		}
		held, cash = held.Add(signed), cash.Sub(signed.Mul(f.Price)).Sub(f.Fee)
	}
	for _, p := range paid {
		cash = v.pays(p, held, cash)
	}
	if !held.IsZero() || !v.cash().Equal(cash) {
		v.tb.Fatalf("sequence %d: the account has %s, its fills and payments come to %s with %s held", n, v.cash(), cash, held)
	}
}

// pays takes a payment from the cash, as the rate and what was held make it.
func (v *perps) pays(f order.Funding, held, cash decimal.Decimal) decimal.Decimal {
	i := slices.IndexFunc(v.rates, func(r provider.Funding) bool { return r.At.Equal(f.At) })
	if i < 0 {
		v.tb.Fatalf("%+v was never due", f)
	}
	amount := held.Mul(decimal.NewFromFloat(v.rates[i].Mark)).Mul(decimal.NewFromFloat(v.rates[i].Rate))
	if !f.Amount.Equal(amount) {
		v.tb.Fatalf("%+v was paid for %s, want %s", f, held, amount)
	}
	return cash.Sub(amount)
}

// turned names what a fill does to a position.
func turned(held, signed decimal.Decimal, f order.Fill) string {
	after := held.Add(signed)
	side, of := "long", held
	if held.IsZero() {
		of = after
	}
	if of.IsNegative() {
		side = "short"
	}
	switch {
	case f.Cause == order.ByLiquidation:
		return side + " liquidated"
	case held.IsZero():
		return side + " opened"
	case held.Sign() == signed.Sign():
		return side + " added"
	case after.IsZero():
		return side + " closed"
	case after.Sign() == held.Sign():
		return side + " reduced"
	}
	return side + " turned round"
}

// twice is what a price and its mirrored price add up to.
const twice = 100_000

func mirrored(d decimal.Decimal) decimal.Decimal {
	if !d.IsPositive() {
		return d
	}
	return decimal.NewFromInt(twice).Sub(d)
}

// TestPerpetual_Mirrored plays the same orders on prices turned round: what one account buys, the other
// sells, both have the same orders, and both earn the same.
func TestPerpetual_Mirrored(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(longtest.Seed(), 5))
	fills, orders := 0, 0
	for range longtest.Pick(200, 10_000) {
		up, down := newPerps(t, "2", paper.Rates{}), newPerps(t, "2", paper.Rates{})
		for range 5 + rng.IntN(20) {
			bothDo(rng, up, down)
		}
		left, _, _ := up.Fills(t.Context(), perpetual().Symbol, "")
		right, _, _ := down.Fills(t.Context(), perpetual().Symbol, "")
		if len(left) != len(right) {
			t.Fatalf("%d fills and %d", len(left), len(right))
		}
		for i, f := range left {
			g := right[i]
			if f.Side != g.Side.Opposite() || !f.Quantity.Equal(g.Quantity) || !f.Price.Equal(mirrored(g.Price)) || f.Cause != g.Cause || f.OrderID != g.OrderID {
				t.Fatalf("%+v and %+v", f, g)
			}
		}
		p, q := up.position(), down.position()
		price := decimal.NewFromFloat(up.bar.C)
		if !p.Realised.Add(p.Unrealised(price)).Equal(q.Realised.Add(q.Unrealised(mirrored(price)))) {
			t.Fatalf("one earned %s, the other %s", p.Realised, q.Realised)
		}
		one, other := listed(up, false), listed(down, true)
		if diff := cmp.Diff(one, other); diff != "" {
			t.Fatal("the orders differ", diff)
		}
		fills, orders = fills+len(left), orders+len(one)
	}
	t.Log(fills, "fills of", orders, "orders")
	if fills < 300 || orders < 500 {
		t.Errorf("only %d fills of %d orders were compared", fills, orders)
	}
}

// bothDo lets the same happen in both accounts.
func bothDo(rng *rand.Rand, up, down *perps) {
	at := func() float64 { return 48_000 + float64(rng.IntN(41))*100 }
	price := func() decimal.Decimal { return decimal.NewFromFloat(at()) }
	r := order.Request{Side: []order.Side{order.Buy, order.Sell}[rng.IntN(2)], Type: order.Market, Quantity: []decimal.Decimal{dec("0.1"), dec("0.3"), dec("0.25")}[rng.IntN(3)]}
	switch rng.IntN(12) {
	case 0, 1, 2, 3, 4, 5:
		o, c := at(), at()
		high, low := max(o, c, at()), min(o, c, at())
		if high-o == o-low && c-low == high-c {
			return // nobody knows which extreme came first
		}
		up.step(o, high, low, c)
		down.step(twice-o, twice-low, twice-high, twice-c)
		return
	case 6:
		if open, _ := up.Open(up.tb.Context()); len(open) > 0 {
			o := open[rng.IntN(len(open))]
			up.cancel(o)
			o.Side, o.VenueID = o.Side.Opposite(), ""
			down.cancel(o)
		}
		return
	case 7:
		r.Type, r.Price = order.Limit, price()
	case 8:
		r.Protect = order.Protection{StopLoss: price(), TakeProfit: price()}
	case 9:
		r.ReduceOnly = true
	case 10:
		r.ReduceOnly, r.Protect = true, order.Protection{StopLoss: price()}
	}
	m := r
	m.Side, m.Price = r.Side.Opposite(), mirrored(r.Price)
	m.Protect.StopLoss, m.Protect.TakeProfit = mirrored(r.Protect.StopLoss), mirrored(r.Protect.TakeProfit)
	_, errUp := up.send(r)
	_, errDown := down.send(m)
	if (errUp == nil) != (errDown == nil) {
		up.tb.Fatalf("one was taken: %v, %v", errUp, errDown)
	}
}

// listed returns the orders of an account by id, as the other account has them where it is the mirrored one.
func listed(v *perps, turn bool) []string {
	var all []string
	for _, o := range v.Taken() {
		side, price, stop := o.Side, o.Price, o.StopPrice
		if turn {
			side, price, stop = side.Opposite(), mirrored(price), mirrored(stop)
		}
		all = append(all, fmt.Sprintf("%s: %s %s %s of %s at %s, stop %s, %s, filled %s (%s)",
			o.ID, side, o.Type, o.Role, o.Quantity, price, stop, o.Status, o.Filled, o.Reason))
	}
	slices.Sort(all)
	return all
}
