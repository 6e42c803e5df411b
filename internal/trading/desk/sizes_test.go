package desk_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/testkit/fake"
	"candela/internal/trading/guard"
	"candela/internal/trading/order"
	"candela/lib/market"
)

// money asks for a market order of an amount of money with a stop 2 % and a target 4 % away.
func money(notional string) order.Request {
	r := buy("0")
	r.Sizing = order.Sizing{Notional: dec(notional), StopLossPct: dec("2"), TakeProfitPct: dec("4")}
	return r
}

// sized checks what followed from the sizing of an order.
func sized(t *testing.T, o order.Order, want order.Sized) {
	t.Helper()
	got := o.Sized()
	if got == nil {
		t.Fatalf("nothing followed from %+v", o.Sizing)
	}
	for name, pair := range map[string][2]decimal.Decimal{
		"asked_notional": {got.AskedNotional, want.AskedNotional}, "price": {got.Price, want.Price}, "quantity": {got.Quantity, want.Quantity},
		"notional": {got.Notional, want.Notional}, "left": {got.Left, want.Left}, "from": {got.From, want.From},
		"stop_loss": {got.StopLoss, want.StopLoss}, "take_profit": {got.TakeProfit, want.TakeProfit},
	} {
		if !pair[0].Equal(pair[1]) {
			t.Errorf("%s is %v, want %v", name, pair[0], pair[1])
		}
	}
}

// TestSizes_OnPaper buys for an amount of money, repeats the key at another price, moves the stop from the average
// entry and sells all.
func TestSizes_OnPaper(t *testing.T) {
	t.Parallel()
	inPaper(t, func(p *onPaper) {
		t := p.t
		time.Sleep(2 * time.Second)
		r := money("1000")
		r.Key, r.DryRun = "k", true
		dry, err := p.Place(t.Context(), caller(), r)
		if err != nil || dry.Status != order.New || dry.Estimate == nil {
			t.Fatalf("the dry run: %+v, %v", dry, err)
		}
		want := order.Sized{
			AskedNotional: dec("1000"), Price: dec("50250"), Quantity: dec("0.0199"), Notional: dec("999.975"), Left: dec("0.025"),
			From: dec("50000"), StopLoss: dec("49000"), TakeProfit: dec("52000"),
		}
		sized(t, dry.Order, want)
		r.DryRun = false
		placed, err := p.Place(t.Context(), caller(), r)
		if err != nil || placed.Status != order.Filled || len(placed.Legs) != 2 {
			t.Fatalf("placed %+v, %v", placed, err)
		}
		sized(t, placed.Order, want)

		p.price("51000")
		again, err := p.Place(t.Context(), caller(), r)
		if err != nil || again.ID != placed.ID {
			t.Errorf("the same key at another price: %s, %v; want %s", again.ID, err, placed.ID)
		}
		sized(t, again.Order, want)
		for name, change := range map[string]func(*order.Request){
			"another amount":   func(r *order.Request) { r.Sizing.Notional = dec("1001") },
			"another distance": func(r *order.Request) { r.Sizing.StopLossPct = dec("3") },
			"the quantity":     func(r *order.Request) { r.Quantity, r.Sizing.Notional = placed.Quantity, decimal.Zero },
		} {
			other := r
			change(&other)
			if _, err := p.Place(t.Context(), caller(), other); err == nil || !strings.Contains(err.Error(), "was used for order") {
				t.Errorf("the key with %s: %v", name, err)
			}
		}
		p.stop()
		p.open()
		time.Sleep(2 * time.Second)
		if again, err := p.Place(t.Context(), caller(), r); err != nil || again.ID != placed.ID {
			t.Errorf("the key after a restart: %s, %v", again.ID, err)
		}

		entry, _ := placed.Average()
		move := order.Request{Symbol: r.Symbol, Side: order.Sell, Type: order.Market, ReduceOnly: true, Sizing: order.Sizing{All: true, StopLossPct: dec("1")}}
		moved, err := p.Place(t.Context(), caller(), move)
		stop := entry.Mul(dec("0.99")).RoundCeil(2)
		if err != nil || moved.Role != order.StopLoss || !moved.Quantity.Equal(placed.Quantity) || !moved.StopPrice.Equal(stop) {
			t.Fatalf("1 %% below the entry of %v: %+v, %v", entry, moved, err)
		}
		if s := moved.Sized(); !s.StopLoss.Equal(stop) || !s.From.Equal(entry) {
			t.Errorf("it shows %+v", s)
		}
		exit, err := p.Place(t.Context(), caller(), order.Request{Symbol: r.Symbol, Side: order.Sell, Type: order.Market, ReduceOnly: true, Sizing: order.Sizing{All: true}})
		if err != nil || exit.Status != order.Filled || !exit.Quantity.Equal(placed.Quantity) {
			t.Errorf("the sale of all is %+v, %v", exit, err)
		}
		if left, err := p.Positions(t.Context(), caller()); err != nil || len(left) != 0 {
			t.Errorf("left are %+v, %v", left, err)
		}
		if _, err := p.Place(t.Context(), caller(), order.Request{Symbol: r.Symbol, Side: order.Sell, Type: order.Market, Quantity: dec("0.01"), ReduceOnly: true, Sizing: order.Sizing{StopLossPct: dec("1")}}); err == nil {
			t.Error("a stop of nothing was placed")
		}
	})
}

