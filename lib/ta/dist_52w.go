package ta

import (
	"math"

	"candela/lib/market"
	"candela/lib/ta/calc"
)

// yearDays is the number of dates in 52 weeks.
const yearDays = 364

func dist52w() Def {
	return Def{
		Name: "dist_52w", Aliases: []string{"52w"}, Kind: Panel, Group: GroupLevels,
		Doc: "Percent from the 52-week high and low; needs a year of bars, so use daily or weekly ones.",
		Formula: "100 x (close / highest high - 1) and 100 x (close / lowest low - 1) over the bars of the last 364 dates, this bar's included, " +
			"by the market's own calendar. No value before the history has 364 dates.",
		Truth: "definition; second derivation in the tests",
		Lines: []string{"From high", "From low"},
		New: func(Values) Instance {
			return &series{
				label: "52-week distance", columns: 2, lines: solid("From high", "From low"), levels: []HLine{{Y: 0, Style: Zero}},
				warm: func(env Env) (first, stable int) {
					bars := max(1, int(int64(yearDays)*24*3600/max(1, env.Interval.Seconds())))
					perDay := periodBars(env.Interval, "day")
					return max(bars-perDay, 0), bars + 1
				},
				begin: func(m *calc.Slab, env Env) step {
					y := yearRange{calendar: env.Calendar, span: float64(max(1, env.Interval.Seconds()/(24*3600))), cells: m.Cells(yearCells)}
					return y.next
				},
			}
		},
	}
}

// yearRange holds the extremes of each of the last 364 dates.
type yearRange struct {
	calendar market.Calendar
	span     float64 // dates in a bar
	cells    calc.Cells
}

// The cells of yearRange: of the whole, then date, high and low of each date, at the
// place that is the date's remainder of 364.
const (
	yearFirst = iota // date of the first bar
	yearDate         // date of the last bar
	yearHigh         // extremes of the dates before it
	yearLow
	yearSeen
	yearHead
	yearCells = yearHead + 3*yearDays
)

func (y yearRange) next(r *Row) {
	m, b := y.cells.Mem(), r.Bar
	date := float64(periodOf(y.calendar, "day", b.T))
	dates, highs, lows := m[yearHead:yearHead+yearDays], m[yearHead+yearDays:yearHead+2*yearDays], m[yearHead+2*yearDays:]
	at := (int(date)%yearDays + yearDays) % yearDays
	if m[yearSeen] == 0 {
		m[yearFirst], m[yearSeen] = date, 1
		setAll(dates, math.Inf(-1))
		m[yearDate] = math.Inf(-1)
	}
	if date != m[yearDate] {
		m[yearDate] = date
		dates[at], highs[at], lows[at] = date, math.Inf(-1), math.Inf(1)
		m[yearHigh], m[yearLow] = math.Inf(-1), math.Inf(1)
		for i, d := range dates {
			if d > date-yearDays {
				m[yearHigh], m[yearLow] = max(m[yearHigh], highs[i]), min(m[yearLow], lows[i])
			}
		}
	}
	if !math.IsNaN(b.H) && !math.IsNaN(b.L) {
		highs[at], lows[at] = max(highs[at], b.H), min(lows[at], b.L)
	}
	if date-m[yearFirst]+y.span < yearDays {
		return
	}
	r.Values[0] = 100 * (ratio(b.C, max(m[yearHigh], highs[at])) - 1)
	r.Values[1] = 100 * (ratio(b.C, min(m[yearLow], lows[at])) - 1)
}
