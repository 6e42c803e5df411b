package fault

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns up to three of the known names that look like name, best
// first, for "did you mean". It returns none when nothing is near enough:
// a far-fetched suggestion misleads a model more than silence does.
func Nearest(name string, known []string) []string {
	type scored struct {
		name     string
		distance int
	}
	want := strings.ToLower(name)
	limit := max(1, len(want)/3)
	var near []scored
	for _, candidate := range known {
		got := strings.ToLower(candidate)
		d := editDistance(want, got)
		if d > limit && len(want) >= 2 && (strings.HasPrefix(got, want) || strings.HasPrefix(want, got) && len(got) >= 2) {
			d = limit
		}
		if d <= limit {
			near = append(near, scored{candidate, d})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int { return cmp.Compare(a.distance, b.distance) })
	names := make([]string, 0, 3)
	for _, s := range near[:min(3, len(near))] {
		names = append(names, s.name)
	}
	return names
}

// editDistance counts the insertions, deletions, substitutions and swaps of
// neighbours that turn a into b. Names are short, so the plain table is enough;
// inputs beyond 64 bytes are cut because a longer name is no near miss.
func editDistance(a, b string) int {
	a, b = a[:min(len(a), 64)], b[:min(len(b), 64)]
	before, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(b)]
}
