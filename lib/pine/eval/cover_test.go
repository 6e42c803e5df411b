package eval_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"candela/lib/pine/check"
)

// groups are the files in testdata/conformance with the names that they have the cases of: a
// namespace ends in a dot. Names that no file has are those of time.txt.
var groups = map[string]string{
	"arrays": "array.", "colors": "color.", "inputs": "input input.", "maps": "map.", "math": "math.", "matrices": "matrix.", "na": "fixnan na nz",
	"strategies": "strategy.", "strings": "str.", "ta": "ta.", "requests": "request. syminfo. ticker.",
	"bars":     "bar_index close high hl2 hlc3 hlcc4 last_bar_index low n ohlc4 open volume barstate. chart. session.",
	"drawings": "box. chart.point. label. line. linefill. polyline. table.",
	"outputs":  "alert alertcondition barcolor bgcolor fill hline plot plotarrow plotbar plotcandle plotchar plotshape log. runtime.",
	"types":    "bool box color float int label line linefill polyline string table",
}

// groupOf returns the file that has the cases of a name.
func groupOf(name string) string {
	for i := len(name); i > 0; i = strings.LastIndexByte(name[:i-1], '.') + 1 {
		for group, names := range groups {
			if slices.Contains(strings.Fields(names), name[:i]) {
				return group
			}
		}
	}
	return "time"
}

// builtinsOf returns the built-ins that a script uses, as "function ta.sma" and "variable close".
func builtinsOf(p *check.Program) map[string]bool {
	used := map[string]bool{}
	visit := func(e check.Expr) bool {
		switch e := e.(type) {
		case *check.Call:
			if e.Builtin != nil {
				used["function "+e.Builtin.Name] = true
			}
		case *check.BuiltinVar:
			used["variable "+e.Name] = true
		}
		return true
	}
	check.WalkBlock(p.Body, visit, nil)
	for _, f := range p.Funcs {
		check.WalkBlock(f.Body, visit, nil)
	}
	return used
}

// TestConformance_CoversEveryName holds that each name that candela supports is used by a case of its group. Inputs and
// casts are no calls after the checker, and n is bar_index; the text of a case has them.
func TestConformance_CoversEveryName(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`[a-z_][a-z_.0-9]*`)
	used := map[string]map[string]bool{}
	missing := map[string][]string{}
	for _, n := range check.Names() {
		if n.Kind == "constant" || n.Support != check.Supported || slices.Contains([]string{"indicator", "library", "strategy"}, n.Name) {
			continue
		}
		group := groupOf(n.Name)
		if used[group] == nil {
			used[group] = map[string]bool{}
			text, err := os.ReadFile("testdata/conformance/" + group + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				c := parseCase(t, line)
				if p, _ := check.Check(c.source, check.Options{}); p != nil {
					maps.Copy(used[group], builtinsOf(p))
				}
				for _, word := range words.FindAllString(c.source, -1) {
					used[group][word] = true
				}
			}
		}
		written := (group == "inputs" || group == "types" || n.Name == "n") && used[group][n.Name]
		if !written && !used[group][n.Kind+" "+n.Name] {
			missing[group] = append(missing[group], n.Kind+" "+n.Name)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("testdata/conformance/%s.txt has no case of %s", group, strings.Join(missing[group], ", "))
	}
}
