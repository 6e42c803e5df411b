package ta

import (
	"fmt"

	"candela/lib/ta/calc"
)

func orderBlocks() Def {
	return Def{
		Name: "order_blocks", Aliases: []string{"ob"}, Kind: Overlay, Group: GroupLevels,
		Doc: "Order blocks of breaks of structure; the last opposite candle before a break, drawn until a close goes through it.",
		Formula: "Breaks as in `structure`. At a break upwards the zone is high to low of the last bar before it that closed below its open, if it is not before the broken swing; " +
			"mirrored at a break downwards. A zone ends with a close at or beyond its far edge, or after 500 bars. The lines are the newest zone of each side.",
		Truth:  "own definition; second derivation in the tests",
		Params: []Param{sideBars(5), mostZones()},
		Lines:  zoneLabels(),
		Signals: []Trigger{
			{"ob_up", "a break upwards leaves an order block below the price; y is its high"},
			{"ob_down", "a break downwards leaves an order block above the price; y is its low"},
		},
		New: func(v Values) Instance {
			n, most := v.Int("length"), v.Int("max_zones")
			return &series{
				label: fmt.Sprintf("Order Blocks(%d)", n), first: 2*n + 1, stable: 2*n + 1000 + zoneAge, columns: zoneColumns,
				lines: styled(Hidden, zoneLabels()...),
				begin: func(m *calc.Slab, _ Env) step {
					o := blocks{breaks: newBreaks(m, n), zones: newZones(m, most), cells: m.Cells(2 * blockCells)}
					return o.next
				},
				present: drawZones(most),
			}
		},
	}
}

// blocks is the state of order blocks.
type blocks struct {
	breaks breaks
	zones  zones
	cells  calc.Cells // the last falling candle, then the last rising one
}

// The cells of a candle.
const (
	blockX = iota // its index plus one: 0 is none
	blockHigh
	blockLow
	blockCells
)

func (o *blocks) next(r *Row) {
	broken, c, v := o.breaks.next(r), o.cells.Mem(), r.Values
	candle, label, edge := c[:blockCells], "ob_up", blockHigh
	if broken < 0 {
		candle, label, edge = c[blockCells:], "ob_down", blockLow
	}
	if x, _ := o.breaks.swing(broken); broken != 0 && int(candle[blockX])-1 >= x && candle[blockX] > 0 {
		v[zoneSide], v[zoneNewTop], v[zoneNewBottom] = float64(broken), candle[blockHigh], candle[blockLow]
		r.Signal(label, candle[edge])
	}
	o.zones.advance(r, r.Bar.C, r.Bar.C, nil)
	switch b := r.Bar; {
	case b.C < b.O:
		c[blockX], c[blockHigh], c[blockLow] = float64(r.Index+1), b.H, b.L
	case b.C > b.O:
		c[blockCells+blockX], c[blockCells+blockHigh], c[blockCells+blockLow] = float64(r.Index+1), b.H, b.L
	}
}
