package paper_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"candela/internal/trading/broker"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/broker/paper/papertest"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

func TestSubmit_Refuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		order order.Spec
		want  string
	}{
		"more than there is cash for":   {spec(order.Buy, order.Market, "2", ""), "100000 USDT"},
		"cash for it but not the fee":   {spec(order.Buy, order.Limit, "2.5", "40000"), "would cost 100100 with the fee"},
		"what is not held":              {spec(order.Sell, order.Market, "0.1", ""), "at most the 0 of binance:BTCUSDT"},
		"a quantity off the grid":       {spec(order.Buy, order.Market, "0.000015", ""), "multiples of 0.00001"},
		"a price off the grid":          {spec(order.Buy, order.Limit, "1", "40000.001"), "multiples of 0.01"},
		"less than the least":           {spec(order.Buy, order.Limit, "0.0001", "40000"), "orders worth 5 or more"},
		"more than the most":            {spec(order.Buy, order.Market, "9001", ""), "at most 9000"},
		"no price":                      {spec(order.Buy, order.Limit, "1", ""), "above 0"},
		"nothing":                       {spec(order.Buy, order.Market, "0", ""), "above 0"},
		"no side":                       {spec(0, order.Market, "1", ""), "a side"},
		"a symbol that does not exist":  {order.Spec{ID: "1", Symbol: market.Symbol{Venue: "binance", Name: "X"}}, "no symbol"},
		"a currency without any cash":   {order.Spec{ID: "1", Symbol: market.Symbol{Venue: "yahoo", Name: "7203.T"}, Side: order.Buy, Type: order.Market, Quantity: dec("1")}, "the 0 JPY"},
		"a symbol of yahoo, in dollars": {order.Spec{ID: "1", Symbol: market.Symbol{Venue: "yahoo", Name: "EURUSD=X"}, Side: order.Buy, Type: order.Market, Quantity: dec("100000")}, "100000 USD "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := open(t, &papertest.Journal{})
			_, err := v.Submit(t.Context(), tc.order)
			if !errors.Is(broker.Outcome(err), broker.ErrRejected) || fault.Of(err) == nil || !strings.Contains(fault.Of(err).Public(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if n := len(v.Taken()); n != 0 {
				t.Errorf("%d orders were taken", n)
			}
		})
	}
}

// TestSubmit_SaysWhetherWaitingHelps has a feed that hiccups, one that is lost and a
// market that is closed: only the first has a new price in a second.
func TestSubmit_SaysWhetherWaitingHelps(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]bool{15 * time.Second: true, 2 * time.Minute: false, 43 * time.Hour: false, 48231 * time.Hour: false} {
		v := open(t, &papertest.Journal{})
		v.market.Set(btc(), order.Quote{Last: dec("50000"), At: time.Now().Add(-age)})
		_, err := v.Submit(t.Context(), spec(order.Buy, order.Market, "1", ""))
		if f := fault.Of(err); f == nil || f.Code != "stale_quote" || f.Retryable != want || (f.RetryAfter != 0) != want {
			t.Errorf("a price %v old: %+v", age, f)
		}
	}
}

func TestHoldings_ReserveWhatRests(t *testing.T) {
	t.Parallel()
	v := open(t, &papertest.Journal{})
	rests := spec(order.Buy, order.Limit, "1", "40000")
	v.submit(t, rests)
	if h := v.cash(t, "USDT"); !h.Quantity.Equal(dec("100000")) || !h.Available.Equal(dec("59960")) {
		t.Errorf("with an order over 40,000: %+v", h)
	}
	if _, err := v.Submit(t.Context(), spec(order.Buy, order.Limit, "1.5", "40000")); !errors.Is(err, broker.ErrRejected) {
		t.Errorf("the cash was promised twice: %v", err)
	}
	v.submit(t, spec(order.Buy, order.Market, "1", ""))
	v.submit(t, spec(order.Sell, order.Limit, "0.75", "60000"))
	if h := v.cash(t, "BTC"); !h.Quantity.Equal(dec("1")) || !h.Available.Equal(dec("0.25")) || h.Symbol != btc() {
		t.Errorf("with an order over 0.75: %+v", h)
	}
	if _, err := v.Submit(t.Context(), spec(order.Sell, order.Market, "0.3", "")); !errors.Is(err, broker.ErrRejected) {
		t.Errorf("the coins were promised twice: %v", err)
	}
}

