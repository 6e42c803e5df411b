package conformancetest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"candela/internal/serve/mcp/mcptest"
	"candela/internal/testkit/sharedtest"
)

const page = "../../../docs/conformance.md"

// TestPage_IsFresh compares the page with what the claims say.
func TestPage_IsFresh(t *testing.T) {
	t.Parallel()
	got := []byte(render())
	if *mcptest.Update {
		if err := os.WriteFile(page, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale; run this test with -update", page)
	}
}

func render() string {
	var b strings.Builder
	proven := 0
	for _, s := range sections() {
		proven += len(s.claims)
	}
	fmt.Fprintf(&b, `# Conformance

Each sentence of nine parts of the interface, with the tests that prove it. Cells of its tables are separated by semicolons.
Sentences that only say what the interface leaves open are not listed. %d sentences are proven.

`+"`internal/testkit/conformancetest`"+` writes this page. It fails when a sentence of the interface is missing here, when a named test
does not exist, and when the page is stale.
`, proven)
	for _, s := range sections() {
		fmt.Fprintf(&b, "\n## %s\n\n| Sentence | Proven by |\n|---|---|\n", s.title)
		for _, c := range s.claims {
			fmt.Fprintf(&b, "| %s | %s |\n", cell(c.sentence), names(c.tests))
		}
	}
	return b.String()
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func names(tests []string) string {
	quoted := make([]string, len(tests))
	for i, name := range tests {
		quoted[i] = "`" + name + "`"
	}
	return strings.Join(quoted, ", ")
}

// TestEveryClaimIsProven demands a test for each sentence, and that every test
// named exists.
func TestEveryClaimIsProven(t *testing.T) {
	t.Parallel()
	known := map[string]map[string]bool{}
	for _, s := range sections() {
		for _, c := range s.claims {
			if len(c.tests) == 0 {
				t.Errorf("nothing proves: %s", c.sentence)
			}
			for _, name := range c.tests {
				pkg, rest, _ := strings.Cut(name, ".")
				function, sub, _ := strings.Cut(rest, "/")
				if known[pkg] == nil {
					known[pkg] = testsOf(t, packageDir(t, pkg))
				}
				if !known[pkg][function] || sub != "" && !known[pkg][sub] {
					t.Errorf("there is no test %s", name)
				}
			}
		}
	}
}

// packageDir returns the folder of a package named without its room, or of one of the
// end-to-end tests.
func packageDir(t *testing.T, pkg string) string {
	t.Helper()
	for _, pattern := range []string{"../../../", "../../", "../../*/", "../../*/*/"} {
		if dirs, err := filepath.Glob(pattern + pkg); err != nil || len(dirs) > 0 {
			return dirs[0]
		}
	}
	t.Fatalf("there is no package %s", pkg)
	return ""
}

// testsOf returns the test functions of a package and the names of its
// transcripts, which are subtests.
func testsOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				found[f.Name.Name] = true
			}
		}
	}
	transcripts, err := filepath.Glob(filepath.Join(dir, "testdata", "*", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range transcripts {
		found[strings.TrimSuffix(filepath.Base(file), ".txtar")] = true
	}
	return found
}

// TestNoSentenceIsMissing reads the interface itself.
func TestNoSentenceIsMissing(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(sharedtest.Path(t, "spec/interface.md"))
	if err != nil {
		t.Fatal(err)
	}
	spec := sentences(string(text))
	for _, s := range sections() {
		var claimed []string
		for _, c := range s.claims {
			claimed = append(claimed, c.sentence)
			if !slices.Contains(spec[s.title], c.sentence) {
				t.Errorf("%s: the interface does not say: %s", s.title, c.sentence)
			}
		}
		if len(spec[s.title]) == 0 {
			t.Errorf("the interface has no part %q", s.title)
		}
		for _, sentence := range spec[s.title] {
			if !slices.Contains(claimed, sentence) {
				t.Errorf("%s: no claim for: %s", s.title, sentence)
			}
		}
	}
}

// sentences returns what each part of the interface says: the rows of its tables
// and the sentences of its text, without those that only name an open point or
// announce a table.
func sentences(text string) map[string][]string {
	said := map[string][]string{}
	part := ""
	lines := strings.Split(text, "\n")
	end := regexp.MustCompile(`[.)]\s+[A-Z]`)
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "#### "):
		case strings.HasPrefix(line, "#"):
			part, _, _ = strings.Cut(strings.TrimLeft(line, "# "), " (")
		case strings.HasPrefix(line, "|---"), i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|---"):
		case strings.HasPrefix(line, "|"):
			cells := strings.Split(strings.Trim(line, "| "), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			said[part] = append(said[part], strings.Join(cells, "; "))
		default:
			rest := regexp.MustCompile(`^(\d+\.|-) `).ReplaceAllString(strings.TrimSpace(line), "")
			for rest != "" {
				sentence := rest
				if at := end.FindStringIndex(rest); at != nil {
					sentence, rest = rest[:at[0]+1], strings.TrimSpace(rest[at[0]+1:])
				} else {
					rest = ""
				}
				if !strings.HasSuffix(sentence, "not shown.") && !strings.HasSuffix(sentence, ":") {
					said[part] = append(said[part], sentence)
				}
			}
		}
	}
	return said
}