// TestSizes_WaitForTheOwner holds that quantity and prices are worked out when the owner is asked, and not again.
func TestSizes_WaitForTheOwner(t *testing.T) {
	t.Parallel()
	inApproval(t, func(w *world) {
		t := w.t
		asked := w.held(money("2000"))
		w.price("50100")
		if _, err := w.Approve(t.Context(), asked.ID, owned); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		got := w.order(asked.ID)
		if !got.Quantity.Equal(dec("0.0398")) || !got.Protect.StopLoss.Equal(dec("49000")) || !got.Protect.TakeProfit.Equal(dec("52000")) || got.Status != order.Filled {
			t.Errorf("then it is %+v", got)
		}
	})
}

// TestSizes_DuplicateAtAnotherPrice holds that the same words without a key are a duplicate.
func TestSizes_DuplicateAtAnotherPrice(t *testing.T) {
	t.Parallel()
	inPaper(t, func(p *onPaper) {
		t := p.t
		time.Sleep(2 * time.Second)
		p.place(money("1000"))
		p.price("50050")
		if _, err := p.Place(t.Context(), caller(), money("1000")); err == nil || !strings.Contains(err.Error(), "duplicate_window") {
			t.Errorf("the second one: %v", err)
		}
	})
}

// TestSizes_AtTheVenues holds that both fakes get what follows, on their steps and ticks, and that what was asked
// is never exceeded.
func TestSizes_AtTheVenues(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		open   func(*fake.Network) (floor, func())
		pin    func(floor)
		symbol string
		budget string
		want   string
		stop   string
	}{
		"Binance":          {func(n *fake.Network) (floor, func()) { return binanceFloor(n, 1) }, func(f floor) { f.(onBinance).Pin("ETHUSDT", dec("2000")) }, "ETHUSDT", "100", "0.05", "1960"},           //nolint:errcheck,forcetypeassert // the test chose it
		"Alpaca":           {func(n *fake.Network) (floor, func()) { return alpacaFloor(n, 1) }, func(f floor) { f.(onAlpaca).SetQuote("AAPL", "100", "100") }, "AAPL", "550", "5", "98"},                  //nolint:errcheck,forcetypeassert // the test chose it
		"Alpaca in crypto": {func(n *fake.Network) (floor, func()) { return alpacaFloor(n, 1) }, func(f floor) { f.(onAlpaca).SetQuote("BTC/USD", "50000", "50000") }, "BTC/USD", "1000", "0.02", "49000"}, //nolint:errcheck,forcetypeassert // the test chose it
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := fake.NewNetwork()
				f, end := tc.open(network)
				defer end()
				d := openDay(t, 1, network, f)
				defer func() { d.stop() }()
				d.policy.HeldStops = guard.HeldAllow
				d.start()
				tc.pin(f)
				time.Sleep(5 * time.Second)
				r := money(tc.budget)
				r.Symbol, r.Key = market.Symbol{Name: tc.symbol}, "k"
				r.Sizing.TakeProfitPct = decimal.Zero
				p, err := d.Place(t.Context(), caller(), r)
				if err != nil {
					t.Fatal(err)
				}
				s := p.Sized()
				if s.Quantity.GreaterThan(dec(tc.want)) || s.Quantity.LessThan(dec(tc.want).Mul(dec("0.98"))) || s.Notional.GreaterThan(dec(tc.budget)) || s.StopLoss.Sub(dec(tc.stop)).Abs().GreaterThan(dec(tc.stop).Mul(dec("0.002"))) {
					t.Errorf("sized to %+v", s)
				}
				time.Sleep(time.Minute)
				again, err := d.Place(t.Context(), caller(), r)
				if err != nil || again.ID != p.ID || !d.get(p.ID).Filled.Equal(p.Quantity) {
					t.Errorf("the key again: %s, %v; want %s, filled %v of %v", again.ID, err, p.ID, d.get(p.ID).Filled, p.Quantity)
				}
			})
		})
	}
}
