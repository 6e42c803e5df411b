package desk_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/data/upstream"
	"candela/internal/testkit/fake"
	fakealpaca "candela/internal/testkit/fake/alpaca"
	fakebinance "candela/internal/testkit/fake/binance"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// atBinance runs a test with a desk at a fake Binance whose price stands at 50,000.
func atBinance(t *testing.T, test func(w *world, venue *fakebinance.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network, server := fake.NewNetwork(), fakebinance.New(fakebinance.Config{Depth: decimal.NewFromInt(1)})
		defer network.Serve("binance.test:80", server)()
		server.Pin("BTCUSDT", dec("50000"))
		hosts := upstream.NewHosts(network.Dial)
		defer func() { _ = hosts.Close() }()
		w := newWorld(t)
		var err error
		if w.broker, err = (onBinance{server}).open(hosts); err != nil {
			t.Fatal(err)
		}
		w.market.Set(market.Symbol{Venue: "binance", Name: "BTCUSDT"}, order.Quote{Last: dec("50000")})
		w.start()
		defer func() { w.stop() }()
		time.Sleep(2 * time.Second)
		test(w, server)
	})
}

// seenAtVenue returns the order that the venue knows by an id of its own.
func (w *world) seenAtVenue(id int64) order.Order {
	w.t.Helper()
	all, err := w.Orders(w.t.Context(), caller(), false)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, o := range all {
		if o.VenueID == decimal.NewFromInt(id).String() && o.Symbol.Venue == "binance" {
			return o
		}
	}
	w.t.Fatalf("no order has the venue's id %d: %+v", id, all)
	return order.Order{}
}

// TestPlace_APairByHandLeavesTheExitOpen holds that a pair placed at the venue counts
// once, also after a restart, so that what it does not hold can be sold.
func TestPlace_APairByHandLeavesTheExitOpen(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]bool{"as it is placed": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atBinance(t, func(w *world, venue *fakebinance.Server) {
				w.wants(w.place(buy("0.1")), order.Filled)
				ids, list := venue.PlacePair("web", "BTCUSDT", dec("0.05"), dec("55000"), dec("48000"))
				if list == 0 {
					w.t.Fatal("the venue refuses the pair")
				}
				time.Sleep(2 * time.Minute) // a comparison, too
				if again {
					w.stop()
					w.start()
					time.Sleep(5 * time.Second)
				}
				for _, id := range ids {
					if o := w.seenAtVenue(id); o.Group.Name == "" || !o.External {
						w.t.Errorf("order %d is in the group %+v", id, o.Group)
					}
				}
				if stop := w.seenAtVenue(ids[1]); !stop.StopPrice.Equal(dec("48000")) || stop.Type != order.Market {
					w.t.Errorf("the stop is a %v order with the stop price %v", stop.Type, stop.StopPrice)
				}
				exit := buy("0.0499") // a fee of 0.0001 was taken
				exit.Side = order.Sell
				w.wants(w.place(exit), order.Filled)
				exit.Quantity = dec("0.01")
				if _, err := w.Place(w.t.Context(), caller(), exit); err == nil || !strings.Contains(err.Error(), "allow_short") {
					w.t.Errorf("a sale of what the pair holds: %v", err)
				}
			})
		})
	}
}

// TestPair_OneOfThemIsFilled holds that the book is the venue's when the stop is reached.
func TestPair_OneOfThemIsFilled(t *testing.T) {
	t.Parallel()
	atBinance(t, func(w *world, venue *fakebinance.Server) {
		w.wants(w.place(buy("0.1")), order.Filled)
		ids, _ := venue.PlacePair("web", "BTCUSDT", dec("0.05"), dec("55000"), dec("48000"))
		time.Sleep(2 * time.Minute)
		venue.Pin("BTCUSDT", dec("47900"))
		w.market.Set(market.Symbol{Venue: "binance", Name: "BTCUSDT"}, order.Quote{Last: dec("47900")})
		time.Sleep(2 * time.Minute)
		w.wants(w.seenAtVenue(ids[1]), order.Filled)
		w.wants(w.seenAtVenue(ids[0]), order.Expired)
		all, err := w.Positions(w.t.Context(), caller())
		if err != nil || len(all) != 1 || !all[0].Quantity.Equal(dec("0.0499")) {
			w.t.Errorf("positions are %+v, %v", all, err)
		}
		if s := w.Status(); len(s.State.Restrictions) > 0 {
			w.t.Errorf("trading is restricted: %+v", s.State.Restrictions)
		}
	})
}

