package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"strings"
	"testing"
)

// maxRepeat is how many lines in a row may stand in two places. From here on a
// change to one of them will miss the other.
const maxRepeat = 5

// codeLine is a line that says something: its tokens without comments and white
// space, and where it stands.
type codeLine struct {
	text string
	at   string
}

func TestNothingIsWrittenTwice(t *testing.T) {
	t.Parallel()
	var files [][]codeLine
	walk(t, func(name string, data []byte) {
		dir := shortName(path.Dir(name))
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") || testOnly(dir) {
			return
		}
		files = append(files, sayingLines(t, name, data))
	})
	for _, sentence := range repeats(files) {
		t.Error(sentence)
	}
}

// sayingLines splits a Go file into its lines of code. Imports, lone brackets
// and generated files are left out: they repeat by nature.
func sayingLines(t *testing.T, name string, data []byte) []codeLine {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, data, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(f) {
		return nil
	}
	first := fset.Position(f.Name.End()).Line + 1
	for _, decl := range f.Decls {
		if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.IMPORT {
			first = fset.Position(gen.End()).Line + 1
		}
	}
	var lines []codeLine
	for n, text := range tokensByLine(data) {
		if n+1 >= first && text != "" {
			lines = append(lines, codeLine{text: text, at: fmt.Sprintf("%s:%d", name, n+1)})
		}
	}
	return lines
}

// tokensByLine returns for each line its tokens, or nothing when no word or
// number is among them.
func tokensByLine(data []byte) []string {
	file := token.NewFileSet().AddFile("", -1, len(data))
	var s scanner.Scanner
	s.Init(file, data, nil, 0)
	out := make([]string, strings.Count(string(data), "\n")+1)
	says := make([]bool, len(out))
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue // put there by the scanner, not by a person
		}
		if lit == "" {
			lit = tok.String()
		}
		n := file.Line(pos) - 1
		out[n] += lit + " "
		says[n] = says[n] || tok.IsLiteral() || tok.IsKeyword()
	}
	for n := range out {
		if !says[n] {
			out[n] = ""
		}
	}
	return out
}

// repeats returns a sentence for each run of more than maxRepeat lines that has
// stood before, in the order of the files. A run is reported once, whole.
func repeats(files [][]codeLine) []string {
	type spot struct{ file, line int }
	const window = maxRepeat + 1
	var found []string
	seen := make(map[string]spot)
	for fi, lines := range files {
		for i := 0; i+window <= len(lines); {
			k := key(lines[i : i+window])
			was, again := seen[k]
			if !again {
				seen[k] = spot{fi, i}
				i++
				continue
			}
			if was.file == fi && was.line+window > i {
				i++ // a pattern that overlaps itself is one place, not two
				continue
			}
			earlier, n := files[was.file], window
			for i+n < len(lines) && was.line+n < len(earlier) && lines[i+n].text == earlier[was.line+n].text {
				n++
			}
			found = append(found, fmt.Sprintf("%s: %d lines that stand at %s already: let one piece of code serve both", lines[i].at, n, earlier[was.line].at))
			i += n
		}
	}
	return found
}

func key(lines []codeLine) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.String()
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	body := func(names string) string {
		var b strings.Builder
		b.WriteString("package p\n\nimport \"fmt\"\n\nfunc f(a []int) {\n")
		for i, name := range names {
			fmt.Fprintf(&b, "\tfmt.Sprint(%q) // line %d\n\t{\n\t}\n", name, i)
		}
		return b.String() + "}\n"
	}
	cases := map[string]struct {
		files []string
		want  int
	}{
		"six lines in two files are found":               {[]string{body("abcdef"), body("zabcdefy")}, 1},
		"six lines twice in one file are found":          {[]string{body("abcdefzabcdef")}, 1},
		"a longer run is one finding":                    {[]string{body("abcdefghij"), body("zabcdefghij")}, 1},
		"five lines are let go":                          {[]string{body("abcde"), body("zabcdey")}, 0},
		"lines of one shape with other values are legal": {[]string{body("abcdef"), body("uvwxyz")}, 0},
		"a pattern that overlaps itself is one place":    {[]string{body("aaaaaaaaa")}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := make([][]codeLine, 0, len(tc.files))
			for _, src := range tc.files {
				files = append(files, sayingLines(t, "x.go", []byte(src)))
			}
			if got := repeats(files); len(got) != tc.want {
				t.Errorf("found %q, want %d", got, tc.want)
			}
		})
	}
}
