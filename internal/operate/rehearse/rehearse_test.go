package rehearse_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"candela/internal/data/provider"
	stocks "candela/internal/data/provider/alpaca"
	rules "candela/internal/data/provider/binance"
	"candela/internal/kit/secret"
	"candela/internal/kit/setting"
	"candela/internal/operate/rehearse"
	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/alpaca"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/broker/paper"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// options returns a rehearsal within a network of this process.
func options(n *fake.Network, b broker.Descriptor, prices provider.Descriptor, network string) rehearse.Options {
	relays := 0
	return rehearse.Options{
		Broker: b, Prices: prices, Network: network, Dial: n.Dial,
		Serve: func(h http.Handler) (string, func() error, error) {
			relays++
			host := "relay" + strconv.Itoa(relays) + ".test"
			stop := n.Serve(host+":80", h)
			return host, func() error { stop(); return nil }, nil
		},
	}
}

// slowly lets time pass with every request.
func slowly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(5 * time.Millisecond)
		h.ServeHTTP(w, r)
	})
}

// secrets sets the keys.
func secrets(v *setting.Values, names setting.Keys, id, key string) {
	*v.SecretVar(names.ID), *v.SecretVar(names.Secret) = secret.New(id), secret.New(key)
}

// atBinance returns a rehearsal at the fake of Binance with nothing but dollars, and the fake.
func atBinance(tb testing.TB) (rehearse.Options, *fakebinance.Server) {
	tb.Helper()
	n := fake.NewNetwork()
	server := fakebinance.New(fakebinance.Config{Seed: 1, Depth: decimal.NewFromInt(10), Funds: map[string]decimal.Decimal{"USDT": decimal.NewFromInt(10_000)}})
	server.Fix("BTCUSDT", decimal.NewFromInt(50_000), decimal.NewFromInt(10_000))
	tb.Cleanup(n.Serve("binance.test:80", slowly(server)))
	o := options(n, binance.Descriptor(), rules.Descriptor(), "testnet")
	secrets(&o.Values, o.Broker.Keys, fakebinance.Key, fakebinance.Secret)
	o.Values = o.Values.With("binance-trade-url", "http://binance.test")
	o.Began = func(step string) {
		if step == "stop that triggers" {
			time.AfterFunc(5*time.Second, func() { server.Fix("BTCUSDT", decimal.NewFromInt(49_900), decimal.NewFromInt(10_000)) })
		}
	}
	return o, server
}

// clean holds that nothing is left at the venue.
func clean(t *testing.T, res rehearse.Result, open int, held decimal.Decimal) {
	t.Helper()
	if open != 0 || held.GreaterThan(decimal.RequireFromString("0.001")) || len(res.Left) != 0 {
		t.Errorf("%d orders are open, %s is held, and the rehearsal names %q", open, held, res.Left)
	}
}

func rows(t *testing.T, res rehearse.Result) {
	t.Helper()
	for _, s := range res.Steps {
		t.Logf("%-10s %-34s %6d ms  %s", s.Verdict, s.Name, s.Millis, s.Says)
	}
}

func TestRun_AtBinance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, server := atBinance(t)
		res, err := rehearse.Run(t.Context(), o)
		rows(t, res)
		if err != nil {
			t.Fatal(err)
		}
		open := 0
		for _, order := range server.Orders() {
			if order.Open() {
				open++
			}
		}
		clean(t, res, open, server.Balances()["BTC"].Free)
		if n := len(server.Orders()); n > 30 || res.Orders > 30 {
			t.Errorf("%d orders, it says %d", n, res.Orders)
		}
		judge(t, res, "modes", "reduce-only beyond the position", "funding and liquidation")
	})
}

// judge holds that every step is proven but those named.
func judge(t *testing.T, res rehearse.Result, unproven ...string) {
	t.Helper()
	if len(res.Steps) != 23 {
		t.Errorf("%d steps", len(res.Steps))
	}
	for _, s := range res.Steps {
		want := rehearse.OK
		if slices.Contains(unproven, s.Name) {
			want = rehearse.NotProven
		}
		if s.Verdict != want {
			t.Errorf("%s: %s, want %s: %s", s.Name, s.Verdict, want, s.Says)
		}
	}
}

