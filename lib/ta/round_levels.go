package ta

import (
	"fmt"
	"math"

	"candela/lib/ta/calc"
)

func roundLevels() Def {
	return Def{
		Name: "round_levels", Aliases: []string{"round_numbers"}, Kind: Overlay, Group: GroupLevels,
		Doc: "Round numbers next to the price; many orders rest there. The nearest above and the nearest at or below the close.",
		Formula: "Multiples of `step`. Without one it is the largest power of ten that is at most a twentieth of the close: 1,000 at 65,000, 0.01 at 1.08. " +
			"A close within 1e-9 steps of a multiple is at it.",
		Truth:  "own definition; second derivation in the tests",
		Params: []Param{Num("step", 0, 0, 1e12, "distance of the levels; 0 chooses a power of ten").As("size")},
		Lines:  []string{"Above", "Below"},
		Signals: []Trigger{
			{"cross_up", "the close is at or above a multiple that the close before was below; y is that multiple"},
			{"cross_down", "the close is below a multiple that the close before was at or above; y is that multiple"},
		},
		New: func(v Values) Instance {
			size := v.Num("step")
			label := "Round(auto)"
			if size > 0 {
				label = fmt.Sprintf("Round(%s)", number(size))
			}
			const above, below, unitOf, multiple = 0, 1, 2, 3
			return &series{
				label: label, first: 0, stable: 2, columns: 4, lines: styled(Hidden, "Above", "Below"),
				begin: func(*calc.Slab, Env) step {
					return func(r *Row) {
						unit := size
						if unit == 0 {
							unit = roundStep(r.Bar.C)
						}
						k := math.Floor(r.Bar.C/unit + 1e-9)
						if k-k != 0 {
							return
						}
						r.Values[above], r.Values[below] = calc.Decimal(float64((k+1)*unit)), calc.Decimal(float64(k*unit))
						r.Values[unitOf], r.Values[multiple] = unit, k
					}
				},
				detect: func(r *Row) {
					if r.Prev[unitOf] != r.Values[unitOf] {
						return
					}
					if r.Values[multiple] > r.Prev[multiple] {
						r.Signal("cross_up", r.Values[below])
					}
					if r.Values[multiple] < r.Prev[multiple] {
						r.Signal("cross_down", r.Values[above])
					}
				},
				present: func(r *Result, col [][]float64) {
					last := lastValue(col[unitOf])
					if last < 0 {
						return
					}
					for i, label := range []string{"", "Below", "Above", ""} {
						level := calc.Decimal(float64((col[multiple][last] + float64(i-1)) * col[unitOf][last]))
						r.HLines = append(r.HLines, HLine{Y: level, Label: label, Style: Secondary})
					}
				},
			}
		},
	}
}

// roundStep returns the largest power of ten that is at most a twentieth of the price,
// NaN for a price that is not positive and finite.
func roundStep(price float64) float64 {
	x := price / 20
	if !(x > 1e-300) || x > 1e300 {
		return math.NaN()
	}
	// Each step of ten is about 3.3 of the binary exponent, which is a first guess.
	_, e := math.Frexp(x)
	n := int(math.Floor(float64(e-1) * 0.30102999566398120))
	for math.Pow10(n+1) <= x {
		n++
	}
	for math.Pow10(n) > x {
		n--
	}
	return math.Pow10(n)
}
