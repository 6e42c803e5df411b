package ta

import (
	"math"

	"candela/lib/market"
	"candela/lib/ta/calc"
)

// The indicators of this file join the change of the price to the volume behind it.

func chaikinOscillator() Def {
	return Def{
		Name: "chaikin_osc", Aliases: []string{"adosc"}, Kind: Panel, Group: GroupVolume,
		Doc:     "Chaikin oscillator: fast minus slow average of A/D; above zero is buying.",
		Formula: "EMA(`ad`, fast) - EMA(`ad`, slow), each seeded at its own length.",
		Truth:   "TradingView Chaikin oscillator (TA-Lib seeds both averages with the first bar and agrees within 1e-6 from bar 200 on)",
		Params:  []Param{Int("fast", 3, 1, longest, "bars of the fast average"), Int("slow", 10, 1, longest, "bars of the slow average")},
		Order:   []string{"fast", "slow"}, Lines: []string{"CO"}, Signals: crossTriggers("CO", "zero"),
		New: func(v Values) Instance {
			fast, slow := v.Int("fast"), v.Int("slow")
			most := max(fast, slow)
			return single(labelOf("CO", v, "fast", "slow"), "CO", most-1, signedStable(most), func(m *calc.Slab, _ Env) func(*Row) float64 {
				quick, long := behind(m, fast), behind(m, slow)
				return func(r *Row) float64 {
					x := accumulated(r.Bar)
					return quick(x) - long(x)
				}
			}).zeroed(nil)
		},
	}
}

// behind returns a step that takes the change of a running total and returns how far the
// EMA over n bars of that total lies above it. The total itself, which depends on where
// the history began, is not needed: with each change c the distance d becomes
// (1-k) (d-c).
func behind(m *calc.Slab, n int) func(float64) float64 {
	const seen, away, size = 0, 1, 2
	cells, rest, count := m.Cells(size), 1-2/(float64(n)+1), float64(n)
	return func(change float64) float64 {
		c := cells.Mem()
		if !finite(change) {
			return math.NaN()
		}
		if c[seen] >= count {
			c[away] = float64(rest * (c[away] - change))
			return c[away]
		}
		// Until the seed it is the sum of the distances of the earlier totals.
		c[away] -= float64(c[seen] * change)
		if c[seen]++; c[seen] < count {
			return math.NaN()
		}
		c[away] /= count
		return c[away]
	}
}

func forceIndex() Def {
	return Def{
		Name: "force", Aliases: []string{"efi"}, Kind: Panel, Group: GroupVolume,
		Doc:     "Elder force index: change of the close times volume; smoothed, above zero is buying.",
		Formula: "EMA over `length` bars of (close - previous close) x volume.",
		Truth:   "TradingView Elder force index, TA-Lib EFI",
		Params:  []Param{lengthFrom(13, 1, "bars in the average")},
		Lines:   []string{"EFI"}, Signals: crossTriggers("EFI", "zero"),
		New: func(v Values) Instance {
			n := v.Int("length")
			return single(labelOf("EFI", v, "length"), "EFI", n, signedStable(n)+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
				last, mean := m.Lag(1), m.EMA(n)
				return func(r *Row) float64 { return mean.Step(float64((r.Bar.C - last.Step(r.Bar.C)) * r.Bar.V)) }
			}).zeroed(nil)
		},
	}
}

func klinger() Def {
	return Def{
		Name: "klinger", Aliases: []string{"kvo"}, Kind: Panel, Group: GroupVolume,
		Doc: "Klinger oscillator: averages of signed volume; above zero is buying.",
		Formula: "KVO = EMA(v, fast) - EMA(v, slow), Signal = EMA(KVO, signal); v is the volume, negative where hlc3 falls. " +
			"A change of hlc3 below 1e-12 of it is none, and so is a difference of the averages. The first bar counts as a fall.",
		Truth:  "TradingView Klinger oscillator",
		Params: []Param{Int("fast", 34, 1, longest, "bars of the fast average"), Int("slow", 55, 1, longest, "bars of the slow average"), Int("signal", 13, 1, longest, "bars of the signal line")},
		Order:  []string{"fast", "slow", "signal"}, Lines: []string{"KVO", "Signal"}, Signals: crossTriggers("KVO", "Signal"),
		New: func(v Values) Instance {
			fast, slow, signal := v.Int("fast"), v.Int("slow"), v.Int("signal")
			most := max(fast, slow)
			return &series{
				label: labelOf("KVO", v, "fast", "slow", "signal"), first: most - 1, stable: signedStable(most) + signedStable(signal), columns: 2,
				lines: solid("KVO", "Signal"), levels: []HLine{{Y: 0, Style: Zero}},
				begin: func(m *calc.Slab, _ Env) step {
					last, quick, long, mean := m.Lag(1), m.EMA(fast), m.EMA(slow), m.EMA(signal)
					return func(r *Row) {
						price, signed := hlc3(r.Bar), -r.Bar.V
						if calc.Difference(price, last.Step(price)) >= 0 {
							signed = r.Bar.V
						}
						x := calc.Difference(quick.Step(signed), long.Step(signed))
						r.Values[0], r.Values[1] = x, mean.Step(x)
					}
				},
				detect: func(r *Row) { r.crosses(0, 1) },
			}
		},
	}
}

