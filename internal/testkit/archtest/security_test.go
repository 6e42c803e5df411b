package archtest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestSecurityPage_NamesTestsThatThereAre holds docs/security.md against the tests: a
// promise without a test is none.
func TestSecurityPage_NamesTestsThatThereAre(t *testing.T) {
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
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| What") {
			continue
		}
		rows++
		named := regexp.MustCompile(`\bTest\w+`).FindAllString(line, -1)
		if len(named) == 0 && !strings.Contains(line, "the stage `") {
			t.Errorf("no test is named: %s", line)
		}
		for _, name := range named {
			if !there[name] {
				t.Errorf("there is no %s", name)
			}
		}
	}
	if rows < 40 {
		t.Errorf("only %d rows were found", rows)
	}
}
