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
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// heldAt is a kind of order that a venue cannot hold.
type heldAt struct {
	open   func(network *fake.Network) (floor, func())
	pin    func(f floor, price string)
	faults map[string]fake.Fault

	symbol, quantity string
	protect          order.Protection
	from, to         string // prices: of the entry, and beyond the stop
}

func heldVenues() map[string]heldAt {
	atAlpaca := func(n *fake.Network) (floor, func()) { return alpacaFloor(n, 1) }
	atBinance := func(n *fake.Network) (floor, func()) { return binanceFloor(n, 1) }
	quote := func(symbol string) func(f floor, price string) {
		return func(f floor, price string) { f.(onAlpaca).SetQuote(symbol, price, price) } //nolint:errcheck,forcetypeassert // the test chose it
	}
	return map[string]heldAt{
		"a part of a share at Alpaca": {
			open: atAlpaca, pin: quote("AAPL"), faults: fakealpaca.OrderFaults(), symbol: "AAPL", quantity: "2.5", from: "100", to: "94.9",
			protect: order.Protection{StopLoss: dec("95"), TakeProfit: dec("110")},
		},
		"a leg that trails at Alpaca": {
			open: atAlpaca, pin: quote("AAPL"), faults: fakealpaca.OrderFaults(), symbol: "AAPL", quantity: "2", from: "100", to: "97.9",
			protect: order.Protection{TrailPercent: dec("2")},
		},
		"a crypto pair at Alpaca": {
			open: atAlpaca, pin: quote("BTC/USD"), faults: fakealpaca.OrderFaults(), symbol: "BTC/USD", quantity: "0.1", from: "50000", to: "47900",
			protect: order.Protection{StopLoss: dec("48000"), TakeProfit: dec("55000")},
		},
		"a trail that the symbol lacks at Binance": {
			open: atBinance, pin: func(f floor, price string) { f.(onBinance).Pin("ETHUSDT", dec(price)) }, //nolint:errcheck,forcetypeassert // the test chose it
			faults: fakebinance.OrderFaults(), symbol: "ETHUSDT", quantity: "0.5", from: "2000", to: "1950",
			protect: order.Protection{TrailPercent: dec("2")},
		},
	}
}

// TestHeld_AtTheVenues buys with a stop that candela holds at both fakes, lets the price fall
// while every fault of an order meets the sale, and holds that what was bought is sold once.
func TestHeld_AtTheVenues(t *testing.T) {
	t.Parallel()
	for name, v := range heldVenues() {
		faults := append(slices.Sorted(maps.Keys(v.faults)), "", "killed")
		for _, fault := range faults {
			t.Run(name+" "+fault, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { v.sell(t, fault) })
			})
		}
	}
}

// get returns an order as the desk has it now.
func (d *day) get(id string) order.Order {
	d.t.Helper()
	all, err := d.Orders(d.t.Context(), caller(), false)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, o := range all {
		if o.ID == id {
			return o
		}
	}
	d.t.Fatalf("there is no order %s", id)
	return order.Order{}
}

func (v heldAt) sell(t *testing.T, fault string) {
	t.Helper()
	network := fake.NewNetwork()
	f, shut := v.open(network)
	t.Cleanup(shut)
	d := openDay(t, 1, network, f)
	d.policy.HeldStops = guard.HeldAllow
	d.start()
	v.pin(f, v.from)
	time.Sleep(5 * time.Second)
	p, err := d.Place(t.Context(), caller(), order.Request{
		Symbol: market.Symbol{Name: v.symbol}, Side: order.Buy, Type: order.Market, Quantity: dec(v.quantity), Protect: v.protect,
	})
	if err != nil || p.Holder != order.HolderCandela || len(p.Legs) == 0 {
		t.Fatalf("placed %+v, %v", p, err)
	}
	time.Sleep(2 * time.Minute)
	own := func() (open []order.Order, sold decimal.Decimal) {
		all, err := d.Orders(t.Context(), caller(), false)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range all {
			if o.Side == order.Sell {
				sold = sold.Add(o.Filled)
			}
			if !o.Status.Final() {
				open = append(open, o)
			}
		}
		return open, sold
	}
	p.Order = d.get(p.ID)
	if open, _ := own(); len(open) != len(p.Legs) || !open[0].Local() {
		t.Fatalf("before the price falls open are %+v", open)
	}
	if chosen, ok := v.faults[fault]; ok {
		f.next(chosen)
	}
	v.pin(f, v.to)
	if fault == "killed" {
		d.kill()
		d.start()
	}
	time.Sleep(5 * time.Minute)
	v.pin(f, v.to)
	open, sold := own()
	positions, _ := d.Positions(t.Context(), caller())
	least := p.Filled.Mul(dec("0.99")) // the fee may be taken from what was bought
	if len(open) != 0 || sold.LessThan(least) || sold.GreaterThan(p.Filled) || sold.IsZero() {
		t.Errorf("sold %v of %v, left are %+v and %+v; %+v", sold, p.Filled, positions, open, d.Status().State.Restrictions)
	}
	d.floor.clear()
	time.Sleep(2 * time.Minute)
	if d.Status().State.Level() != guard.Active {
		t.Errorf("then trading is %+v", d.Status().State)
	}
}
