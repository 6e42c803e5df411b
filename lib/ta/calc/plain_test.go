package calc

import (
	"math"
	"math/big"
	"slices"
)

// The plain definitions: every window is summed separately, and sums are exact. NaN
// inside a window makes the value NaN; recursive means skip it.

func over(dst, src []float64, n int, f func([]float64) float64) {
	for i := range dst {
		dst[i] = math.NaN()
		if i >= n-1 && whole(src[i-n+1:i+1]) {
			dst[i] = f(src[i-n+1 : i+1])
		}
	}
}

func whole(w []float64) bool {
	return !slices.ContainsFunc(w, math.IsNaN)
}

// ends calls f with each value and the one n bars before it.
func ends(dst, src []float64, n int, f func(x, old float64) float64) {
	for i := range dst {
		dst[i] = math.NaN()
		if i >= n {
			dst[i] = f(src[i], src[i-n])
		}
	}
}

func fillNaN(dst []float64) {
	for i := range dst {
		dst[i] = math.NaN()
	}
}

func plus0(_ int, x *big.Float) *big.Float { return x }

// exactSum adds with 400 bits, enough to hold a spike of 1e12 beside 1e-12 without
// loss, and rounds once.
func exactSum(w []float64, f func(i int, x *big.Float) *big.Float) float64 {
	s, _ := bigSum(w, f).Float64()
	return s
}

func bigSum(w []float64, f func(i int, x *big.Float) *big.Float) *big.Float {
	sum := new(big.Float).SetPrec(400)
	for i, x := range w {
		sum.Add(sum, f(i, new(big.Float).SetPrec(400).SetFloat64(x)))
	}
	return sum
}

func bigMean(w []float64) *big.Float {
	return new(big.Float).SetPrec(400).Quo(bigSum(w, plus0), big.NewFloat(float64(len(w))))
}

func plainMean(w []float64) float64 {
	m, _ := bigMean(w).Float64()
	return m
}

func plainDeviation(w []float64) float64 {
	mean := bigMean(w)
	squares := bigSum(w, func(_ int, x *big.Float) *big.Float {
		x.Sub(x, mean)
		return x.Mul(x, x)
	})
	squares.Quo(squares, big.NewFloat(float64(len(w))))
	dev, _ := squares.Sqrt(squares).Float64()
	return dev
}

func plainDistance(w []float64) float64 {
	mean := bigMean(w)
	sum := bigSum(w, func(_ int, x *big.Float) *big.Float { return x.Abs(x.Sub(x, mean)) })
	d, _ := sum.Quo(sum, big.NewFloat(float64(len(w)))).Float64()
	return d
}

func plainWeighted(w []float64) float64 {
	n := float64(len(w))
	sum := bigSum(w, func(i int, x *big.Float) *big.Float { return x.Mul(x, big.NewFloat(float64(i+1))) })
	m, _ := sum.Quo(sum, big.NewFloat(n*(n+1)/2)).Float64()
	return m
}

func plainMax(w []float64) float64 {
	top := w[0]
	for _, x := range w[1:] {
		if x > top {
			top = x
		}
	}
	return top
}

func plainMin(w []float64) float64 {
	low := w[0]
	for _, x := range w[1:] {
		if x < low {
			low = x
		}
	}
	return low
}

func plainHull(b *bars, n int, out [][]float64) {
	half, root := max(n/2, 1), int(math.Sqrt(float64(n)))
	slow, fast := make([]float64, len(b.c)), make([]float64, len(b.c))
	over(slow, b.c, n, plainWeighted)
	over(fast, b.c, half, plainWeighted)
	for i := range fast {
		fast[i] = 2*fast[i] - slow[i]
	}
	over(out[0], fast, root, plainWeighted)
}

// plainLinReg solves the normal equations around the mean.
func plainLinReg(b *bars, n int, out [][]float64) {
	middle := (float64(n) - 1) / 2
	slope := func(w []float64) float64 {
		if n == 1 {
			return 0
		}
		mean := bigMean(w)
		top := bigSum(w, func(i int, x *big.Float) *big.Float {
			return x.Mul(x.Sub(x, mean), big.NewFloat(float64(i)-middle))
		})
		bottom := 0.0
		for i := range w {
			bottom += (float64(i) - middle) * (float64(i) - middle)
		}
		s, _ := top.Quo(top, big.NewFloat(bottom)).Float64()
		return s
	}
	over(out[0], b.c, n, slope)
	over(out[1], b.c, n, func(w []float64) float64 { return plainMean(w) - middle*slope(w) })
	over(out[2], b.c, n, func(w []float64) float64 { return plainMean(w) + middle*slope(w) })
}

