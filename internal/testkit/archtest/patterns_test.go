package archtest

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestPatterns holds that the product compiles no regular expression when it starts, and that those of
// lib/pattern, which are compiled when they are first used, are right.
func TestPatterns(t *testing.T) {
	t.Parallel()
	found := 0
	walkGo(t, func(name string, fset *token.FileSet, f *ast.File) {
		dir := strings.TrimPrefix(name[:max(0, strings.LastIndexByte(name, '/'))], "internal/")
		if strings.HasSuffix(name, "_test.go") || testOnly(dir) || dir == "lib/pattern" {
			return
		}
		for _, v := range packageValues(f) {
			switch argument, of := compiled(v); of {
			case "regexp.MustCompile":
				t.Errorf("%s: an expression is compiled whenever the program starts: write pattern.Of", fset.Position(v.Pos()))
			case "pattern.Of":
				found++
				if _, err := regexp.Compile(argument); err != nil || argument == "" {
					t.Errorf("%s: %q: %v", fset.Position(v.Pos()), argument, err)
				}
			}
		}
	})
	if found == 0 {
		t.Error("no expression was found: nothing was checked")
	}
}

// packageValues returns what the package variables of a file begin with.
func packageValues(f *ast.File) (all []ast.Expr) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			if v, ok := s.(*ast.ValueSpec); ok {
				all = append(all, v.Values...)
			}
		}
	}
	return all
}

// compiled returns the name of a function that is called with one text, and the text.
func compiled(e ast.Expr) (argument, of string) {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return "", ""
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	pkg, ok := f.X.(*ast.Ident)
	if !ok {
		return "", ""
	}
	if text, ok := call.Args[0].(*ast.BasicLit); ok {
		argument, _ = strconv.Unquote(text.Value) // "" is no expression
	}
	return argument, pkg.Name + "." + f.Sel.Name
}
