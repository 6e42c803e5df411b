package archtest

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// The checks themselves are checked here, on sources made up for it.

func TestCodeLines_LeavesTablesOut(t *testing.T) {
	t.Parallel()
	rows := strings.Repeat("\t1,\n", 600)
	funcs := strings.Repeat("\tfunc() {},\n", 600)
	cases := map[string]struct {
		src  string
		long bool
	}{
		"a table of numbers is data":                {"package p\n\nvar t = []int{\n" + rows + "}\n", false},
		"a literal full of functions is code":       {"package p\n\nvar t = []func(){\n" + funcs + "}\n", true},
		"six hundred statements are code":           {"package p\n\nfunc f(a []int) {\n" + strings.Repeat("\ta[0]++\n", 600) + "}\n", true},
		"a comment of six hundred lines is reading": {"package p\n" + strings.Repeat("// x\n", 600), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, "x.go", tc.src, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if n := codeLines(fset, f); (n > maxLines) != tc.long {
				t.Errorf("counts %d lines", n)
			}
		})
	}
}

func TestConstrained_SeesBuildTags(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]bool{
		"//go:build race\n\npackage p\n":           true,
		"// +build race\n\npackage p\n":            true,
		"// About go:build.\npackage p\n":          false,
		"package p\n\n// see //go:build elsewhere": false,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if got := constrained(f); got != want {
			t.Errorf("%q: constrained is %v", src, got)
		}
	}
}
