package ta

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"candela/lib/market"
)

var update = flag.Bool("update", false, "rewrite docs/indicators")

// The pages, and the pictures that the tests of the charts hold.
const (
	docsDir = "../../docs/indicators"
	golden  = "../../lib/chart/testdata/golden/indicator_%s.png"
	maximal = 20 << 10 // bytes of the index
)

// TestDocs_AreCurrent compares the pages of docs/indicators with the definitions.
func TestDocs_AreCurrent(t *testing.T) {
	t.Parallel()
	pages := map[string]string{"README.md": index()}
	for _, g := range Groups() {
		pages[string(g)+".md"] = groupPage(g)
	}
	for name, want := range pages {
		path := filepath.Join(docsDir, name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("docs/indicators/%s is stale: run go test ./lib/ta -run Docs -update", name)
		}
	}
	if n := len(pages["README.md"]); n > maximal {
		t.Errorf("docs/indicators/README.md has %d bytes, at most %d are allowed", n, maximal)
	}
	if files, err := os.ReadDir(docsDir); err != nil || len(files) != len(pages) {
		t.Errorf("docs/indicators has %d files instead of %d; remove the page of a group that is gone (%v)", len(files), len(pages), err)
	}
}

// TestDocs_ShowEveryIndicator finds an indicator without a picture.
func TestDocs_ShowEveryIndicator(t *testing.T) {
	t.Parallel()
	for _, d := range All() {
		if _, err := os.Stat(filepath.Join(docsDir, fmt.Sprintf(golden, d.Name))); err != nil {
			t.Errorf("%s has no picture: run go test ./lib/chart -update (%v)", d.Name, err)
		}
	}
}

const generated = "<!-- Generated from the definitions in lib/ta: go test ./lib/ta -run Docs -update -->\n\n"

// index renders what holds for all indicators, and a table of each group.
func index() string {
	var b strings.Builder
	b.WriteString("# Indicators\n\n" + generated + `Every value is a float64 computed from closed bars, with one entry per bar, empty before the first value. To find an indicator,
search this page for any name that you know it by: the tables list the other spellings that candela understands.

The first value of an indicator is at the bar *first*, counted from 0. After *stable* bars a value no longer depends, in any bit, on
the start of the history; candela reads that many bars before the ones you request. Both are for 4h bars and default parameters. An
indicator that *streams* is updated bar by bar; the others are recomputed over the window, because a new bar may change earlier
values.

A line crosses upwards when it was at or below on the previous bar and is above on this one; downwards is mirrored. A signal is
confirmed by the bar whose close made it known. Alerts fire only on confirmation.

A value within 1e-7 of a level, such as 30 for the RSI or zero for the CMF, is at the level, because on coarse ticks rounding would
move it to either side. ROC is compared with zero exactly. Two lines, or a line and the price, are compared as computed; where they
are equal before rounding, the last bit may decide.
`)
	for _, g := range Groups() {
		fmt.Fprintf(&b, "\n## [%s](%s.md)\n\n| Name | Also | Shows |\n|---|---|---|\n", title(g), g)
		for _, d := range of(g) {
			fmt.Fprintf(&b, "| [`%s`](%s.md#%s) | %s | %s |\n", d.Name, g, d.Name, code(d.Aliases), d.Summary())
		}
	}
	b.WriteString("\n## Kinds of charts\n\nDrawn by candela from synthetic bars.\n")
	for _, c := range kinds() {
		fmt.Fprintf(&b, "\n%s:\n\n![%s](../../lib/chart/testdata/golden/%s.png)\n", c.caption, c.caption, c.picture)
	}
	return b.String()
}

// kinds are pictures of the tests of charts that show what a chart may have besides indicators.
func kinds() []struct{ caption, picture string } {
	return []struct{ caption, picture string }{
		{"Overlays, a volume profile, signals and panels", "default"},
		{"The light theme", "light"},
		{"Symbols compared in per cent", "compare"},
		{"Drawings: a level, lines, a ray, a Fibonacci retracement, a box and a text", "drawings"},
		{"A logarithmic scale", "log"},
		{"Six panels", "panels_6"},
		{"Sessions of an exchange, without its closed hours", "sessions"},
		{"A position, orders, alerts and fills", "levels"},
		{"A Pine script with its own colours", "script"},
		{"Tables of a Pine script", "script_tables"},
	}
}

// groupPage renders the indicators of one group, each with its picture.
func groupPage(g Group) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s indicators\n\n%sThe pictures are of synthetic bars and default parameters. [Indicators](README.md) says what the words mean.\n\n", title(g), generated)
	for _, d := range of(g) {
		b.WriteString(entry(d))
	}
	return b.String()
}

func title(g Group) string { return strings.ToUpper(string(g[:1])) + string(g[1:]) }

// of returns the indicators of a group.
func of(g Group) []Def {
	return slices.DeleteFunc(slices.Clone(All()), func(d Def) bool { return d.Group != g })
}

func docSelection(d Def) (*Selection, Env) {
	s, err := Resolve(Request{Name: d.Name})
	if err != nil {
		panic(err)
	}
	return s, Env{Interval: market.Hour4}
}

// facts says where an indicator is drawn, when its values begin and whether it streams.
func facts(d Def, s *Selection, env Env) string {
	first, stable := s.Warmup(env)
	streams := "streams"
	if s.Stream(env) == nil {
		streams = "is recomputed"
	}
	place := [...]string{"Drawn over the price", "Drawn in a panel", "Drawn in a panel, from series other than bars"}[d.Kind]
	return fmt.Sprintf("%s as `%s`; first %d, stable %d, %s.", place, s.Label(), first, stable, streams)
}

func entry(d Def) string {
	var b strings.Builder
	s, env := docSelection(d)
	fmt.Fprintf(&b, "## %s\n\n%s %s\n\n![%s]("+golden+")\n\n%s\n\nAgrees with: %s.\n\n",
		d.Name, d.Doc, facts(d, s, env), d.Name, d.Name, d.Formula, d.Truth)
	if len(d.Lines) > 0 {
		fmt.Fprintf(&b, "Lines: %s.\n\n", code(d.Lines))
	}
	b.WriteString(members(d))
	if len(d.Params) > 0 {
		b.WriteString("| Parameter | Type | Default | Allowed | Meaning |\n|---|---|---|---|---|\n")
		for _, p := range d.Params {
			def := "unset"
			if p.Default != nil {
				def = fmt.Sprint(p.Default)
			}
			names := append([]string{p.Name}, p.Aliases...)
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code(names), p.Kind, def, p.allowed(), p.Doc)
		}
		b.WriteString("\n")
	}
	if len(d.Signals) > 0 {
		b.WriteString("| Signal | Raised when |\n|---|---|\n")
		for _, g := range d.Signals {
			fmt.Fprintf(&b, "| `%s` | %s |\n", g.Label, g.When)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// members lists the names of a family's own, with what each is.
func members(d Def) string {
	if len(d.Members) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("| Name of its own | Also | Shows |\n|---|---|---|\n")
	for _, m := range d.Members {
		own := d.member(&m)
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", m.Name, code(m.Aliases), own.Summary())
	}
	return b.String() + "\n"
}

func code(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = "`" + n + "`"
	}
	return strings.Join(quoted, " ")
}
