package ta

import (
	"slices"
	"strings"

	"candela/lib/ta/calc"
	"candela/lib/ta/candle"
)

// candles raises the patterns of package candle as signals.
func candles() Def {
	return Def{
		Name: "candles", Aliases: []string{"cdl", "patterns"}, Kind: Overlay, Group: GroupTrend,
		Doc: "Candle patterns: 61 names with signals such as engulfing_bull and doji; `common` marks those that traders ask for most, and alerts can wait for any of them.",
		Formula: "A candle is measured against the bars before it: a long body is longer than the mean of ten, a doji at most a tenth of their mean range, " +
			"a very short shadow less than that; a long shadow is longer than the body, and prices are near within 0.2, equal within 0.05 of the mean range of five bars. " +
			"A candle that closes where it opened is white. Where two lengths are equal, they are equal: rounding never decides. " +
			"y is the low of the bar for bullish patterns and its high for others. " +
			"The trend is up when the close is above the SMA of 50 bars, with sma50_200 also that above the SMA of 200; reversals need a trend against them, " +
			"continuations one of their direction, and others none.",
		Truth: "TA-Lib 0.8 (in whole ticks at every bar; in decimals its running totals round, which decides some ties otherwise)",
		Params: []Param{
			List("patterns", "common", patternNames(), spellPattern, "patterns to mark: common, all, or names").As("pattern"),
			Choice("trend_filter", "none", []string{"none", "sma50", "sma50_200"}, "keep reversals and continuations only in the trend they belong to"),
		},
		Signals:  patternTriggers(),
		Switches: []string{"patterns"}, Members: patternMembers(),
		New: newCandles,
	}
}

// The values of the parameter patterns that name several.
const (
	allPatterns    = "all"
	commonPatterns = "common"
)

// patternNames are the values of the parameter patterns.
func patternNames() []string {
	names := append(make([]string, 0, candle.Count+2), commonPatterns, allPatterns)
	for p := range candle.Count {
		names = append(names, p.Name())
	}
	return names
}

// spellPattern understands other spellings of a pattern, such as CDLENGULFING or three
// white soldiers.
func spellPattern(s string) (string, bool) {
	p, ok := candle.Find(s)
	return p.Name(), ok
}

// patternMark is a pattern with the labels of its signals.
type patternMark struct {
	pattern                      candle.Pattern
	plain, bull, bear            string
	confirmedBull, confirmedBear string
}

// markOf returns the labels of a pattern.
func markOf(p candle.Pattern) patternMark {
	name := p.Name()
	return patternMark{
		pattern: p, plain: name, bull: name + "_bull", bear: name + "_bear",
		confirmedBull: name + "_confirmed_bull", confirmedBear: name + "_confirmed_bear",
	}
}

// patternTriggers describes the signals of all patterns.
func patternTriggers() []Trigger {
	var all []Trigger
	add := func(label, when string) {
		if when != "" {
			all = append(all, Trigger{label, when})
		}
	}
	for p := range candle.Count {
		m := markOf(p)
		add(m.plain, p.Plain())
		add(m.bull, p.Bull())
		add(m.bear, p.Bear())
		if p.Confirmed() {
			add(m.confirmedBull, "within three bars of a bullish one, price closes above its inside bar")
			add(m.confirmedBear, "within three bars of a bearish one, price closes below its inside bar")
		}
	}
	return all
}

// patternMembers are the patterns as names of their own.
func patternMembers() []Member {
	all := make([]Member, 0, candle.Count)
	triggers := patternTriggers()
	for p := range candle.Count {
		m := Member{Name: p.Name(), Fixed: map[string]any{"patterns": p.Name()}}
		var meanings []string
		for _, t := range triggers {
			if t.Label == p.Name() || strings.HasPrefix(t.Label, p.Name()+"_") {
				m.Signals = append(m.Signals, t.Label)
				meanings = append(meanings, t.When)
			}
		}
		m.Doc = p.Title() + ", a candle pattern; " + strings.Join(meanings, "; ") + "."
		all = append(all, m)
	}
	return all
}

