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

// TestDocs_AreCurrent holds docs/indicators.md against the definitions.
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

// document writes the catalogue for people.
func document() string {
	var b strings.Builder
	b.WriteString(`# Indicators

<!-- Generated from the definitions in internal/analysis/indicator: go test ./internal/analysis/indicator -run Docs -update -->

Every value is computed from closed bars in float64, has one entry per bar and is empty before the first. First is the index of the
first value; stable is the number of bars after which the value no longer depends, in any bit, on where the history began: candela
fetches that many bars before the ones you asked for. Both are given for 4h bars and default parameters. Streams says whether the live
engine updates the indicator bar by bar; the others are recomputed over the window when read, because a new bar may change what they
said about old ones.

A cross upwards means: at or below on the bar before, above on this one; downwards is mirrored. A signal is confirmed by the bar whose
close made it known. Alerts fire on confirmation only.

A value within 1e-7 of a level, as 30 is one of the RSI and zero of the CMF, is at the level: on coarse ticks values meet levels on
paper, and rounding would put them on either side. ROC is compared with zero to the bit, which no rounding can change. Two lines, or
a line and the price, are compared as they were computed: where they meet on paper, the last bit may decide.

`)
	for _, k := range []Kind{Overlay, Panel, External} {
		fmt.Fprintf(&b, "## %s\n\n| Name | Aliases | First | Stable | Streams | Signals |\n|---|---|---|---|---|---|\n", kindTitle(k))
		for _, d := range All() {
			if d.Kind == k {
				b.WriteString(summaryRow(d))
			}
		}
		b.WriteString("\n")
	}
	for _, d := range All() {
		b.WriteString(entry(d))
	}
	return b.String()
}

func kindTitle(k Kind) string {
	return [...]string{"Overlays, drawn over the price", "Panels", "External, fed by other series than bars"}[k]
}

func docSelection(d Def) (*Selection, Env) {
	s, err := Resolve(Request{Name: d.Name})
	if err != nil {
		panic(err)
	}
	return s, Env{Interval: market.Hour4}
}

func summaryRow(d Def) string {
	s, env := docSelection(d)
	first, stable := s.Warmup(env)
	streams := "no"
	if s.Stream(env) != nil {
		streams = "yes"
	}
	return fmt.Sprintf("| [`%s`](#%s) | %s | %d | %d | %s | %s |\n",
		d.Name, d.Name, code(d.Aliases), first, stable, streams, code(d.Labels()))
}

func entry(d Def) string {
	var b strings.Builder
	s, _ := docSelection(d)
	fmt.Fprintf(&b, "## %s\n\n%s Shown as `%s`.\n\n%s\n\nAgrees with: %s.\n\n", d.Name, d.Doc, s.Label(), d.Formula, d.Truth)
	if len(d.Lines) > 0 {
		fmt.Fprintf(&b, "Lines: %s.\n\n", code(d.Lines))
	}
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

func code(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = "`" + n + "`"
	}
	return strings.Join(quoted, " ")
}
