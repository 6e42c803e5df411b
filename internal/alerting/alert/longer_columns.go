package alert

import "candela/lib/market"

// LongerBars are the bars of a longer interval beside those of an alert.
type LongerBars struct {
	Bars *market.Bars
	// Newest has, for each bar of the alert, the index of the newest longer bar that had closed by
	// then; -1 for none.
	Newest []int
}

// longerNode is a member on longer bars: what it says of each, and which is the newest.
type longerNode struct {
	LongerBars
	said *Verdicts
}

func bindLonger(n *node, rows map[*indicatorGroup]*Columns, bars LongerBars) *longerNode {
	said := &Verdicts{bars: bars.Bars, word: -1}
	said.root = said.bind(n, rows, nil) // a member has no members
	return &longerNode{bars, said}
}

// word returns what the member says of n bars of the alert, as [node.evaluate] does at one.
func (l *longerNode) word(base, n int) (out verdicts) {
	for i := range n {
		newest := l.Newest[base+i]
		if newest < 0 {
			continue
		}
		said, bit := l.said.at(newest/wordBars), newest%wordBars
		holds := said.holds >> bit & 1
		out.holds |= holds << i
		if base+i > 0 && l.Newest[base+i-1] == newest {
			out.held |= holds << i
			continue
		}
		out.rises |= (said.rises >> bit & 1) << i
		out.held |= (said.held >> bit & 1) << i
	}
	return out
}
