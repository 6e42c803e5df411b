package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// bannedWords maps words that comments, texts and docs avoid to the words they use
// instead. The glossary of CONTRIBUTING.md has the positive list.
func bannedWords() map[string]string {
	return map[string]string{
		`anew`:                       "again",
		`whoever|whomever`:           "the caller, the client, the owner",
		`tells?|told|telling`:        "report, return, notify, publish, show, know, distinguish",
		`eras?`:                      "login generation",
		`seats?|seated`:              "attachment, candidate",
		`census(?:es)?`:              "reconciliation",
		`keepers?`:                   "record store",
		`bourse`:                     "market, fake market",
		`in vain`:                    "without effect",
		`thrown out`:                 "rejected, revoked",
		`(?:not )?as hoped`:          "failed",
		`foretold|thereof|whereupon`: "plain English",
	}
}

// A comment that begins with one of these has a clause where its subject should be.
var clauseFirst = regexp.MustCompile(`(?m)^(?://|/\*)?\s*(Who|Whoever|What|Whatever|Whose)\b`)

// wordExceptions lists the places where a banned word is right.
func wordExceptions() []wordException {
	return []wordException{
		{"internal/testkit/archtest/words_test.go", "", "the list itself"},
		{"internal/access/oauth/seal.go", "era", "part of a stored derivation"},
		{"internal/access/oauth/store.go", "era", "JSON name of stored codes and tokens"},
		{"internal/alerting/notify/records/store.go", "seat", "subject of stored records"},
		{"internal/store/replica/logins/generation*.go", "era", "subject of a stored record"},
		{"internal/store/replica/replicatest/hostile_test.go", "era", "subject of a stored record"},
		{"internal/store/replica/table/table.go", "seat", "subject of stored records"},
		{"docs/adr/0018-*.md", "seat", "subject of stored records"},
		{"docs/adr/0020-*.md", "era", "subject of a stored record"},
		{"e2e/clients/inspector.mjs", "era", "part of a flag of that program"},
	}
}

// wordException allows one word, or every word when it is empty, in the files that
// match a path pattern.
type wordException struct {
	pattern, word, reason string
}

// wordRooms are the parts of the repository that are checked.
func wordRooms() []string {
	return []string{
		"lib/", "internal/", "cmd/", "e2e/", "deploy/", ".ci/", "bench/",
		"docs/", "skills/", ".claude-plugin/", "CHANGELOG.md", "README.md", "AGENTS.md", "CONTRIBUTING.md", "SECURITY.md", "llms.txt",
	}
}

// TestWords_ArePlain checks comments, strings, names, docs and scripts for words that a
// reader would have to learn first.
func TestWords_ArePlain(t *testing.T) {
	t.Parallel()
	exceptions := wordExceptions()
	needed := map[wordException]bool{} // whether a checked file that matches needs it
	report := func(name string, found []foundWord) {
		if !slices.ContainsFunc(wordRooms(), func(room string) bool { return strings.HasPrefix(name, room) }) {
			return
		}
		for _, e := range exceptions {
			needed[e] = needed[e] || e.allows(name, found)
		}
		for _, f := range found {
			if !slices.ContainsFunc(exceptions, func(e wordException) bool { return e.allows(name, []foundWord{f}) }) {
				t.Errorf("%s:%d: %q: write %s, or add an exception with its reason", name, f.line, f.word, f.instead)
			}
		}
	}
	walkGo(t, func(name string, fset *token.FileSet, f *ast.File) { report(name, wordsInGo(fset, f)) })
	walk(t, func(name string, data []byte) {
		if isProse(name, data) {
			report(name, wordsIn(string(data), 1))
		}
	})
	for _, e := range exceptions {
		if !needed[e] {
			t.Errorf("the exception for %q in %s is not needed", e.word, e.pattern)
		}
	}
}

// allows reports whether the exception applies to one of the words found in a file.
func (e wordException) allows(name string, found []foundWord) bool {
	if ok, _ := path.Match(e.pattern, name); !ok {
		return false
	}
	return slices.ContainsFunc(found, func(f foundWord) bool { return e.word == "" || strings.EqualFold(e.word, f.word) })
}

type foundWord struct {
	line          int
	word, instead string
}

// isProse reports whether a file is read by people as a whole: a page or a script. The
// notices are licences of others.
func isProse(name string, data []byte) bool {
	if strings.Contains(name, "testdata/") || name == "THIRD_PARTY_NOTICES.txt" {
		return false
	}
	return slices.Contains([]string{".md", ".txt", ".sh", ".mjs", ".js", ".yml", ".toml", ".service"}, path.Ext(name)) ||
		strings.HasPrefix(string(data), "#!")
}

// wordsInGo checks the comments, string literals and identifiers of a file.
func wordsInGo(fset *token.FileSet, f *ast.File) (found []foundWord) {
	for _, group := range f.Comments {
		for _, c := range group.List {
			line := fset.Position(c.Pos()).Line
			found = append(found, wordsIn(c.Text, line)...)
			if m := clauseFirst.FindStringSubmatch(c.Text); m != nil {
				found = append(found, foundWord{line, m[1], "a noun as the subject"})
			}
		}
	}
	seen := map[string]bool{} // an identifier is reported once
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				found = append(found, wordsIn(n.Value, fset.Position(n.Pos()).Line)...)
			}
		case *ast.Ident:
			if !seen[n.Name] {
				seen[n.Name] = true
				found = append(found, wordsIn(camelBorder.ReplaceAllString(n.Name, "$1 $2"), fset.Position(n.Pos()).Line)...)
			}
		}
		return true
	})
	return found
}

var camelBorder = regexp.MustCompile(`([a-z0-9])_?([A-Z])`)

// wordsIn checks a text that begins at a line.
func wordsIn(text string, line int) (found []foundWord) {
	for i, l := range strings.Split(text, "\n") {
		for _, m := range banned.FindAllString(l, -1) {
			found = append(found, foundWord{line + i, m, insteadOf(m)})
		}
	}
	return found
}

var banned = bannedPattern()

func bannedPattern() *regexp.Regexp {
	var all []string
	for words := range bannedWords() {
		all = append(all, words)
	}
	slices.Sort(all)
	return regexp.MustCompile(fmt.Sprintf(`(?i)\b(?:%s)\b`, strings.Join(all, "|")))
}

func insteadOf(word string) string {
	for words, instead := range bannedWords() {
		if regexp.MustCompile(`(?i)^(?:` + words + `)$`).MatchString(word) {
			return instead
		}
	}
	return "another word"
}

func TestWordsInGo_ReadsCommentsLiteralsAndNames(t *testing.T) {
	t.Parallel()
	cases := map[string][]string{
		"// f starts anew.\npackage p\n":                  {"anew"},
		"package p\n\nconst s = `one\nwhoever asks`\n":    {"whoever"},
		"package p\n\n// What f returns is an error.\n":   {"What"},
		"package p\n\n// f returns what it was given.\n":  nil,
		"package p\n\nfunc tellOwner() {}\n":              {"tell"},
		"package p\n\nfunc satellite() {}\n":              nil,
		"package p\n\nconst s = \"several eras, Told\"\n": {"eras", "Told"},
	}
	for src, want := range cases {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "x.go", src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range wordsInGo(fset, f) {
			got = append(got, w.word)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: found %q, want %q", src, got, want)
		}
	}
}
