package calc

import (
	"math"
	"math/rand/v2"
)

// bars is a run of test bars in columns.
type bars struct {
	t       []int64
	h, l, c []float64
	slots   Slots
}

// from returns the bars from index i on.
func (b *bars) from(i int) *bars {
	f := &bars{t: b.t[i:], h: b.h[i:], l: b.l[i:], c: b.c[i:]}
	f.slots = Slots{T: f.t, Step: b.slots.Step}
	return f
}

// walkBars makes a seeded random walk of n one-minute bars. If holes is above 0,
// about that share of the bars is left out of the clock. Its products are guarded
// like those of the kernels: the same bars on every processor.
func walkBars(seed uint64, n int, holes float64) *bars {
	r := rand.New(rand.NewPCG(seed, 1))
	b := &bars{t: make([]int64, n), h: make([]float64, n), l: make([]float64, n), c: make([]float64, n)}
	price, clock := 100.0, int64(1_600_000_020)
	for i := range n {
		open := price
		price *= 1 + float64((r.Float64()-0.5)*0.02)
		b.c[i] = price
		b.h[i] = max(open, price) * (1 + float64(0.004*r.Float64()))
		b.l[i] = min(open, price) * (1 - float64(0.004*r.Float64()))
		b.t[i] = clock
		clock += 60
		for r.Float64() < holes {
			clock += 60 * int64(1+r.IntN(5))
		}
	}
	b.slots = Slots{T: b.t, Step: 60}
	return b
}

// seriesBars makes flat bars of the given closes.
func seriesBars(c []float64) *bars {
	b := walkBars(1, len(c), 0)
	copy(b.c, c)
	copy(b.h, c)
	copy(b.l, c)
	return b
}

// kernel is a state with its batch kernel, if it has one, and its plain definition.
type kernel struct {
	name   string
	outs   int
	batch  func(b *bars, n int, out [][]float64)
	stream func(s *Slab, n int) func(b *bars, i int, out []float64)
	plain  func(b *bars, n int, out [][]float64)
	// reach is how many bars a value depends on, 0 if on all.
	reach func(n int) int
}

func kernels() []kernel {
	var all []kernel
	all = append(all, averageKernels()...)
	all = append(all, windowKernels()...)
	all = append(all, rangeKernels()...)
	return append(all, seriesKernels()...)
}

// run writes what the kernel gives at every bar.
func (k kernel) run(b *bars, n int, out [][]float64) {
	if k.batch != nil {
		k.batch(b, n, out)
		return
	}
	step, row := k.stream(NewSlab(), n), make([]float64, k.outs)
	for i := range b.c {
		step(b, i, row)
		for o, x := range row {
			out[o][i] = x
		}
	}
}

func window1(n int) int { return n }

func averageKernels() []kernel {
	return []kernel{
		{
			name: "EMA", outs: 1,
			batch: func(b *bars, n int, out [][]float64) { EMA(out[0], b.c, n) },
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.EMA(n)
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.c[i]) }
			},
			plain: func(b *bars, n int, out [][]float64) { plainAverage(out[0], b.c, n, 2/(float64(n)+1)) },
		},
		{
			name: "RMA", outs: 1,
			batch: func(b *bars, n int, out [][]float64) { RMA(out[0], b.c, n) },
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.RMA(n)
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.c[i]) }
			},
			plain: func(b *bars, n int, out [][]float64) { plainAverage(out[0], b.c, n, 1/float64(n)) },
		},
		{
			name: "MACD", outs: 3,
			batch: func(b *bars, n int, out [][]float64) { MACD(out[0], out[1], out[2], b.c, n, 2*n, n/2+1) },
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.MACD(n, 2*n, n/2+1)
				return func(b *bars, i int, out []float64) { out[0], out[1], out[2] = e.Step(b.c[i]) }
			},
			plain: plainMACD,
		},
		{
			name: "RSI", outs: 1,
			batch: func(b *bars, n int, out [][]float64) { RSI(out[0], b.c, n) },
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.RSI(n)
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.c[i]) }
			},
			plain: plainRSI,
		},
	}
}

