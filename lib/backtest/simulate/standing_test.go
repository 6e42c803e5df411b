package simulate

import (
	"math"
	"math/rand/v2"
	"testing"
)

// sentAtOpen returns the orders that an account of the paper model sends at the open of a bar.
func sentAtOpen(a *Account, b Bar) []Notice {
	var sent []Notice
	a.Notify(func(n Notice) {
		if n.Kind == OrderSent {
			sent = append(sent, n)
		}
	})
	a.Bar(b)
	a.Notify(nil)
	return sent
}

// same reports whether both are one price, or none.
func same(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }

// The ways in which an order that stood at a close may be sent at the open after it, the nearest first: as it is; with
// a stop that has moved; as the limit alone, where the price has reached the stop, or the limit of a pair; as a market
// order where the price has reached the stop; and after its entry, whose price says the rest.
var ways = []func(s *Standing, n *Notice, open float64) bool{
	func(s *Standing, n *Notice, _ float64) bool { return same(n.Price, s.Limit) && same(n.Stop, s.Stop) },
	func(s *Standing, n *Notice, _ float64) bool {
		return s.Trails && same(n.Price, s.Limit) && (math.IsNaN(s.Stop) || (n.Stop-s.Stop)*float64(s.Side) < 0)
	},
	func(s *Standing, n *Notice, _ float64) bool {
		return !math.IsNaN(n.Price) && same(n.Price, s.Limit) && math.IsNaN(n.Stop)
	},
	func(s *Standing, n *Notice, open float64) bool {
		return math.IsNaN(n.Price) && math.IsNaN(n.Stop) && (s.Trails || stopMet(s.Side, s.Stop, open))
	},
	func(s *Standing, _ *Notice, _ float64) bool { return s.Early },
}

// find returns the order that is sent among those that stood. What it closes and what it opens may be sent one after
// the other. An exit may close more of its trade when another one has closed a part at the same open, so its quantity
// is no bound.
func find(stood []Standing, n *Notice, open float64) *Standing {
	for _, way := range ways {
		for i := range stood {
			s := &stood[i]
			if s.Side != n.Side || !way(s, n, open) || s.Kind != StandingExit && n.Quantity > s.Quantity+1e-9 {
				continue
			}
			return s
		}
	}
	return nil
}

// TestStanding_IsWhatIsSent holds that every order which the paper model sends at an open stood at the close before it,
// with its side and its prices, and with at least its quantity: nothing of the next bar is needed to know it.
func TestStanding_IsWhatIsSent(t *testing.T) {
	t.Parallel()
	var sent, early, reversed, resumed int
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 3))
		cfg := Config{
			Capital: 5000, Tick: 0.25, Step: 0.5, PointValue: 1, Pyramiding: r.IntN(4), Sizing: Sizing(r.IntN(3)), Size: float64(1 + r.IntN(50)),
			Commission: 0.05, SlipPercent: 0.02, Paper: true, CloseAny: r.IntN(2) == 0,
		}
		if seed%2 == 0 {
			cfg.Perp = &Perp{Leverage: 3, Span: 3600_000, Tiers: []Tier{{Maintenance: 0.005, MaxLeverage: 50}}}
		}
		a, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if r.IntN(3) == 0 {
			a.Limit(Risk{FillsADay: 5, Drawdown: 10, DrawdownOfPeak: true, DayLoss: 2000})
		}
		var stood []Standing
		for i, b := range walkBars(r, 200) {
			b.Volume = 1000
			closed := false
			for _, n := range sentAtOpen(a, b) {
				sent++
				s := find(stood, &n, b.Open)
				switch {
				case s == nil && closed: // an exit takes over what another order has left of its trade
					resumed++
				case s == nil:
					t.Fatalf("seed %d, bar %d at %v: %+v was sent, of %+v", seed, i, b.Open, n, stood)
				case s.Early:
					early++
				case s.Kind == StandingEntry && s.Closes > 0:
					reversed++
				}
				closed = closed || s != nil && s.Closes > 0
			}
			act(r, a, b)
			act(r, a, b)
			a.Computed()
			stood = a.Standing()
		}
	}
	if sent < 20_000 || early < 100 || reversed < 100 || resumed > sent/1000 {
		t.Errorf("%d orders were sent, %d of exits that waited for their entry, %d that turn the position round, %d unknown before another order closed a part", sent, early, reversed, resumed)
	}
}

// TestStanding_EntryAfterAClose holds that an entry against a position closes nothing of what an order before it closes:
// all of it opens.
func TestStanding_EntryAfterAClose(t *testing.T) {
	t.Parallel()
	a, err := New(Config{
		Capital: 5000, Tick: 0.25, Step: 0.5, PointValue: 1, Pyramiding: 1, Paper: true,
		Perp: &Perp{Leverage: 3, Span: 3600_000, Tiers: []Tier{{Maintenance: 0.005, MaxLeverage: 50}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	bar := func(n int64) {
		a.Bar(Bar{Time: n * 3600_000, Open: 100, High: 101, Low: 99, Close: 100, Volume: 1000})
	}
	entry := func(side Side) Request {
		return Request{ID: "x", Side: side, Quantity: 2, Limit: math.NaN(), Stop: math.NaN()}
	}
	bar(1)
	a.Enter(entry(Short))
	a.Computed()
	bar(2)
	a.Close(CloseRequest{Quantity: math.NaN(), Percent: math.NaN()})
	a.Enter(entry(Long))
	a.Computed()
	stood := a.Standing()
	if len(stood) != 2 || stood[0].Closes != 2 || stood[1].Quantity != 2 || stood[1].Closes != 0 {
		t.Errorf("%+v", stood)
	}
	if bar(3); a.Position() != 2 {
		t.Errorf("the position is %v", a.Position())
	}
}
