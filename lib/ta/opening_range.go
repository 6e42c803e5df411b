package ta

import (
	"fmt"

	"candela/lib/market"
	"candela/lib/ta/calc"
)

func openingRange() Def {
	return Def{
		Name: "opening_range", Aliases: []string{"orb"}, Kind: Overlay, Group: GroupLevels,
		Doc: "Opening range of a session and its breakouts; high and low of its first minutes. The first close outside it is a breakout.",
		Formula: "High, low and middle of the bars that open within `minutes` of the session's open (days of UTC where a market never closes), at least of the first bar. " +
			"They are drawn from the bar on that ends the range. A session whose first bar is missing has none.",
		Truth:  "own definition; second derivation in the tests",
		Params: []Param{Int("minutes", 30, 1, 1440, "length of the range").As("length", "period")},
		Lines:  []string{"OR High", "OR Low", "OR Mid"},
		Signals: []Trigger{
			{"breakout_up", "the first close of the session above the finished range; y is its high"},
			{"breakout_down", "the first close of the session below the finished range; y is its low"},
		},
		New: func(v Values) Instance {
			minutes := v.Int("minutes")
			return &series{
				label: fmt.Sprintf("OR(%d)", minutes), columns: 3, lines: styled(Steps, "OR High", "OR Low", "OR Mid"),
				warm: func(env Env) (int, int) {
					return openingBars(env, minutes) - 1, periodBars(env.Interval, "day") + 1
				},
				begin: func(m *calc.Slab, env Env) step {
					o := opening{seconds: int64(60 * minutes), env: env, cells: m.Cells(openingCells)}
					return o.next
				},
			}
		},
	}
}

// openingBars is how many bars a range of that many minutes takes.
func openingBars(env Env, minutes int) int {
	step := max(1, env.Interval.Seconds())
	return int(max(1, (int64(60*minutes)+step-1)/step))
}

// opening is the state of an opening range.
type opening struct {
	seconds int64
	env     Env
	cells   calc.Cells
}

// The cells of opening.
const (
	openingDay   = iota // the session, by the time of its open
	openingState        // one of the states below
	openingHigh
	openingLow
	openingBroken // 1 once it was broken upwards, plus 2 once downwards
	openingCells
)

// The states of an opening range.
const (
	openingNone = iota // the session's first bar was not seen yet
	openingGrows
	openingDone
)

func (o *opening) next(r *Row) {
	m, b := o.cells.Mem(), r.Bar
	session, ok := o.env.Calendar.Dated(market.Day1, b.T)
	if !ok {
		return
	}
	if start := float64(session.Open); r.Index == 0 || start != m[openingDay] {
		m[openingDay], m[openingState], m[openingBroken] = start, openingNone, 0
	}
	since := b.T - session.Open
	if m[openingState] == openingNone && since >= 0 && since < max(1, o.env.Interval.Seconds()) {
		m[openingState], m[openingHigh], m[openingLow] = openingGrows, b.H, b.L
	}
	if m[openingState] == openingGrows {
		o.grow(m, b, since)
	}
	if m[openingState] != openingDone {
		return
	}
	high, low := m[openingHigh], m[openingLow]
	r.Values[0], r.Values[1], r.Values[2] = high, low, (high+low)/2
	broken := int(m[openingBroken])
	if b.C > high && broken&1 == 0 {
		m[openingBroken] = float64(broken | 1)
		r.Signal("breakout_up", high)
	}
	if b.C < low && broken&2 == 0 {
		m[openingBroken] = float64(broken | 2)
		r.Signal("breakout_down", low)
	}
}

// grow adds a bar that opens so many seconds after the session, and ends the range with
// the bar that closes it.
func (o *opening) grow(m []float64, b market.Bar, since int64) {
	step := max(1, o.env.Interval.Seconds())
	if since < max(o.seconds, step) {
		m[openingHigh], m[openingLow] = max(m[openingHigh], b.H), min(m[openingLow], b.L)
	}
	if since+step >= o.seconds {
		m[openingState] = openingDone
	}
}
