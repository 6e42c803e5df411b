package paper_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"candela/internal/data/provider"
	"candela/internal/kit/id"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/broker/paper"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func dec(s string) decimal.Decimal { return decimal.RequireFromString(s) }

// venue is a paper broker with the market under it.
type venue struct {
	*paper.Broker
	market  *papertest.Market
	journal *papertest.Journal
	bar     market.Bar
}

func btc() market.Symbol { return papertest.BTCUSDT().Symbol }

// open returns a broker at a price of 50,000 with a journal that may hold
// something.
func open(tb testing.TB, j *papertest.Journal) *venue {
	tb.Helper()
	return opened(tb, j, slog.New(slog.DiscardHandler))
}

// opened is open with a log.
func opened(tb testing.TB, j *papertest.Journal, log *slog.Logger) *venue {
	tb.Helper()
	euro, toyota := market.Symbol{Venue: "yahoo", Name: "EURUSD=X"}, market.Symbol{Venue: "yahoo", Name: "7203.T"}
	m := papertest.NewMarket(papertest.BTCUSDT(), provider.Instrument{Symbol: euro, Base: "EUR", Quote: "USD"}, provider.Instrument{Symbol: toyota, Quote: "JPY"})
	m.Set(btc(), order.Quote{Last: dec("50000")})
	m.Set(euro, order.Quote{Last: dec("1.1")})
	m.Set(toyota, order.Quote{Last: dec("2700")})
	b := paper.New(paper.Config{
		Journal: j, Market: m, Rates: paper.Usual(), Now: time.Now, Log: log,
		Cash: map[string]decimal.Decimal{"USDT": dec("100000"), "USD": dec("100000")},
	})
	if err := b.Load(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return &venue{Broker: b, market: m, journal: j, bar: market.Bar{T: time.Now().Unix() / 60 * 60, O: 50000, H: 50000, L: 50000, C: 50000, V: 1}}
}

// forming sends the bar as it is.
func (v *venue) forming() {
	v.Observe(provider.Event{
		Sub: provider.Sub{Symbol: btc(), Interval: market.Minute1}, Kind: provider.Forming, Bar: v.bar, Price: v.bar.C, At: time.Now().Add(time.Millisecond),
	}, provider.Clock{})
}

func TestBroker(t *testing.T) {
	brokertest.Run(t, brokertest.Harness{Certain: true, Open: func(tb testing.TB) *brokertest.Venue {
		tb.Helper()
		v := open(tb, &papertest.Journal{})
		return &brokertest.Venue{
			Broker: v, Symbol: btc(), Foster: true, Unknown: market.Symbol{Venue: "binance", Name: "NOSUCH"}, Quantity: dec("0.02"),
			Rest: func(s order.Side) decimal.Decimal {
				return map[order.Side]decimal.Decimal{order.Buy: dec("40000"), order.Sell: dec("60000")}[s]
			},
			Orders: func() []order.Report {
				all := v.Taken()
				slices.SortFunc(all, func(a, b order.Report) int {
					return cmp.Or(cmp.Compare(len(a.VenueID), len(b.VenueID)), cmp.Compare(a.VenueID, b.VenueID))
				})
				return all
			},
			Trade: func(id string, quantity decimal.Decimal) {
				r, err := v.Query(context.Background(), order.Spec{ID: id}.Handle())
				if err != nil {
					tb.Error(err)
				}
				v.forming() // what was traded before the order came is known
				limit, _ := r.Price.Float64()
				volume, _ := quantity.Float64()
				v.bar.L, v.bar.V = limit-v.bar.V, v.bar.V+volume
				v.forming()
			},
			Foreign: func() string {
				r, err := v.Submit(context.Background(), order.Spec{ID: "theirs", Symbol: btc(), Side: order.Buy, Type: order.Limit, Quantity: dec("0.1"), Price: dec("30000")})
				if err != nil {
					tb.Error(err)
				}
				return r.VenueID
			},
			Drop: v.Drop,
			Failures: []brokertest.Failure{
				{Name: "a full disk", Want: broker.ErrNotSent, Arm: func() func() {
					v.journal.Fail(errors.New("no room"))
					return func() { v.journal.Fail(nil) }
				}},
				{Name: "no price", Want: broker.ErrNotSent, Orders: true, Arm: func() func() {
					v.market.Fail(errors.New("no route"))
					return func() { v.market.Fail(nil) }
				}},
				{Name: "an old price", Want: broker.ErrRejected, Orders: true, Arm: func() func() {
					v.market.Set(btc(), order.Quote{Last: dec("50000"), At: time.Now().Add(-11 * time.Second)})
					return func() { v.market.Set(btc(), order.Quote{Last: dec("50000")}) }
				}},
			},
		}
	}})
}

func TestJournal(t *testing.T) {
	t.Parallel()
	j := &papertest.Journal{}
	papertest.RunJournal(t, func(testing.TB) broker.Journal { return j })
}

func spec(side order.Side, kind order.Type, quantity, price string) order.Spec {
	o := order.Spec{ID: id.New(time.Now()), Owner: "local", Symbol: btc(), Side: side, Type: kind, Quantity: dec(quantity)}
	if price != "" {
		o.Price = dec(price)
	}
	return o
}

// submit places an order that must be taken.
func (v *venue) submit(tb testing.TB, o order.Spec) order.Report {
	tb.Helper()
	r, err := v.Submit(tb.Context(), o)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// cash returns what there is of a currency.
func (v *venue) cash(tb testing.TB, asset string) order.Holding {
	tb.Helper()
	all, err := v.Holdings(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	for _, h := range all {
		if h.Asset == asset {
			return h
		}
	}
	return order.Holding{}
}

// TestSubmit_FillsOnArrival is the rule for orders that do not wait.
func TestSubmit_FillsOnArrival(t *testing.T) {
	t.Parallel()
	last := order.Quote{Last: dec("50000")}
	both := order.Quote{Last: dec("50000"), Bid: dec("49990"), Ask: dec("50010")}
	cases := map[string]struct {
		quote       order.Quote
		order       order.Spec
		price, cash string // of the fill, and what is left; "" when it rests
	}{
		"a market order pays the ask":                     {both, spec(order.Buy, order.Market, "1", ""), "50010", "49939.99"},
		"a market order gets the bid":                     {both, spec(order.Sell, order.Market, "1", ""), "49990", ""},
		"without an ask it pays five basis points more":   {last, spec(order.Buy, order.Market, "1", ""), "50025", "49924.975"},
		"without a bid it gets five basis points less":    {last, spec(order.Sell, order.Market, "1", ""), "49975", ""},
		"slippage is rounded to a price of the venue, up": {order.Quote{Last: dec("50000.01")}, spec(order.Buy, order.Market, "1", ""), "50025.02", ""},
		"and down for a seller":                           {order.Quote{Last: dec("50000.01")}, spec(order.Sell, order.Market, "1", ""), "49975", ""},
		"a limit above the ask pays the ask":              {both, spec(order.Buy, order.Limit, "1", "51000"), "50010", "49939.99"},
		"a limit at the ask pays the ask":                 {both, spec(order.Buy, order.Limit, "1", "50010"), "50010", ""},
		"a limit below the ask rests":                     {both, spec(order.Buy, order.Limit, "1", "50009.99"), "", ""},
		"a limit below the bid gets the bid":              {both, spec(order.Sell, order.Limit, "1", "40000"), "49990", ""},
		"a limit above the bid rests":                     {both, spec(order.Sell, order.Limit, "1", "49990.01"), "", ""},
		"a limit within the slippage rests":               {last, spec(order.Buy, order.Limit, "1", "50024.99"), "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := open(t, &papertest.Journal{})
			if tc.order.Side == order.Sell {
				v.market.Set(btc(), order.Quote{Last: dec("50000"), Ask: dec("50000")})
				v.submit(t, spec(order.Buy, order.Market, "1", ""))
			}
			v.market.Set(btc(), tc.quote)
			r := v.submit(t, tc.order)
			if tc.price == "" {
				if r.Status != order.Accepted || len(r.Fills) != 0 {
					t.Errorf("it does not rest: %+v", r)
				}
				return
			}
			if len(r.Fills) != 1 || r.Status != order.Filled || !r.Fills[0].Price.Equal(dec(tc.price)) || r.Fills[0].Maker || r.Fills[0].FeeAsset != "USDT" {
				t.Fatalf("the report is %+v", r)
			}
			if fee := r.Fills[0].Price.Mul(dec("0.001")); !r.Fills[0].Fee.Equal(fee) {
				t.Errorf("the fee is %s, want %s", r.Fills[0].Fee, fee)
			}
			if got := v.cash(t, "USDT").Quantity; tc.cash != "" && !got.Equal(dec(tc.cash)) {
				t.Errorf("%s USDT are left, want %s", got, tc.cash)
			}
		})
	}
}

// step is a bar as it stands at some moment.
type step struct {
	closed           bool
	minute           int64 // after the one in which the order came
	high, low, close float64
	volume           float64 // of the bar so far
	filled           string  // of the order, afterwards
}

// TestObserve_FillsAtTheLimit is the rule for orders that wait. The bar in which
// the order of 1 BTC comes is known with the price 50,000 and a volume of 1.
func TestObserve_FillsAtTheLimit(t *testing.T) {
	t.Parallel()
	buy, sell := spec(order.Buy, order.Limit, "1", "49000"), spec(order.Sell, order.Limit, "1", "51000")
	cases := map[string]struct {
		order order.Spec
		steps []step
	}{
		"a trade at the limit does not fill":  {buy, []step{{volume: 1, filled: "0"}, {low: 49000, close: 49000, volume: 9, filled: "0"}}},
		"a trade through it does":             {buy, []step{{volume: 1, filled: "0"}, {low: 48999.99, volume: 9, filled: "1"}}},
		"a seller waits for a price above":    {sell, []step{{volume: 1, filled: "0"}, {high: 51000, volume: 9, filled: "0"}, {high: 51000.01, volume: 11, filled: "1"}}},
		"no more than was traded":             {buy, []step{{volume: 1, filled: "0"}, {low: 48000, close: 48000, volume: 1.25, filled: "0.25"}, {low: 48000, close: 48000, volume: 9, filled: "1"}}},
		"volume at other prices fills not":    {buy, []step{{volume: 1, filled: "0"}, {low: 48000, close: 50000, volume: 1.25, filled: "0.25"}, {low: 48000, close: 50000, volume: 9, filled: "0.25"}}},
		"a known extreme is not traded again": {buy, []step{{low: 48000, volume: 1, filled: "0"}, {low: 48000, volume: 9, filled: "0"}, {low: 47999, volume: 10, filled: "1"}}},
		"the first event may be from before":  {buy, []step{{low: 48000, close: 48000, volume: 9, filled: "0"}, {low: 48000, close: 48000, volume: 10, filled: "1"}}},
		"a bar from before does not fill":     {buy, []step{{closed: true, low: 48000, volume: 9, filled: "0"}}},
		"a bar from after fills whole":        {buy, []step{{closed: true, minute: 1, low: 48000, volume: 9, filled: "1"}}},
		"steps of the venue are kept":         {buy, []step{{volume: 1, filled: "0"}, {low: 48000, volume: 1.0000177, filled: "0.00001"}}},
		"a step less fills nothing":           {buy, []step{{volume: 1, filled: "0"}, {low: 48000, volume: 1.000009, filled: "0"}}},
		"an older bar is nothing new":         {buy, []step{{minute: 2, volume: 1, filled: "0"}, {minute: 1, low: 48000, volume: 9, filled: "0"}}},
		"a market that reports no volume":     {buy, []step{{volume: 0, filled: "0"}, {low: 48000, volume: 0, filled: "1"}}},
		"no trade in a bar without volume":    {buy, []step{{minute: 1, high: 48000, low: 48000, close: 48000, filled: "0"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := open(t, &papertest.Journal{})
			if tc.order.Side == order.Sell {
				v.submit(t, spec(order.Buy, order.Market, "1", ""))
			}
			v.submit(t, tc.order)
			start := time.Now().Unix()/60*60 - 60
			for i, s := range tc.steps {
				v.observe(s, start)
				r, err := v.Query(t.Context(), tc.order.Handle())
				if err != nil || !r.Filled.Equal(dec(s.filled)) {
					t.Fatalf("after step %d %s are filled, want %s, %v", i+1, r.Filled, s.filled, err)
				}
				for _, f := range r.Fills {
					if !f.Maker || !f.Price.Equal(tc.order.Price) || !f.Fee.Equal(f.Quantity.Mul(f.Price).Mul(dec("0.001"))) {
						t.Errorf("the fill is %+v", f)
					}
				}
			}
		})
	}
}

// observe sends the step's bar. A price that is left out is 50,000.
func (v *venue) observe(s step, start int64) {
	def := func(x float64) float64 { return cmp.Or(x, 50000) }
	bar := market.Bar{T: start + 120*s.minute, O: 50000, H: def(s.high), L: def(s.low), C: def(s.close), V: s.volume}
	bar.O = min(max(bar.O, bar.L), bar.H)
	bar.H, bar.L = max(bar.H, bar.C), min(bar.L, bar.C)
	e := provider.Event{Sub: provider.Sub{Symbol: btc(), Interval: market.Minute1}, Kind: provider.Forming, Bar: bar, Price: bar.C, At: time.Now().Add(time.Hour)}
	if s.closed {
		e.Kind = provider.Closed
	}
	v.Observe(e, provider.Clock{})
}

// TestObserve_Replay fills by bars of a time that runs faster than ours.
// An hour of this replay is a second, so it runs where nothing takes time.
func TestObserve_Replay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := open(t, &papertest.Journal{})
		clock := provider.Clock{Start: 1000_000, Began: time.Now(), Speed: 3600}
		o := spec(order.Buy, order.Limit, "1", "49000")
		v.submit(t, o)
		observe := func(t, at int64) {
			v.Observe(provider.Event{
				Sub: provider.Sub{Symbol: btc(), Interval: market.Hour1}, Kind: provider.Closed, At: time.Unix(at, 0),
				Bar: market.Bar{T: t, O: 50000, H: 50000, L: 48000, C: 50000, V: 0.5},
			}, clock)
		}
		observe(1000_000-7200, 1000_000-3600) // over before the order
		observe(1000_000-3600, 1000_000)      // likewise
		if r, _ := v.Query(t.Context(), o.Handle()); !r.Filled.IsZero() {
			t.Errorf("%s are filled by the past", r.Filled)
		}
		observe(1003_600, 1007_200)
		if r, _ := v.Query(t.Context(), o.Handle()); !r.Filled.Equal(dec("0.5")) {
			t.Errorf("%s are filled", r.Filled)
		}
	})
}

