package archtest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityPage_NamesExistingTests checks that every row of docs/security.md names a
// test and that each named test exists.
func TestSecurityPage_NamesExistingTests(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	walk(t, func(name string, data []byte) {
		if !strings.HasSuffix(name, "_test.go") {
			return
		}
		for _, match := range declared.FindAllSubmatch(data, -1) {
			there[string(match[1])] = true
		}
	})
	rows := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasSuffix(line, "| Test |\n") {
			continue
		}
		rows++
		named := regexp.MustCompile(`\bTest\w+`).FindAllString(line, -1)
		if len(named) == 0 && !strings.Contains(line, "the stage `") {
			t.Errorf("no test is named: %s", line)
		}
		for _, name := range named {
			if !there[name] {
				t.Errorf("docs/security.md names %s, which does not exist", name)
			}
		}
	}
	if rows < 40 {
		t.Errorf("only %d rows were found", rows)
	}
}