// TestPair_TheVenueShrinksTheStop holds that a stop that Alpaca makes smaller as its target
// is filled is no doubt, and that the pair counts once all the time.
func TestPair_TheVenueShrinksTheStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		network := fake.NewNetwork()
		venue := onAlpaca{began: time.Now()}
		venue.Server = fakealpaca.New(fakealpaca.Config{Now: venue.now})
		defer network.Serve("alpaca.test:80", venue.Server)()
		venue.SetQuote("AAPL", "200.00", "200.02")
		hosts := upstream.NewHosts(network.Dial)
		defer func() { _ = hosts.Close() }()
		w := newWorld(t)
		var err error
		if w.broker, err = venue.open(hosts); err != nil {
			t.Fatal(err)
		}
		w.assets, w.ahead = false, &atomic.Int64{}
		w.ahead.Store(int64(time.Until(venue.now())))
		apple := market.Symbol{Venue: "alpaca", Name: "AAPL"}
		w.resolve = func(market.Symbol) (market.Symbol, error) { return apple, nil }
		w.market.Set(apple, order.Quote{Last: dec("200"), At: venue.now()})
		w.start()
		defer func() { w.stop() }()
		time.Sleep(2 * time.Second)
		sale := func(quantity string) order.Request {
			w.market.Set(apple, order.Quote{Last: dec("200"), At: venue.now()})
			r := buy(quantity)
			r.Symbol.Name = "AAPL"
			if quantity != "10" {
				r.Side = order.Sell
			}
			return r
		}
		w.place(sale("10"))
		time.Sleep(time.Second)
		ids, why := venue.PlacePair("web", "AAPL", dec("6"), dec("210"), dec("190"))
		if why != "" {
			t.Fatal(why)
		}
		time.Sleep(2 * time.Minute)
		w.place(sale("1"))
		time.Sleep(time.Second) // 9 held, of which the pair has 6
		venue.Trade("web", dec("2"))
		time.Sleep(2 * time.Minute)
		open, err := w.Orders(t.Context(), caller(), true)
		if err != nil || len(open) != 2 {
			t.Fatalf("open are %+v, %v", open, err)
		}
		for _, o := range open {
			if o.Doubtful() || !o.Remaining().Equal(dec("4")) || o.Group.Name != ids[0] {
				t.Errorf("%v over %v, %v left, in %+v, doubt %q", o.Type, o.Quantity, o.Remaining(), o.Group, o.Doubt)
			}
			if o.VenueID == ids[1] && (!o.StopPrice.Equal(dec("190")) || o.Type != order.Market) {
				t.Errorf("the stop is %+v", o)
			}
		}
		w.place(sale("3"))
		time.Sleep(time.Second) // 7 held, of which the pair has 4
		venue.SetQuote("AAPL", "189.00", "189.02")
		time.Sleep(2 * time.Minute)
		if open, err = w.Orders(t.Context(), caller(), true); err != nil || len(open) != 0 {
			t.Errorf("open are %+v, %v", open, err)
		}
		if s := w.Status(); len(s.State.Restrictions) > 0 {
			t.Errorf("trading is restricted: %+v", s.State.Restrictions)
		}
		if held := venue.Truth().Positions["AAPL"]; !held.IsZero() {
			t.Errorf("the venue holds %v", held)
		}
	})
}
