package ta

import (
	"slices"

	"candela/lib/ta/calc"
)

// The indicators of this file measure the volume of bars.

func volume() Def {
	return Def{
		Name: "volume", Aliases: []string{"vol"}, Kind: Panel, Group: GroupVolume,
		Doc:     "Volume with its average; charts have the volume itself under the price already.",
		Formula: "Volume of the bar and its SMA over `length` bars.",
		Truth:   "TradingView volume",
		Params:  []Param{lengthFrom(20, 1, "bars in the average").As("ma_length", "period")},
		Lines:   []string{"Volume", "MA"},
		New: func(v Values) Instance {
			n := v.Int("length")
			return &series{
				label: labelOf("Volume", v, "length"), first: 0, stable: n, columns: 2,
				lines: []Line{{Label: "Volume", Style: Hidden}, {Label: "MA"}},
				begin: func(m *calc.Slab, _ Env) step {
					mean := m.SMA(n)
					return func(r *Row) { r.Values[0], r.Values[1] = r.Bar.V, mean.Step(r.Slot, r.Bar.V) }
				},
				byBar: true,
				present: func(r *Result, col [][]float64) {
					r.Hist = []Hist{{Label: "Volume", Values: col[0], Style: Plain}}
				},
			}
		},
	}
}

func relativeVolume() Def {
	return Def{
		Name: "relative_volume", Like: "volume", Aliases: []string{"rvol"}, Kind: Panel, Group: GroupVolume,
		Doc:     "Relative volume: a multiple of its average; 2 is twice as much as usual.",
		Formula: "Volume / SMA(volume, length) of the bar before. No value while that is zero.",
		Truth:   "TA-Lib RVOL",
		Params:  []Param{lengthFrom(20, 1, "bars in the average")},
		Lines:   []string{"RVOL"},
		New: func(v Values) Instance {
			n := v.Int("length")
			s := single(labelOf("RVOL", v, "length"), "RVOL", n, n+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				mean, last := m.SMA(n), m.Lag(1)
				return func(r *Row) float64 { return ratio(r.Bar.V, last.Step(mean.Step(r.Slot, r.Bar.V))) }
			})
			s.levels = []HLine{{Y: 1}, {Y: 2}}
			return s
		},
	}
}

func pvo() Def {
	return Def{
		Name: "pvo", Kind: Panel, Group: GroupVolume,
		Doc:     "Volume oscillator: fast less slow average, percent; above zero volume grows.",
		Formula: "PVO = 100 x (EMA(volume, fast) - EMA(volume, slow)) / EMA(volume, slow), each seeded at its own length; Signal = EMA(PVO, signal).",
		Truth:   "TradingView PVO, pandas-ta pvo",
		Params: []Param{
			Int("fast", 12, 1, longest, "bars of the fast average"), Int("slow", 26, 1, longest, "bars of the slow average"),
			Int("signal", 9, 1, longest, "bars of the signal line"),
		},
		Order: []string{"fast", "slow", "signal"}, Lines: []string{"PVO", "Signal"}, Signals: crossTriggers("PVO", "Signal"),
		New: func(v Values) Instance {
			fast, slow, signal := v.Int("fast"), v.Int("slow"), v.Int("signal")
			most := max(fast, slow)
			return &series{
				label: labelOf("PVO", v, "fast", "slow", "signal"), first: most - 1, stable: emaStable(most) + emaStable(signal), columns: 3,
				lines: solid("PVO", "Signal"), levels: []HLine{{Y: 0, Style: Zero}},
				begin: func(m *calc.Slab, _ Env) step {
					quick, long, mean := m.EMA(fast), m.EMA(slow), m.EMA(signal)
					return func(r *Row) {
						a, b := quick.Step(r.Bar.V), long.Step(r.Bar.V)
						x := float64(100 * ratio(calc.Difference(a, b), b))
						y := mean.Step(x)
						r.Values[0], r.Values[1], r.Values[2] = x, y, x-y
					}
				},
				detect: func(r *Row) { r.crosses(0, 1) },
				byBar:  true,
				present: func(r *Result, col [][]float64) {
					r.Hist = []Hist{{Label: "Histogram", Values: col[2], Style: Momentum}}
				},
			}
		},
	}
}

func marketFacilitation() Def {
	return Def{
		Name: "market_facilitation", Like: "pvt", Aliases: []string{"bw_mfi"}, Kind: Panel, Group: GroupVolume,
		Doc:     "Market facilitation index: range per volume.",
		Formula: "(high - low) / volume. No value without volume.",
		Truth:   "TA-Lib MARKETFI, Tulip marketfi",
		Lines:   []string{"BW MFI"},
		New: func(Values) Instance {
			return single("BW MFI", "BW MFI", 0, 1, func(*calc.Slab, Env) func(*Row) float64 {
				return func(r *Row) float64 { return ratio(r.Bar.H-r.Bar.L, r.Bar.V) }
			})
		},
	}
}

