package ta

import (
	"time"

	"candela/lib/market"
	"candela/lib/ta/calc"
)

// tradingHours are the hours of a financial centre, by its own clock.
type tradingHours struct {
	name, line, zone string
	from, to         int // hours of the day
}

// centres are the sessions that have names.
func centres() []tradingHours {
	return []tradingHours{
		{"asia", "Asia", "Asia/Tokyo", 9, 18},
		{"london", "London", "Europe/London", 8, 17},
		{"new_york", "NY", "America/New_York", 8, 17},
	}
}

func sessionLevels() Def {
	lines := append(make([]string, 0, 2+2*len(centres())), "Session High", "Session Low")
	for _, c := range centres() {
		lines = append(lines, c.line+" High", c.line+" Low")
	}
	return Def{
		Name: "session_levels", Aliases: []string{"killzones"}, Kind: Overlay, Group: GroupLevels,
		Doc: "Highs and lows of sessions: Asia, London, New York; each as far as it was known at the bar.",
		Formula: "Running: highest high and lowest low since the day of the market's own calendar began. Named: of the bars that open 9 to 18 o'clock in Tokyo, 8 to 17 in London, 8 to 17 in New York, " +
			"with their summer times; the levels stay until that session begins again.",
		Truth: "own definition; second derivation in the tests",
		Params: []Param{
			Choice("session", "running", []string{"running", "asia", "london", "new_york", "all"}, "which session; all are the named ones").As("name"),
		},
		Lines: lines,
		New: func(v Values) Instance {
			which := v.Text("session")
			var drawn []string
			var chosen []tradingHours
			for _, c := range centres() {
				if which == c.name || which == "all" {
					chosen, drawn = append(chosen, c), append(drawn, c.line+" High", c.line+" Low")
				}
			}
			if which == "running" {
				drawn = lines[:2]
			}
			return &series{
				label: "Session(" + which + ")", columns: len(drawn), lines: styled(Steps, drawn...),
				warm: func(env Env) (int, int) { return 0, 2*periodBars(env.Interval, "day") + 1 },
				begin: func(m *calc.Slab, env Env) step {
					if which == "running" {
						return runningLevels(m, env.Calendar)
					}
					steps := make([]step, len(chosen))
					for i, c := range chosen {
						steps[i] = namedLevels(m, c, 2*i)
					}
					return func(r *Row) {
						for _, next := range steps {
							next(r)
						}
					}
				},
			}
		},
	}
}

// The cells of a session.
const (
	sessionNumber = iota // of its day, plus one: 0 is none
	sessionHigh
	sessionLow
	sessionCells
)

// runningLevels follows the day of the calendar.
func runningLevels(m *calc.Slab, c market.Calendar) step {
	cells := m.Cells(sessionCells)
	return func(r *Row) {
		extendSession(cells.Mem(), float64(periodOf(c, "day", r.Bar.T)+1), r, 0)
	}
}

// namedLevels follows the hours of a centre and writes its levels to two columns.
func namedLevels(m *calc.Slab, c tradingHours, column int) step {
	cells := m.Cells(sessionCells)
	zone, err := time.LoadLocation(c.zone)
	if err != nil { // the zones are part of the program
		zone = time.UTC
	}
	return func(r *Row) {
		s := cells.Mem()
		local := time.Unix(r.Bar.T, 0).In(zone)
		if hour := local.Hour(); hour >= c.from && hour < c.to {
			_, offset := local.Zone()
			extendSession(s, float64(calc.SlotOf(r.Bar.T+int64(offset), 24*3600)+1), r, column)
			return
		}
		if s[sessionNumber] != 0 {
			r.Values[column], r.Values[column+1] = s[sessionHigh], s[sessionLow]
		}
	}
}

// extendSession adds a bar to the session with a number, or begins it.
func extendSession(s []float64, number float64, r *Row, column int) {
	if s[sessionNumber] != number {
		s[sessionNumber], s[sessionHigh], s[sessionLow] = number, r.Bar.H, r.Bar.L
	}
	s[sessionHigh], s[sessionLow] = max(s[sessionHigh], r.Bar.H), min(s[sessionLow], r.Bar.L)
	r.Values[column], r.Values[column+1] = s[sessionHigh], s[sessionLow]
}
