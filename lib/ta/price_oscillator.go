package ta

import (
	"fmt"

	"candela/lib/ta/calc"
)

// The indicators of this file are differences of two averages.

func ao() Def {
	return Def{
		Name: "ao", Aliases: []string{"awesome"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Awesome oscillator: short less long average of hl2.",
		Formula: "SMA(hl2, fast) - SMA(hl2, slow). A difference below 1e-12 of the price is zero.",
		Truth:   "TradingView Awesome Oscillator, TA-Lib AO, pandas-ta ao",
		Params:  []Param{barsParam("fast", 5, "bars of the short average"), barsParam("slow", 34, "bars of the long average")},
		Lines:   []string{"AO"}, Signals: crossTriggers("AO", "zero"),
		New: func(v Values) Instance {
			fast, slow := v.Int("fast"), v.Int("slow")
			n := max(fast, slow)
			return single(fmt.Sprintf("AO(%d, %d)", fast, slow), "AO", n-1, n, func(m *calc.Slab, _ Env) func(*Row) float64 {
				return awesome(m, fast, slow)
			}).zeroed(nil).histogram(Momentum)
		},
	}
}

// awesome returns the step of an awesome oscillator.
func awesome(m *calc.Slab, fast, slow int) func(*Row) float64 {
	short, long := m.SMA(fast), m.SMA(slow)
	return func(r *Row) float64 {
		middle := (r.Bar.H + r.Bar.L) / 2
		return calc.Difference(short.Step(r.Slot, middle), long.Step(r.Slot, middle))
	}
}

func accelerator() Def {
	return Def{
		Name: "ac", Aliases: []string{"accelerator"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Accelerator oscillator: AO less its average.",
		Formula: "AO - SMA(AO, signal). Below 1e-12 of the price it is zero.",
		Truth:   "TradingView Accelerator Oscillator, TA-Lib AC",
		Params: []Param{
			barsParam("fast", 5, "bars of AO's short average"), barsParam("slow", 34, "bars of AO's long average"),
			barsParam("signal", 5, "bars of the average of AO"),
		},
		Lines: []string{"AC"}, Signals: crossTriggers("AC", "zero"),
		New: func(v Values) Instance {
			fast, slow, signal := v.Int("fast"), v.Int("slow"), v.Int("signal")
			n := max(fast, slow) + signal - 1
			return single(fmt.Sprintf("AC(%d, %d, %d)", fast, slow, signal), "AC", n-1, n, func(m *calc.Slab, _ Env) func(*Row) float64 {
				oscillator, mean := awesome(m, fast, slow), m.SMA(signal)
				return func(r *Row) float64 {
					x := oscillator(r)
					return unless(x-mean.Step(r.Slot, x), r.Bar.C)
				}
			}).zeroed(nil).histogram(Momentum)
		},
	}
}

// twoAverages are the parameters of the oscillators below.
func twoAverages() []Param {
	return []Param{
		barsParam("fast", 12, "bars of the fast average").As("fast_length"),
		barsParam("slow", 26, "bars of the slow average").As("slow_length"),
	}
}

func ppo() Def {
	return Def{
		Name: "ppo", Aliases: []string{"percentage_price_oscillator"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Percentage price oscillator: MACD in percent.",
		Formula: "PPO = 100 x (EMA(fast) - EMA(slow)) / EMA(slow), each seeded at its own length; Signal = EMA(PPO, signal); histogram = PPO - Signal.",
		Truth:   "TradingView Price Oscillator with EMAs (TA-Lib PPO starts the fast average where the slow one starts and agrees within 1e-6 from bar 200 on)",
		Params:  append(twoAverages(), barsParam("signal", 9, "bars of the signal line").As("signal_length"), source("close")),
		Lines:   []string{"PPO", "Signal"}, Signals: crossTriggers("PPO", "Signal"),
		New: func(v Values) Instance {
			fast, slow, signal := v.Int("fast"), v.Int("slow"), v.Int("signal")
			price, n := sourceOf(v.Text("source")), max(fast, slow)
			s := twoLines(fmt.Sprintf("PPO(%d, %d, %d)", fast, slow, signal), "PPO", "Signal", n-1, emaStable(n)+emaStable(signal),
				func(m *calc.Slab) func(*Row) (float64, float64) {
					short, long, smooth := m.EMA(fast), m.EMA(slow), m.EMA(signal)
					return func(r *Row) (float64, float64) {
						x := price(r.Bar)
						a, b := short.Step(x), long.Step(x)
						line := 100 * share(calc.Difference(a, b), b)
						return line, smooth.Step(line)
					}
				})
			return s.withDifference()
		},
	}
}

// withDifference adds the difference of the first two columns as a histogram.
func (s *series) withDifference() *series {
	s.columns = 3
	begin := s.begin
	s.begin = func(m *calc.Slab, env Env) step {
		values := begin(m, env)
		return func(r *Row) {
			values(r)
			r.Values[2] = r.Values[0] - r.Values[1]
		}
	}
	s.levels = []HLine{{Y: 0, Style: Zero}}
	s.present = func(r *Result, col [][]float64) {
		r.Hist = []Hist{{Label: "Histogram", Values: col[2], Style: Momentum}}
	}
	return s
}

func apo() Def {
	return Def{
		Name: "apo", Aliases: []string{"price_oscillator"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Absolute price oscillator: fast less slow average.",
		Formula: "Average(fast) - average(slow), each seeded at its own length. A difference below 1e-12 of the price is zero.",
		Truth:   "TA-Lib APO with SMAs (with EMAs it starts the fast average where the slow one starts and agrees within 1e-6 from bar 200 on)",
		Params:  append(twoAverages(), Choice("ma", "ema", []string{"ema", "sma"}, "kind of the averages"), source("close")),
		Lines:   []string{"APO"}, Signals: crossTriggers("APO", "zero"),
		New: func(v Values) Instance {
			fast, slow, price := v.Int("fast"), v.Int("slow"), sourceOf(v.Text("source"))
			n := max(fast, slow)
			kind, stable := v.Text("ma"), emaStable(n)
			if kind == "sma" {
				stable = n
			}
			return single(fmt.Sprintf("APO(%d, %d)", fast, slow), "APO", n-1, stable, func(m *calc.Slab, _ Env) func(*Row) float64 {
				short, long := averageOf(m, kind, fast), averageOf(m, kind, slow)
				return func(r *Row) float64 {
					x := price(r.Bar)
					return calc.Difference(short(r.Slot, x), long(r.Slot, x))
				}
			}).zeroed(nil)
		},
	}
}

// averageOf returns the step of an EMA or an SMA.
func averageOf(m *calc.Slab, kind string, n int) func(slot calc.Slot, x float64) float64 {
	if kind == "sma" {
		mean := m.SMA(n)
		return mean.Step
	}
	mean := m.EMA(n)
	return func(_ calc.Slot, x float64) float64 { return mean.Step(x) }
}

func dpo() Def {
	return Def{
		Name: "dpo", Aliases: []string{"detrended"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Detrended price: the price less an earlier average.",
		Formula: "Price - SMA(price, length) of length/2 + 1 bars ago, the half rounded down. A difference below 1e-12 of the price is zero.",
		Truth:   "TradingView Detrended Price Oscillator (not centered), pandas-ta dpo",
		Params:  []Param{lengthParam(21, "bars in the average"), source("close")},
		Lines:   []string{"DPO"}, Signals: crossTriggers("DPO", "zero"),
		New: func(v Values) Instance {
			n, price := v.Int("length"), sourceOf(v.Text("source"))
			back := n/2 + 1
			return single(fmt.Sprintf("DPO(%d)", n), "DPO", n-1+back, n+back, func(m *calc.Slab, _ Env) func(*Row) float64 {
				mean, lag := m.SMA(n), m.Lag(back)
				return func(r *Row) float64 {
					x := price(r.Bar)
					return calc.Difference(x, lag.Step(mean.Step(r.Slot, x)))
				}
			}).zeroed(nil)
		},
	}
}

func elderRay() Def {
	return Def{
		Name: "elder_ray", Aliases: []string{"bull_bear_power"}, Kind: Panel, Group: GroupMomentum,
		Doc:     "Elder ray: bull and bear power.",
		Formula: "Bull = high - EMA(close, length); Bear = low - EMA(close, length).",
		Truth:   "TA-Lib ERI; TradingView's Bull Bear Power is their sum",
		Params:  []Param{lengthParam(13, "bars in the average")},
		Lines:   []string{"Bull", "Bear"},
		New: func(v Values) Instance {
			n := v.Int("length")
			s := twoLines(fmt.Sprintf("Elder Ray(%d)", n), "Bull", "Bear", n-1, emaStable(n), func(m *calc.Slab) func(*Row) (float64, float64) {
				mean := m.EMA(n)
				return func(r *Row) (float64, float64) {
					x := mean.Step(r.Bar.C)
					return calc.Difference(r.Bar.H, x), calc.Difference(r.Bar.L, x)
				}
			})
			s.detect, s.levels = nil, []HLine{{Y: 0, Style: Zero}}
			return s
		},
	}
}