func TestStream_LosesASlowReader(t *testing.T) {
	t.Parallel()
	v := open(t, &papertest.Journal{})
	out := make(chan order.Report)
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- v.Stream(t.Context(), func() { close(ready) }, out) }()
	<-ready
	for range 1100 { // two queues full: one is being sent, one waits
		o := spec(order.Buy, order.Limit, "0.001", "40000")
		v.submit(t, o)
		if _, err := v.Cancel(t.Context(), o.Handle()); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for {
		select {
		case <-out:
			n++
			continue
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), "too slow") || n > 2048 {
				t.Errorf("after %d reports the stream says %v", n, err)
			}
		}
		break
	}
}

func TestNew_RefusesADamagedJournal(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"no JSON": `{`, "nothing": `{}`, "a fill of nothing": `{"fill":{"trade_id":"1","order_id":"x","symbol":"a:B","side":"buy","quantity":"1","price":"1"}}`,
		"a cancel of nothing": `{"cancel":"x"}`,
	} {
		j := &papertest.Journal{}
		if err := j.Append(t.Context(), []byte(line)); err != nil {
			t.Fatal(err)
		}
		v := open(t, &papertest.Journal{})
		if _, err := v.Again(t.Context(), j); err == nil || !strings.Contains(err.Error(), "entry 1") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// state is everything that can be asked of an account.
type state struct {
	Open, Taken []order.Report
	Fills       []order.Fill
	Holdings    []order.Holding
}

func (v *venue) state(t *rapid.T, asked []order.Spec) state {
	var s state
	var errs [3]error
	s.Open, errs[0] = v.Open(t.Context())
	s.Fills, _, errs[1] = v.Fills(t.Context(), btc(), "")
	s.Holdings, errs[2] = v.Holdings(t.Context())
	for _, o := range asked {
		r, err := v.Query(t.Context(), o.Handle())
		if err != nil && !errors.Is(err, broker.ErrNotFound) {
			t.Fatal(err)
		}
		s.Taken = append(s.Taken, r)
	}
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAccount_Conserves lets random orders meet random prices. Cash and holdings
// are at every moment what the fills make of the deposits, nothing is owed,
// no order fills beyond its quantity or worse than its limit, and a restart
// between any two steps changes nothing.
func TestAccount_Conserves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		j := &papertest.Journal{}
		v := open(t, j)
		var asked []order.Spec
		price, minute, volume := 50000.0, time.Now().Unix()/60*60, 0.0
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"order", "order", "price", "price", "bar", "cancel", "restart"}).Draw(rt, "what") {
			case "order":
				o := spec(rapid.SampledFrom([]order.Side{order.Buy, order.Sell}).Draw(rt, "side"), rapid.SampledFrom([]order.Type{order.Market, order.Limit}).Draw(rt, "type"),
					decimal.New(rapid.Int64Range(1, 150000).Draw(rt, "quantity"), -5).String(), "")
				if o.Type == order.Limit {
					o.Price = decimal.New(rapid.Int64Range(4_500_000, 5_500_000).Draw(rt, "limit"), -2)
				}
				o.ID = fmt.Sprintf("id-%d", len(asked))
				asked = append(asked, o)
				if _, err := v.Submit(rt.Context(), o); err != nil && !errors.Is(broker.Outcome(err), broker.ErrRejected) {
					rt.Fatal(err)
				}
			case "price", "bar":
				price = float64(rapid.Int64Range(4_500_000, 5_500_000).Draw(rt, "price")) / 100
				volume += float64(rapid.IntRange(0, 100).Draw(rt, "volume")) / 100
				if rapid.Bool().Draw(rt, "next") {
					minute, volume = minute+60, 0.5
				}
				v.market.Set(btc(), order.Quote{Last: decimal.NewFromFloat(price)})
				v.observe(step{low: min(price, 50000), high: max(price, 50000), close: price, volume: volume}, minute)
			case "cancel":
				if len(asked) > 0 {
					_, _ = v.Cancel(rt.Context(), rapid.SampledFrom(asked).Draw(rt, "order").Handle()) // it may never have been taken
				}
			case "restart":
				before := v.state(rt, asked)
				v = open(t, j)
				v.market.Set(btc(), order.Quote{Last: decimal.NewFromFloat(price)})
				if diff := cmp.Diff(before, v.state(rt, asked)); diff != "" {
					rt.Fatalf("a restart changes the account:\n%s", diff)
				}
			}
			conserved(rt, v, asked)
		}
	})
}

