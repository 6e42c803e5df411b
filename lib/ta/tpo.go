package ta

import "fmt"

// bracketSeconds is the length of a TPO bracket: half an hour, one letter.
const bracketSeconds = 30 * 60

func tpo() Def {
	return Def{
		Name: "tpo", Aliases: []string{"market_profile"}, Kind: Overlay, Group: GroupLevels,
		Doc: "Market Profile: time spent at each price; with the point of control and the 70 % value area.",
		Formula: "One count per 30-minute bracket for every row the bracket's range touches; a bar longer than that is one bracket. " +
			pocRule + " The value area grows two rows at a time.",
		Truth: "own definition after the public one; second derivation in the tests",
		Params: []Param{
			Int("bins", 32, 1, 500, "rows the price range is divided into"),
			side("right"), rangeBars(), opacity(), vaStep(2),
		},
		New: func(v Values) Instance {
			return &whole{
				label: fmt.Sprintf("TPO(%d)", v.Int("bins")),
				compute: func(in Input, r *Result) {
					from, to := span(in, v)
					p, ok := newProfile(in.Bars, from, to, v.Int("bins"))
					if !ok {
						return
					}
					p.addBrackets(in, from, to)
					a, ok := p.area(v.Int("va_step"))
					if !ok {
						return
					}
					r.HBars = p.bars(a, v.Text("side") == "left", false)
					r.HLines = p.levels(a)
					r.Look = profileLook(v)
				},
			}
		},
	}
}

// addBrackets counts each bracket once per row that it touches.
func (p *profile) addBrackets(in Input, from, to int) {
	b := in.Bars
	for i := from; i < to; {
		bracket := b.T[i] / bracketSeconds
		low, high, seen := 0.0, 0.0, false
		for ; i < to && b.T[i]/bracketSeconds == bracket; i++ {
			if !usable(b, i) {
				continue
			}
			if !seen {
				low, high, seen = b.L[i], b.H[i], true
			}
			low, high = min(low, b.L[i]), max(high, b.H[i])
		}
		if seen {
			p.touch(low, high)
		}
	}
}
