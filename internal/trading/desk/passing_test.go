package desk_test

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/testkit/longtest"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// reprotected is an entry at a fake venue that ends after a part of it was filled.
type reprotected struct {
	open    func(*fake.Network, uint64) (groupFloor, func())
	faults  map[string]fake.Fault
	final   []string // faults that refuse the order itself
	symbol  string
	pin     string
	entry   string // its price
	protect order.Protection
	all     string // quantity
	part    string
}

func reprotections() map[string]reprotected {
	return map[string]reprotected{
		"Binance": {
			open: binanceGroups, faults: fakebinance.OrderFaults(), final: []string{"balance", "filter", "precision"}, symbol: "BTCUSDT", pin: "50000", entry: "49000",
			protect: order.Protection{StopLoss: dec("48000"), TakeProfit: dec("55000")}, all: "0.01", part: "0.004",
		},
		"Alpaca": {
			open: alpacaGroups, faults: fakealpaca.OrderFaults(), final: []string{"balance", "restricted", "wash", "invalid"}, symbol: "AAPL", pin: "100", entry: "98",
			protect: order.Protection{StopLoss: dec("90"), TakeProfit: dec("120")}, all: "10", part: "4",
		},
	}
}

// TestProtector_EveryFaultOfAReprotection ends entries that were filled in part at both fakes,
// lets faults of an order meet the first two attempts to protect that part, and holds that
// it has its stop in the end, once. Only where the venue refuses the order itself it has none,
// and the restriction and the position say why.
func TestProtector_EveryFaultOfAReprotection(t *testing.T) {
	t.Parallel()
	for name, v := range reprotections() {
		for _, chosen := range slices.Sorted(maps.Keys(v.faults)) {
			if !longtest.On() && !slices.Contains([]string{"clock", "region", "throttled", "key", "outage", "outage, done", "filter", "invalid"}, chosen) {
				continue
			}
			t.Run(name+" "+chosen, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { v.protectAgain(t, chosen) })
			})
		}
	}
}

func (v reprotected) protectAgain(t *testing.T, chosen string) {
	t.Helper()
	network := fake.NewNetwork()
	f, shut := v.open(network, 1)
	t.Cleanup(shut)
	d := openDay(t, 1, network, f)
	d.start()
	f.shove(v.symbol, dec(v.pin))
	time.Sleep(5 * time.Second)
	p, err := d.Place(t.Context(), caller(), order.Request{
		Symbol: market.Symbol{Name: v.symbol}, Side: order.Buy, Type: order.Limit, Quantity: dec(v.all), Price: dec(v.entry), Protect: v.protect,
	})
	if err != nil {
		t.Fatal(err)
	}
	f.trade(d.get(p.ID), dec(v.part))
	time.Sleep(2 * time.Second)
	for range 2 {
		f.next(v.faults[chosen])
	}
	f.expire(d.get(p.ID))
	time.Sleep(15 * time.Second)
	positions, err := d.Positions(t.Context(), caller())
	if err != nil || len(positions) != 1 {
		t.Fatalf("the positions are %+v, %v", positions, err)
	}
	if missing := positions[0]; missing.Unprotected().IsPositive() && (len(missing.Gaps) != 1 || missing.Gaps[0].Reason == "" || missing.Gaps[0].Since.IsZero()) {
		t.Errorf("without a stop the position is %+v", missing)
	}
	time.Sleep(15 * time.Minute)
	v.judge(t, d, slices.Contains(v.final, chosen))
}

// judge holds that what is held has one stop, or none and a reason.
func (v reprotected) judge(t *testing.T, d *day, refused bool) {
	t.Helper()
	stops := decimal.Zero
	for _, r := range d.floor.orders() {
		if r.IsStop() && (r.Status == order.Accepted || r.Status == order.PartiallyFilled) {
			stops = stops.Add(r.Quantity.Sub(r.Filled))
		}
	}
	positions, err := d.Positions(t.Context(), caller())
	if err != nil || len(positions) != 1 {
		t.Fatalf("then the positions are %+v, %v", positions, err)
	}
	p := positions[0]
	restricted := slices.ContainsFunc(d.Status().State.Restrictions, func(r guard.Restriction) bool { return r.Kind == guard.Unprotected })
	if refused {
		if !stops.IsZero() || !restricted || len(p.Gaps) != 1 || !p.Gaps[0].Quantity.Equal(p.Quantity) {
			t.Errorf("refused, stops close %v of %+v, restrictions are %+v", stops, p, d.Status().State.Restrictions)
		}
		return
	}
	least := d.floor.(groupFloor).whole(p.Quantity) //nolint:errcheck,forcetypeassert // the test chose it
	if !stops.Equal(least) || restricted || len(p.Gaps) > 1 || p.Unprotected().GreaterThan(dec("0.0001")) {
		t.Errorf("stops close %v of %+v, restrictions are %+v", stops, p, d.Status().State.Restrictions)
	}
}
