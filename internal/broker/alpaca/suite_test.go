package alpaca_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"candela/internal/broker"
	"candela/internal/broker/alpaca"
	"candela/internal/broker/brokertest"
	"candela/internal/fake"
	fakealpaca "candela/internal/fake/alpaca"
	"candela/internal/market"
	"candela/internal/order"
	stocks "candela/internal/provider/alpaca"
	"candela/internal/upstream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is a Wednesday in New York: the exchanges are open for four hours more.
func noon() time.Time { return time.Date(2025, time.July, 9, 16, 2, 11, 0, time.UTC) }

// scene is a broker and a fake venue in virtual time.
type scene struct {
	*fakealpaca.Server
	network *fake.Network
	broker  *alpaca.Broker
	now     func() time.Time
}

// enact opens a scene at a time. It must be called in a bubble of synctest.
func enact(tb testing.TB, at time.Time, c fakealpaca.Config) *scene {
	tb.Helper()
	began := time.Now()
	s := &scene{network: fake.NewNetwork(), now: func() time.Time { return at.Add(time.Since(began)) }}
	c.Now = s.now
	s.Server = fakealpaca.New(c)
	tb.Cleanup(s.network.Serve("alpaca.test:80", s.Server))
	hosts := upstream.NewHosts(s.network.Dial)
	tb.Cleanup(func() { _ = hosts.Close() })
	var err error
	s.broker, err = alpaca.New(hosts, alpaca.Config{
		Keys: stocks.NewKeys(fakealpaca.KeyID, fakealpaca.Secret), URL: "http://alpaca.test", DataURL: "http://alpaca.test", Now: s.now,
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func apple() market.Symbol { return market.Symbol{Venue: "alpaca", Name: "AAPL"} }

// changing says which requests may move money.
func changing(r *http.Request) bool {
	return r.Method == http.MethodPost || r.Method == http.MethodDelete
}

// failures are the ways in which an order or a cancel can go wrong, with what may
// be believed of it afterwards.
func (s *scene) failures() []brokertest.Failure {
	down := func() func() {
		s.network.SetDown(true)
		return func() { s.network.SetDown(false) }
	}
	fail := func(f fake.Fault) func() func() {
		f.On = changing
		return func() func() {
			s.Next(f)
			return s.Clear
		}
	}
	const (
		server  = `{"code":50010000,"message":"internal server error occurred"}`
		nothing = `{"code":40310000,"message":"account is restricted to liquidation only"}`
		html    = "<html><body>403 Forbidden</body></html>"
	)
	return []brokertest.Failure{
		{Name: "nobody there", Arm: down, Want: broker.ErrNotSent},
		{Name: "403", Arm: fail(fake.Fault{Status: 403, Body: nothing, Skip: true}), Want: broker.ErrRefused},
		{Name: "401 of a wall", Arm: fail(fake.Fault{Status: 401, Body: html, Skip: true}), Want: broker.ErrRefused},
		{Name: "422", Arm: fail(fake.Fault{Status: 422, Body: `{"code":42210000,"message":"no"}`, Skip: true}), Want: broker.ErrRefused},
		{Name: "429", Arm: fail(fake.Fault{Status: 429, RetryAfter: 30 * time.Second, Skip: true}), Want: broker.ErrRefused},
		{Name: "451", Arm: fail(fake.Fault{Status: 451, Skip: true}), Want: broker.ErrRefused},
		{Name: "a page with 403 before", Arm: fail(fake.Fault{Status: 403, Body: html, Skip: true}), Want: broker.ErrUnknown},
		{Name: "a page with 403 after", Arm: fail(fake.Fault{Status: 403, Body: html}), Want: broker.ErrUnknown, Done: true},
		{Name: "a redirect", Arm: fail(fake.Fault{Status: 302}), Want: broker.ErrUnknown, Done: true},
		{Name: "408", Arm: fail(fake.Fault{Status: 408, Body: `{"message":"timeout"}`}), Want: broker.ErrUnknown, Done: true},
		{Name: "500 before", Arm: fail(fake.Fault{Status: 500, Body: server, Skip: true}), Want: broker.ErrUnknown},
		{Name: "500 after", Arm: fail(fake.Fault{Status: 500, Body: server}), Want: broker.ErrUnknown, Done: true},
		{Name: "504 after", Arm: fail(fake.Fault{Status: 504}), Want: broker.ErrUnknown, Done: true},
		{Name: "a page with 200", Arm: fail(fake.Page()), Want: broker.ErrUnknown, Done: true},
		{Name: "an answer cut in the middle", Arm: fail(fake.Fault{Status: 200, Body: `{"id":"`, Cut: true}), Want: broker.ErrUnknown, Done: true},
		{Name: "a reset before", Arm: fail(fake.Fault{Reset: true, Skip: true}), Want: broker.ErrUnknown},
		{Name: "a reset after", Arm: fail(fake.Fault{Reset: true}), Want: broker.ErrUnknown, Done: true},
		{Name: "silence before", Arm: fail(fake.Fault{Hang: true}), Want: broker.ErrUnknown, Hang: true},
		{Name: "silence after", Arm: fail(fake.Fault{Stall: true}), Want: broker.ErrUnknown, Done: true, Hang: true},
	}
}

func TestSuite(t *testing.T) {
	for name, tc := range map[string]struct {
		symbol, unknown market.Symbol
		quantity        decimal.Decimal
	}{
		"stocks": {apple(), market.Symbol{Venue: "alpaca", Name: "NOSUCH"}, decimal.NewFromInt(2)},
		"crypto": {market.Symbol{Venue: "alpaca", Name: "BTC/USD"}, market.Symbol{Venue: "alpaca", Name: "NO/SUCH"}, decimal.RequireFromString("0.0123")},
	} {
		t.Run(name, func(t *testing.T) {
			brokertest.Run(t, brokertest.Harness{Open: func(tb testing.TB) *brokertest.Venue {
				tb.Helper()
				s := enact(tb, noon(), fakealpaca.Config{Seed: 4})
				rest := func(side order.Side) decimal.Decimal {
					bid, _ := s.Quote(tc.symbol.Name)
					if side == order.Sell {
						return bid.Mul(decimal.NewFromInt(2)).Round(2)
					}
					return bid.Div(decimal.NewFromInt(2)).Round(2)
				}
				return &brokertest.Venue{
					Broker: s.broker, Symbol: tc.symbol, Unknown: tc.unknown, Quantity: tc.quantity, Rest: rest, Trade: s.Trade, Drop: s.Updates.Drop,
					Orders: func() []order.Report { return s.Truth().Orders },
					Foreign: func() string {
						id, why := s.Place(order.Spec{Symbol: tc.symbol, Side: order.Buy, Type: order.Limit, Quantity: tc.quantity, Price: rest(order.Buy)})
						if why != "" {
							tb.Error(why)
						}
						return id
					},
					Failures: s.failures(),
				}
			}})
		})
	}
}
