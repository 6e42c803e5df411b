package ta

import (
	"fmt"
	"math"

	"candela/lib/market"
)

func nakedPOC() Def {
	return Def{
		Name: "naked_poc", Aliases: []string{"npoc"}, Kind: Overlay, Group: GroupLevels,
		Doc: "Points of control of past sessions not revisited; the price often returns to them.",
		Formula: "POC of each session's volume profile. It stays naked until a later bar touches it; a gap through the level is a touch. " +
			"Drawn from the end of its session; `dPOC` is the developing POC of the current session.",
		Truth: "own definition; second derivation in the tests",
		Params: []Param{
			Int("bins", 24, 1, 500, "rows each session's range is divided into"),
			sessionChoice(), barsPerSession(),
			Int("max_sessions", 20, 1, 500, "how many past sessions to look at, newest first"),
			Bool("include_current", true, "draw the current session's developing POC"),
			Bool("keep_filled", false, "keep a touched level up to the bar that touched it"),
		},
		Lines: []string{"nPOC", "dPOC"},
		New: func(v Values) Instance {
			return &whole{
				label:   fmt.Sprintf("nPOC(%d)", v.Int("bins")),
				history: sessionHistory(v, v.Int("max_sessions")+1),
				compute: func(in Input, r *Result) { computeNakedPOC(in, v, r) },
			}
		},
	}
}

func computeNakedPOC(in Input, v Values, r *Result) {
	all := sessions(in, v)
	if len(all) == 0 {
		return
	}
	current, past := all[len(all)-1], all[:len(all)-1]
	past = past[max(0, len(past)-v.Int("max_sessions")):]
	for _, s := range past {
		p, a, ok := sessionProfile(in.Bars, s.from, s.to, v.Int("bins"))
		if !ok {
			continue
		}
		level := p.poc(a)
		end, touched := firstTouch(in.Bars, s.to, level)
		if touched && !v.Bool("keep_filled") {
			continue
		}
		values := undefined(in)
		setAll(values[s.to:end], level)
		r.Lines = append(r.Lines, Line{Label: "nPOC", Values: values, Style: Steps})
	}
	if !v.Bool("include_current") {
		return
	}
	if p, a, ok := sessionProfile(in.Bars, current.from, current.to, v.Int("bins")); ok {
		values := undefined(in)
		setAll(values[current.from:], p.poc(a))
		r.Lines = append(r.Lines, Line{Label: "dPOC", Values: values, Style: Steps})
	}
}

// firstTouch returns the index of the first bar from "from" on that touches the
// level, and whether there is one. A bar touches the level when its range, extended
// to the previous close, contains it: a gap through the level counts.
func firstTouch(b *market.Bars, from int, level float64) (end int, touched bool) {
	for i := from; i < b.Len(); i++ {
		low, high := b.L[i], b.H[i]
		if i > 0 && !math.IsNaN(b.C[i-1]) {
			low, high = min(low, b.C[i-1]), max(high, b.C[i-1])
		}
		if low <= level && level <= high {
			return i + 1, true
		}
	}
	return b.Len(), false
}
