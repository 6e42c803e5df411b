package ta

import (
	"fmt"
	"math"
	"slices"

	"candela/lib/ta/calc"
)

// fibRatios are the parts of a leg that the price comes back by, with their names.
func fibRatios() ([]float64, []string) {
	ratios := []float64{0, 0.236, 0.382, 0.5, 0.618, 0.786, 1}
	names := make([]string, len(ratios))
	for i, k := range ratios {
		names[i] = "Fib " + number(k)
	}
	return ratios, names
}

func autoFib() Def {
	ratios, names := fibRatios()
	return Def{
		Name: "auto_fib", Aliases: []string{"fib", "fibonacci"}, Kind: Overlay, Group: GroupLevels,
		Doc: "Fibonacci retracement of the last leg; levels 0 to 1 between its end and its start.",
		Formula: "Legs as in `zigzag`, measured in average true ranges. Level k = end + k x (start - end) of the last leg whose end is confirmed, for k = 0, 0.236, 0.382, 0.5, 0.618, 0.786, 1, " +
			"from the bar on that confirmed it. Charts show the levels of the last leg.",
		Truth:  "own definition (TradingView's auto Fib retracement redraws with the running leg); second derivation in the tests",
		Params: reversalParams(3, "atr"),
		Lines:  names,
		New: func(v Values) Instance {
			n := len(ratios)
			return &series{
				label: fmt.Sprintf("Fib(%s, %s)", number(v.Num("deviation")), v.Text("unit")), first: 2, stable: legStable(),
				columns: n + 2, lines: styled(Steps, names...),
				begin: func(m *calc.Slab, _ Env) step {
					z, cells := newLegs(m, v), m.Cells(3)
					return func(r *Row) {
						known := cells.Mem() // whether there is a leg, its start and its end
						turned := z.next(r)
						if turned {
							c := z.cells.Mem()
							known[0], known[1], known[2] = 1, c[legFrom], c[legEnd]
						}
						if known[0] == 0 {
							return
						}
						for i, k := range ratios {
							r.Values[i] = known[2] + float64(k*(known[1]-known[2]))
						}
						if turned {
							c := z.cells.Mem()
							r.Values[n], r.Values[n+1] = float64(r.Index)-c[legFromX], float64(r.Index)-c[legEndX]
						}
					}
				},
				present: func(r *Result, col [][]float64) {
					last := lastValue(col[n])
					if last < 0 {
						return
					}
					for _, line := range r.Lines {
						setAll(line.Values[:last], math.NaN())
					}
					r.DivLines = append(r.DivLines, DivLine{
						X1: last - int(col[n][last]), Y1: col[n-1][last], X2: last - int(col[n+1][last]), Y2: col[0][last],
						Dashed: true, Bull: col[0][last] > col[n-1][last],
					})
				},
			}
		},
	}
}

// lastValue returns the index of the last number of a column, -1 for none.
func lastValue(column []float64) int {
	for i, x := range slices.Backward(column) {
		if x == x {
			return i
		}
	}
	return -1
}