func windowKernels() []kernel {
	return []kernel{
		{
			name: "Sum", outs: 1, reach: window1,
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.Sum(n)
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.slots.At(i), b.c[i]) }
			},
			plain: func(b *bars, n int, out [][]float64) {
				over(out[0], b.c, n, func(w []float64) float64 { return exactSum(w, plus0) })
			},
		},
		{
			name: "SMA", outs: 1, reach: window1,
			batch: func(b *bars, n int, out [][]float64) { SMA(out[0], b.c, n, b.slots) },
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.SMA(n)
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.slots.At(i), b.c[i]) }
			},
			plain: func(b *bars, n int, out [][]float64) { over(out[0], b.c, n, plainMean) },
		},
		{
			name: "WMA", outs: 1, reach: window1,
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.WMA(n)
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.slots.At(i), b.c[i]) }
			},
			plain: func(b *bars, n int, out [][]float64) { over(out[0], b.c, n, plainWeighted) },
		},
		{
			name: "HMA", outs: 1, reach: func(n int) int { return n + int(math.Sqrt(float64(n))) - 1 },
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.HMA(n)
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.slots.At(i), b.c[i]) }
			},
			plain: plainHull,
		},
		{
			name: "Deviation", outs: 2, reach: window1,
			batch: func(b *bars, n int, out [][]float64) { Deviation(out[0], out[1], b.c, n, b.slots) },
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.Deviation(n)
				return func(b *bars, i int, out []float64) { out[0], out[1] = e.Step(b.slots.At(i), b.c[i]) }
			},
			plain: func(b *bars, n int, out [][]float64) {
				over(out[0], b.c, n, plainMean)
				over(out[1], b.c, n, plainDeviation)
			},
		},
		{
			name: "Bollinger", outs: 3, reach: window1,
			batch: func(b *bars, n int, out [][]float64) {
				Bollinger(out[0], out[1], out[2], b.c, n, 2.5, b.slots)
			},
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.Bollinger(n, 2.5)
				return func(b *bars, i int, out []float64) {
					out[0], out[1], out[2] = e.Step(b.slots.At(i), b.c[i])
				}
			},
			plain: func(b *bars, n int, out [][]float64) {
				over(out[0], b.c, n, func(w []float64) float64 { return plainMean(w) + 2.5*plainDeviation(w) })
				over(out[1], b.c, n, plainMean)
				over(out[2], b.c, n, func(w []float64) float64 { return plainMean(w) - 2.5*plainDeviation(w) })
			},
		},
		{
			name: "MeanDeviation", outs: 2, reach: window1,
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.MeanDeviation(n)
				return func(b *bars, i int, out []float64) { out[0], out[1] = e.Step(b.slots.At(i), b.c[i]) }
			},
			plain: func(b *bars, n int, out [][]float64) {
				over(out[0], b.c, n, plainMean)
				over(out[1], b.c, n, plainDistance)
			},
		},
		{
			name: "LinReg", outs: 3, reach: window1,
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.LinReg(n)
				return func(b *bars, i int, out []float64) {
					out[0], out[1], out[2] = e.Step(b.slots.At(i), b.c[i])
				}
			},
			plain: plainLinReg,
		},
	}
}

