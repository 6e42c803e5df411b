package eval

import (
	"slices"
	"strings"
	"testing"

	"candela/lib/pine/check"
)

// TestBuiltins_StateTheirCost finds the code of every function that is called supported, and its cost.
func TestBuiltins_StateTheirCost(t *testing.T) {
	t.Parallel()
	elsewhere := []string{"na", "timestamp", "indicator", "strategy", "library"} // conditions, folded calls and declarations
	all := library()
	priced := 0
	for _, n := range check.Names() {
		if n.Kind != "function" || n.Support != check.Supported || strings.HasPrefix(n.Name, "input") || slices.Contains(elsewhere, n.Name) {
			continue
		}
		f, b, several := plainFunction(n.Name), all[n.Name], tupleNamed(n.Name)
		switch {
		case b.build != nil && b.steps != nil, several.build != nil && several.steps != nil, f.run != nil && f.cost.steps > 0:
			priced++
		default:
			t.Errorf("%s has no code with a cost", n.Name)
		}
	}
	if priced < 300 {
		t.Errorf("only %d functions were found", priced)
	}
}
