package calc

import "math"

// fillNaN marks every value of dst as missing.
func fillNaN(dst []float64) {
	nan := math.NaN()
	for i := range dst {
		dst[i] = nan
	}
}

// warm marks the values before the first full window of n bars as missing.
func warm(dst []float64, n int) { fillNaN(dst[:min(n-1, len(dst))]) }

// checkWindow panics on an impossible window. Callers validate user input.
func checkWindow(n int) {
	if n < 1 {
		panic("calc: a window needs at least 1 bar")
	}
}

// missing reports whether x is NaN or an infinity, which would stay in a recursive
// mean forever.
func missing(x float64) bool { return x-x != 0 }
