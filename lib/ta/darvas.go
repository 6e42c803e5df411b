package ta

import (
	"fmt"

	"candela/lib/ta/calc"
)

func darvas() Def {
	return Def{
		Name: "darvas", Aliases: []string{"darvas_box"}, Kind: Overlay, Group: GroupTrend,
		Doc: "Darvas box and its breakouts; a high and then a low that held for some bars. A close outside the box is a breakout.",
		Formula: "The top is a high that `length` bars after it do not exceed; the bottom the lowest low since the top that `length` bars do not undercut. A higher high before the box is complete begins again. " +
			"The box stands until a close is outside it; that bar begins the next one.",
		Truth:   "own definition after Darvas; second derivation in the tests",
		Params:  []Param{Int("length", 3, 1, 100, "bars that a high and a low must hold").As("period")},
		Lines:   []string{"Box Top", "Box Bottom"},
		Signals: breakouts("edge of the box"),
		New: func(v Values) Instance {
			n := v.Int("length")
			return &series{
				label: fmt.Sprintf("Darvas(%d)", n), first: 2 * n, stable: 1000, columns: 2, lines: styled(Steps, "Box Top", "Box Bottom"),
				begin: func(m *calc.Slab, _ Env) step {
					b := box{n: float64(n), cells: m.Cells(boxCells)}
					return b.next
				},
				byBar: true,
				present: func(r *Result, col [][]float64) {
					r.Fills = []Fill{{Y1: col[0], Y2: col[1], Style: Channel}}
				},
			}
		},
	}
}

// box is the state of a Darvas box.
type box struct {
	n     float64
	cells calc.Cells
}

// The cells of box.
const (
	boxState = iota // one of the states below
	boxTop
	boxBottom
	boxHeld // bars that the edge in question has held
	boxCells
)

// The states of a box: what it waits for.
const (
	boxFirst = iota
	boxSeeksTop
	boxSeeksBottom
	boxStands
)

func (b *box) next(r *Row) {
	c, bar := b.cells.Mem(), r.Bar
	switch {
	case c[boxState] == boxFirst || c[boxState] != boxStands && bar.H > c[boxTop]:
		b.begin(c, r)
		return
	case c[boxState] == boxSeeksTop:
		c[boxBottom] = min(c[boxBottom], bar.L)
		if c[boxHeld]++; c[boxHeld] >= b.n {
			c[boxState], c[boxHeld] = boxSeeksBottom, 0
		}
	case c[boxState] == boxSeeksBottom:
		if bar.L < c[boxBottom] {
			c[boxBottom], c[boxHeld] = bar.L, 0
		} else if c[boxHeld]++; c[boxHeld] >= b.n {
			c[boxState] = boxStands
		}
	}
	if c[boxState] != boxStands {
		return
	}
	switch {
	case bar.C > c[boxTop]:
		r.Signal("breakout_up", bar.C)
		b.begin(c, r)
	case bar.C < c[boxBottom]:
		r.Signal("breakout_down", bar.C)
		b.begin(c, r)
	default:
		r.Values[0], r.Values[1] = c[boxTop], c[boxBottom]
	}
}

// begin takes the bar's high for the top, unless a price is missing.
func (b *box) begin(c []float64, r *Row) {
	if away := r.Bar.H - r.Bar.L; away-away != 0 {
		c[boxState] = boxFirst
		return
	}
	c[boxState], c[boxTop], c[boxBottom], c[boxHeld] = boxSeeksTop, r.Bar.H, r.Bar.L, 0
}
