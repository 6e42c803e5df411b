package binance_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"
	"go.uber.org/goleak"

	"candela/internal/data/upstream"
	"candela/internal/kit/id"
	"candela/internal/kit/secret"
	"candela/internal/testkit/fake"
	venue "candela/internal/testkit/fake/binance"
	"candela/internal/trading/broker"
	"candela/internal/trading/broker/binance"
	"candela/internal/trading/broker/brokertest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const address = "binance.test:80"

func btc() market.Symbol { return market.Symbol{Venue: "binance", Name: "BTCUSDT"} }

// connect returns a broker at the fake.
func connect(tb testing.TB, n *fake.Network) *binance.Broker {
	tb.Helper()
	hosts := upstream.NewHosts(n.Dial)
	tb.Cleanup(func() { _ = hosts.Close() })
	b, err := binance.New(hosts, binance.Config{
		Environment: binance.Testnet, URL: "http://binance.test", Key: secret.New(venue.Key), Secret: secret.New(venue.Secret),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// open starts a fake venue whose price stands at 50,000.
func open(tb testing.TB) (*fake.Network, *venue.Server) {
	tb.Helper()
	network, server := fake.NewNetwork(), venue.New(venue.Config{})
	tb.Cleanup(network.Serve(address, server))
	server.Pin("BTCUSDT", decimal.NewFromInt(50_000))
	return network, server
}

// within runs fn in virtual time against a fake venue.
func within(t *testing.T, fn func(*testing.T, *venue.Server, *binance.Broker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network, server := open(t)
		fn(t, server, connect(t, network))
	})
}

// reportOf is what the venue itself says of an order.
func reportOf(o venue.Order) order.Report {
	status := map[string]order.Status{
		"NEW": order.Accepted, "PARTIALLY_FILLED": order.PartiallyFilled, "FILLED": order.Filled, "CANCELED": order.Canceled, "EXPIRED": order.Expired, "PENDING_NEW": order.Held,
	}
	return order.Report{Spec: order.Spec{ID: o.ClientID}, VenueID: strconv.FormatInt(o.ID, 10), Status: status[o.Status], Filled: o.Executed}
}

// failures lists what can go wrong with a request, and what is then known.
func failures(network *fake.Network, server *venue.Server) []brokertest.Failure {
	refusals := []string{"throttled", "banned", "region", "wall", "balance", "closed", "filter", "precision", "clock", "signature", "key", "many orders"}
	var all []brokertest.Failure
	faults := venue.OrderFaults()
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		f := brokertest.Failure{Name: name, Want: broker.ErrUnknown, Done: strings.HasSuffix(name, ", done"), Hang: strings.HasPrefix(name, "hang")}
		if slices.Contains(refusals, name) {
			f.Want = broker.ErrRejected
		}
		f.Arm = func() func() {
			server.Next(faults[name])
			return server.Clear
		}
		all = append(all, f)
	}
	return append(all, brokertest.Failure{Name: "no network", Want: broker.ErrNotSent, Arm: func() func() {
		network.SetDown(true)
		return func() { network.SetDown(false) }
	}})
}

func TestBroker_KeepsTheContract(t *testing.T) {
	brokertest.Run(t, brokertest.Harness{Open: func(tb testing.TB) *brokertest.Venue {
		tb.Helper()
		network, server := open(tb)
		return &brokertest.Venue{
			Broker: connect(tb, network), Symbol: btc(), Unknown: market.Symbol{Venue: "binance", Name: "NOSUCH"},
			Quantity: decimal.New(2, -2),
			Rest: func(s order.Side) decimal.Decimal {
				return map[order.Side]decimal.Decimal{order.Buy: decimal.NewFromInt(40_000), order.Sell: decimal.NewFromInt(60_000)}[s]
			},
			Orders: func() []order.Report {
				var all []order.Report
				for _, o := range server.Orders() {
					all = append(all, reportOf(o))
				}
				return all
			},
			Trade: func(id string, q decimal.Decimal) { server.Trade(id, q) },
			Foreign: func() string {
				return strconv.FormatInt(server.Place("web_1", "BTCUSDT", "BUY", decimal.New(1, -2), decimal.NewFromInt(30_000)), 10)
			},
			Drop: server.User.Drop, Failures: failures(network, server),
		}
	}})
}

func spec(side order.Side, quantity, price string) order.Spec {
	o := order.Spec{ID: id.New(time.Now()), Owner: "local", Symbol: btc(), Side: side, Type: order.Market, Quantity: decimal.RequireFromString(quantity)}
	if price != "" {
		o.Type, o.Price = order.Limit, decimal.RequireFromString(price)
	}
	return o
}
