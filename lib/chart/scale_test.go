package chart

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestAxis_MapsBothWays(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]axis{
		"linear":   newAxis(10, 20, 100, 500, false),
		"log":      newAxis(10, 20000, 100, 500, true),
		"negative": newAxis(-5, 5, 0, 100, false),
		"dust":     newAxis(1e-12, 2e-12, 10, 700, false),
		"huge":     newAxis(1e12, 2e12, 10, 700, true),
	} {
		if y := a.y(a.hi); y != a.top {
			t.Errorf("%s: highest value at %v, top is %v", name, y, a.top)
		}
		if y := a.y(a.lo); y != a.bottom {
			t.Errorf("%s: lowest value at %v, bottom is %v", name, y, a.bottom)
		}
		for y := a.top; y <= a.bottom; y += 13 {
			if back := a.y(a.value(y)); math.Abs(back-y) > 1.0/64 {
				t.Errorf("%s: row %v comes back as %v", name, y, back)
			}
		}
	}
}

func TestAxis_HandlesAFlatRange(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for name, r := range map[string][2]float64{
		"flat": {5, 5}, "zero": {0, 0}, "empty": {inf, -inf}, "nan": {nan, 1}, "infinite": {-inf, inf},
		"one ulp": {1, math.Nextafter(1, 2)}, "denormal": {5e-324, 5e-324}, "largest": {-math.MaxFloat64, math.MaxFloat64},
	} {
		a := newAxis(r[0], r[1], 100, 400, false)
		if !(a.lo < a.hi) || !finite(a.a) || !finite(a.b) {
			t.Errorf("%s: axis %+v", name, a)
		}
		for _, v := range []float64{r[0], r[1], 0, nan, inf, -inf, 1e308} {
			if y := a.y(v); !finite(y) || math.Abs(y) > 1e4 {
				t.Errorf("%s: %v is drawn at %v", name, v, y)
			}
		}
	}
	if y := newAxis(5, 5, 100, 400, false); y.row(5) != 250 {
		t.Errorf("a flat price is drawn in row %d, the middle is 250", y.row(5))
	}
}

func TestTicks_AreRoundAndApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64Range(-1, 1).Draw(t, "lo") * math.Pow10(rapid.IntRange(-12, 12).Draw(t, "order"))
		size := rapid.Float64Range(0.001, 1).Draw(t, "size") * max(math.Abs(lo), 1e-12)
		logarithmic := rapid.Bool().Draw(t, "log") && lo > 0
		height := rapid.Float64Range(40, 2000).Draw(t, "height")
		a := newAxis(lo, lo+size, 7, 7+height, logarithmic)
		const gap = 32
		values, decimals := tickValues(nil, &a, gap, &niceSteps)
		if !logarithmic && height > 5*gap && len(values) < 2 {
			t.Fatalf("%v ticks on %v px", values, height)
		}
		for i, v := range values {
			if y := a.y(v); y < a.top-1 || y > a.bottom+1 {
				t.Fatalf("tick %v at %v is outside", v, y)
			}
			if i > 0 && math.Abs(a.y(v)-a.y(values[i-1])) < gap*0.9-1 {
				t.Fatalf("ticks %v and %v are %v px apart", values[i-1], v, a.y(v)-a.y(values[i-1]))
			}
			if scaled := v * pow10(decimals); !logarithmic && decimals < 15 && math.Abs(scaled) < 1e15 &&
				math.Abs(scaled-math.Round(scaled)) > 1e-3 {
				t.Fatalf("tick %v is not written with %d decimals", v, decimals)
			}
		}
	})
}

func TestNiceStep_IsOneTwoTwoAndAHalfOrFive(t *testing.T) {
	t.Parallel()
	for want, steps := range map[float64]float64{
		0.9: 1, 1: 1, 1.1: 2, 2.2: 2.5, 2.6: 5, 5: 5, 6: 10, 0.0023: 0.0025, 3e11: 5e11, 1.7e-12: 2e-12,
	} {
		if got, _ := niceStep(want); math.Abs(got-steps) > steps*1e-12 {
			t.Errorf("step for %v is %v, not %v", want, got, steps)
		}
	}
	if _, d := niceStep(0.0024); d != 4 {
		t.Errorf("0.0025 needs 4 decimals, not %d", d)
	}
}
