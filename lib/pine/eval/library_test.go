package eval_test

import (
	"math"
	"slices"
	"testing"

	"candela/lib/market"
)

// naive derives values of the library TradingView/ta a second time, from the published
// formulas, each bar from the whole history before it.
type naive struct{ o, h, l, c, v []float64 }

func naiveOf(bars []market.Bar) *naive {
	n := &naive{}
	for _, b := range bars {
		n.o, n.h, n.l, n.c, n.v = append(n.o, b.O), append(n.h, b.H), append(n.l, b.L), append(n.c, b.C), append(n.v, b.V)
	}
	return n
}

// each computes a column; f returns na where it lacks bars.
func (n *naive) each(f func(i int) float64) []float64 {
	out := make([]float64, len(n.c))
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func over(x []float64, i, n int, f func(w []float64) float64) float64 {
	if i+1 < n || slices.ContainsFunc(x[i+1-n:i+1], math.IsNaN) {
		return math.NaN()
	}
	return f(x[i+1-n : i+1])
}

func sum(w []float64) (s float64) {
	for _, x := range w {
		s += x
	}
	return s
}

func mean(w []float64) float64 { return sum(w) / float64(len(w)) }

// smooth is an exponential mean from the first n values on, with a factor.
func smooth(x []float64, n int, k float64) []float64 {
	out := make([]float64, len(x))
	var seed []float64
	value := math.NaN()
	for i, v := range x {
		out[i] = math.NaN()
		switch {
		case math.IsNaN(v):
		case len(seed) < n:
			if seed = append(seed, v); len(seed) == n {
				value = mean(seed)
				out[i] = value
			}
		default:
			value = k*v + (1-k)*value
			out[i] = value
		}
	}
	return out
}

func ema(x []float64, n int) []float64 { return smooth(x, n, 2/(float64(n)+1)) }

func (n *naive) before(x []float64, i, k int) float64 {
	if i < k {
		return math.NaN()
	}
	return x[i-k]
}

// derivations are expressions of the library with their second derivations.
func derivations(n *naive) map[string][]float64 {
	top := func(x []float64, i, k int) float64 {
		return over(x, i, k, func(w []float64) float64 { return slices.Max(w) })
	}
	low := func(x []float64, i, k int) float64 {
		return over(x, i, k, func(w []float64) float64 { return slices.Min(w) })
	}
	rise := n.each(func(i int) float64 { return max(n.h[i]-n.before(n.h, i, 1), 0) })
	fall := n.each(func(i int) float64 { return max(n.before(n.l, i, 1)-n.l[i], 0) })
	roc := func(k int) []float64 {
		return n.each(func(i int) float64 { return 100 * (n.c[i] - n.before(n.c, i, k)) / n.before(n.c, i, k) })
	}
	long, short := roc(14), roc(11)
	both := n.each(func(i int) float64 { return long[i] + short[i] })
	e1 := ema(n.c, 9)
	e2 := ema(e1, 9)
	e3 := ema(e2, 9)
	signed := func(x []float64) []float64 {
		return n.each(func(i int) float64 {
			d := n.c[i] - n.before(n.c, i, 1)
			switch {
			case d > 0:
				return x[i]
			case d < 0:
				return -x[i]
			}
			return d * x[i]
		})
	}
	flow, volume := ema(signed(n.v), 14), ema(n.v, 14)
	middle := n.each(func(i int) float64 { return (n.h[i] + n.l[i]) / 2 })
	half := func(i, k int) float64 { return (top(n.h, i, k) + low(n.l, i, k)) / 2 }
	weighted := func(x []float64, k int) []float64 {
		return n.each(func(i int) float64 {
			return over(x, i, k, func(w []float64) float64 {
				s, total := 0.0, 0.0
				for j, v := range w {
					s, total = s+v*float64(j+1), total+float64(j+1)
				}
				return s / total
			})
		})
	}
	inner := n.each(func(i int) float64 { return over(n.c, i, 5, mean) })
	return map[string][]float64{
		"tv.dm(10)": n.each(func(i int) float64 {
			a, b := over(rise, i, 10, mean), over(fall, i, 10, mean)
			return a / (a + b)
		}),
		"tv.ao()":             n.each(func(i int) float64 { return over(middle, i, 5, mean) - over(middle, i, 34, mean) }),
		"tv.coppock(close)":   weighted(both, 10),
		"tv.dema(close, 9)":   n.each(func(i int) float64 { return 2*e1[i] - e2[i] }),
		"tv.tema(close, 9)":   n.each(func(i int) float64 { return 3*(e1[i]-e2[i]) + e3[i] }),
		"tv.vzo(14)":          n.each(func(i int) float64 { return orZero(100 * flow[i] / volume[i]) }),
		"tv.rms(close, 7)":    n.each(func(i int) float64 { return over(n.c, i, 7, func(w []float64) float64 { return rms(w) }) }),
		"tv.trima(close, 9)":  n.each(func(i int) float64 { return over(inner, i, 5, mean) }),
		"tv.rma2(close, 5)":   n.each(func(i int) float64 { return fromFirst(n.c[:i+1], 1.0/5) }),
		"tv.ema2(close, 5)":   n.each(func(i int) float64 { return fromFirst(n.c[:i+1], 2.0/6) }),
		"tv.ift(close / 100)": n.each(func(i int) float64 { return math.Tanh(n.c[i] / 100) }),
		"tv.rangePercent(close, 8)": n.each(func(i int) float64 {
			return 100 * (n.c[i] - low(n.c, i, 8)) / (top(n.c, i, 8) - low(n.c, i, 8))
		}),
		"tv.vhf(close, 12)": n.each(func(i int) float64 {
			path := n.each(func(j int) float64 { return math.Abs(n.c[j] - n.before(n.c, j, 1)) })
			return (top(n.c, i, 12) - low(n.c, i, 12)) / over(path, i, 12, sum)
		}),
		"a": n.each(func(i int) float64 { return half(i, 9) }),
		"b": n.each(func(i int) float64 { return half(i, 26) }),
	}
}

func rms(w []float64) float64 {
	s := 0.0
	for _, x := range w {
		s += x * x
	}
	return math.Sqrt(s / float64(len(w)))
}

func fromFirst(x []float64, k float64) float64 {
	value := x[0]
	for _, v := range x[1:] {
		value = k*v + (1-k)*value
	}
	return value
}

func orZero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}

// TestLibrary_AgreesWithASecondDerivation compares the library that candela has in the
// place of TradingView/ta with the formulas in Go.
func TestLibrary_AgreesWithASecondDerivation(t *testing.T) {
	t.Parallel()
	bars := walk(160, 8)
	for expression, want := range derivations(naiveOf(bars)) {
		got := column(t, "//@version=6\nindicator(\"t\")\nimport TradingView/ta/12 as tv\n[a, b, c1, d, e] = tv.ichimoku()\nplot("+expression+")\n", bars)
		for i := range want {
			if !agree(got[i], want[i]) {
				t.Errorf("%s at bar %d: got %v, want %v", expression, i, got[i], want[i])
				break
			}
		}
	}
}
