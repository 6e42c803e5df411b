package ta

import (
	"fmt"
	"math"
	"slices"

	"candela/lib/market"
)

func sessionVP() Def {
	return Def{
		Name: "session_vp", Aliases: []string{"svp", "session_volume_profile"}, Kind: Overlay, Group: GroupLevels,
		Doc: "Volume profile of each session; point of control and value area day by day (or week by week), as three stepped lines.",
		Formula: "A volume profile, with its rules, per session (day or week of the market's own calendar, weeks from Monday; or a fixed number of bars). " +
			"Each session's final levels are drawn over the whole of it, beside its profile, so those of the current session change with every bar; with `developing` each bar shows the levels at its close.",
		Truth: "own definition; second derivation in the tests",
		Params: []Param{
			Int("bins", 24, 1, 500, "rows each session's range is divided into"),
			sessionChoice(), barsPerSession(),
			Bool("show_value_area", true, "draw VAH and VAL besides the POC"),
			Bool("developing", false, "draw the levels as they stood at each bar instead of the session's final ones"),
		},
		Lines: []string{"POC", "VAH", "VAL"},
		New: func(v Values) Instance {
			return &whole{
				label: fmt.Sprintf("SVP(%d)", v.Int("bins")),
				// The session that the first bar shown lies in, from its beginning.
				history: sessionHistory(v, 1),
				compute: func(in Input, r *Result) { computeSessionVP(in, v, r) },
			}
		},
	}
}

func sessionChoice() Param {
	return Choice("session", "daily", []string{"hourly", "daily", "weekly", "monthly"}, "length of a session")
}

func barsPerSession() Param {
	return OptionalInt("bars_per_session", 1, 100_000, "length of a session in bars, counted from the first bar shown, instead of calendar sessions")
}

func computeSessionVP(in Input, v Values, r *Result) {
	poc, vah, val := undefined(in), undefined(in), undefined(in)
	draw := func(from, to int, p *profile, a valueArea) {
		setAll(poc[from:to], p.poc(a))
		setAll(vah[from:to], p.vah(a))
		setAll(val[from:to], p.val(a))
	}
	bins := v.Int("bins")
	for _, s := range sessions(in, v) {
		if v.Bool("developing") {
			d := develop(in.Bars, s, bins)
			for i := s.from; i < s.to; i++ {
				if a, ok := d.next(); ok {
					draw(i, i+1, &d.profile, a)
				}
			}
			continue
		}
		if p, a, ok := sessionProfile(in.Bars, s.from, s.to, bins); ok {
			draw(s.from, s.to, &p, a)
			r.Profiles = append(r.Profiles, Profile{From: s.from, To: s.to, Bars: p.rows(a)})
		}
	}
	r.Lines = []Line{{Label: "POC", Values: poc, Style: Steps}}
	if v.Bool("show_value_area") {
		r.Lines = append(r.Lines, Line{Label: "VAH", Values: vah, Style: Steps}, Line{Label: "VAL", Values: val, Style: Steps})
	}
}

// sessionProfile is the profile of bars [from, to) with its value area.
func sessionProfile(b *market.Bars, from, to, bins int) (profile, valueArea, bool) {
	p, ok := newProfile(b, from, to, bins)
	if !ok {
		return p, valueArea{}, false
	}
	p.addVolume(b, from, to)
	a, ok := p.area(1)
	return p, a, ok
}

// stretch is a run of bars [from, to) that belongs together.
type stretch struct{ from, to int }

// sessions cuts the bars into sessions, oldest first.
func sessions(in Input, v Values) []stretch {
	n := in.Bars.Len()
	var out []stretch
	if size, set := v.OptionalInt("bars_per_session"); set {
		for from := 0; from < n; from += size {
			out = append(out, stretch{from, min(from+size, n)})
		}
		return out
	}
	unit := sessionUnit(v)
	for from := 0; from < n; {
		period := periodOf(in.Calendar, unit, in.Bars.T[from])
		to := from + 1
		for to < n && periodOf(in.Calendar, unit, in.Bars.T[to]) == period {
			to++
		}
		out = append(out, stretch{from, to})
		from = to
	}
	return out
}

// sessionUnit is the calendar period of the parameter.
func sessionUnit(v Values) string {
	return map[string]string{"hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month"}[v.Text("session")]
}

// sessionHistory is the number of bars before a bar in the given number of calendar
// sessions, its own included. Sessions of a fixed number of bars have no history.
func sessionHistory(v Values, sessions int) func(Env) int {
	if _, set := v.OptionalInt("bars_per_session"); set {
		return nil
	}
	return func(env Env) int { return sessions*periodBars(env.Interval, sessionUnit(v)) - 1 }
}

// undefined returns a column without values.
func undefined(in Input) []float64 { return slices.Repeat([]float64{math.NaN()}, in.Bars.Len()) }

func setAll(s []float64, x float64) {
	for i := range s {
		s[i] = x
	}
}