func easeOfMovement() Def {
	return Def{
		Name: "eom", Aliases: []string{"emv"}, Kind: Panel, Group: GroupVolume,
		Doc:     "Ease of movement: price moved per volume; above zero the price rises easily.",
		Formula: "SMA over `length` bars of divisor x (change of (h+l)/2) x (h-l) / volume; a bar without volume counts as zero.",
		Truth:   "TradingView ease of movement, pandas-ta eom",
		Params:  []Param{lengthFrom(14, 1, "bars in the average"), Num("divisor", 10_000, 1, 1e12, "scale of the values")},
		Order:   []string{"length", "divisor"}, Lines: []string{"EOM"}, Signals: crossTriggers("EOM", "zero"),
		New: func(v Values) Instance {
			n, scale := v.Int("length"), v.Num("divisor")
			return single(labelOf("EOM", v, "length", "divisor"), "EOM", n, n+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				last, mean := m.Lag(1), m.SMA(n)
				return func(r *Row) float64 {
					mid := (r.Bar.H + r.Bar.L) / 2
					moved := mid - last.Step(mid)
					x := float64(scale*moved) * (r.Bar.H - r.Bar.L) / r.Bar.V
					if r.Bar.V == 0 {
						x = 0 * moved
					}
					return mean.Step(r.Slot, x)
				}
			}).zeroed(nil)
		},
	}
}

func upDownVolume() Def {
	return Def{
		Name: "up_down_volume", Aliases: []string{"udvr"}, Kind: Panel, Group: GroupVolume,
		Doc:     "Volume of rising bars over that of falling bars; above 1 buyers are stronger.",
		Formula: "Sum of the volume of bars that closed above the close before / sum of those that closed below it, over `length` bars. No value without a falling bar.",
		Truth:   "definition; second derivation in the tests",
		Params:  []Param{lengthFrom(50, 1, "bars in the sums")},
		Lines:   []string{"U/D"},
		New: func(v Values) Instance {
			n := v.Int("length")
			s := single(labelOf("U/D", v, "length"), "U/D", n, n+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				last, rise, fall := m.Lag(1), m.Sum(n), m.Sum(n)
				return func(r *Row) float64 {
					change := r.Bar.C - last.Step(r.Bar.C)
					up, down := 0*change, 0*change
					switch {
					case change > 0:
						up = r.Bar.V
					case change < 0:
						down = r.Bar.V
					}
					return ratio(rise.Step(r.Slot, up), fall.Step(r.Slot, down))
				}
			})
			s.levels = []HLine{{Y: 1}}
			return s
		},
	}
}

func volumeDelta() Def {
	return Def{
		Name: "volume_delta", Aliases: []string{"delta"}, Kind: External, Group: GroupVolume,
		Doc:     "Volume delta: taker buys minus taker sells. Needs a venue that reports taker-buy volume (Binance does).",
		Formula: "2 x taker-buy volume - volume. No value where the venue does not report it; `cvd` adds it up.",
		Truth:   "definition of the kline field; second derivation in the tests",
		Lines:   []string{"Delta"},
		New: func(Values) Instance {
			s := single("Volume delta", "Delta", 0, 1, func(*calc.Slab, Env) func(*Row) float64 {
				return func(r *Row) float64 { return float64(2*r.Bar.TakerBuy) - r.Bar.V }
			})
			s.lines, s.levels = styled(Hidden, "Delta"), []HLine{{Y: 0, Style: Zero}}
			s.present = func(r *Result, col [][]float64) {
				r.Hist = []Hist{{Label: "Delta", Values: col[0], Style: Signed}}
				if !slices.ContainsFunc(col[0], finite) {
					r.Label += noData
				}
			}
			return s
		},
	}
}

func twap() Def {
	return Def{
		Name: "twap", Kind: Overlay, Group: GroupLevels,
		Doc:     "Time-weighted average price of the session; each bar counts the same.",
		Formula: "Mean of source since the start of the anchor period, as in `vwap`.",
		Truth:   "TradingView time weighted average price; second derivation in the tests",
		Params:  []Param{anchor(), source("ohlc4")},
		Lines:   []string{"TWAP"},
		New: func(v Values) Instance {
			const mean, began = 0, 1
			a, price := anchored{v, began}, sourceOf(v.Text("source"))
			return &series{
				label: labelOf("TWAP", v, "anchor"), warm: a.warm, columns: 2, lines: solid("TWAP"),
				begin: func(m *calc.Slab, env Env) step {
					const period, sum, count, size = 0, 1, 2, 3
					cells := m.Cells(size)
					return func(r *Row) {
						c := cells.Mem()
						if a.enters(r, env, &c[period]) {
							c[sum], c[count] = 0, 0
						}
						if x := price(r.Bar); finite(x) {
							c[sum] += x
							c[count]++
						}
						r.Values[mean] = ratio(c[sum], c[count])
					}
				},
				byBar:   true,
				present: func(r *Result, col [][]float64) { r.Restarts = restarts(col[began]) },
			}
		},
	}
}
