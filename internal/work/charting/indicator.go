package charting

import (
	"strconv"

	"candela/lib/ta"
)

// NamedIndicator is a requested indicator: the name the client used and the selection it
// resolved to.
type NamedIndicator struct {
	Name      string
	Selection *ta.Selection
}

// keyNames returns the name of each indicator for the key of its result: as it was asked
// for. A member of a family that is asked for several times has its length too, such as
// sma_50 and sma_200.
func keyNames(all []NamedIndicator) []string {
	count := make(map[string]int, len(all))
	for _, r := range all {
		count[r.Name]++
	}
	names := make([]string, len(all))
	for i, r := range all {
		names[i] = r.Name
		if n, ok := r.Selection.Length(); ok && count[r.Name] > 1 && len(r.Selection.Def.Family().Members) > 0 {
			names[i] += "_" + strconv.Itoa(n)
		}
	}
	return names
}
