package elementary_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"candela/lib/ta/elementary"
)

// precision is that of the references, in bits.
const precision = 300

func large(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }
func blank() *big.Float          { return new(big.Float).SetPrec(precision) }

// bigExp halves x 40 times, sums the series and squares again.
func bigExp(x *big.Float) *big.Float {
	const halves = 40
	small := blank().SetMantExp(x, -halves)
	sum, term := large(1), large(1)
	for k := 1; k < 12; k++ {
		term.Quo(blank().Mul(term, small), large(float64(k)))
		sum.Add(sum, term)
	}
	for range halves {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigLog sums the series of the inverse hyperbolic tangent.
func bigLog(x float64) *big.Float {
	part, power := math.Frexp(x)
	sum := atanh(blank().Quo(large(part-1), blank().Add(large(part), large(1))))
	ln2 := atanh(blank().Quo(large(1), large(3)))
	return sum.Add(sum, ln2.Mul(ln2, large(float64(power))))
}

// atanh returns twice the inverse hyperbolic tangent of s, at most 1/3 in size.
func atanh(s *big.Float) *big.Float {
	square, power, sum := blank().Mul(s, s), blank().Set(s), blank()
	for k := 1.0; k < 2*precision/3; k += 2 {
		sum.Add(sum, blank().Quo(power, large(k)))
		power.Mul(power, square)
	}
	return sum.Mul(sum, large(2))
}

func bigAtan(x *big.Float) *big.Float {
	const halves = 8
	for range halves {
		root := blank().Mul(x, x)
		root.Sqrt(root.Add(root, large(1)))
		x = blank().Quo(x, root.Add(root, large(1)))
	}
	square, power, sum := blank().Mul(x, x), blank().Set(x), blank()
	for k := 1; k < 50; k += 2 {
		term := blank().Quo(power, large(float64(k)))
		if k%4 == 3 {
			term.Neg(term)
		}
		sum.Add(sum, term)
		power.Mul(power, square)
	}
	return sum.SetMantExp(sum, halves)
}

// bigSinCos takes whole turns off and sums the series.
func bigSinCos(x float64) (sin, cos *big.Float) {
	turn := bigAtan(large(1))
	turn.Mul(turn, large(8))
	whole, _ := blank().Quo(large(x), turn).Int(nil)
	r := blank().Sub(large(x), blank().Mul(turn, blank().SetInt(whole)))
	sin, cos = blank(), large(1)
	term := large(1)
	for k := 1; k < 90; k++ {
		term.Quo(blank().Mul(term, r), large(float64(k)))
		signed := blank().Set(term)
		if k%4 >= 2 {
			signed.Neg(signed)
		}
		if k%2 == 1 {
			sin.Add(sin, signed)
		} else {
			cos.Add(cos, signed)
		}
	}
	return sin, cos
}

// off is the distance of a value from the exact one in units in the last place.
func off(got float64, want *big.Float) float64 {
	near, _ := want.Float64()
	if math.IsInf(near, 0) && got == near {
		return 0
	}
	unit := math.Nextafter(math.Abs(near), math.Inf(1)) - math.Abs(near)
	distance, _ := blank().Quo(blank().Sub(large(got), want), large(unit)).Float64()
	return math.Abs(distance)
}

func TestFunctions_AreWithinOneUnitInTheLastPlace(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	worst := map[string]float64{}
	note := func(name string, got float64, want *big.Float) { worst[name] = max(worst[name], off(got, want)) }
	for range 400 {
		x := 1400 * (r.Float64() - 0.5)
		note("exp", elementary.Exp(x), bigExp(large(x)))
		small := r.NormFloat64()
		note("exp", elementary.Exp(small), bigExp(large(small)))
		positive := math.Exp(60 * (r.Float64() - 0.5))
		for _, v := range []float64{positive, 1 + (r.Float64()-0.5)/8, 1 + (r.Float64()-0.5)/1e9} {
			log := bigLog(v)
			note("log", elementary.Log(v), log)
			note("log10", elementary.Log10(v), blank().Quo(log, bigLog(10)))
			y := 10 * r.NormFloat64()
			note("pow", elementary.Pow(v, y), bigExp(blank().Mul(log, large(y))))
		}
		for _, angle := range []float64{r.NormFloat64(), 1e4 * r.NormFloat64(), 1e9 * r.NormFloat64()} {
			sin, cos := bigSinCos(angle)
			note("sin", elementary.Sin(angle), sin)
			note("cos", elementary.Cos(angle), cos)
			note("tan", elementary.Tan(angle), blank().Quo(sin, cos))
		}
		for _, v := range []float64{r.NormFloat64(), positive, -positive} {
			note("atan", elementary.Atan(v), bigAtan(large(v)))
		}
		part := 2*r.Float64() - 1
		other := blank().Sub(large(1), blank().Mul(large(part), large(part)))
		asin := bigAtan(blank().Quo(large(part), other.Sqrt(other)))
		note("asin", elementary.Asin(part), asin)
		right := bigAtan(large(1))
		note("acos", elementary.Acos(part), blank().Sub(right.Mul(right, large(2)), asin))
	}
	for name, units := range worst {
		t.Logf("%-6s %.3f", name, units)
		if units > 1 {
			t.Errorf("%s is %v units in the last place off", name, units)
		}
	}
}

func TestFunctions_AreExactWhereTheResultIs(t *testing.T) {
	t.Parallel()
	for k := range 300 {
		if got := elementary.Log10(math.Pow10(k)); got != float64(k) && k < 23 {
			t.Errorf("Log10 of 10^%d is %v", k, got)
		}
		if got := elementary.Pow(2, float64(k-150)); got != math.Ldexp(1, k-150) {
			t.Errorf("2^%d is %v", k-150, got)
		}
	}
	for _, c := range []struct{ got, want float64 }{
		{elementary.Exp(0), 1},
		{elementary.Log(1), 0},
		{elementary.Pow(3, 4), 81},
		{elementary.Pow(-3, 3), -27},
		{elementary.Pow(10, -2), 0.01},
		{elementary.Pow(9, 0.5), 3},
		{elementary.Pow(0, -1), math.Inf(1)},
		{elementary.Pow(-8, 1./3), math.NaN()},
		{elementary.Pow(2, 5000), math.Inf(1)},
		{elementary.Pow(2, -5000), 0},
		{elementary.Exp(1000), math.Inf(1)},
		{elementary.Exp(-1000), 0},
		{elementary.Log(0), math.Inf(-1)},
		{elementary.Log(-1), math.NaN()},
		{elementary.Sin(0), 0},
		{elementary.Cos(0), 1},
		{elementary.Tan(0), 0},
		{elementary.Atan(1), math.Pi / 4},
		{elementary.Atan(math.Inf(-1)), -math.Pi / 2},
		{elementary.Asin(1), math.Pi / 2},
		{elementary.Asin(-1), -math.Pi / 2},
		{elementary.Asin(2), math.NaN()},
		{elementary.Acos(1), 0},
		{elementary.Acos(-1), math.Pi},
		{elementary.Sin(math.Inf(1)), math.NaN()},
		{elementary.Exp(math.NaN()), math.NaN()},
	} {
		if c.got != c.want && !(math.IsNaN(c.got) && math.IsNaN(c.want)) {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
}

// TestFunctions_HaveTheSameBitsEverywhere compares a checksum with the one recorded on
// amd64; the gate runs it for other processors too.
func TestFunctions_HaveTheSameBitsEverywhere(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	var hash uint64
	mix := func(x float64) { hash = (hash ^ math.Float64bits(x)) * 0x100000001b3 }
	for range 5_000 {
		x := r.NormFloat64() * 3
		mix(elementary.Exp(x))
		mix(elementary.Log(math.Abs(x)))
		mix(elementary.Log10(math.Abs(x)))
		mix(elementary.Pow(math.Abs(x), r.NormFloat64()))
		mix(elementary.Sin(x))
		mix(elementary.Cos(x))
		mix(elementary.Tan(x))
		mix(elementary.Atan(x))
		mix(elementary.Asin(x / 20))
		mix(elementary.Acos(x / 20))
	}
	const recorded = 0xe4680de1072aab9e
	if hash != recorded {
		t.Errorf("checksum %#x, recorded %#x", hash, uint64(recorded))
	}
}
