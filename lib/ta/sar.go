package ta

import (
	"fmt"
	"math"

	"candela/lib/ta/calc"
)

func sar() Def {
	return Def{
		Name: "sar", Aliases: []string{"parabolic_sar", "psar"}, Kind: Overlay, Group: GroupTrend,
		Doc: "Parabolic SAR: a trailing stop that accelerates; a flip marks where it was hit.",
		Formula: "The stop moves by af x (extreme - stop); af starts at af_start and grows by af_step with every new extreme up to af_max. " +
			"It never enters the range of the last two bars. When the price reaches it, it jumps to the extreme and the direction turns. " +
			"The first direction is that of the second bar's close against the first's.",
		Truth: "TradingView ta.sar (TA-Lib differs at some flips: it keeps the stop out of the last two bars before it tests whether the price reached it, TradingView after)",
		Params: []Param{
			Num("af_start", 0.02, 0.0001, 1, "acceleration at the start of a trend").As("start"),
			Num("af_step", 0.02, 0, 1, "growth of the acceleration with every new extreme").As("increment", "step"),
			Num("af_max", 0.2, 0.0001, 1, "largest acceleration").As("max", "maximum"),
		},
		Lines: []string{"SAR"},
		Signals: []Trigger{
			{"flip_up", "the price reached the stop above it and the trend turned up; y is the new stop"},
			{"flip_down", "the price reached the stop below it and the trend turned down; y is the new stop"},
		},
		New: func(v Values) Instance {
			return &series{
				label: fmt.Sprintf("SAR(%s, %s, %s)", number(v.Num("af_start")), number(v.Num("af_step")), number(v.Num("af_max"))),
				first: 1,
				// A flip resets the acceleration but not the extreme; after several flips
				// different histories agree.
				stable: 500, columns: 1, lines: styled(Dots, "SAR"),
				begin: func(m *calc.Slab, _ Env) step {
					p := parabola{start: v.Num("af_start"), step: v.Num("af_step"), top: v.Num("af_max"), cells: m.Cells(parabolaCells)}
					return p.next
				},
			}
		},
	}
}

// parabola is the state of a parabolic stop.
type parabola struct {
	start, step, top float64
	cells            calc.Cells
}

// The cells of parabola.
const (
	sarStop = iota
	sarExtreme
	sarAccel
	sarRising // 1 or 0
	sarClose  // of the bar before
	sarHigh1  // highs and lows of the two bars before
	sarLow1
	sarHigh2
	sarLow2
	sarSeen
	parabolaCells
)

func (p parabola) next(r *Row) {
	m, b := p.cells.Mem(), r.Bar
	seen := m[sarSeen]
	m[sarSeen]++
	if seen == 0 {
		p.remember(r)
		return
	}
	turned := false
	if seen == 1 {
		m[sarAccel], turned = p.start, true
		if b.C > m[sarClose] {
			m[sarRising], m[sarExtreme], m[sarStop] = 1, b.H, m[sarLow1]
		} else {
			m[sarRising], m[sarExtreme], m[sarStop] = 0, b.L, m[sarHigh1]
		}
	}
	stop := m[sarStop] + float64(m[sarAccel]*(m[sarExtreme]-m[sarStop]))
	label := ""
	switch rising := m[sarRising] == 1; {
	case rising && stop > b.L:
		stop, label = max(b.H, m[sarExtreme]), "flip_down"
		m[sarRising], m[sarExtreme], m[sarAccel], turned = 0, b.L, p.start, true
	case !rising && stop < b.H:
		stop, label = min(b.L, m[sarExtreme]), "flip_up"
		m[sarRising], m[sarExtreme], m[sarAccel], turned = 1, b.H, p.start, true
	}
	if !turned {
		p.follow(r)
	}
	stop = p.clear(stop, seen)
	m[sarStop], r.Values[0] = stop, stop
	if label != "" && seen > 1 { // on its first bar the stop has no trend to turn
		r.Signal(label, stop)
	}
	p.remember(r)
}

// follow applies a new extreme of the trend.
func (p parabola) follow(r *Row) {
	m := p.cells.Mem()
	if m[sarRising] == 1 && r.Bar.H > m[sarExtreme] {
		m[sarExtreme], m[sarAccel] = r.Bar.H, min(m[sarAccel]+p.step, p.top)
	}
	if m[sarRising] == 0 && r.Bar.L < m[sarExtreme] {
		m[sarExtreme], m[sarAccel] = r.Bar.L, min(m[sarAccel]+p.step, p.top)
	}
}

// clear moves the stop out of the range of the last two bars.
func (p parabola) clear(stop, seen float64) float64 {
	m := p.cells.Mem()
	low, high := m[sarLow1], m[sarHigh1]
	if seen > 1 {
		low, high = min(low, m[sarLow2]), max(high, m[sarHigh2])
	}
	if m[sarRising] == 1 {
		return min(stop, low)
	}
	return max(stop, high)
}

func (p parabola) remember(r *Row) {
	m, b := p.cells.Mem(), r.Bar
	m[sarHigh2], m[sarLow2] = m[sarHigh1], m[sarLow1]
	m[sarHigh1], m[sarLow1], m[sarClose] = b.H, b.L, b.C
	if math.IsNaN(b.H + b.L + b.C) {
		// A bar without prices restarts the parabola, because its trend is unknown.
		m[sarSeen] = 0
	}
}
