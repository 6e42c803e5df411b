package fault

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns up to three known names similar to name, best first, for "did you
// mean". It returns none if nothing is near enough: a wrong suggestion misleads a model.
//
// A name is near if it is within one edit per three letters, starts or ends with name, or
// is at least the first half of it. Case, spaces, dashes and underscores are ignored.
func Nearest(name string, known []string) []string {
	type scored struct {
		name             string
		distance, length int
	}
	want := plain(name)
	if len(want) < 2 {
		return nil // one letter is within one edit of every other
	}
	limit := max(1, len(want)/3)
	var near []scored
	for _, candidate := range known {
		got := plain(candidate)
		d := editDistance(want, got)
		completes := strings.HasPrefix(got, want)
		begins := strings.HasPrefix(want, got) && 2*len(got) >= len(want)
		ends := len(want) > 3 && strings.HasSuffix(got, want)
		if d > limit && (completes || begins || ends) {
			d = limit
		}
		if d <= limit && d < max(len(want), len(got))-1 {
			near = append(near, scored{candidate, d, max(len(got)-len(want), len(want)-len(got))})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.length, b.length))
	})
	names := make([]string, 0, 3)
	for _, s := range near[:min(3, len(near))] {
		names = append(names, s.name)
	}
	return names
}

// plain normalises a name and truncates it to 64 bytes.
func plain(name string) string {
	name = strings.ToLower(name[:min(len(name), 64)])
	if !strings.ContainsAny(name, " -_") {
		return name // as most are; a replacer is costly to make
	}
	return strings.NewReplacer(" ", "", "-", "", "_", "").Replace(name)
}

// editDistance counts the insertions, deletions, substitutions and swaps of neighbours
// that turn a into b.
func editDistance(a, b string) int {
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
