package ta

import (
	"fmt"

	"candela/lib/ta/calc"
)

// fractalTies is how many bars before a fractal may equal it.
const fractalTies = 4

func williamsFractals() Def {
	return Def{
		Name: "fractals", Aliases: []string{"williams_fractal"}, Kind: Overlay, Group: GroupTrend,
		Doc: "Williams fractals: highs and lows of five bars; known two bars later.",
		Formula: "Up: a high above the `length` highs after it and before it, where up to four bars right before it may have the same or a lower high; down: mirrored for lows. " +
			"The lines are the last ones known.",
		Truth:  "TradingView Williams fractals (Skender allows no equal bars before it)",
		Params: []Param{Int("length", 2, 2, 500, "bars on each side").As("period", "n")},
		Lines:  []string{"Fractal Up", "Fractal Down"},
		Signals: []Trigger{
			{"fractal_up", "a fractal high is confirmed; drawn at the high"},
			{"fractal_down", "a fractal low is confirmed; drawn at the low"},
		},
		New: func(v Values) Instance {
			n := v.Int("length")
			return &series{
				label: fmt.Sprintf("Fractals(%d)", n), first: 2 * n,
				stable: 2*n + 500, columns: 2, lines: styled(Hidden, "Fractal Up", "Fractal Down"),
				begin: func(m *calc.Slab, _ Env) step {
					high, low, last := m.Cells(2*n+1+fractalTies), m.Cells(2*n+1+fractalTies), m.Cells(4)
					return func(r *Row) {
						c := last.Mem()
						if x := shifted(high, r.Bar.H); isFractal(x, n, r.Index+1, 1) {
							c[0], c[1] = 1, x[len(x)-1-n]
							r.SignalAt(r.Index-n, "fractal_up", c[1])
						}
						if x := shifted(low, r.Bar.L); isFractal(x, n, r.Index+1, -1) {
							c[2], c[3] = 1, x[len(x)-1-n]
							r.SignalAt(r.Index-n, "fractal_down", c[3])
						}
						r.Values[0], r.Values[1] = known(c[:2]), known(c[2:])
					}
				},
			}
		},
	}
}

// isFractal reports whether the value n bars before the last is a fractal, of which the
// last seen values exist. With sign -1 it is a low.
func isFractal(x []float64, n, seen int, sign float64) bool {
	at := len(x) - 1 - n
	beyond := func(from, to int) bool { // all of [from, to) are exceeded
		for _, other := range x[from:to] {
			if !(float64(sign*other) < float64(sign*x[at])) {
				return false
			}
		}
		return true
	}
	if seen < 2*n+1 || !beyond(at+1, len(x)) {
		return false
	}
	for ties := 0; ties <= fractalTies && seen >= 2*n+1+ties; ties++ {
		if beyond(at-ties-n, at-ties) {
			return true
		}
		if next := x[at-ties-1]; !(float64(sign*next) <= float64(sign*x[at])) {
			return false
		}
	}
	return false
}