func conserved(t *rapid.T, v *venue, asked []order.Spec) {
	s := v.state(t, asked)
	cash, held := dec("100000"), decimal.Zero
	limits, sums := map[string]order.Spec{}, map[string]decimal.Decimal{}
	for _, o := range asked {
		limits[o.ID] = o
	}
	seen := map[string]bool{}
	for _, f := range s.Fills {
		o := limits[f.OrderID]
		sums[f.OrderID] = sums[f.OrderID].Add(f.Quantity)
		value := f.Quantity.Mul(f.Price)
		if f.Side == order.Buy {
			cash, held = cash.Sub(value), held.Add(f.Quantity)
		} else {
			cash, held = cash.Add(value), held.Sub(f.Quantity)
		}
		cash = cash.Sub(f.Fee)
		worse := o.Side == order.Buy && f.Price.GreaterThan(o.Price) || o.Side == order.Sell && f.Price.LessThan(o.Price)
		if seen[f.TradeID] || sums[f.OrderID].GreaterThan(o.Quantity) || o.Type == order.Limit && worse || !f.Quantity.Mod(dec("0.00001")).IsZero() {
			t.Fatalf("the fill %+v of %+v", f, o)
		}
		seen[f.TradeID] = true
	}
	for _, h := range s.Holdings {
		want := map[string]decimal.Decimal{"USDT": cash, "BTC": held, "USD": dec("100000")}[h.Asset]
		if !h.Quantity.Equal(want) || h.Available.IsNegative() || h.Available.GreaterThan(h.Quantity) {
			t.Fatalf("there are %s %s, %s of them available, and should be %s", h.Quantity, h.Asset, h.Available, want)
		}
	}
	if len(s.Holdings) == 2 && !held.IsZero() {
		t.Fatalf("%s are held and not reported", held)
	}
}

// TestBroker_IsDeterministic plays the same orders and prices twice, an hour
// apart.
func TestBroker_IsDeterministic(t *testing.T) {
	t.Parallel()
	play := func() []order.Fill {
		v := open(t, &papertest.Journal{})
		for i := range 20 {
			o := spec(order.Buy, order.Limit, "0.05", decimal.New(int64(49900-50*i), 0).String())
			o.ID = strconv.Itoa(i)
			v.submit(t, o)
		}
		v.submit(t, order.Spec{ID: "m", Symbol: btc(), Side: order.Buy, Type: order.Market, Quantity: dec("0.1")})
		start := time.Now().Unix()/60*60 + 60
		for i := range 10 {
			v.observe(step{minute: int64(i), low: 49800 - 70*float64(i), volume: 0.15}, start)
		}
		fills, _, err := v.Fills(t.Context(), btc(), "")
		if err != nil {
			t.Fatal(err)
		}
		for i := range fills {
			fills[i].At = time.Time{}
		}
		return fills
	}
	one := play()
	if diff := cmp.Diff(one, play()); diff != "" || len(one) < 10 {
		t.Errorf("%d fills, then\n%s", len(one), diff)
	}
}

// TestBroker_CrashesBeforeItReports has a fill in the journal of which nobody heard:
// the process died in between. The next one reports it, once.
func TestBroker_CrashesBeforeItReports(t *testing.T) {
	t.Parallel()
	j := &papertest.Journal{}
	v := open(t, j)
	o := spec(order.Buy, order.Limit, "1", "49000")
	v.submit(t, o)
	v.observe(step{minute: 1, low: 48000, volume: 0.4}, time.Now().Unix()/60*60+60)
	again := open(t, j)
	fills, _, err := again.Fills(t.Context(), btc(), "")
	if err != nil || len(fills) != 1 || !fills[0].Quantity.Equal(dec("0.4")) {
		t.Fatalf("%+v, %v", fills, err)
	}
	l := brokertest.Listen(t.Context(), again)
	<-l.Ready
	start := time.Now().Unix()/60*60 + 600
	again.observe(step{minute: 0, low: 48000, volume: 9}, start)
	r := <-l.Reports
	if r.Status != order.Filled || len(r.Fills) != 1 || r.Fills[0].TradeID == fills[0].TradeID || !r.Fills[0].Quantity.Equal(dec("0.6")) {
		t.Errorf("%+v", r)
	}
	_ = l.End() // its error is that of the context
}
