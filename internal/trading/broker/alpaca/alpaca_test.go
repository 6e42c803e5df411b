package alpaca_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	stocks "candela/internal/data/provider/alpaca"
	"candela/internal/data/upstream"
	"candela/internal/kit/id"
	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/internal/trading/broker/alpaca"
	"candela/internal/trading/order"
	"candela/lib/fault"
	"candela/lib/market"
)

func num(text string) decimal.Decimal { return decimal.RequireFromString(text) }

// buy returns a new order for a symbol; a price makes it a limit order.
func buy(symbol, quantity, price string) order.Spec {
	o := order.Spec{
		ID: id.New(time.Now()), Owner: "local", Symbol: market.Symbol{Venue: "alpaca", Name: symbol}, Side: order.Buy, Type: order.Market, Quantity: num(quantity),
	}
	if price != "" {
		o.Type, o.Price = order.Limit, num(price)
	}
	return o
}

func sell(symbol, quantity, price string) order.Spec {
	o := buy(symbol, quantity, price)
	o.Side = order.Sell
	return o
}

// play runs fn in virtual time.
func play(t *testing.T, at time.Time, c fakealpaca.Config, fn func(t *testing.T, s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { fn(t, enact(t, at, c)) })
}

// must submits an order that the venue takes.
func (s *scene) must(t *testing.T, o order.Spec) order.Report {
	t.Helper()
	r, err := s.broker.Submit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// state asks for an order.
func (s *scene) state(t *testing.T, o order.Spec) order.Report {
	t.Helper()
	r, err := s.broker.Query(t.Context(), o.Handle())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNew_KeepsPaperAndLiveApart(t *testing.T) {
	t.Parallel()
	keys := stocks.NewKeys("id", "secret")
	for name, tc := range map[string]struct {
		config alpaca.Config
		mode   order.Mode
		code   string
	}{
		"paper":                    {alpaca.Config{Keys: keys}, order.Paper, ""},
		"live":                     {alpaca.Config{Keys: keys, Live: true}, order.Live, ""},
		"a gateway":                {alpaca.Config{Keys: keys, URL: "http://localhost:9400/"}, order.Paper, ""},
		"a gateway to live":        {alpaca.Config{Keys: keys, URL: "http://localhost:9400", Live: true}, order.Live, ""},
		"no keys":                  {alpaca.Config{}, "", "no_keys"},
		"paper on the live host":   {alpaca.Config{Keys: keys, URL: alpaca.LiveURL}, "", "invalid_argument"},
		"paper, live host, slash":  {alpaca.Config{Keys: keys, URL: alpaca.LiveURL + "/"}, "", "invalid_argument"},
		"live on the paper host":   {alpaca.Config{Keys: keys, URL: alpaca.PaperURL, Live: true}, "", "invalid_argument"},
		"an address that is none":  {alpaca.Config{Keys: keys, URL: "http://a b"}, "", "invalid_argument"},
		"the live host's port":     {alpaca.Config{Keys: keys, URL: "https://api.alpaca.markets:443"}, "", "invalid_argument"},
		"the live host, full name": {alpaca.Config{Keys: keys, URL: "https://api.alpaca.markets."}, "", "invalid_argument"},
		"the live host in capital": {alpaca.Config{Keys: keys, URL: "https://API.alpaca.markets"}, "", "invalid_argument"},
	} {
		b, err := alpaca.New(upstream.NewHosts(nil), tc.config)
		if tc.code != "" {
			if f := fault.Of(err); f == nil || f.Code != tc.code {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || b.Mode() != tc.mode || b.Name() != "alpaca" {
			t.Errorf("%s: %v, %v", name, b, err)
		}
	}
}

func TestInstrument_RulesOfStocksAndPairs(t *testing.T) {
	t.Parallel()
	play(t, noon(), fakealpaca.Config{}, func(t *testing.T, s *scene) {
		t.Helper()
		s.Next(fake.HalfJSON(), fake.Fault{Status: 403, Body: `{"message":"forbidden."}`}, fake.Fault{Body: `{"symbol":"BTC/USD","class":"crypto","price_increment":"0"}`})
		for _, code := range []string{"bad_answer", "keys_refused", "bad_answer"} {
			if _, err := s.broker.Instrument(t.Context(), market.Symbol{Name: "BTC/USD"}); fault.Of(err).Code != code {
				t.Errorf("want %s: %v", code, err)
			}
		}
		for name, want := range map[string][4]string{ // tick, step, least, and its name
			"AAPL": {"0.01", "0.000000001", "0.000000001", "AAPL"}, "BRK.B": {"0.01", "1", "1", "BRK.B"}, "PENNY": {"0.0001", "1", "1", "PENNY"},
			"BTC/USD": {"0.01", "0.000000001", "0.0001", "BTC/USD"}, "BTCUSD": {"0.01", "0.000000001", "0.0001", "BTC/USD"},
		} {
			in, err := s.broker.Instrument(t.Context(), market.Symbol{Venue: "alpaca", Name: name})
			if err != nil || in.Tick.String() != want[0] || in.Step.String() != want[1] || in.MinQuantity.String() != want[2] || in.Symbol.String() != "alpaca:"+want[3] {
				t.Errorf("%s: %+v, %v", name, in, err)
			}
			if pair := strings.Contains(want[3], "/"); in.Calendar.RoundTheClock() != pair || pair && (in.Base != "BTC" || in.Quote != "USD") {
				t.Errorf("%s: %+v", name, in)
			}
		}
		asked := s.Requests()
		if _, err := s.broker.Instrument(t.Context(), market.Symbol{Name: "BTC/USD"}); err != nil || s.Requests() != asked {
			t.Errorf("a pair is asked for again: %v", err)
		}
		for _, symbol := range []market.Symbol{{Name: "NOSUCH"}, {Name: "NO/SUCH"}, {Name: "AA/PL"}, {Name: "NOUSD"}, {Venue: "binance", Name: "AAPL"}} {
			if _, err := s.broker.Instrument(t.Context(), symbol); fault.KindOf(err) != fault.NotFound {
				t.Errorf("%v: %v", symbol, err)
			}
		}
	})
}
