package eval_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConformance runs one small script for each rule. A line of a file in
// testdata/conformance has the rule, the script, the expected values of its plot from the
// first bar on, and where they come from: doc is the language's documentation, measured is
// a value that others measured on TradingView, hand is arithmetic by hand. \n is a new
// line, a leading v5 the older version, and a script without plot is the plot's expression.
// The bars are those of ramp: bar i closes at 100+i, opens half below and reaches 1 to
// both sides, with volumes 10, 11, 12, 10 and so on, by the hour from 2023-11-14 20:00 UTC.
func TestConformance(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/conformance/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	count := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			parts := strings.Split(line, " | ")
			if len(parts) != 4 || seen[parts[0]] {
				t.Fatalf("%s:%d: want a new rule, script, values and source: %s", file, i+1, line)
			}
			seen[parts[0]] = true
			count++
			conform(t, filepath.Base(file)+": "+parts[0], parts[1], wanted(t, parts[2]))
		}
	}
	t.Logf("%d rules", count)
}

func conform(t *testing.T, rule, script string, want []float64) {
	t.Helper()
	version := "6"
	if rest, ok := strings.CutPrefix(script, "v5 "); ok {
		version, script = "5", rest
	}
	script = strings.ReplaceAll(script, `\n`, "\n")
	if !strings.Contains(script, "plot(") {
		script = "plot(" + script + ")"
	}
	got := column(t, "//@version="+version+"\nindicator(\"t\")\n"+script+"\n", ramp(len(want)))
	for i := range want {
		if want[i]-want[i] != 0 && want[i] == want[i] {
			continue // any value
		}
		if !agree(got[i], want[i]) {
			t.Errorf("%s: got %v, want %v\n%s", rule, got, want, script)
			return
		}
	}
}