func priceVolumeTrend() Def {
	return Def{
		Name: "pvt", Kind: Panel, Group: GroupVolume,
		Doc:     "Price volume trend; volume times the relative change of the close, added up. Only its direction matters, not its level.",
		Formula: "Sum of volume x (close - previous close) / previous close, from 0 at the first bar shown, whose time is `anchored_at` in answers.",
		Truth:   "TradingView ta.pvt, TA-Lib PVT",
		Lines:   []string{"PVT"},
		New: func(Values) Instance {
			return running("PVT", func(before float64, b market.Bar) float64 {
				return float64(ratio(b.C-before, before) * b.V)
			})
		},
	}
}

func williamsAD() Def {
	return Def{
		Name: "wad", Like: "pvt", Kind: Panel, Group: GroupVolume,
		Doc:     "Williams accumulation/distribution; price moved by buyers minus sellers, added up. Only its direction matters, not its level.",
		Formula: "Sum, from 0 at the first bar shown, whose time is `anchored_at` in answers, of c - min(l, previous c) where the close rises and c - max(h, previous c) where it falls.",
		Truth:   "TA-Lib WAD, Tulip wad",
		Lines:   []string{"WAD"},
		New: func(Values) Instance {
			return running("WAD", func(before float64, b market.Bar) float64 {
				switch {
				case b.C > before:
					return b.C - min(b.L, before)
				case b.C < before:
					return b.C - max(b.H, before)
				}
				return 0
			})
		},
	}
}

func nvi() Def {
	return volumeIndex(Def{
		Name: "nvi",
		Doc:  "Negative volume index; returns of bars with less volume than the one before. Only its direction matters, not its level.",
	}, "NVI", "less", func(now, before float64) bool { return now < before })
}

func pvi() Def {
	return volumeIndex(Def{
		Name: "pvi", Like: "nvi",
		Doc: "Positive volume index; returns of bars with more volume than the one before. Only its direction matters, not its level.",
	}, "PVI", "more", func(now, before float64) bool { return now > before })
}

// volumeIndex is an index that takes part in the returns of some bars.
func volumeIndex(d Def, short, which string, part func(now, before float64) bool) Def {
	d.Kind, d.Group = Panel, GroupVolume
	d.Formula = "1000 at the first bar shown, whose time is `anchored_at` in answers; times close / previous close on bars with " + which + " volume than the one before. Signal = EMA over `signal` bars."
	d.Truth = "TA-Lib " + short + ", Tulip " + d.Name
	d.Params = []Param{Int("signal", 255, 1, longest, "bars of the signal line").As("length")}
	d.Lines = []string{short, "Signal"} // no signals: where they cross depends on the first bar
	d.New = func(v Values) Instance {
		n := v.Int("signal")
		return &series{
			label: labelOf(short, v, "signal"), sum: true, first: 0, stable: emaStable(n), columns: 2, lines: solid(short, "Signal"),
			begin: func(m *calc.Slab, _ Env) step {
				last, before, index, mean := m.Lag(1), m.Lag(1), m.Cells(1), m.EMA(n)
				return func(r *Row) {
					c := index.Mem()
					if r.Index == 0 {
						c[0] = 1000
					}
					growth := ratio(r.Bar.C, last.Step(r.Bar.C))
					if part(r.Bar.V, before.Step(r.Bar.V)) && finite(growth) && growth > 0 {
						c[0] = float64(c[0] * growth)
					}
					r.Values[0], r.Values[1] = c[0], mean.Step(c[0])
				}
			},
		}
	}
	return d
}