// TestObserve_SharesVolume has orders that one move reaches: the better price
// comes first, then the older order, and on the way through a bar the one that the
// price meets first.
func TestObserve_SharesVolume(t *testing.T) {
	t.Parallel()
	v := open(t, &papertest.Journal{})
	v.submit(t, spec(order.Buy, order.Market, "0.5", ""))
	orders := []order.Spec{
		spec(order.Buy, order.Limit, "0.3", "48000"), spec(order.Buy, order.Limit, "0.3", "49000"), spec(order.Buy, order.Limit, "0.3", "49000"),
		spec(order.Sell, order.Limit, "0.3", "51000"),
	}
	for _, o := range orders {
		v.submit(t, o)
	}
	start := time.Now().Unix() / 60 * 60
	filled := func() (all []string) {
		for _, o := range orders {
			r, err := v.Query(t.Context(), o.Handle())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r.Filled.String())
		}
		return all
	}
	// From 50,000 the high is nearer, so the seller is first.
	v.observe(step{minute: 1, high: 51500, low: 47000, volume: 0.7}, start)
	if got := filled(); !slices.Equal(got, []string{"0", "0.3", "0.1", "0.3"}) {
		t.Errorf("filled are %v", got)
	}
	// The low is nearer: the buyers are first, and nothing is left for anyone else.
	v.observe(step{minute: 2, high: 55000, low: 47000, volume: 0.25}, start)
	if got := filled(); !slices.Equal(got, []string{"0.05", "0.3", "0.3", "0.3"}) {
		t.Errorf("then filled are %v", got)
	}
	if n := v.Tapes(); n != 1 {
		t.Errorf("%d tapes are kept", n)
	}
	if _, err := v.Cancel(t.Context(), orders[0].Handle()); err != nil || v.Tapes() != 0 {
		t.Errorf("after the last order %d tapes are kept, %v", v.Tapes(), err)
	}
}

func TestObserve_TakesTheFinerSeries(t *testing.T) {
	t.Parallel()
	v := open(t, &papertest.Journal{})
	o := spec(order.Buy, order.Limit, "1", "49000")
	v.submit(t, o)
	observe := func(iv market.Interval, low, volume float64) string {
		v.Observe(provider.Event{
			Sub: provider.Sub{Symbol: btc(), Interval: iv}, Kind: provider.Forming, At: time.Now().Add(time.Hour),
			Bar: market.Bar{T: 0, O: 50000, H: 50000, L: low, C: 50000, V: volume},
		}, provider.Clock{})
		r, err := v.Query(t.Context(), o.Handle())
		if err != nil {
			t.Fatal(err)
		}
		return r.Filled.String()
	}
	observe(market.Hour4, 50000, 10)
	if got := observe(market.Hour4, 48000, 10.1); got != "0.1" {
		t.Errorf("%s are filled", got)
	}
	observe(market.Minute1, 48000, 5)
	if got := observe(market.Hour4, 47000, 20); got != "0.1" {
		t.Errorf("the coarser series fills to %s", got)
	}
	if got := observe(market.Minute1, 47000, 5.2); got != "0.3" {
		t.Errorf("the finer series fills to %s", got)
	}
}
