package oauthtest

import (
	"encoding/json"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
)

// Page is docs/oauth.md as the packages two folders below the root see it.
const Page = "../../../docs/oauth.md"

// Row is one case of the tables in docs/oauth.md.
type Row struct{ Case, Answer, Test string }

// Rows returns the cases of the page.
func Rows(tb testing.TB) []Row {
	tb.Helper()
	data, err := os.ReadFile(Page)
	if err != nil {
		tb.Fatal(err)
	}
	var rows []Row
	// Every answer of every test is looked up here, and an expression over the whole page
	// would take longer than what is tested.
	for line := range strings.Lines(string(data)) {
		rest, isRow := strings.CutPrefix(line, "| ")
		rest, isCase := strings.CutSuffix(rest, "` |\n")
		name := strings.LastIndex(rest, " | `Test")
		if !isRow || !isCase || name < 0 {
			continue
		}
		answer := strings.LastIndex(rest[:name], " | ")
		if answer < 0 {
			tb.Fatalf("%s: a test without a case or an answer: %s", Page, line)
		}
		rows = append(rows, Row{rest[:answer], rest[answer+len(" | ") : name], rest[name+len(" | `"):]})
	}
	return rows
}

// Documented demands that the answer is the one which the row of this test in
// docs/oauth.md promises.
func Documented(t *testing.T, r Response) {
	t.Helper()
	for _, row := range Rows(t) {
		if row.Test != t.Name() {
			continue
		}
		if got := r.answer(); got != row.Answer {
			t.Errorf("answers %q, and docs/oauth.md says %q\n%s", got, row.Answer, r.Body)
		}
		return
	}
	t.Errorf("no row of docs/oauth.md names %s, which answers %q", t.Name(), r.answer())
}

// answer writes an answer as the tables do.
func (r Response) answer() string {
	status := strconv.Itoa(r.Status)
	if location := r.Header.Get("Location"); location != "" {
		u, err := url.Parse(location)
		switch {
		case err != nil:
			return status + " to nowhere"
		case u.Query().Get("error") != "":
			return status + " `" + u.Query().Get("error") + "`"
		case u.Query().Get("code") != "":
			return status + " with a code"
		}
		return status
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
		return status + " page"
	}
	var object struct {
		Error any `json:"error"`
	}
	if json.Unmarshal(r.Body, &object) == nil {
		if code, ok := object.Error.(string); ok {
			return status + " `" + code + "`"
		}
	}
	return status
}
