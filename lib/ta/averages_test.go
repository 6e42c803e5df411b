package ta

import (
	"fmt"
	"math"
	"testing"

	"candela/lib/market"
)

// TestMovingAverages_SecondDerivation computes every kind of average by its definition,
// from the whole history at each bar.
func TestMovingAverages_SecondDerivation(t *testing.T) {
	t.Parallel()
	in := input(walk(700, 21), market.Hour1)
	for _, n := range []int{1, 2, 9, 20, 33} {
		for _, kind := range meanKinds() {
			s, err := Resolve(request(t, fmt.Sprintf(`ma {"type":%q,"length":%d,"source":"hl2"}`, kind, n)))
			if err != nil {
				t.Fatal(err)
			}
			x := make([]float64, in.Bars.Len())
			for i := range x {
				x[i] = (in.Bars.H[i] + in.Bars.L[i]) / 2
			}
			got, want := s.Compute(in).Lines[0].Values, plainMean(kind, x, in.Bars.V, n)
			first, _ := s.Warmup(in.Env)
			for i := range got {
				if math.IsNaN(got[i]) != (i < first) || math.Abs(got[i]-want[i]) > 1e-11*math.Abs(want[i]) || math.IsNaN(want[i]) != (i < first) {
					t.Fatalf("%s(%d) at %d is %v, want %v (first %d)", kind, n, i, got[i], want[i], first)
				}
			}
		}
	}
}

// plainMean is the definition of a moving average without any running sum.
func plainMean(kind string, x, volume []float64, n int) []float64 {
	switch kind {
	case "ema":
		return recursiveMean(x, n, 2/float64(n+1))
	case "rma":
		return recursiveMean(x, n, 1/float64(n))
	case "wma":
		return weightedMean(x, n, func(_, k int) float64 { return float64(k + 1) })
	case "vwma":
		return weightedMean(x, n, func(i, _ int) float64 { return volume[i] })
	case "alma":
		return weightedMean(x, n, func(_, k int) float64 {
			return math.Exp(-math.Pow(float64(k)-0.85*float64(n-1), 2) / (2 * math.Pow(float64(n)/6, 2)))
		})
	case "hma":
		half, root := max(n/2, 1), int(math.Sqrt(float64(n)))
		return plainMean("wma", combine([]float64{2, -1}, plainMean("wma", x, nil, half), plainMean("wma", x, nil, n)), nil, root)
	case "trima":
		return plainMean("sma", plainMean("sma", x, nil, (n+1)/2), nil, n/2+1)
	case "zlema":
		lead := make([]float64, len(x))
		for i := range x {
			lead[i] = math.NaN()
			if back := i - (n-1)/2; back >= 0 {
				lead[i] = x[i] + (x[i] - x[back])
			}
		}
		return plainMean("ema", lead, nil, n)
	case "dema", "tema", "t3":
		return chained(kind, x, n)
	case "kama":
		return adaptiveMean(x, n)
	case "mcginley":
		out := recursiveMean(x, n, 0)
		for i := n; i < len(x); i++ {
			out[i] = out[i-1] + (x[i]-out[i-1])/max(1, float64(n)*math.Pow(x[i]/out[i-1], 4))
		}
		return out
	case "linreg":
		return lineEnds(x, n)
	}
	return weightedMean(x, n, func(int, int) float64 { return 1 })
}

// recursiveMean begins with the mean of the first n values there are.
func recursiveMean(x []float64, n int, factor float64) []float64 {
	out := make([]float64, len(x))
	from := 0
	for from < len(x) && math.IsNaN(x[from]) {
		from++
	}
	for i := range x {
		out[i] = math.NaN()
		switch last := from + n - 1; {
		case i == last:
			out[i] = weightedMean(x[from:], n, func(int, int) float64 { return 1 })[n-1]
		case i > last:
			out[i] = out[i-1] + factor*(x[i]-out[i-1])
		}
	}
	return out
}

// weightedMean weights value i, the k-th of its window, by weight(i, k).
func weightedMean(x []float64, n int, weight func(i, k int) float64) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		sum, total := math.NaN(), 0.0
		if i >= n-1 {
			sum = 0
		}
		for k := range n {
			if at := i - n + 1 + k; at >= 0 {
				w := weight(at, k)
				sum, total = sum+w*x[at], total+w
			}
		}
		out[i] = sum / total
	}
	return out
}

func combine(factors []float64, columns ...[]float64) []float64 {
	out := make([]float64, len(columns[0]))
	for c, column := range columns {
		for i, x := range column {
			out[i] += factors[c] * x
		}
	}
	return out
}

func chained(kind string, x []float64, n int) []float64 {
	var e [6][]float64
	for i := range e {
		x = plainMean("ema", x, nil, n)
		e[i] = x
	}
	switch kind {
	case "dema":
		return combine([]float64{2, -1}, e[0], e[1])
	case "tema":
		return combine([]float64{3, -3, 1}, e[0], e[1], e[2])
	}
	const v = 0.7 // generalised DEMA applied three times
	gd := func(a, b []float64) []float64 { return combine([]float64{1 + v, -v}, a, b) }
	first := [3][]float64{gd(e[2], e[3]), gd(e[3], e[4]), gd(e[4], e[5])}
	second := [2][]float64{gd(first[0], first[1]), gd(first[1], first[2])}
	return gd(second[0], second[1])
}

func adaptiveMean(x []float64, n int) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = math.NaN()
		if i < n {
			continue
		}
		before := x[i-1]
		if i > n {
			before = out[i-1]
		}
		way := 0.0
		for k := i - n + 1; k <= i; k++ {
			way += math.Abs(x[k] - x[k-1])
		}
		ratio := math.Abs(x[i]-x[i-n]) / way
		factor := ratio*(2.0/3-2.0/31) + 2.0/31
		out[i] = before + factor*factor*(x[i]-before)
	}
	return out
}

// lineEnds fits each window by the normal equations.
func lineEnds(x []float64, n int) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = math.NaN()
		if i < n-1 {
			continue
		}
		meanX, meanT := 0.0, float64(n-1)/2
		for k := range n {
			meanX += x[i-n+1+k] / float64(n)
		}
		top, bottom := 0.0, 0.0
		for k := range n {
			top += (float64(k) - meanT) * (x[i-n+1+k] - meanX)
			bottom += (float64(k) - meanT) * (float64(k) - meanT)
		}
		out[i] = meanX
		if n > 1 {
			out[i] += top / bottom * (float64(n-1) - meanT)
		}
	}
	return out
}

// TestMovingAverages_ForgetTheirStart holds the bars to stability for other lengths than
// the defaults.
func TestMovingAverages_ForgetTheirStart(t *testing.T) {
	t.Parallel()
	const shift = 333
	in := input(walk(5_000, 4), market.Hour1)
	tail := in.Bars.Slice(shift, in.Bars.Len())
	for _, kind := range meanKinds() {
		for _, n := range []int{2, 14, 40} {
			s, err := Resolve(request(t, fmt.Sprintf(`ma {"type":%q,"length":%d}`, kind, n)))
			if err != nil {
				t.Fatal(err)
			}
			late := in
			late.Bars = &tail
			whole, part := s.Compute(in).Lines[0].Values, s.Compute(late).Lines[0].Values
			last := 0
			for i := range part {
				if !same(whole[i+shift], part[i]) {
					last = i + 1
				}
			}
			if _, stable := s.Warmup(in.Env); last > stable {
				t.Errorf("%s(%d) differs up to %d bars after the start, published %d", kind, n, last, stable)
			}
		}
	}
}
