package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	maxLines   = 500 // of one file; see CONTRIBUTING
	tableLines = 10  // a literal longer than this is a table of data
)

// file is a file of the repository.
type file struct {
	name string // slash-separated, from the root
	data []byte
}

// repository reads every file once for all tests, which also makes the test cache
// depend on each file. A file that disappears meanwhile is skipped.
var repository = sync.OnceValues(func() (all []file, err error) {
	skip := []string{".git", ".bin", ".build", "dist", "node_modules"}
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case slices.Contains(skip, d.Name()) && d.IsDir():
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		}
		name, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		all = append(all, file{filepath.ToSlash(name), data})
		return nil
	})
	return all, err
})

// walk calls fn for every file that belongs to the repository, with its
// slash-separated path from the root and its bytes.
func walk(t *testing.T, fn func(name string, data []byte)) {
	t.Helper()
	all, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no file was read: nothing was checked")
	}
	for _, f := range all {
		fn(f.name, f.data)
	}
}

// parsedFile is a Go file.
type parsedFile struct {
	name string
	fset *token.FileSet
	file *ast.File
}

// parsedFiles parses the Go files outside testdata, once for all tests.
var parsedFiles = sync.OnceValues(func() (parsed []parsedFile, err error) {
	all, err := repository()
	for _, f := range all {
		if path.Ext(f.name) != ".go" || strings.Contains(f.name, "testdata/") {
			continue
		}
		fset := token.NewFileSet()
		one, bad := parser.ParseFile(fset, f.name, f.data, parser.ParseComments)
		if err = errors.Join(err, bad); bad == nil {
			parsed = append(parsed, parsedFile{f.name, fset, one})
		}
	}
	return parsed, err
})

// walkGo is walk over the parsed Go files outside testdata.
func walkGo(t *testing.T, fn func(name string, fset *token.FileSet, f *ast.File)) {
	t.Helper()
	all, err := parsedFiles()
	if err != nil {
		t.Error(err)
	}
	if len(all) == 0 {
		t.Fatal("no source was read: nothing was checked")
	}
	for _, p := range all {
		fn(p.name, p.fset, p.file)
	}
}

func TestFilesStayShort(t *testing.T) {
	t.Parallel()
	walkGo(t, func(name string, fset *token.FileSet, f *ast.File) {
		if n := codeLines(fset, f); n > maxLines && !ast.IsGenerated(f) {
			t.Errorf("%s has %d lines besides its tables; the ceiling is %d: split it by concept", name, n, maxLines)
		}
	})
	scripts := []string{".sh", ".bash", ".js", ".mjs", ".ts", ".py"}
	walk(t, func(name string, data []byte) {
		isScript := slices.Contains(scripts, path.Ext(name)) || bytes.HasPrefix(data, []byte("#!"))
		if n := bytes.Count(data, []byte("\n")); isScript && n > maxLines {
			t.Errorf("%s has %d lines; the ceiling is %d", name, n, maxLines)
		}
	})
}

// codeLines counts the lines of a file without its tables: composite literals
// over tableLines long with no function inside, which are data however long.
func codeLines(fset *token.FileSet, f *ast.File) int {
	lines := fset.File(f.FileStart).LineCount()
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || hasFunc(lit) {
			return true
		}
		if span := fset.Position(lit.End()).Line - fset.Position(lit.Pos()).Line; span > tableLines {
			lines -= span
		}
		return false
	})
	return lines
}

// hasFunc reports whether code hides in a literal.
func hasFunc(lit *ast.CompositeLit) bool {
	found := false
	ast.Inspect(lit, func(n ast.Node) bool {
		_, isFunc := n.(*ast.FuncLit)
		found = found || isFunc
		return !found
	})
	return found
}

func TestGoroutinesHaveOwners(t *testing.T) {
	t.Parallel()
	walkGo(t, func(name string, fset *token.FileSet, f *ast.File) {
		dir := shortName(path.Dir(name))
		if !ours(name) || strings.HasSuffix(name, "_test.go") || matchAny(goroutineOwners(), dir) || testOnly(dir) {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: a go statement outside the packages that own goroutines (%s)", fset.Position(n.Pos()), strings.Join(goroutineOwners(), ", "))
			}
			return true
		})
	})
}

// TestNoTestHidesBehindATag lets a constrained file define constants (whether
// the race detector is on, for one) but no test.
func TestNoTestHidesBehindATag(t *testing.T) {
	t.Parallel()
	walkGo(t, func(name string, _ *token.FileSet, f *ast.File) {
		if !strings.HasSuffix(name, "_test.go") || !constrained(f) {
			return
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && isTestName(fn.Name.Name) {
				t.Errorf("%s: %s stands behind a build tag, so plain go test may never run it", name, fn.Name.Name)
			}
		}
	})
}

// constrained reports whether a build constraint stands above the package clause.
func constrained(f *ast.File) bool {
	for _, group := range f.Comments {
		if group.Pos() > f.Package {
			return false
		}
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) || constraint.IsPlusBuild(c.Text) {
				return true
			}
		}
	}
	return false
}

func isTestName(name string) bool {
	return slices.ContainsFunc([]string{"Test", "Fuzz", "Benchmark", "Example"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// TestNoRegistryHost keeps the address of a package registry out of the
// repository: which mirror serves a build is the business of the machine that
// builds. A JavaScript lock file leaves them out with
// omit-lockfile-registry-resolved=true in .npmrc.
func TestNoRegistryHost(t *testing.T) {
	t.Parallel()
	// In two parts, so that this file does not trip over itself.
	hosts := []string{
		"proxy.golang" + ".org", "sum.golang" + ".org", "index.golang" + ".org", "goproxy" + ".io",
		"npmjs" + ".org", "npmjs" + ".com", "registry.yarnpkg" + ".com",
		"pypi" + ".org", "pythonhosted" + ".org", "crates" + ".io", "rubygems" + ".org",
		"deb.debian" + ".org", "archive.ubuntu" + ".com",
	}
	walk(t, func(name string, data []byte) {
		for _, host := range hosts {
			if bytes.Contains(data, []byte(host)) {
				t.Errorf("%s names the registry host %s", name, host)
			}
		}
	})
}

// TestDependenciesAreExplained compares go.mod with docs/dependencies.md.
func TestDependenciesAreExplained(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go mod edit: %v", err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	modules, _, _ := strings.Cut(string(page), "## Tools of the build")
	explained := tableKeys(modules)
	var direct []string
	for _, req := range mod.Require {
		if !req.Indirect {
			direct = append(direct, req.Path)
		}
	}
	for _, m := range direct {
		if !slices.Contains(explained, m) {
			t.Errorf("docs/dependencies.md does not say why %s is here", m)
		}
	}
	for _, m := range explained {
		if !slices.Contains(direct, m) {
			t.Errorf("docs/dependencies.md explains %s, which go.mod does not require", m)
		}
	}
}

// tableKeys returns the first column of every Markdown table row whose key is in
// back quotes.
func tableKeys(page string) []string {
	var keys []string
	for line := range strings.Lines(page) {
		rest, ok := strings.CutPrefix(line, "| `")
		if !ok {
			continue
		}
		if key, _, ok := strings.Cut(rest, "`"); ok {
			keys = append(keys, key)
		}
	}
	return keys
}
