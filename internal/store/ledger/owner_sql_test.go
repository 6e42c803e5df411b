package ledger_test

import (
	"database/sql"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"candela/internal/store/ledger"
)

// TestStatements_NameTheOwner reads every SQL statement of this package: one, or a part of
// one, that names a table of owners must name the owner too. Those over all owners are listed
// with their reason.
func TestStatements_NameTheOwner(t *testing.T) {
	t.Parallel()
	overAll := map[string]string{
		"DELETE FROM entries WHERE seq IN (":                "the notifications of all owners end by their age",
		"SELECT seq FROM entries ORDER BY seq LIMIT ?) AND": "the same",
		"SELECT hash FROM events WHERE seq = ?":             "an operator compares a noted hash",
		"SELECT at FROM events WHERE seq = ?":               "the console of the one owner pages through the log",
		"SELECT created FROM orders WHERE id = ?":           "the same",
	}
	tables := ownerTables(t)
	if len(tables) < 8 {
		t.Fatalf("tables of owners: %v", tables)
	}
	named := regexp.MustCompile(`(?i)\b(?:FROM|INTO|UPDATE(?: OR IGNORE)?|JOIN)\s+(` + strings.Join(tables, "|") + `)\b`)
	found := 0
	for _, statement := range statements(t) {
		for _, part := range parts(statement) {
			if !named.MatchString(part) {
				continue
			}
			found++
			if !regexp.MustCompile(`(?i)\bowner\b`).MatchString(part) && !listed(part, overAll) {
				t.Errorf("a statement over owners' rows does not name the owner:\n%s\nin\n%s", part, statement)
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d statements were found", found)
	}
}

func listed(part string, overAll map[string]string) bool {
	for begin, reason := range overAll {
		if reason != "" && strings.HasPrefix(part, begin) {
			return true
		}
	}
	return false
}

// parts cuts a statement where a SELECT, an UPDATE or a DELETE begins.
func parts(statement string) []string {
	flat := strings.Join(strings.Fields(statement), " ")
	places := regexp.MustCompile(`\b(SELECT|UPDATE|DELETE|INSERT)\b`).FindAllStringIndex(flat, -1)
	var all []string
	for i, place := range places {
		end := len(flat)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		if part := flat[place[0]:end]; !strings.HasPrefix(part, "UPDATE SET") { // of an INSERT
			all = append(all, part)
		}
	}
	return all
}

// ownerTables returns the tables with a column owner.
func ownerTables(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	check(t, open(t, dir).Close())
	db, err := sql.Open("sqlite", filepath.Join(dir, ledger.FileName))
	check(t, err)
	defer func() { check(t, db.Close()) }()
	rows, err := db.QueryContext(t.Context(), "SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c WHERE m.type = 'table' AND c.name = 'owner'")
	check(t, err)
	defer func() { check(t, rows.Close()) }()
	var all []string
	for rows.Next() {
		var name string
		check(t, rows.Scan(&name))
		all = append(all, name)
	}
	check(t, rows.Err())
	return all
}

// statements returns the string literals of the package that are SQL.
func statements(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	check(t, err)
	var all []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		check(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		check(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil && regexp.MustCompile(`\b(SELECT|INSERT|UPDATE|DELETE)\b.*`).MatchString(s) {
					all = append(all, s)
				}
			}
			return true
		})
	}
	return all
}
