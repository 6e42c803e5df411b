package alpaca_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	stocks "candela/internal/data/provider/alpaca"
	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/alpaca"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
	"candela/lib/market"
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

	mu    sync.Mutex
	posts []string // the bodies of orders that were sent
}

// record keeps the orders that reach the venue.
func (s *scene) record(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.mu.Lock()
		s.posts = append(s.posts, string(body))
		s.mu.Unlock()
	}
	s.ServeHTTP(w, r)
}

// lastPost returns the newest order that was sent, with the ids of orders by their place.
func (s *scene) lastPost(orders ...order.Spec) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.posts) == 0 {
		return ""
	}
	text := s.posts[len(s.posts)-1]
	for i, o := range orders {
		text = strings.ReplaceAll(text, o.ID, []string{"A", "B", "C"}[i])
	}
	return text
}

// enact opens a scene at a time. It must be called in a bubble of synctest.
func enact(tb testing.TB, at time.Time, c fakealpaca.Config) *scene {
	tb.Helper()
	began := time.Now()
	s := &scene{network: fake.NewNetwork(), now: func() time.Time { return at.Add(time.Since(began)) }}
	c.Now = s.now
	s.Server = fakealpaca.New(c)
	tb.Cleanup(s.network.Serve("alpaca.test:80", http.HandlerFunc(s.record)))
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

// failures are the ways in which an order or a cancel can go wrong, with what may
// be believed of it afterwards: a refusal in the venue's own words or at a gate
// before it, and nothing else.
func (s *scene) failures() []brokertest.Failure {
	all := []brokertest.Failure{{Name: "nobody there", Want: broker.ErrNotSent, Arm: func() func() {
		s.network.SetDown(true)
		return func() { s.network.SetDown(false) }
	}}}
	refused := []string{"throttled", "region", "key", "forbidden", "balance", "restricted", "wash", "invalid"}
	faults := fakealpaca.OrderFaults()
	delete(faults, "half, done") // a cancel has no body to lose half of
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		f := brokertest.Failure{Name: name, Want: broker.ErrUnknown, Done: strings.HasSuffix(name, ", done"), Hang: strings.HasPrefix(name, "hang")}
		if slices.Contains(refused, name) {
			f.Want = broker.ErrRejected
		}
		f.Arm = func() func() {
			s.Next(faults[name])
			return s.Clear
		}
		all = append(all, f)
	}
	return all
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
					Broker: s.broker, Symbol: tc.symbol, Unknown: tc.unknown, Quantity: tc.quantity, Rest: rest, Trade: func(id string, q decimal.Decimal) { s.Trade(id, q) }, Drop: s.Updates.Drop,
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
