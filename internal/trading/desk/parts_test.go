package desk_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/desk/desktest"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// large is a position at the fake Binance of more than that takes in an order at the market, which is 100.
type large struct {
	*day
	server *fakebinance.Server
	held   decimal.Decimal
}

func openLarge(t *testing.T) *large {
	t.Helper()
	network := fake.NewNetwork()
	server := fakebinance.New(fakebinance.Config{Seed: 1, Depth: dec("1000000"), Funds: map[string]decimal.Decimal{"USDT": dec("100000")}})
	t.Cleanup(network.Serve("binance.test:80", server))
	a := &large{day: openDay(t, 1, network, onBinance{server}), server: server}
	a.memory = desktest.NewStore()
	a.start()
	server.Move("BTCUSDT", dec("100"))
	time.Sleep(5 * time.Second)
	for range 3 {
		if _, err := a.ask(order.Request{Side: order.Buy, Quantity: dec("80")}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(5 * time.Second)
	positions, err := a.Positions(t.Context(), caller())
	if err != nil || len(positions) != 1 {
		t.Fatal(positions, err)
	}
	a.held = order.RoundDown(positions[0].Quantity, dec("0.00001"))
	return a
}

func (a *large) ask(r order.Request) (order.Placed, error) {
	r.Symbol = market.Symbol{Name: "BTCUSDT"}
	if r.Type = order.Market; r.Price.IsPositive() {
		r.Type = order.Limit
	}
	return a.Place(a.t.Context(), caller(), r)
}

// closed returns what the venue has sold, and the stops that it has.
func (a *large) closed() (sold, stopped decimal.Decimal, stops int) {
	for _, o := range a.server.Orders() {
		if o.Side == "SELL" {
			sold = sold.Add(o.Executed)
			if o.StopPrice.IsPositive() && o.Status == "NEW" {
				stopped, stops = stopped.Add(o.Quantity), stops+1
			}
		}
	}
	return sold, stopped, stops
}

// TestMaxMarket_EntriesAreDenied asks for more than the venue takes in an order at the market, and for an entry whose stop becomes one.
func TestMaxMarket_EntriesAreDenied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := openLarge(t)
		for _, r := range []order.Request{
			{Side: order.Buy, Quantity: dec("101")},
			{Side: order.Buy, Quantity: dec("101"), Price: dec("90"), Protect: order.Protection{StopLoss: dec("80")}},
			{Side: order.Sell, Quantity: dec("101")},
		} {
			p, err := a.ask(r)
			if err == nil || p.Denial.Rule != "venue_max_market" || !strings.Contains(p.Reason, "100") {
				t.Errorf("%+v: %v, %+v", r, err, p.Denial)
			}
		}
	})
}

// TestMaxMarket_ExitsAreCut closes more than the venue takes at once, as it is and killed: nothing is sold twice.
func TestMaxMarket_ExitsAreCut(t *testing.T) {
	t.Parallel()
	for _, stop := range []bool{false, true} {
		for _, kill := range []time.Duration{0, time.Millisecond, 30 * time.Millisecond, 200 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				a := openLarge(t)
				if stop {
					if _, err := a.ask(order.Request{Side: order.Sell, Quantity: a.held, ReduceOnly: true, Protect: order.Protection{StopLoss: dec("90")}}); err != nil {
						t.Fatal(err)
					}
					time.Sleep(5 * time.Second)
				}
				closing := order.Request{Side: order.Sell, Quantity: a.held, ReduceOnly: true, Key: "close"}
				if kill == 0 {
					p, err := a.ask(closing)
					if err != nil || len(p.Legs) != 2 {
						t.Errorf("%+v, %v", p, err)
					}
				} else {
					done := make(chan struct{})
					go func() { defer close(done); _, _ = a.ask(closing) }()
					time.Sleep(kill)
					a.kill()
					<-done
					a.start()
				}
				time.Sleep(5 * time.Minute)
				sold, _, _ := a.closed()
				p, err := a.ask(closing) // the key names the same order
				if p.Key != "close" || kill == 0 && err != nil {
					t.Errorf("%v: %+v, %v", kill, p, err)
				}
				time.Sleep(5 * time.Second)
				again, stopped, _ := a.closed()
				if left := a.held.Sub(sold); !again.Equal(sold) || left.IsNegative() || kill == 0 && !left.IsZero() || stop && left.GreaterThan(dec("1")) && !stopped.Equal(left) {
					t.Errorf("killed after %v: %v of %v sold, and %v after the key was used again; stops are for %v", kill, sold, a.held, again, stopped)
				}
			})
		}
	}
}

// TestMaxMarket_StopsAreCut protects more than the venue takes in one stop: each part has one, also after a kill, and all is
// sold at the price, by the venue, or by candela when the venue has lost the stops.
func TestMaxMarket_StopsAreCut(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a := openLarge(t)
			if _, err := a.ask(order.Request{Side: order.Sell, Quantity: a.held, ReduceOnly: true, Protect: order.Protection{StopLoss: dec("90")}}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
			if _, stopped, stops := a.closed(); !stopped.Equal(a.held) || stops != 3 {
				t.Errorf("%d stops for %v of %v", stops, stopped, a.held)
			}
			if _, err := a.ask(order.Request{Side: order.Sell, Quantity: a.held, ReduceOnly: true, Protect: order.Protection{StopLoss: dec("92")}}); err != nil {
				t.Fatal(err)
			}
			a.kill()
			if lost {
				for _, o := range a.server.Orders() {
					if o.Status == "NEW" {
						a.server.Cancel(o.ClientID)
					}
				}
				a.server.Move("BTCUSDT", dec("91"))
			}
			a.start()
			time.Sleep(5 * time.Minute) // until it is certain that the venue has none that was not sent
			if sold, stopped, _ := a.closed(); !lost && !stopped.Equal(a.held) || lost && !sold.Equal(a.held) {
				t.Errorf("after a kill: stops for %v, %v of %v sold", stopped, sold, a.held)
			}
			a.server.Move("BTCUSDT", dec("91"))
			time.Sleep(30 * time.Second)
			if sold, _, _ := a.closed(); !sold.Equal(a.held) {
				t.Errorf("%v of %v sold", sold, a.held)
			}
		})
	}
}
