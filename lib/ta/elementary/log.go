package elementary

import (
	"math"
	"sync"
)

// step is a number of which the fast logarithm takes a quotient: 1/c and ln c of a c of 1/128 steps.
type step struct {
	inverse float64
	log     double
}

// The steps cover the numbers from the root of a half to that of two.
const (
	stepsAUnit = 128
	firstStep  = 90
	lastStep   = 182
)

// steps is the table of the fast logarithm.
//
//nolint:gochecknoglobals // a table, never written
var steps = sync.OnceValue(func() *[lastStep - firstStep + 1]step {
	all := new([lastStep - firstStep + 1]step)
	for i := range all {
		inverse := stepsAUnit / float64(i+firstStep)
		all[i] = step{inverse: inverse, log: logOf(inverse).neg()}
	}
	return all
})

// logError bounds the error of fastLog and of logOf, as a part of the result.
const logError = 0x1p-62

// fastLog returns the logarithm of a positive number as logOf rounds it, and false if an error of its last bits
// could change the rounding.
func fastLog(x float64) (float64, bool) {
	const mantissa, half, bias = 1<<52 - 1, 0x3FE << 52, 0x3FE
	bits := math.Float64bits(x)
	if bits>>52 == 0 {
		return 0, false // so small that it has fewer bits
	}
	z, power := math.Float64frombits(bits&mantissa|half), int(bits>>52)-bias
	if z < math.Sqrt2/2 {
		z *= 2
		power--
	}
	s := &steps()[int(float64(z*stepsAUnit)+0.5)-firstStep]
	k := float64(power)
	// z/c = 1 + r + rest without an error, and ln z = ln c + ln(1 + r + rest).
	p := product(z, s.inverse)
	r, rest := p.hi-1, p.lo
	square := product(r, r)
	// 1/3 - r/4 + r²/5 - ..., in two halves that do not wait for each other.
	even := float64((float64((float64(square.hi/9)+1./7)*square.hi)+1./5)*square.hi) + 1./3
	odd := float64((float64(square.hi/8)+1./6)*square.hi) + 1./4
	tail := even - float64(odd*r)
	whole := sum(float64(k*ln2Upper), s.log.hi)
	first := sum(whole.hi, r)
	second := sum(first.hi, -square.hi/2)
	low := float64(float64(square.hi*r)*tail) - square.lo/2 + float64(rest*(1-r+square.hi))
	low += whole.lo + first.lo + second.lo + float64(k*ln2Lower) + s.log.lo
	y := quickSum(second.hi, low)
	margin := float64(math.Abs(y.hi) * logError)
	up, down := y.hi+(y.lo+margin), y.hi+(y.lo-margin)
	return up, up == down
}
