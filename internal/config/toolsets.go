package config

import (
	"slices"
	"strings"

	"candela/internal/kit/setting"
)

// Toolset is a choice of --toolsets.
type Toolset struct {
	Name     string
	Reserved bool // not available yet
}

// everySet stands for all sets that are available.
const everySet = "all"

func availableSets(sets []Toolset) []string {
	var names []string
	for _, s := range sets {
		if !s.Reserved {
			names = append(names, s.Name)
		}
	}
	return names
}

// toolsetsField is the value of a list of tool sets, in the order of the table and each
// once.
func toolsetsField(p *[]string, sets []Toolset) value {
	available := availableSets(sets)
	allowed := strings.Join(append(slices.Clone(available), everySet), ", ") + ", separated by commas"
	var reserved []string
	for _, s := range sets {
		if s.Reserved {
			reserved = append(reserved, s.Name)
		}
	}
	if len(reserved) > 0 {
		allowed += "; " + strings.Join(reserved, " and ") + ": not available yet"
	}
	kind := setting.Kind{Shape: setting.ShapeList, Allowed: allowed}
	known := func(name string) (string, bool) { return name, name == everySet || slices.Contains(available, name) }
	return field(p, kind, func(text string) ([]string, bool) {
		names, ok := parseList(text, known)
		if slices.Contains(names, everySet) {
			names = available
		}
		chosen := slices.DeleteFunc(slices.Clone(available), func(s string) bool { return !slices.Contains(names, s) })
		return chosen, ok
	}, func(names []string) string { return strings.Join(names, ",") })
}
