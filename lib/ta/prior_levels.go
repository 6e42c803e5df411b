package ta

import (
	"candela/lib/market"
	"candela/lib/ta/calc"
)

func priorLevels() Def {
	lines := make([]string, 0, 3*len(priceNames))
	for _, unit := range priorUnits("all") {
		lines = append(lines, priorLabels(unit)...)
	}
	return Def{
		Name: "prior_levels", Aliases: []string{"prior_day", "previous_day", "prev_day", "yesterday", "pdh", "pdl"}, Kind: Overlay, Group: GroupLevels,
		Doc: "High, low, close of the prior day, week or month; watched by most traders.",
		Formula: "Of the last whole period before the bar's own, by the market's own calendar: PDH, PDL, PDC, PDO of the day, PWH ... of the week (from Monday), PMH ... of the month. " +
			"`all` has the highs and lows of the three.",
		Truth: "TradingView request.security of the period before; second derivation in the tests",
		Params: []Param{
			Choice("period", "day", []string{"day", "week", "month", "all"}, "the period before").As("timeframe"),
		},
		Lines: lines,
		Signals: []Trigger{
			{"breakout_up", "the close goes from at or below the high of the period before (of the day for `all`) to above it, within one period; y is that high"},
			{"breakout_down", "the close goes from at or above the low of the period before (of the day for `all`) to below it, within one period; y is that low"},
		},
		New: func(v Values) Instance {
			period := v.Text("period")
			units := priorUnits(period)
			drawn := make([]string, 0, 3*len(priceNames))
			for _, unit := range units {
				drawn = append(drawn, priorLabels(unit)[:priorShown(period)]...)
			}
			return &series{
				label: "Prior(" + period + ")", columns: len(drawn), lines: styled(Steps, drawn...),
				warm: func(env Env) (int, int) { return 1, 2*periodBars(env.Interval, units[len(units)-1]) + 1 },
				begin: func(m *calc.Slab, env Env) step {
					before := make([]priorPeriod, len(units))
					for i, unit := range units {
						before[i] = priorPeriod{unit, env.Calendar, m.Cells(priorCells)}
					}
					last := m.Lag(1)
					return func(r *Row) {
						shown, closed := priorShown(period), last.Step(r.Bar.C)
						for i, p := range before {
							if p.next(r) {
								b := p.last()
								copy(r.Values[i*shown:(i+1)*shown], []float64{b.H, b.L, b.C, b.O})
							}
						}
						r.breaksOut(closed, 0, 1)
					}
				},
			}
		},
	}
}

// breaksOut raises the signals of a close that leaves the range between two columns
// which the row before had too.
func (r *Row) breaksOut(before float64, high, low int) {
	if top := r.Values[high]; r.Prev[high] == top && before <= top && r.Bar.C > top {
		r.Signal("breakout_up", top)
	}
	if bottom := r.Values[low]; r.Prev[low] == bottom && before >= bottom && r.Bar.C < bottom {
		r.Signal("breakout_down", bottom)
	}
}

// priceNames are the last letters of the lines, in their order.
const priceNames = "HLCO"

// priorUnits returns the periods of the parameter.
func priorUnits(period string) []string {
	if period == "all" {
		return []string{"day", "week", "month"}
	}
	return []string{period}
}

// priorShown is how many prices of each period are drawn.
func priorShown(period string) int {
	if period == "all" {
		return 2
	}
	return len(priceNames)
}

// priorLabels are the lines of a period: PDH for the high of the day before.
func priorLabels(unit string) []string {
	letter := map[string]string{"day": "D", "week": "W", "month": "M"}[unit]
	labels := make([]string, len(priceNames))
	for i := range labels {
		labels[i] = "P" + letter + priceNames[i:i+1]
	}
	return labels
}

// The cells of priorPeriod: the current period, then the previous one.
const (
	priorNumber = iota // of the period
	priorOpen
	priorHigh
	priorLow
	priorClose
	priorKnown // 1 once a period has ended
	priorLastOpen
	priorLastHigh
	priorLastLow
	priorLastClose
	priorCells
)

// priorPeriod carries one period's prices into the next.
type priorPeriod struct {
	unit     string
	calendar market.Calendar
	cells    calc.Cells
}

// next takes a bar and reports whether there is a whole period before its own.
func (p priorPeriod) next(r *Row) bool {
	m, b := p.cells.Mem(), r.Bar
	period := float64(periodOf(p.calendar, p.unit, b.T))
	switch {
	case r.Index == 0:
		m[priorNumber] = period
		m[priorOpen], m[priorHigh], m[priorLow], m[priorClose] = b.O, b.H, b.L, b.C
	case period != m[priorNumber]:
		copy(m[priorLastOpen:priorCells], m[priorOpen:priorKnown])
		m[priorKnown], m[priorNumber] = 1, period
		m[priorOpen], m[priorHigh], m[priorLow], m[priorClose] = b.O, b.H, b.L, b.C
	default:
		m[priorHigh], m[priorLow], m[priorClose] = max(m[priorHigh], b.H), min(m[priorLow], b.L), b.C
	}
	return m[priorKnown] == 1
}

// last returns the prices of the period before.
func (p priorPeriod) last() market.Bar {
	m := p.cells.Mem()
	return market.Bar{O: m[priorLastOpen], H: m[priorLastHigh], L: m[priorLastLow], C: m[priorLastClose]}
}

// open returns the first price of the present period.
func (p priorPeriod) open() float64 { return p.cells.Mem()[priorOpen] }
