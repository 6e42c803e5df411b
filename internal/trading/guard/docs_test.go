package guard_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"candela/internal/trading/guard"
)

var update = flag.Bool("update", false, "rewrite the tables in docs/trading.md")

// TestDocs_MatchTables holds the tables of the page to the code. What stands
// around them is written by hand.
func TestDocs_MatchTables(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "..", "docs", "trading.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := guard.Default()
	var rules, causes strings.Builder
	rules.WriteString("| Rule, and key in the file | Default | Denies |\n|---|---|---|\n")
	for _, r := range guard.Rules(p) {
		fmt.Fprintf(&rules, "| `%s` | %s | %s |\n", r.Name, r.Limit, r.Denies)
	}
	var deployments strings.Builder
	deployments.WriteString("| Rule | Limit | Denies |\n|---|---|---|\n")
	for _, r := range guard.DeploymentRules(p) {
		fmt.Fprintf(&deployments, "| `%s` | %s | %s |\n", r.Name, r.Limit, r.Denies)
	}
	causes.WriteString("| Restriction | State | Default limit | When | Lifted |\n|---|---|---|---|---|\n")
	for _, c := range guard.Restrictions(p) {
		fmt.Fprintf(&causes, "| `%s` | %v | %s | %s | %s |\n", c.Kind, c.Level, c.Limit, c.When, c.Lifted)
	}
	want := between(t, string(data), "<!-- rules:", rules.String())
	var settings strings.Builder
	settings.WriteString("| Key in the file | Default | Means |\n|---|---|---|\n")
	for _, s := range guard.Settings(p) {
		fmt.Fprintf(&settings, "| `%s` | %s | %s |\n", s.Name, s.Value, s.Means)
	}
	want = between(t, want, "<!-- settings:", settings.String())
	want = between(t, want, "<!-- deployment rules:", deployments.String())
	want = between(t, want, "<!-- causes:", causes.String())
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("docs/trading.md differs from the code; run with -update (-want +got):\n%s", diff)
	}
}

// between replaces what stands on the page between a mark and the next end.
func between(t *testing.T, page, mark, table string) string {
	t.Helper()
	const end = "<!-- end -->"
	before, rest, found := strings.Cut(page, mark)
	line, rest, ok := strings.Cut(rest, "\n")
	_, after, closed := strings.Cut(rest, end)
	if !found || !ok || !closed {
		t.Fatalf("docs/trading.md has no %q with its end", mark)
	}
	return before + mark + line + "\n\n" + table + "\n" + end + after
}

// TestDocs_ExampleIsSound reads the policies that the page shows. The whole one allows trading with real money.
func TestDocs_ExampleIsSound(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "trading.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(data), "```toml\n")[1:]
	if len(blocks) < 2 {
		t.Fatal("the page shows no policies")
	}
	for _, block := range blocks {
		example, _, _ := strings.Cut(block, "```")
		p, err := guard.Parse([]byte(example), conditions)
		if err != nil {
			t.Fatal(err)
		}
		whole := strings.HasPrefix(example, "# policy.toml")
		if err := p.Live(); whole && err != nil || !whole && len(guard.OwnConditions(p)) != 3 {
			t.Errorf("%s: %v", example, err)
		}
	}
}