func plainAverage(dst, src []float64, n int, k float64) {
	var seed []float64
	mean := math.NaN()
	for i, x := range src {
		dst[i] = math.NaN()
		switch {
		case math.IsNaN(x):
			continue
		case len(seed) < n:
			if seed = append(seed, x); len(seed) == n {
				mean = plainMean(seed)
			}
		default:
			mean += k * (x - mean)
		}
		dst[i] = mean
	}
}

func plainMACD(b *bars, n int, out [][]float64) {
	fast, slow := make([]float64, len(b.c)), make([]float64, len(b.c))
	plainAverage(fast, b.c, n, 2/(float64(n)+1))
	plainAverage(slow, b.c, 2*n, 2/(2*float64(n)+1))
	for i := range fast {
		out[0][i] = fast[i] - slow[i]
	}
	plainAverage(out[1], out[0], n/2+1, 2/(float64(n/2+1)+1))
	for i := range fast {
		out[2][i] = out[0][i] - out[1][i]
	}
}

func plainRSI(b *bars, n int, out [][]float64) {
	up, down := make([]float64, len(b.c)), make([]float64, len(b.c))
	last := math.NaN()
	for i, x := range b.c {
		up[i], down[i] = math.NaN(), math.NaN()
		if !math.IsNaN(x) {
			if !math.IsNaN(last) {
				up[i], down[i] = max(x-last, 0), max(last-x, 0)
			}
			last = x
		}
	}
	plainAverage(up, up, n, 1/float64(n))
	plainAverage(down, down, n, 1/float64(n))
	for i := range up {
		out[0][i] = 100 - 100/(1+up[i]/down[i])
		if down[i] == 0 {
			out[0][i] = 100
		}
	}
}

func plainStochRaw(b *bars, n int, out [][]float64) {
	top, low := make([]float64, len(b.c)), make([]float64, len(b.c))
	over(top, b.h, n, plainMax)
	over(low, b.l, n, plainMin)
	for i, c := range b.c {
		out[0][i] = math.NaN()
		if top[i] != low[i] {
			out[0][i] = 100 * (c - low[i]) / (top[i] - low[i])
		}
	}
}

// present calls f with every bar that is whole and the one that was before it, or
// -1.
func present(b *bars, f func(i, before int)) {
	before := -1
	for i := range b.c {
		if whole([]float64{b.h[i], b.l[i], b.c[i]}) {
			f(i, before)
			before = i
		}
	}
}

func plainTrueRange(dst []float64, b *bars) {
	fillNaN(dst)
	present(b, func(i, before int) {
		dst[i] = b.h[i] - b.l[i]
		if before >= 0 {
			dst[i] = max(dst[i], math.Abs(b.h[i]-b.c[before]), math.Abs(b.l[i]-b.c[before]))
		}
	})
}

func plainDM(plus, minus []float64, b *bars) {
	fillNaN(plus)
	fillNaN(minus)
	present(b, func(i, before int) {
		if before < 0 {
			return
		}
		up, down := b.h[i]-b.h[before], b.l[before]-b.l[i]
		plus[i], minus[i] = 0, 0
		if up > down && up > 0 {
			plus[i] = up
		}
		if down > up && down > 0 {
			minus[i] = down
		}
	})
}

func plainADX(b *bars, n int, out [][]float64) {
	size := len(b.c)
	tr, plus, minus, dx := make([]float64, size), make([]float64, size), make([]float64, size), make([]float64, size)
	plainTrueRange(tr, b)
	plainDM(plus, minus, b)
	for i := range tr {
		if math.IsNaN(plus[i]) {
			tr[i] = math.NaN() // the first bar has no movement, so its range does not count
		}
	}
	for _, s := range [][]float64{tr, plus, minus} {
		plainAverage(s, s, n, 1/float64(n))
	}
	for i := range tr {
		out[1][i], out[2][i] = 100*plus[i]/tr[i], 100*minus[i]/tr[i]
		dx[i] = 100 * math.Abs(plus[i]-minus[i]) / (plus[i] + minus[i])
		if plus[i]+minus[i] == 0 {
			dx[i] = 0
		}
		if tr[i] == 0 {
			dx[i] = math.NaN()
		}
	}
	plainAverage(out[0], dx, n, 1/float64(n))
}

func plainCumulative(dst, src []float64) {
	total := new(big.Float).SetPrec(400)
	for i, x := range src {
		dst[i] = math.NaN()
		if !math.IsNaN(x) {
			dst[i], _ = total.Add(total, big.NewFloat(x)).Float64()
		}
	}
}

func plainPivot(dst, src []float64, left, right int, sign float64) {
	for i := range src {
		dst[i] = math.NaN()
		at := i - right
		if at-left < 0 {
			continue
		}
		top := true
		for j := at - left; j <= i; j++ {
			top = top && (j == at || sign*src[j] < sign*src[at])
		}
		if top {
			dst[i] = src[at]
		}
	}
}
