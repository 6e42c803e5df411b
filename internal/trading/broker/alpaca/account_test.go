package alpaca_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	stocks "candela/internal/data/provider/alpaca"
	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/alpaca"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

// TestFills_Pages reads a long history, whole and after each trade.
func TestFills_Pages(t *testing.T) {
	t.Parallel()
	play(t, noon(), fakealpaca.Config{Partial: 0.5, Seed: 3}, func(t *testing.T, s *scene) {
		t.Helper()
		s.SetUnlimited()
		for _, symbol := range []string{"AAPL", "MSFT", "BTC/USD"} {
			s.SetQuote(symbol, "10.00", "10.01")
		}
		for i := range 90 {
			symbol := []string{"AAPL", "MSFT", "BTC/USD"}[i%3]
			o := order.Spec{Symbol: market.Symbol{Venue: "alpaca", Name: symbol}, Side: order.Buy, Type: order.Market, Quantity: num("9")}
			if symbol == "BTC/USD" {
				o.Quantity = num("0.01")
			}
			if _, why := s.Place(o); why != "" {
				t.Fatal(why)
			}
			time.Sleep(time.Second)
		}
		truth := s.Truth()
		if len(truth.Fills) < 101 {
			t.Fatalf("%d fills", len(truth.Fills))
		}
		for _, symbol := range []string{"AAPL", "BTC/USD", "TSLA"} {
			want := slices.DeleteFunc(slices.Clone(truth.Fills), func(f order.Fill) bool { return f.Symbol.Name != symbol })
			for i := -1; i < len(want); i += 7 {
				var after broker.Cursor // as it was stored before a cursor had all of a millisecond
				if i >= 0 {
					after = broker.Cursor(want[i].TradeID)
				}
				got, _, err := s.broker.Fills(t.Context(), market.Symbol{Venue: "alpaca", Name: symbol}, after)
				if err != nil || len(got) != len(want)-i-1 {
					t.Fatalf("%s after %d: %d fills of %d, %v", symbol, i, len(got), len(want)-i-1, err)
				}
				for k, f := range got {
					w := want[i+1+k]
					if f.TradeID != w.TradeID || f.VenueID != w.VenueID || f.Symbol != w.Symbol || f.Side != w.Side || !f.Quantity.Equal(w.Quantity) || !f.Price.Equal(w.Price) || !f.At.Equal(w.At) {
						t.Fatalf("%s: fill %d is %+v, not %+v", symbol, k, f, w)
					}
				}
			}
		}
		got, _, err := s.broker.Fills(t.Context(), apple(), "no such trade")
		if err != nil || len(got) == 0 {
			t.Errorf("after a trade that is not there: %d, %v", len(got), err)
		}
	})
}

// TestFills_OfOneMillisecond holds that a trade that is listed before the cursor by
// chance is not lost.
func TestFills_OfOneMillisecond(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		play(t, noon(), fakealpaca.Config{Crowded: true, Seed: seed}, func(t *testing.T, s *scene) {
			t.Helper()
			first, second := buy("AAPL", "6", "50"), buy("AAPL", "6", "50")
			s.must(t, first)
			s.must(t, second)
			known, old := map[string]int{}, map[string]int{}
			var cursor, one broker.Cursor
			read := func() {
				t.Helper()
				got, next, err := s.broker.Fills(t.Context(), apple(), cursor)
				again, _, errOld := s.broker.Fills(t.Context(), apple(), one)
				if err := errors.Join(err, errOld); err != nil {
					t.Fatal(err)
				}
				cursor = next
				for _, f := range got {
					known[f.TradeID]++
				}
				for _, f := range again { // as before a cursor had all of a millisecond
					old[f.TradeID]++
					one = broker.Cursor(f.TradeID)
				}
			}
			for range 3 {
				s.Trade(first.ID, num("1"))
				s.Trade(second.ID, num("2"))
				read()
			}
			truth := s.Truth().Fills
			if len(old) != len(truth) || len(known) != len(truth) || len(truth) != 6 {
				t.Errorf("seed %d: %d of %d trades are known, %d by the old cursor", seed, len(known), len(truth), len(old))
			}
			for trade, times := range known {
				if times != 1 {
					t.Errorf("seed %d: trade %s came %d times", seed, trade, times)
				}
			}
		})
	}
}

