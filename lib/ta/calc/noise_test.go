package calc_test

import (
	"math"
	"testing"

	"candela/lib/ta/calc"
)

func TestDifference_OfEqualPricesIsZero(t *testing.T) {
	t.Parallel()
	minus := func(a, b float64) float64 { return a - b } // in float64, as constants would not be
	nan, inf := math.NaN(), math.Inf(1)
	sum := func(values ...float64) (total float64) {
		for _, v := range values {
			total += v
		}
		return total
	}
	for _, c := range []struct {
		name       string
		a, b, want float64
	}{
		{"the same sum in another order", sum(0.1, 0.2, 0.3), sum(0.3, 0.2, 0.1), 0},
		{"one tick of a coin worth little", 3e-8, 2e-8, minus(3e-8, 2e-8)},
		{"one tick in ten thousand million", 1e10, 1e10 - 1, 1},
		{"half of the limit", 1e12, 1e12 - 0.5, 0},
		{"both zero", 0, 0, 0},
		{"from zero", 1e-300, 0, 1e-300},
		{"below zero", -0.1 - 0.2, -0.3, 0},
		{"an infinity is apart from a number", inf, 1, inf},
		{"one is missing", nan, 1, nan},
		{"the other is missing", 1, nan, nan},
	} {
		if got := calc.Difference(c.a, c.b); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestDecimal_HasNoNoise(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]float64{
		51319.810000000005: 51319.81, 0.1 + 0.2: 0.3, 29.999999999999996: 30, 0: 0, -0.1 - 0.2: -0.3,
		1234567.12345678: 1234567.12345678, 0.00001234: 0.00001234, 1e-300: 1e-300,
		math.MaxFloat64: math.MaxFloat64, math.Inf(1): math.Inf(1),
	} {
		if got := calc.Decimal(v); got != want {
			t.Errorf("%v: %v, want %v", v, got, want)
		}
	}
	if got := calc.Decimal(math.NaN()); !math.IsNaN(got) {
		t.Errorf("no number: %v", got)
	}
}

func TestDecimal_DoesNotAllocate(t *testing.T) { //nolint:paralleltest // it counts allocations
	if n := testing.AllocsPerRun(100, func() { calc.Decimal(51319.810000000005) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
