package admin

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/kit/meter"
	"candela/internal/testkit/pagetest"
)

var update = flag.Bool("update", false, "rewrite the table in docs/operations.md")

func reading() meter.Reading {
	var h meter.Histogram
	for _, took := range []time.Duration{time.Microsecond, time.Millisecond, 3 * time.Millisecond, time.Minute} {
		h.Observe(took)
	}
	return h.Read()
}

// TestDocs_HaveTheTable holds the page to the table it describes.
func TestDocs_HaveTheTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| Metric | Kind | Labels | |\n|---|---|---|---|\n")
	for _, m := range table() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s%s |\n", m.name, m.kind, strings.Join(m.labels, ", "), strings.TrimSuffix(m.help, "."), m.only)
	}
	pagetest.Part(t, "docs/operations.md", "metrics", "go test ./internal/serve/admin -update", b.String(), *update)
}

// used returns the metrics that an expression names.
func used(expr string) []string {
	return regexp.MustCompile(`\b(?:candela|go|process)_[a-z_]+`).FindAllString(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(expr, ""), -1)
}

// holdAgainst complains of a metric that an expression names and that there is not.
func holdAgainst(t *testing.T, expr string) map[string]bool {
	t.Helper()
	known := names(t, full())
	seen := map[string]bool{}
	for _, name := range used(expr) {
		plain := name
		for _, m := range table() {
			if m.kind == histogram {
				for _, suffix := range []string{"_bucket", "_sum", "_count"} {
					if name == m.name+suffix {
						plain = m.name
					}
				}
			}
		}
		if !slices.Contains(known, plain) {
			t.Errorf("%s names %s, which there is not", expr, name)
		}
		seen[plain] = true
	}
	return seen
}

// TestDashboard_NamesWhatThereIs reads the dashboard as Grafana does, and wants every
// metric of ours on it.
func TestDashboard_NamesWhatThereIs(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "grafana", "candela.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, RefID string }
		}
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	shown, ids := map[string]bool{}, map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || p.GridPos.X+p.GridPos.W > 24 || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			found := holdAgainst(t, target.Expr)
			if len(found) == 0 {
				t.Errorf("%q shows nothing of ours: %s", p.Title, target.Expr)
			}
			maps.Copy(shown, found)
		}
	}
	for _, m := range table() {
		if !shown[m.name] {
			t.Errorf("%s is on no panel", m.name)
		}
	}
}

// TestRules_NameWhatThereIs holds the alert rules against the table, and lets
// promtool read and try them.
func TestRules_NameWhatThereIs(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "..", "deploy", "prometheus")
	data, err := os.ReadFile(filepath.Join(dir, "rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	rules := 0
	for line := range strings.Lines(string(data)) {
		if expr, ok := strings.CutPrefix(strings.TrimSpace(line), "expr:"); ok {
			holdAgainst(t, expr)
			rules++
		}
	}
	if rules == 0 || rules != strings.Count(string(data), "- alert:") {
		t.Errorf("%d expressions", rules)
	}
}

func TestRules_PromtoolTakesThem(t *testing.T) {
	t.Parallel()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed: nobody but Prometheus knows its rules")
	}
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}} {
		cmd := exec.CommandContext(t.Context(), tool, args...)
		cmd.Dir = filepath.Join("..", "..", "..", "deploy", "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	// Prometheus must accept the output.
	_, text := ask(t, full(), "/metrics")
	cmd := exec.CommandContext(t.Context(), tool, "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
