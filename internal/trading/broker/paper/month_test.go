package paper_test

import (
	"encoding/csv"
	"math/big"
	"os"
	"strconv"
	"testing"
	"time"

	"candela/internal/data/provider"
	"candela/internal/testkit/sharedtest"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// month reads the hours of January 2021 of a pair: from 29,000 up to 42,000 and back.
func month(t *testing.T) []market.Bar {
	t.Helper()
	file, err := os.Open(sharedtest.Path(t, "data/BTCUSDT_1h.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var bars []market.Bar
	for _, row := range rows[1:] {
		at, _ := strconv.ParseInt(row[0], 10, 64)
		var v [5]float64
		for i := range v {
			if v[i], err = strconv.ParseFloat(row[i+1], 64); err != nil {
				t.Fatal(err)
			}
		}
		if at >= 1609459200 && at < 1612137600 {
			bars = append(bars, market.Bar{T: at, O: v[0], H: v[1], L: v[2], C: v[3], V: v[4]})
		}
	}
	return bars
}

// rateAt is the rate of a funding time. The data has none that was recorded: these are as large as those of that month.
func rateAt(at int64) string {
	return []string{"0.00010000", "0.00043712", "-0.00008125", "0.00099001", "0.00010000", "-0.00037519", "0.00074218"}[at/28800%7]
}

// asked is what is asked for before an hour, by its number and what is held then.
type asked struct {
	side     int // 1 buys; 0 for nothing
	quantity string
	reduce   bool
	stop     string
}

func askedAt(hour int, held, last *big.Rat) asked {
	side := 1 - 2*(hour/24%2)
	switch {
	case hour%3 != 0:
	case held.Sign() == 0:
		a := asked{side: side, quantity: "0.8"}
		if hour%4 != 0 {
			price, _ := last.Float64()
			a.stop = strconv.FormatFloat(price*(1-0.03*float64(side)), 'f', 2, 64)
		}
		return a
	case hour%33 == 0:
		return asked{side: -held.Sign(), quantity: "5", reduce: true}
	case hour%15 == 0:
		return asked{side: -held.Sign(), quantity: "0.31", reduce: true}
	case hour%21 == 0:
		return asked{side: held.Sign(), quantity: "0.93"}
	}
	return asked{}
}

// TestPerpetual_MonthBesideASecondAccount trades a month of real bars with funding at 20x on the paper account and
// on [second], which shares no code with it: each fill, the cash and the margin after each hour are equal to the
// last digit.
func TestPerpetual_MonthBesideASecondAccount(t *testing.T) {
	t.Parallel()
	bars := month(t)
	v := newPerps(t, "20", paper.Usual())
	for i := range bars {
		if bars[i].T%28800 == 0 {
			rate, _ := strconv.ParseFloat(rateAt(bars[i].T), 64)
			v.rates = append(v.rates, provider.Funding{At: time.Unix(bars[i].T, 0), Rate: rate, Mark: bars[i].O})
		}
	}
	s := newSecond()
	for i := 1; i < len(bars); i++ {
		b := bars[i]
		v.now, v.bar = time.Unix(b.T, 0), bars[i-1]
		if i%2 == 0 { // the payment of an hour may be read before or after the orders of its beginning
			v.payments()
		}
		if b.T%28800 == 0 {
			s.fund(rat(b.O), number(rateAt(b.T)))
		}
		if a := askedAt(i, s.held, rat(bars[i-1].C)); a.side != 0 {
			v.asks(a)
			s.trade(a, rat(bars[i-1].C))
		}
		v.payments()
		v.now = time.Unix(b.T+3599, 0) // what fills within the hour was held until then
		v.Observe(provider.Event{Sub: provider.Sub{Symbol: perpetual().Symbol, Interval: market.Hour1}, Kind: provider.Closed, Bar: b, Price: b.C, At: v.now}, provider.Clock{})
		s.hour(b)
		v.same(s, i)
	}
	t.Logf("%d hours, %d fills, %d stops, %d liquidations, %d payments", len(bars), len(s.fills), s.stops, s.liquidations, s.payments)
	if len(s.fills) < 100 || s.liquidations < 5 || s.stops < 10 || s.payments < 50 {
		t.Error("too little happened")
	}
}

// asks sends what is asked for.
func (v *perps) asks(a asked) {
	v.quote()
	side := order.Buy
	if a.side < 0 {
		side = order.Sell
	}
	v.sent(side, a.quantity, func(r *order.Request) {
		if r.ReduceOnly = a.reduce; a.stop != "" {
			r.Protect.StopLoss = dec(a.stop)
		}
	})
}

// same holds the account beside the second one.
func (v *perps) same(s *second, hour int) {
	v.tb.Helper()
	fills, _, err := v.Fills(v.tb.Context(), perpetual().Symbol, "")
	if err != nil || len(fills) != len(s.fills) {
		v.tb.Fatalf("hour %d: %d fills, the second account has %d (%v)", hour, len(fills), len(s.fills), err)
	}
	for i, f := range fills {
		w := s.fills[i]
		signed := new(big.Rat).Mul(f.Quantity.Rat(), big.NewRat(f.Side.Sign(), 1))
		if signed.Cmp(w.quantity) != 0 || f.Price.Rat().Cmp(w.price) != 0 || f.Fee.Rat().Cmp(w.fee) != 0 || (f.Cause != "") != w.forced {
			v.tb.Fatalf("hour %d, fill %d: %+v, the second account has %+v", hour, i, f, w)
		}
	}
	p := v.position()
	if v.cash().Rat().Cmp(s.cash) != 0 || p.Margin.Rat().Cmp(s.margin) != 0 || p.Funding.Rat().Cmp(s.funding) != 0 || p.Quantity.Rat().Cmp(s.held) != 0 {
		v.tb.Fatalf("hour %d: cash %s, margin %s, funding %s, the second account has %s, %s, %s", hour, v.cash(), p.Margin, p.Funding,
			s.cash.FloatString(20), s.margin.FloatString(20), s.funding.FloatString(20))
	}
	v.exact()
}

func number(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return r
}

func rat(price float64) *big.Rat { return number(strconv.FormatFloat(price, 'f', -1, 64)) }

func add(x, y *big.Rat) *big.Rat { return new(big.Rat).Add(x, y) }
func sub(x, y *big.Rat) *big.Rat { return new(big.Rat).Sub(x, y) }
func mul(x, y *big.Rat) *big.Rat { return new(big.Rat).Mul(x, y) }
func quo(x, y *big.Rat) *big.Rat { return new(big.Rat).Quo(x, y) }

// second is an account in a perpetual future at 20x, written after the manual with fractions alone.
type second struct {
	cash, margin, held, cost, funding *big.Rat
	stop, protects                    *big.Rat // a stop and its signed quantity; nil for none
	fills                             []secondFill
	stops, liquidations, payments     int
}

type secondFill struct {
	quantity, price, fee *big.Rat // quantity below zero sells
	forced               bool
}

func newSecond() *second {
	return &second{cash: number("100000"), margin: new(big.Rat), held: new(big.Rat), cost: new(big.Rat), funding: new(big.Rat)}
}

// hundredth rounds a price to the hundredth above or below.
func hundredth(p *big.Rat, up bool) *big.Rat {
	n := mul(p, number("100"))
	q, rest := new(big.Int).QuoRem(n.Num(), n.Denom(), new(big.Int))
	if up && rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return new(big.Rat).SetFrac(q, big.NewInt(100))
}

// slipped is what a trade of a side pays where a price is p.
func slipped(p *big.Rat, side int) *big.Rat {
	return hundredth(mul(p, add(number("1"), mul(number("0.0005"), big.NewRat(int64(side), 1)))), side > 0)
}

func (s *second) fund(mark, rate *big.Rat) {
	amount := mul(mul(s.held, mark), rate)
	if amount.Sign() == 0 {
		return
	}
	s.margin, s.funding = sub(s.margin, amount), add(s.funding, amount)
	s.payments++
}

func (s *second) trade(a asked, last *big.Rat) {
	quantity := mul(number(a.quantity), big.NewRat(int64(a.side), 1))
	if a.reduce && new(big.Rat).Abs(quantity).Cmp(new(big.Rat).Abs(s.held)) > 0 {
		quantity = new(big.Rat).Neg(s.held)
	}
	s.fill(quantity, slipped(last, a.side))
	if a.stop != "" {
		s.stop, s.protects = number(a.stop), new(big.Rat).Neg(quantity)
	}
}

// fill changes the position. All of it is exact but the part of cost and margin that stays: that is rounded to 18
// digits, as money is kept.
func (s *second) fill(quantity, price *big.Rat) {
	worth := mul(quantity, price)
	fee := mul(new(big.Rat).Abs(worth), number("0.0005"))
	s.fills = append(s.fills, secondFill{quantity: quantity, price: price, fee: fee})
	s.cash = sub(s.cash, fee)
	if s.held.Sign()*quantity.Sign() >= 0 {
		added := quo(new(big.Rat).Abs(worth), number("20"))
		s.held, s.cost, s.margin, s.cash = add(s.held, quantity), add(s.cost, worth), add(s.margin, added), sub(s.cash, added)
		return
	}
	left := add(s.held, quantity)
	part := quo(left, s.held)
	cost, kept := digits(mul(s.cost, part)), digits(mul(s.margin, part))
	// The margin of what is closed comes back with what it earned: its cost with the other sign, and its price.
	s.cash = add(s.cash, add(sub(s.margin, kept), sub(sub(cost, s.cost), worth)))
	s.held, s.cost, s.margin = left, cost, kept
	if left.Sign() == 0 {
		s.stop = nil
	}
}

// digits rounds to 18 digits, halves away from zero.
func digits(x *big.Rat) *big.Rat { return number(x.FloatString(18)) }

// brackets are the notional above which a part of it must be there, and the part.
func secondBrackets() [][2]string {
	return [][2]string{{"0", "0.004"}, {"50000", "0.005"}, {"250000", "0.01"}, {"1000000", "0.025"}}
}

// end is the price at which the position has no more than it must have; nil for none.
func (s *second) end() *big.Rat {
	if s.held.Sign() == 0 {
		return nil
	}
	size, long := new(big.Rat).Abs(s.held), s.held.Sign() > 0
	due, all := new(big.Rat), secondBrackets()
	for i, b := range all {
		from, rate := number(b[0]), number(b[1])
		if i > 0 { // what the brackets below ask for
			below := all[i-1]
			due = add(due, mul(sub(from, number(below[0])), number(below[1])))
		}
		// margin + held*p - cost = due + rate*(size*p - from)
		p := quo(sub(sub(add(due, s.cost), s.margin), mul(rate, from)), sub(s.held, mul(rate, size)))
		worth := mul(size, p)
		if p.Sign() > 0 && worth.Cmp(from) >= 0 && (i == len(all)-1 || worth.Cmp(number(all[i+1][0])) <= 0) {
			return hundredth(p, long)
		}
	}
	return nil
}

// hour walks the bar: to the extreme nearer to the open, to the other one and to the close.
func (s *second) hour(b market.Bar) {
	open, high, low, last := rat(b.O), rat(b.H), rat(b.L), rat(b.C)
	way := []*big.Rat{open, high, low, last}
	switch sub(high, open).Cmp(sub(open, low)) {
	case 1:
		way[1], way[2] = low, high
	case 0: // what the close is farther from comes first
		if sub(last, low).Cmp(sub(high, last)) > 0 {
			way[1], way[2] = low, high
		}
	}
	for i, p := range way {
		s.reach(p, i == 0)
	}
}

func (s *second) reach(p *big.Rat, gap bool) {
	if s.stop != nil && s.protects.Sign()*p.Cmp(s.stop) >= 0 {
		at, quantity := s.stop, s.protects
		if gap {
			at = p
		}
		if new(big.Rat).Abs(quantity).Cmp(new(big.Rat).Abs(s.held)) > 0 {
			quantity = new(big.Rat).Neg(s.held)
		}
		s.stop = nil
		s.stops++
		s.fill(quantity, slipped(at, quantity.Sign()))
	}
	at := s.end()
	if at == nil || s.held.Sign()*at.Cmp(p) < 0 {
		return
	}
	s.liquidations++
	fee := sub(add(s.margin, mul(s.held, at)), s.cost)
	s.fills = append(s.fills, secondFill{quantity: new(big.Rat).Neg(s.held), price: at, fee: fee, forced: true})
	s.held, s.cost, s.margin, s.stop = new(big.Rat), new(big.Rat), new(big.Rat), nil
}
