package indicator

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candela/internal/market"
)

var update = flag.Bool("update", false, "rewrite docs/indicators.md")

// TestDocs_AreCurrent compares docs/indicators.md with the definitions.
func TestDocs_AreCurrent(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "docs", "indicators.md")
	want := document()
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
		t.Error("docs/indicators.md is stale: run go test ./internal/analysis/indicator -run Docs -update")
	}
}

// document renders the catalogue as a page, by subject.
func document() string {
	var b strings.Builder
	b.WriteString(`# Indicators

<!-- Generated from the definitions in internal/analysis/indicator: go test ./internal/analysis/indicator -run Docs -update -->

Every value is a float64 computed from closed bars, with one entry per bar, empty before the first value. To find an indicator,
search this page for any name that you know it by: the tables list the other spellings that candela understands.
[gallery.md](gallery.md) shows a picture of each.

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
		fmt.Fprintf(&b, "- [%s](#%s-indicators): %s\n", title(g), g, code(named(g)))
	}
	b.WriteString("\n")
	for _, g := range Groups() {
		fmt.Fprintf(&b, "## %s indicators\n\n| Name | Also | Shows |\n|---|---|---|\n", title(g))
		for _, d := range All() {
			if d.Group == g {
				fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", d.Name, d.Name, code(d.Aliases), d.Summary())
			}
		}
		b.WriteString("\n")
		for _, d := range All() {
			if d.Group == g {
				b.WriteString(entry(d))
			}
		}
	}
	return b.String()
}

func title(g Group) string { return strings.ToUpper(string(g[:1])) + string(g[1:]) }

// named returns the names of a group.
func named(g Group) []string {
	var names []string
	for _, d := range All() {
		if d.Group == g {
			names = append(names, d.Name)
		}
	}
	return names
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
	fmt.Fprintf(&b, "### %s\n\n%s %s\n\n%s\n\nAgrees with: %s.\n\n", d.Name, d.Doc, facts(d, s, env), d.Formula, d.Truth)
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
