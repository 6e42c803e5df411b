package ta

import (
	"fmt"
	"math"

	"candela/lib/ta/calc"
)

func marketStructure() Def {
	return Def{
		Name: "structure", Aliases: []string{"market_structure", "smc"}, Kind: Overlay, Group: GroupTrend,
		Doc: "Market structure: BOS and CHoCH; a break of a swing in the direction of the trend is a break of structure, against it a change of character.",
		Formula: "Swings as in `swings`. A close above the last swing high that no close was above yet breaks it upwards: choch_up if the break before was downwards, else bos_up; mirrored for lows. " +
			"Each swing is broken once. The lines hold the swings that are not broken; a segment joins a swing with the bar that broke it.",
		Truth:  "own definition; second derivation in the tests",
		Params: []Param{sideBars(5)},
		Lines:  []string{"High", "Low"},
		Signals: []Trigger{
			{"bos_up", "a close above the last swing high, and the break before was not downwards; y is the swing"},
			{"bos_down", "a close below the last swing low, and the break before was not upwards; y is the swing"},
			{"choch_up", "a close above the last swing high after a break downwards; y is the swing"},
			{"choch_down", "a close below the last swing low after a break upwards; y is the swing"},
		},
		New: func(v Values) Instance {
			n := v.Int("length")
			return &series{
				label: fmt.Sprintf("Structure(%d)", n), first: 2 * n,
				// The trend is that of the last break, however long ago it was.
				stable: 2*n + 1000, columns: 2, lines: styled(Steps, "High", "Low"),
				begin: func(m *calc.Slab, _ Env) step {
					s := newBreaks(m, n)
					return func(r *Row) {
						broken := s.next(r)
						r.Values[0], r.Values[1] = s.open(0), s.open(breakSide)
						if broken != 0 {
							s.signal(r, broken)
						}
					}
				},
			}
		},
	}
}

// breaks follows the last swing high and low until a close breaks them.
type breaks struct {
	find  swingFinder
	cells calc.Cells
}

// The cells of breaks: the last swing high, the last swing low, the trend.
const (
	breakX     = iota // index of the swing, plus one: 0 is none
	breakLevel        // its price
	breakDone         // 1 once a close was beyond it
	breakSide         // numbers a side takes
	breakTrend = 2 * breakSide
	breakTurn  = breakTrend + 1 // 1 if the last break turned the trend
	breakCells = breakTurn + 1
)

func newBreaks(m *calc.Slab, n int) breaks {
	return breaks{find: newSwingFinder(m, n), cells: m.Cells(breakCells)}
}

// next returns 1 when the bar breaks the last swing high, -1 for the last swing low and
// otherwise 0.
func (s *breaks) next(r *Row) int {
	top, bottom := s.find.next(r)
	m := s.cells.Mem()
	for i, x := range [...]float64{top, bottom} {
		if !math.IsNaN(x) {
			side := m[i*breakSide:]
			side[breakX], side[breakLevel], side[breakDone] = float64(r.Index-s.find.n+1), x, 0
		}
	}
	switch {
	case s.open(0) < r.Bar.C:
		s.turn(m, 0, 1)
		return 1
	case s.open(breakSide) > r.Bar.C:
		s.turn(m, breakSide, -1)
		return -1
	}
	return 0
}

func (s *breaks) turn(m []float64, side int, trend float64) {
	m[side+breakDone], m[breakTurn] = 1, 0
	if m[breakTrend] == -trend {
		m[breakTurn] = 1
	}
	m[breakTrend] = trend
}

// open returns the swing of a side that no close has broken, NaN for none.
func (s *breaks) open(side int) float64 {
	m := s.cells.Mem()[side:]
	if m[breakX] == 0 || m[breakDone] == 1 {
		return math.NaN()
	}
	return m[breakLevel]
}

// swing returns the bar and the price of the swing that a break was through.
func (s *breaks) swing(broken int) (x int, level float64) {
	m := s.cells.Mem()
	if broken < 0 {
		m = m[breakSide:]
	}
	return int(m[breakX]) - 1, m[breakLevel]
}

func (s *breaks) signal(r *Row, broken int) {
	labels := [2]string{"bos_up", "choch_up"}
	if broken < 0 {
		labels = [2]string{"bos_down", "choch_down"}
	}
	x, level := s.swing(broken)
	r.Signal(labels[int(s.cells.Mem()[breakTurn])], level)
	r.DivLines = append(r.DivLines, DivLine{X1: x, Y1: level, X2: r.Index, Y2: level, Bull: broken > 0})
}

func sweeps() Def {
	return Def{
		Name: "sweeps", Aliases: []string{"liquidity_sweep"}, Kind: Overlay, Group: GroupTrend,
		Doc: "Liquidity sweeps: wicks beyond a swing; stops beyond the swing were hit and the price returned.",
		Formula: "Swings as in `swings`; the last swing high stays until a close is above it, the last swing low until a close is below it. " +
			"A bar sweeps the high when its high is above it, its close is not, and no bar has swept that swing before; mirrored for lows.",
		Truth:  "own definition; second derivation in the tests",
		Params: []Param{sideBars(5)},
		Lines:  []string{"High", "Low"},
		Signals: []Trigger{
			{"sweep_high", "the high is above the last swing high and the close at or below it, for the first time; y is the swing"},
			{"sweep_low", "the low is below the last swing low and the close at or above it, for the first time; y is the swing"},
		},
		New: func(v Values) Instance {
			n := v.Int("length")
			return &series{
				label: fmt.Sprintf("Sweeps(%d)", n), first: 2 * n, stable: 2*n + 1000, columns: 2, lines: styled(Steps, "High", "Low"),
				begin: func(m *calc.Slab, _ Env) step {
					s, cells := newBreaks(m, n), m.Cells(2)
					return func(r *Row) {
						s.next(r)
						c := cells.Mem() // the swings that were swept, plus one
						high, low := s.open(0), s.open(breakSide)
						r.Values[0], r.Values[1] = high, low
						if x, _ := s.swing(1); r.Bar.H > high && c[0] != float64(x+1) {
							c[0] = float64(x + 1)
							r.Signal("sweep_high", high)
						}
						if x, _ := s.swing(-1); r.Bar.L < low && c[1] != float64(x+1) {
							c[1] = float64(x + 1)
							r.Signal("sweep_low", low)
						}
					}
				},
			}
		},
	}
}
