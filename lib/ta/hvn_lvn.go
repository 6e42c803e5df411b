package ta

import (
	"cmp"
	"fmt"
	"slices"
)

func hvnLVN() Def {
	return Def{
		Name: "hvn_lvn", Aliases: []string{"vp_nodes", "volume_nodes"}, Kind: Overlay, Group: GroupLevels,
		Doc: "High and low volume nodes; prices where trading clustered, often support or resistance, and prices it moved through quickly.",
		Formula: "Rows of a volume profile. HVN: a row above all `neighborhood` rows on both sides, by at least `min_prominence` of the heaviest row over the highest of them. " +
			"LVN: a row below all of them, by at least that much under the highest of them. Sorted by prominence.",
		Truth: "own definition; second derivation in the tests",
		Params: []Param{
			Int("bins", 48, 3, 500, "rows the price range is divided into"),
			rangeBars(),
			Int("neighborhood", 2, 1, 50, "rows on each side a node is compared with"),
			Num("min_prominence", 0.10, 0, 1, "least difference, as a share of the heaviest row"),
			OptionalInt("top_n", 1, 500, "keep only so many nodes of each sort; unset: all"),
			Bool("show_hvn", true, "show high volume nodes"),
			Bool("show_lvn", true, "show low volume nodes"),
		},
		New: func(v Values) Instance {
			return &whole{
				label: fmt.Sprintf("HVN/LVN(%d)", v.Int("bins")),
				compute: func(in Input, r *Result) {
					p, ok := visibleVolume(in, v)
					if !ok {
						return
					}
					high, low := p.nodes(v.Int("neighborhood"), v.Num("min_prominence"))
					if v.Bool("show_hvn") {
						r.HLines = append(r.HLines, p.nodeLines(high, "HVN", Primary, v)...)
					}
					if v.Bool("show_lvn") {
						r.HLines = append(r.HLines, p.nodeLines(low, "LVN", Secondary, v)...)
					}
				},
			}
		},
	}
}

type node struct {
	row        int
	prominence float64
}

// nodes finds the rows that stand out from k neighbours on each side. Rows at the
// edge of the range, without k neighbours, are not nodes.
func (p *profile) nodes(k int, least float64) (high, low []node) {
	heaviest := slices.Max(p.total)
	for r := k; r < len(p.total)-k; r++ {
		v, top, bottom := p.total[r], 0.0, heaviest
		for d := 1; d <= k; d++ {
			top = max(top, p.total[r-d], p.total[r+d])
			bottom = min(bottom, p.total[r-d], p.total[r+d])
		}
		switch {
		case v > top && v-top >= float64(least*heaviest):
			high = append(high, node{r, v - top})
		case v < bottom && top-v >= float64(least*heaviest):
			low = append(low, node{r, top - v})
		}
	}
	byProminence := func(a, b node) int { return cmp.Compare(b.prominence, a.prominence) }
	slices.SortStableFunc(high, byProminence)
	slices.SortStableFunc(low, byProminence)
	return high, low
}

func (p *profile) nodeLines(nodes []node, label string, style HLineStyle, v Values) []HLine {
	if n, set := v.OptionalInt("top_n"); set {
		nodes = nodes[:min(n, len(nodes))]
	}
	lines := make([]HLine, len(nodes))
	for i, nd := range nodes {
		lines[i] = HLine{Y: p.centre(nd.row), Label: label, Style: style}
	}
	return lines
}