func rangeKernels() []kernel {
	return []kernel{
		{
			name: "Max", outs: 1, reach: window1,
			batch: func(b *bars, n int, out [][]float64) { extreme(out[0], b.h, n, highest) },
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.Max(n)
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.h[i]) }
			},
			plain: func(b *bars, n int, out [][]float64) { over(out[0], b.h, n, plainMax) },
		},
		{
			name: "Min", outs: 1, reach: window1,
			batch: func(b *bars, n int, out [][]float64) { extreme(out[0], b.l, n, lowest) },
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.Min(n)
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.l[i]) }
			},
			plain: func(b *bars, n int, out [][]float64) { over(out[0], b.l, n, plainMin) },
		},
		{
			name: "StochRaw", outs: 1, reach: window1,
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.StochRaw(n)
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.h[i], b.l[i], b.c[i]) }
			},
			plain: plainStochRaw,
		},
		{
			name: "Stochastic", outs: 2, reach: func(n int) int { return n + 2 + 3 },
			batch: func(b *bars, n int, out [][]float64) {
				Stochastic(out[0], out[1], b.h, b.l, b.c, n, 3, 4, b.slots)
			},
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.Stochastic(n, 3, 4)
				return func(b *bars, i int, out []float64) {
					out[0], out[1] = e.Step(b.slots.At(i), b.h[i], b.l[i], b.c[i])
				}
			},
			plain: func(b *bars, n int, out [][]float64) {
				raw := make([]float64, len(b.c))
				plainStochRaw(b, n, [][]float64{raw})
				over(out[0], raw, 3, plainMean)
				over(out[1], out[0], 4, plainMean)
			},
		},
		{
			name: "TrueRange", outs: 1, reach: func(int) int { return 2 },
			stream: func(s *Slab, _ int) func(*bars, int, []float64) {
				e := s.TrueRange()
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.h[i], b.l[i], b.c[i]) }
			},
			plain: func(b *bars, _ int, out [][]float64) { plainTrueRange(out[0], b) },
		},
		{
			name: "ATR", outs: 1,
			batch: func(b *bars, n int, out [][]float64) { ATR(out[0], b.h, b.l, b.c, n) },
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.ATR(n)
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.h[i], b.l[i], b.c[i]) }
			},
			plain: func(b *bars, n int, out [][]float64) {
				tr := make([]float64, len(b.c))
				plainTrueRange(tr, b)
				plainAverage(out[0], tr, n, 1/float64(n))
			},
		},
		{
			name: "DM", outs: 2, reach: func(int) int { return 2 },
			stream: func(s *Slab, _ int) func(*bars, int, []float64) {
				e := s.DM()
				return func(b *bars, i int, out []float64) { out[0], out[1] = e.Step(b.h[i], b.l[i]) }
			},
			plain: func(b *bars, _ int, out [][]float64) { plainDM(out[0], out[1], b) },
		},
		{
			name: "ADX", outs: 3,
			batch: func(b *bars, n int, out [][]float64) {
				ADX(out[0], out[1], out[2], b.h, b.l, b.c, n)
			},
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.ADX(n)
				return func(b *bars, i int, out []float64) {
					out[0], out[1], out[2] = e.Step(b.h[i], b.l[i], b.c[i])
				}
			},
			plain: plainADX,
		},
	}
}

func seriesKernels() []kernel {
	return []kernel{
		{
			name: "Change", outs: 1, reach: func(n int) int { return n + 1 },
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.Change(n)
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.c[i]) }
			},
			plain: func(b *bars, n int, out [][]float64) {
				ends(out[0], b.c, n, func(x, old float64) float64 { return x - old })
			},
		},
		{
			name: "ROC", outs: 1, reach: func(n int) int { return n + 1 },
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.ROC(n)
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.c[i]) }
			},
			plain: func(b *bars, n int, out [][]float64) {
				ends(out[0], b.c, n, func(x, old float64) float64 {
					if old == 0 {
						return math.NaN()
					}
					return 100 * (x - old) / old
				})
			},
		},
		{
			name: "Lag", outs: 1, reach: func(n int) int { return n + 1 },
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.Lag(n)
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.c[i]) }
			},
			plain: func(b *bars, n int, out [][]float64) {
				ends(out[0], b.c, n, func(_, old float64) float64 { return old })
			},
		},
		{
			name: "Cumulative", outs: 1,
			stream: func(s *Slab, _ int) func(*bars, int, []float64) {
				e := s.Cumulative()
				return func(b *bars, i int, out []float64) { out[0] = e.Step(b.c[i]) }
			},
			plain: func(b *bars, _ int, out [][]float64) { plainCumulative(out[0], b.c) },
		},
		{
			name: "Pivot", outs: 2, reach: func(n int) int { return n + 2 + 1 },
			stream: func(s *Slab, n int) func(*bars, int, []float64) {
				e := s.Pivot(n, 2)
				return func(b *bars, i int, out []float64) { out[0], out[1] = e.Step(b.c[i]) }
			},
			plain: func(b *bars, n int, out [][]float64) {
				plainPivot(out[0], b.c, n, 2, 1)
				plainPivot(out[1], b.c, n, 2, -1)
			},
		},
		{
			name: "Cross", outs: 1, reach: func(int) int { return 2 },
			stream: func(s *Slab, _ int) func(*bars, int, []float64) {
				up, down := s.Cross(), s.Cross()
				return func(b *bars, i int, out []float64) {
					isUp, _ := up.Step(b.c[i], b.h[i])
					_, isDown := down.Step(b.c[i], b.l[i])
					out[0] = crossed(isUp, isDown)
				}
			},
		},
	}
}

func crossed(up, down bool) float64 {
	f := 0.0
	if up {
		f++
	}
	if down {
		f += 2
	}
	return f
}
