package oauth_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
)

// TestDocs_TablesNameEveryTest compares the tables of docs/oauth.md with the tests
// of this package and of httpd, both ways: a row without a test would promise
// what nobody checks, a test without a row would check an undocumented rule. That
// the answers agree is checked by each test itself.
func TestDocs_TablesNameEveryTest(t *testing.T) {
	t.Parallel()
	var promised []string
	for _, row := range Rows(t) {
		promised = append(promised, row.Test)
	}
	// These have no answer of their own: one is about the start, one about words.
	promised = append(promised, "TestConsent_AutoApproveRefusedOffLoopback", "TestConsent_Says")
	slices.Sort(promised)
	if diff := cmp.Diff(promised, tests(t)); diff != "" {
		t.Errorf("docs/oauth.md (-) and the tests (+) differ:\n%s", diff)
	}
}

func tests(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../*/*/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`^Test(SignIn|Register|Authorize|Consent|Token|Resource|Restart)_`)
	var names []string
	for _, file := range files {
		dir := filepath.Base(filepath.Dir(file))
		if dir != "oauth" && dir != "httpd" {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && named.MatchString(fn.Name.Name) {
				names = append(names, fn.Name.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}
