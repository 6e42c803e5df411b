package backtest

import (
	"math"
	"math/rand/v2"
	"testing"

	"candela/lib/backtest/simulate"
	"candela/lib/market"
	"candela/lib/ta/calc"
)

// madeBars are bars of a random walk, the same on every machine.
func madeBars(n int) *market.Bars {
	bars := market.MakeBars(n, false)
	r, price := rand.New(rand.NewPCG(1, 2)), 30000.0
	cents := func(x float64) float64 { return math.Round(x*100) / 100 }
	for i := range n {
		open := price
		price = cents(max(1000, open*(1+0.004*r.NormFloat64())))
		high, low := cents(max(open, price)*(1+0.001*r.ExpFloat64())), cents(min(open, price)*(1-0.001*r.ExpFloat64()))
		bars.Append(market.Bar{T: 1_600_000_000 + int64(i)*3600, O: open, H: high, L: low, C: price, V: 1})
	}
	return &bars
}

// emaCross is long while the shorter average is above the longer one, on the kernels that
// alerts and charts use.
type emaCross struct{ fast, slow int }

func (e emaCross) Config() simulate.Config {
	return simulate.Config{Capital: 1e6, Tick: 0.01, Step: 1e-6, PointValue: 1, Commission: 0.1}
}

func (e emaCross) Start(a *simulate.Account) (Instance, error) {
	slab := calc.NewSlab()
	return &emaCrossRun{account: a, fast: slab.EMA(e.fast), slow: slab.EMA(e.slow)}, nil
}

type emaCrossRun struct {
	account    *simulate.Account
	fast, slow calc.EMAState
	above      bool
}

func (e *emaCrossRun) Next(b market.Bar) error {
	above := e.fast.Step(b.C) > e.slow.Step(b.C)
	switch {
	case above && !e.above:
		e.account.Enter(simulate.Request{ID: "L", Side: simulate.Long, Quantity: 1, Limit: math.NaN(), Stop: math.NaN()})
	case !above && e.above:
		e.account.Close(simulate.CloseRequest{From: "L", Quantity: math.NaN(), Percent: math.NaN()})
	}
	e.above = above
	return nil
}

const pineCross = `
f = ta.ema(close, 12)
s = ta.ema(close, 26)
if ta.crossover(f, s)
    strategy.entry("L", strategy.long)
if ta.crossunder(f, s)
    strategy.close("L")`

// BenchmarkOver runs a crossing of two averages over 100,000 bars, as a program, as a
// script, and with two hundred pairs of lengths.
func BenchmarkOver(b *testing.B) {
	const n = 100_000
	bars := madeBars(n)
	run := func(name string, times int, program func(i int) Program) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			trades := 0
			for b.Loop() {
				for i := range times {
					r, err := Over(b.Context(), program(i), bars, 0)
					if err != nil {
						b.Fatal(err)
					}
					trades += len(r.Trades)
				}
			}
			if trades == 0 {
				b.Fatal("no trades")
			}
			b.ReportMetric(float64(b.N)*float64(times)*n/b.Elapsed().Seconds(), "bars/s")
		})
	}
	run("stepped", 1, func(int) Program { return emaCross{12, 26} })
	run("script", 1, func(int) Program { return script(b, pineCross) })
	run("sweep", 200, func(i int) Program { return emaCross{5 + i%20, 30 + i/20*4} })
}

// A bar on which nothing happens allocates nothing, with a position and without.
func TestOver_QuietBarsDoNotAllocate(t *testing.T) {
	few, many := madeBars(1000), madeBars(20_000)
	idle := func(bars *market.Bars) float64 {
		return testing.AllocsPerRun(5, func() {
			if _, err := Over(t.Context(), holds{}, bars, 0); err != nil {
				t.Fatal(err)
			}
		})
	}
	if x, y := idle(few), idle(many); y > x {
		t.Errorf("%v allocations for 1,000 bars, %v for 20,000", x, y)
	}
}

// holds buys once and keeps it.
type holds struct{}

func (holds) Config() simulate.Config { return emaCross{}.Config() }

func (holds) Start(a *simulate.Account) (Instance, error) { return &holding{a}, nil }

type holding struct{ account *simulate.Account }

func (h *holding) Next(market.Bar) error {
	if h.account.Index() == 3 {
		h.account.Enter(simulate.Request{ID: "L", Side: simulate.Long, Quantity: 1, Limit: math.NaN(), Stop: math.NaN()})
	}
	return nil
}
