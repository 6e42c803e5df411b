package ta

import (
	"fmt"

	"candela/lib/ta/calc"
)

func fvg() Def {
	return Def{
		Name: "fvg", Aliases: []string{"fair_value_gap"}, Kind: Overlay, Group: GroupLevels,
		Doc: "Fair value gaps until they are filled; prices that three bars left untraded.",
		Formula: "Upwards where the low is above the high two bars before: the zone lies between the two; downwards where the high is below the low two bars before. " +
			"`min_percent` of the close is the least height. A gap is filled when a later bar reaches its far edge; it is followed for 500 bars. The lines are the newest open gap of each side.",
		Truth:  "own definition; second derivation in the tests",
		Params: []Param{mostZones(), Num("min_percent", 0, 0, 50, "least height in percent of the close").As("threshold")},
		Lines:  zoneLabels(),
		Signals: []Trigger{
			{"fvg_up", "the low is above the high two bars before; y is the middle of the gap"},
			{"fvg_down", "the high is below the low two bars before; y is the middle of the gap"},
			{"fvg_filled", "a bar reaches the far edge of an open gap; y is that edge"},
		},
		New: func(v Values) Instance { return gapZones("FVG", "fvg", 2, v) },
	}
}

// gapZones draws the gaps between a bar and the one so many bars back. The signals
// begin with prefix.
func gapZones(label, prefix string, back int, v Values) *series {
	most, least := v.Int("max_zones"), v.Num("min_percent")/100
	up, down, filled := prefix+"_up", prefix+"_down", prefix+"_filled"
	return &series{
		label: fmt.Sprintf("%s(%d)", label, most), first: back, stable: zoneAge + back + 1, columns: zoneColumns, lines: styled(Hidden, zoneLabels()...),
		begin: func(m *calc.Slab, _ Env) step {
			high, low, z := m.Lag(back), m.Lag(back), newZones(m, most)
			return func(r *Row) {
				b := r.Bar
				r.gap(high.Step(b.H), low.Step(b.L), float64(least*b.C), up, down)
				z.advance(r, b.L, b.H, func(up bool, zone []float64) {
					edge := zone[zoneTop]
					if up {
						edge = zone[zoneBottom]
					}
					r.Signal(filled, edge)
				})
			}
		},
		present: drawZones(most),
	}
}

// gap writes a zone between the row's bar and the prices of an earlier one, if they
// leave room of more than least.
func (r *Row) gap(high, low, least float64, up, down string) {
	b, v := r.Bar, r.Values
	switch {
	case b.L-high > least:
		v[zoneSide], v[zoneNewTop], v[zoneNewBottom] = 1, b.L, high
		r.Signal(up, (b.L+high)/2)
	case low-b.H > least:
		v[zoneSide], v[zoneNewTop], v[zoneNewBottom] = -1, low, b.H
		r.Signal(down, (low+b.H)/2)
	}
}

func gaps() Def {
	return Def{
		Name: "gaps", Aliases: []string{"gap"}, Kind: Overlay, Group: GroupLevels,
		Doc: "Gaps between bars until they are filled; common where a market closes overnight.",
		Formula: "Upwards where the low is above the high of the bar before, downwards where the high is below its low; `min_percent` of the close is the least height. " +
			"A gap is filled when a later bar reaches its far edge; it is followed for 500 bars. The lines are the newest open gap of each side.",
		Truth:  "TradingView gaps; second derivation in the tests",
		Params: []Param{mostZones(), Num("min_percent", 0, 0, 50, "least height in percent of the close").As("threshold")},
		Lines:  zoneLabels(),
		Signals: []Trigger{
			{"gap_up", "the low is above the high of the bar before; y is the middle of the gap"},
			{"gap_down", "the high is below the low of the bar before; y is the middle of the gap"},
			{"gap_filled", "a bar reaches the far edge of an open gap; y is that edge"},
		},
		New: func(v Values) Instance { return gapZones("Gaps", "gap", 1, v) },
	}
}