func TestRun_AtAlpaca(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, server := atAlpaca(t)
		res, err := rehearse.Run(t.Context(), o)
		rows(t, res)
		if err != nil {
			t.Fatal(err)
		}
		truth := server.Truth()
		open := 0
		for _, order := range truth.Orders {
			if !order.Status.Final() {
				open++
			}
		}
		clean(t, res, open, truth.Positions["AAPL"])
		judge(t, res, "modes", "reduce-only beyond the position", "funding and liquidation", "request late")
	})
}

// atAlpaca returns a rehearsal at the fake of Alpaca, whose market is always open.
func atAlpaca(tb testing.TB) (rehearse.Options, *fakealpaca.Server) {
	tb.Helper()
	time.Sleep(time.Until(time.Date(2025, time.July, 9, 16, 2, 11, 0, time.UTC))) // a Wednesday in virtual time
	n := fake.NewNetwork()
	server := fakealpaca.New(fakealpaca.Config{Now: time.Now, Seed: 3})
	server.SetHours(true)
	tb.Cleanup(n.Serve("alpaca.test:80", server))
	o := options(n, alpaca.Descriptor(), stocks.Descriptor(), "paper")
	secrets(&o.Values, o.Broker.Keys, fakealpaca.KeyID, fakealpaca.Secret)
	o.Values = o.Values.With("alpaca-url", "http://alpaca.test").With("alpaca-data-url", "http://alpaca.test").With("alpaca-feed", "iex").With("alpaca-adjustment", "split")
	o.Began = func(step string) {
		if step == "stop that triggers" {
			bid, _ := server.Quote("AAPL")
			price := bid.Mul(decimal.RequireFromString("0.995")).Round(2)
			time.AfterFunc(5*time.Second, func() { server.SetQuote("AAPL", price.String(), price.String()) })
		}
	}
	return o, server
}

// A network with real money is refused before anything connects, whatever the keys and settings say.
func TestRun_NeverConnectsToALiveNetwork(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		broker  broker.Descriptor
		prices  provider.Descriptor
		network string
		values  map[string]string
	}{
		"binance live":                       {binance.Descriptor(), rules.Descriptor(), "live", nil},
		"binance, no network":                {binance.Descriptor(), rules.Descriptor(), "", nil},
		"alpaca live":                        {alpaca.Descriptor(), stocks.Descriptor(), "live", nil},
		"paper has no network":               {paper.Descriptor(), rules.Descriptor(), "", nil},
		"testnet at the exchange":            {binance.Descriptor(), rules.Descriptor(), "testnet", map[string]string{"binance-trade-url": "https://api.binance.com"}},
		"testnet with the exchange's stream": {binance.Descriptor(), rules.Descriptor(), "testnet", map[string]string{"binance-trade-stream-url": "wss://ws-api.binance.com/ws-api/v3"}},
		"demo behind a gateway":              {binance.Descriptor(), rules.Descriptor(), "demo", map[string]string{"binance-trade-url": "https://gateway.example.com"}},
		"paper at the live host":             {alpaca.Descriptor(), stocks.Descriptor(), "paper", map[string]string{"alpaca-url": "https://api.alpaca.markets"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dialed atomic.Int32
			n := fake.NewNetwork()
			o := options(n, tt.broker, tt.prices, tt.network)
			o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				dialed.Add(1)
				return n.Dial(ctx, network, address)
			}
			if o.Broker.Keys != (setting.Keys{}) {
				secrets(&o.Values, o.Broker.Keys, "key", "secret")
			}
			for name, text := range tt.values {
				o.Values = o.Values.With(name, text)
			}
			if _, err := rehearse.Run(t.Context(), o); err == nil {
				t.Error("it begins")
			}
			if n := dialed.Load(); n != 0 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// A venue that sends the rehearsal to another host is not followed there.
func TestRun_FollowsNoRedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, _ := atBinance(t)
		n := fake.NewNetwork()
		var elsewhere atomic.Int32
		stops := []func(){
			n.Serve("binance.test:80", http.RedirectHandler("http://api.binance.com/", http.StatusTemporaryRedirect)),
			n.Serve("api.binance.com:80", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })),
		}
		moved := options(n, o.Broker, o.Prices, o.Network)
		moved.Values = o.Values
		if _, err := rehearse.Run(t.Context(), moved); err == nil {
			t.Error("it begins")
		}
		if elsewhere.Load() != 0 {
			t.Error("it followed")
		}
		for _, stop := range stops {
			stop()
		}
	})
}

