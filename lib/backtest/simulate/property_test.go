package simulate

import (
	"math"
	"math/rand/v2"
	"testing"
)

// walkBars makes bars of a random walk on a grid of ticks, with gaps.
func walkBars(r *rand.Rand, n int) []Bar {
	bars := make([]Bar, n)
	tick := func(x float64) float64 { return math.Round(x*4) / 4 }
	price := 400.0
	for i := range bars {
		open := tick(price + r.NormFloat64())
		end := tick(open + 2*r.NormFloat64())
		high, low := tick(max(open, end)+r.ExpFloat64()), tick(min(open, end)-r.ExpFloat64())
		bars[i] = Bar{Time: int64(i) * 3600_000, Open: open, High: high, Low: low, Close: end}
		price = max(100, end)
	}
	return bars
}

// act places random orders of every kind.
func act(r *rand.Rand, a *Account, b Bar) {
	id := string(rune('a' + r.IntN(3)))
	side := Long
	if r.IntN(2) == 0 {
		side = Short
	}
	maybe := func(p float64) float64 {
		if r.IntN(3) == 0 {
			return nan()
		}
		return p
	}
	near := func() float64 { return maybe(b.Close + 3*r.NormFloat64()) }
	request := Request{ID: id, Side: side, Quantity: float64(1 + r.IntN(5)), Limit: near(), Stop: near(), OCA: OCA(r.IntN(3))}
	if r.IntN(3) == 0 {
		request.Quantity = nan()
	}
	if r.IntN(3) == 0 {
		request.Group = "g"
	}
	switch r.IntN(12) {
	case 0, 1, 2:
		a.Enter(request)
	case 3:
		a.Order(request)
	case 4, 5, 6:
		x := NewExit("x"+id, id)
		if r.IntN(4) == 0 {
			x.From = ""
		}
		x.Limit, x.Stop, x.Profit, x.Loss = near(), near(), maybe(float64(r.IntN(20))), maybe(float64(r.IntN(20)))
		x.TrailPoints, x.TrailOffset, x.TrailPrice = maybe(float64(r.IntN(10))), maybe(float64(r.IntN(10))), near()
		x.Percent, x.Quantity = maybe(float64(r.IntN(101))), maybe(float64(r.IntN(5)))
		a.Exit(x)
	case 7:
		a.Close(CloseRequest{From: id, Quantity: maybe(2), Percent: maybe(50), Immediately: r.IntN(2) == 0})
	case 8:
		a.Close(CloseRequest{Quantity: nan(), Percent: nan()})
	case 9:
		a.Cancel(id)
	case 10:
		a.CancelAll()
	}
}

func randomConfig(r *rand.Rand) Config {
	return Config{
		Capital: 1e5, Tick: 0.25, Step: 0.5, PointValue: float64(1 + r.IntN(3)), Pyramiding: r.IntN(4),
		Sizing: Sizing(r.IntN(3)), Size: float64(1 + r.IntN(50)), Charge: Charge(r.IntN(3)), Commission: r.Float64(),
		Slippage: r.IntN(3), LimitBeyond: r.IntN(2), MarginLong: float64(r.IntN(2) * 50), MarginShort: float64(r.IntN(2) * 50),
		CloseAny: r.IntN(2) == 0, OnClose: r.IntN(2) == 0, Path: Path(r.IntN(3)),
	}
}

// The account adds up at every bar, for random orders of every kind.
func TestAccount_AddsUp(t *testing.T) {
	trades := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		a, err := New(randomConfig(r))
		if err != nil {
			t.Fatal(err)
		}
		if r.IntN(3) == 0 {
			a.Limit(Risk{FillsADay: 5, Drawdown: 10, DrawdownOfPeak: true, DayLoss: 2000, LossDays: 9, Only: Side(r.IntN(3) - 1)})
		}
		for _, b := range walkBars(r, 200) {
			a.Bar(b)
			act(r, a, b)
			act(r, a, b)
			a.Computed()
			addsUp(t, seed, a)
		}
		trades += len(a.Trades())
	}
	if trades < 10000 {
		t.Errorf("only %d trades were made", trades)
	}
}

func addsUp(t *testing.T, seed uint64, a *Account) {
	t.Helper()
	var size, net float64
	for _, l := range a.Open() {
		size += l.Quantity * float64(l.Side)
		if l.Quantity <= 0 || l.Side != a.Open()[0].Side {
			t.Fatalf("seed %d: open trades %+v", seed, a.Open())
		}
	}
	for _, x := range a.Trades() {
		net += x.Profit
		if x.ExitBar < x.EntryBar || x.Quantity <= 0 {
			t.Fatalf("seed %d: trade %+v", seed, x)
		}
	}
	equity := a.cfg.Capital + net + a.OpenProfit()
	if math.Abs(size-a.Position()) > 1e-9 || math.Abs(net-a.NetProfit()) > 1e-6 || math.Abs(equity-a.Equity()) > 1e-6*a.cfg.Capital {
		t.Fatalf("seed %d, bar %d: size %v of %v, net %v of %v, equity %v of %v",
			seed, a.Index(), size, a.Position(), net, a.NetProfit(), equity, a.Equity())
	}
}

// Where the price never moves, only the costs are lost.
func TestAccount_FlatPriceLosesCosts(t *testing.T) {
	a, err := New(Config{Capital: 1e5, Tick: 0.01, Step: 1, PointValue: 1, Charge: PerUnit, Commission: 0.25})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		a.Bar(Bar{Time: int64(i), Open: 50, High: 50, Low: 50, Close: 50})
		if i%2 == 0 {
			a.Enter(Request{ID: "L", Side: Long, Quantity: 3, Limit: nan(), Stop: nan()})
		} else {
			a.Close(CloseRequest{From: "L", Quantity: nan(), Percent: nan()})
		}
		a.Computed()
	}
	if want := -float64(len(a.Trades())) * 3 * 2 * 0.25; len(a.Trades()) != 49 || a.NetProfit() != want {
		t.Errorf("%d trades, net %v, want %v", len(a.Trades()), a.NetProfit(), want)
	}
}

// Twice the prices on twice the tick give twice the results.
func TestAccount_Scales(t *testing.T) {
	for seed := range uint64(50) {
		var net [2]float64
		for k, factor := range []float64{1, 2} {
			r := rand.New(rand.NewPCG(seed, 2))
			a, err := New(Config{Capital: 1e9 * factor, Tick: 0.25 * factor, Step: 1, PointValue: 1, Slippage: 1})
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range walkBars(r, 100) {
				b.Open, b.High, b.Low, b.Close = b.Open*factor, b.High*factor, b.Low*factor, b.Close*factor
				a.Bar(b)
				side := Side(1 - 2*r.IntN(2))
				a.Enter(Request{ID: "e", Side: side, Quantity: 1, Limit: nan(), Stop: b.Close + float64(side)*factor})
				a.Computed()
			}
			net[k] = a.NetProfit()
		}
		if net[1] != 2*net[0] {
			t.Errorf("seed %d: %v, then %v", seed, net[0], net[1])
		}
	}
}

func TestNew_RefusesSettings(t *testing.T) {
	good := Config{Capital: 1, Tick: 1, Step: 1, PointValue: 1}
	for name, spoil := range map[string]func(*Config){
		"capital":    func(c *Config) { c.Capital = -1 },
		"tick":       func(c *Config) { c.Tick = math.NaN() },
		"step":       func(c *Config) { c.Step = -1 },
		"commission": func(c *Config) { c.Commission = -1 },
		"margin":     func(c *Config) { c.MarginLong = math.Inf(1) },
	} {
		c := good
		spoil(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