func TestFills_StrangeActivities(t *testing.T) {
	t.Parallel()
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		s.must(t, buy("AAPL", "1", ""))
		s.must(t, buy("MSFT", "1", ""))
		change := func(from, to string) fake.Fault {
			return fake.Fault{Change: func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), from, to)) }}
		}
		odd := func(b []byte) []byte {
			return regexp.MustCompile(`"symbol":"MSFT"([^}]*)"type":"fill"`).ReplaceAll(b, []byte(`"symbol":"MSFT"$1"type":"exercise"`))
		}
		for name, tc := range map[string]struct {
			fault fake.Fault
			ok    bool
		}{
			"a short sale":           {change(`"side":"buy"`, `"side":"sell_short"`), true},
			"another kind of trade":  {change(`"type":"fill"`, `"type":"trade_bust"`), false},
			"no side":                {change(`"side":"buy"`, `"side":""`), false},
			"no order":               {change(`"order_id":`, `"no":`), false},
			"no id":                  {change(`::`, ``), false},
			"a quantity of nothing":  {change(`"qty":"1"`, `"qty":"0"`), false},
			"a price in words":       {change(`"price":"`, `"price":"x`), false},
			"a time in words":        {change(`"transaction_time":"`, `"transaction_time":"x`), false},
			"a list that is none":    {fake.Fault{Body: `{}`}, false},
			"an odd one of another":  {fake.Fault{Change: odd}, true},
			"a page":                 {fake.Page(), false},
			"keys that are not ours": {fake.Fault{Status: 401, Body: `{"message":"unauthorized."}`}, false},
		} {
			s.Next(tc.fault)
			if got, _, err := s.broker.Fills(t.Context(), apple(), ""); (err == nil) != tc.ok || tc.ok && len(got) != 1 || err != nil && fault.Of(err) == nil {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
	})
}

// TestHoldings_OfEveryKind has a long, a short, a pair and money.
func TestHoldings_OfEveryKind(t *testing.T) {
	t.Parallel()
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		for symbol, price := range map[string]string{"AAPL": "100", "MSFT": "200", "BTC/USD": "50000"} {
			s.SetQuote(symbol, price, price)
		}
		for _, o := range []order.Spec{buy("AAPL", "10", ""), sell("AAPL", "4", "150"), sell("MSFT", "5", ""), buy("BTC/USD", "0.1", "")} {
			s.must(t, o)
		}
		all, err := s.broker.Holdings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, h := range all {
			lines = append(lines, fmt.Sprintf("%s %s %s %s", h.Asset, h.Symbol, h.Quantity, h.Available))
		}
		// 100,000 less 1,000 and 5,000, and 1,000 for what was sold short.
		want := "AAPL alpaca:AAPL 10 6; BTC alpaca:BTC/USD 0.1 0.1; MSFT alpaca:MSFT -5 -5; USD  95000 96500"
		if got := strings.Join(lines, "; "); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		// The venue has written a short both ways.
		s.Next(fake.Fault{Change: func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), `"-5"`, `"5"`)) }})
		if all, err = s.broker.Holdings(t.Context()); err != nil || !all[2].Quantity.Equal(num("-5")) || !all[2].Available.Equal(num("-5")) {
			t.Errorf("%+v, %v", all, err)
		}
		for _, f := range []fake.Fault{
			fake.HalfJSON(),
			{Body: `[{"symbol":"AAPL"}]`},
			{Body: `[{"qty":"1"}]`},
			{Body: `[{"symbol":"XYZ","asset_class":"crypto","qty":"1"}]`},
			{Body: `[{"symbol":"A B","qty":"1"}]`},
			{Status: 500},
			{Body: `{}`},
		} {
			s.Always(&f)
			if all, err := s.broker.Holdings(t.Context()); fault.Of(err) == nil {
				t.Errorf("%+v: %+v, %v", f, all, err)
			}
			s.Clear()
			time.Sleep(5 * time.Minute)
		}
		s.Next(fake.Fault{On: func(r *http.Request) bool { return r.URL.Path == "/v2/account" }, Body: `{"cash":"1"}`})
		if _, err := s.broker.Holdings(t.Context()); fault.Of(err) == nil {
			t.Error("an account without a currency is taken")
		}
	})
}

// TestSkew measures a clock that is ahead.
func TestSkew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := enact(t, noon(), fakealpaca.Config{})
		hosts := upstream.NewHosts(s.network.Dial)
		defer hosts.Close() //nolint:errcheck // it has nothing to report
		for _, off := range []time.Duration{0, -90 * time.Second, 1500 * time.Millisecond} {
			b, err := alpaca.New(hosts, alpaca.Config{
				Keys: stocks.NewKeys(fakealpaca.KeyID, fakealpaca.Secret), URL: "http://alpaca.test", Now: func() time.Time { return s.now().Add(-off) },
			})
			if err != nil {
				t.Fatal(err)
			}
			var c broker.Clock = b
			if skew, err := c.Skew(t.Context()); err != nil || skew != off {
				t.Errorf("the venue is %v ahead, got %v, %v", off, skew, err)
			}
		}
		s.Next(fake.Fault{Body: `{"timestamp":"now"}`}, fake.Fault{Body: `{}`}, fake.Fault{Status: 403, Body: `{"message":"forbidden."}`})
		for range 3 {
			if _, err := s.broker.Skew(t.Context()); fault.Of(err) == nil {
				t.Error(err)
			}
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.broker.Skew(over); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