// A rehearsal that is stopped at any step leaves nothing open.
func TestRun_CleansUpWhenStopped(t *testing.T) {
	for _, at := range []string{"limit order far away", "market order", "stop alone, and on the wrong side", "pair that rests, canceled", "answer lost", "stream cut during a fill"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, server := atBinance(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var watching sync.WaitGroup
				defer watching.Wait()
				o.Began = func(step string) {
					if step == at {
						// Some time after its first order is there.
						watching.Go(func() {
							for before := len(server.Orders()); len(server.Orders()) == before && ctx.Err() == nil; {
								time.Sleep(time.Millisecond)
							}
							cancel()
						})
					}
				}
				res, err := rehearse.Run(ctx, o)
				if err != nil {
					t.Fatal(err)
				}
				cancel()
				open := 0
				for _, order := range server.Orders() {
					if order.Open() {
						open++
					}
				}
				clean(t, res, open, server.Balances()["BTC"].Free)
			})
		})
	}
}

// An account in use is left alone.
func TestRun_RefusesAnAccountInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, server := atBinance(t)
		server.Place("web_1", "BTCUSDT", "BUY", decimal.New(1, -2), decimal.NewFromInt(30_000))
		if _, err := rehearse.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "open orders in binance:BTCUSDT") {
			t.Errorf("%v", err)
		}
		if n := len(server.Orders()); n != 1 {
			t.Errorf("%d orders", n)
		}
	})
}

// A venue that differs is said to differ.
func TestRun_SaysWhatDiffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, server := atBinance(t)
		server.AllowLate(true)
		res, err := rehearse.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if res.Count(rehearse.Differs) != 1 {
			rows(t, res)
			t.Errorf("%d differ", res.Count(rehearse.Differs))
		}
	})
}

// The record has the fields of the answers, and neither keys nor balances nor numbers of orders.
func TestRun_RecordsNoValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, server := atBinance(t)
		res, err := rehearse.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(res.Answers)
		if err != nil {
			t.Fatal(err)
		}
		secrets := []string{fakebinance.Key, fakebinance.Secret, "10000", "50000", "49000"}
		for _, o := range server.Orders() {
			secrets = append(secrets, o.ClientID)
		}
		for _, s := range secrets {
			if strings.Contains(string(text), s) {
				t.Errorf("%s is in the record", s)
			}
		}
		if !strings.Contains(string(text), `"method":"POST","path":"/api/v3/order"`) || !strings.Contains(string(text), `"balances[].free":["string"]`) {
			t.Errorf("the record lacks what it is for: %.2000s", text)
		}
		if found := rehearse.Compare(res.Answers, res.Answers); len(found) != 0 {
			t.Errorf("it contradicts itself: %q", found)
		}
	})
}

func TestCompare(t *testing.T) {
	t.Parallel()
	answer := func(fields map[string][]string) []rehearse.Answer {
		return []rehearse.Answer{{Method: "GET", Path: "/p", Status: 200, Fields: fields}}
	}
	venue := answer(map[string][]string{"a": {"string"}, "b": {"null", "number"}})
	for name, tt := range map[string]struct {
		fake []rehearse.Answer
		want string
	}{
		"fewer fields":            {answer(map[string][]string{"a": {"string"}}), ""},
		"null says nothing":       {answer(map[string][]string{"a": {"null"}}), ""},
		"another type":            {answer(map[string][]string{"a": {"number"}}), "GET /p: a is number, and string at the venue"},
		"another field":           {answer(map[string][]string{"c": {"string"}}), "GET /p: c is string, and the venue has no such field"},
		"a kind that is not seen": {[]rehearse.Answer{{Method: "GET", Path: "/q", Status: 200, Fields: map[string][]string{"c": {"string"}}}}, ""},
	} {
		if got := strings.Join(rehearse.Compare(venue, tt.fake), "; "); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
