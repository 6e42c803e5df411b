package httpd_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestLimits_ArePublished holds docs/limits.md against the limits there are.
func TestLimits_ArePublished(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	defaults := map[string]string{
		"calls token 16": "16", "bytes token 1.6777216e+07": "16 MiB", "bytes all 1.34217728e+08": "128 MiB", "bytes strangers 1.6777216e+07": "16 MiB", "requests token 500": "500 a second",
		"requests address 50": "50 a second", "connections all 1024": "1,024", "connections address 512": "half", "streams token 4": "4",
	}
	for _, b := range newServer(t, nil).Stats().Budgets {
		text := strings.Join([]string{b.Name, b.Scope, strconv.FormatFloat(b.Limit, 'g', -1, 64)}, " ")
		value, known := defaults[text]
		if !known {
			t.Errorf("%s is not a limit that this test knows", text)
			continue
		}
		if row := "\n| " + b.Name + " | " + b.Scope + " | " + value + " |"; !strings.Contains(string(page), row) {
			t.Errorf("docs/limits.md lacks the row %q", row[1:])
		}
		delete(defaults, text)
	}
	for text := range defaults {
		t.Errorf("%s is not reported", text)
	}
}