// patternLabels returns the labels of all patterns.
func patternLabels() []string {
	triggers := patternTriggers()
	labels := make([]string, 0, len(triggers))
	for _, t := range triggers {
		labels = append(labels, t.Label)
	}
	return labels
}

// chosenPatterns returns the patterns that a value of the parameter names.
func chosenPatterns(value string) []candle.Pattern {
	chosen := strings.Split(value, ",")
	var all []candle.Pattern
	for p := range candle.Count {
		if slices.Contains(chosen, p.Name()) || p.Common() && slices.Contains(chosen, commonPatterns) || slices.Contains(chosen, allPatterns) {
			all = append(all, p)
		}
	}
	return all
}

// patternBars is the number of bars after which values depend on no earlier ones: the
// longest pattern with its means, and the wait for a confirmation.
const patternBars = 20

func newCandles(v Values) Instance {
	chosen := chosenPatterns(v.Text("patterns"))
	marks, first := make([]patternMark, 0, len(chosen)), 0
	for _, p := range chosen {
		marks = append(marks, markOf(p))
		first = max(first, p.Lookback())
	}
	filter := v.Text("trend_filter")
	bars := trendBars(filter)
	label := "Candles"
	if len(marks) == 1 {
		label = marks[0].pattern.Title()
	}
	if len(bars) > 0 {
		label += "(" + filter + ")"
	}
	return &series{
		label: label, first: max(first, slices.Max(append(bars, 1))-1), stable: slices.Max(append(bars, patternBars)),
		begin: func(m *calc.Slab, _ Env) step {
			s := patternStep{state: candle.New(m), marks: marks}
			for _, n := range bars {
				s.means = append(s.means, m.SMA(n))
			}
			return s.next
		},
	}
}

// trendBars are the bars of the means that a filter compares, the shorter first.
func trendBars(filter string) []int {
	switch filter {
	case "sma50":
		return []int{50}
	case "sma50_200":
		return []int{50, 200}
	}
	return nil
}

// patternStep raises the signals of some patterns.
type patternStep struct {
	state *candle.State
	marks []patternMark
	means []calc.SMAState // of the trend filter, the shorter first
}

func (s *patternStep) next(r *Row) {
	b := r.Bar
	s.state.Step(b.O, b.H, b.L, b.C)
	trend := s.trend(r)
	for i := range s.marks {
		m := &s.marks[i]
		value := s.state.Value(m.pattern)
		if value == 0 {
			continue
		}
		side := 1
		if value < 0 {
			side = -1
		}
		if len(s.means) == 0 || fits(m.pattern.Role(), side, trend) {
			m.raise(r, value)
		}
	}
}

// trend is 1 where the close and the means lie above each other in the order of an
// uptrend, -1 in that of a downtrend, else 0.
func (s *patternStep) trend(r *Row) int {
	up, down, price := true, true, r.Bar.C
	for i := range s.means {
		mean := s.means[i].Step(r.Slot, r.Bar.C)
		d := calc.Difference(price, mean)
		up, down, price = up && d > 0, down && d < 0, mean
	}
	switch {
	case up && !down:
		return 1
	case down && !up:
		return -1
	}
	return 0
}

// fits reports whether a pattern means what it says in the trend.
func fits(role candle.Role, side, trend int) bool {
	switch role {
	case candle.Reversal:
		return trend == -side
	case candle.Continuation:
		return trend == side
	default:
		return true
	}
}

// raise raises the signal of a value.
func (m *patternMark) raise(r *Row, value int) {
	switch {
	case m.pattern.Plain() != "":
		r.Signal(m.plain, r.Bar.H)
	case value > 100:
		r.Signal(m.confirmedBull, r.Bar.L)
	case value < -100:
		r.Signal(m.confirmedBear, r.Bar.H)
	case value > 0:
		r.Signal(m.bull, r.Bar.L)
	default:
		r.Signal(m.bear, r.Bar.H)
	}
}
