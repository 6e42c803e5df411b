package calc_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"candela/lib/ta/calc"
)

// ulps is the distance of two values in units in the last place of the second.
func ulps(got, want float64) float64 {
	unit := math.Nextafter(math.Abs(want), math.Inf(1)) - math.Abs(want)
	return math.Abs(got-want) / unit
}

func TestLog_EqualsTheStandardLibrary(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	worst := 0.0
	for range 20_000 {
		x := math.Exp(40 * (r.Float64() - 0.5))
		near := 1 + (r.Float64()-0.5)/8
		tiny := 1 + (r.Float64()-0.5)/1e9
		for _, x := range []float64{x, near, tiny} {
			worst = max(worst, ulps(calc.Log(x), math.Log(x)))
		}
	}
	if worst > 2 {
		t.Errorf("%v units in the last place off", worst)
	}
	t.Logf("worst: %v units in the last place", worst)
	for x, want := range map[float64]float64{1: 0, 2: math.Ln2, 0.5: -math.Ln2, math.E: 1, math.MaxFloat64: math.Log(math.MaxFloat64)} {
		if got := calc.Log(x); math.Abs(got-want) > 1e-13 {
			t.Errorf("Log(%v) is %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := calc.Log(x); !math.IsNaN(got) {
			t.Errorf("Log(%v) is %v", x, got)
		}
	}
}

// TestLog_SplitsLn2 adds the two parts of ln 2, of which the upper ends in zeros.
func TestLog_SplitsLn2(t *testing.T) {
	t.Parallel()
	unit := ln2()
	for power := -1074; power <= 1023; power++ {
		want, _ := new(big.Float).Mul(new(big.Float).SetInt64(int64(power)), unit).Float64()
		if got := calc.Log(math.Ldexp(1, power)); ulps(got, want) > 1 && got != want {
			t.Fatalf("ln 2^%d is %v, want %v", power, got, want)
		}
	}
}

// ln2 sums 1/(k 2^k) to 200 bits.
func ln2() *big.Float {
	sum := new(big.Float).SetPrec(200)
	for k := int64(1); k < 200; k++ {
		term := new(big.Float).SetPrec(200).SetMantExp(big.NewFloat(1), -int(k))
		sum.Add(sum, term.Quo(term, new(big.Float).SetInt64(k)))
	}
	return sum
}

func TestAtan_EqualsTheStandardLibrary(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	worst := 0.0
	for range 20_000 {
		x := math.Copysign(math.Exp(30*(r.Float64()-0.5)), r.Float64()-0.5)
		worst = max(worst, ulps(calc.Atan(x), math.Atan(x)))
	}
	if worst > 4 {
		t.Errorf("%v units in the last place off", worst)
	}
	t.Logf("worst: %v units in the last place", worst)
	if calc.Atan(0) != 0 || calc.Atan(math.Inf(-1)) != -math.Pi/2 || !math.IsNaN(calc.Atan(math.NaN())) {
		t.Error("0, an infinity or a missing value is wrong")
	}
}

func TestRecent_HoldsTheLastValuesInOrder(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 5} {
		m := calc.NewSlab()
		state := m.Recent(n)
		for i := range 20 {
			got := state.Step(float64(i))
			if i < n-1 {
				if got != nil {
					t.Fatalf("%d values of %d at bar %d", len(got), n, i)
				}
				continue
			}
			for k, x := range got {
				if len(got) != n || x != float64(i-n+1+k) {
					t.Fatalf("bar %d: %v", i, got)
				}
			}
		}
	}
}
