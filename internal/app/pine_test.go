package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candela/internal/store/scripts"
	"candela/lib/pine"
)

// TestPine_NeedsNoSet holds that a script in a request is computed without the set scripts, that the brief catalogue
// says so, and that nothing stored is known without it.
func TestPine_NeedsNoSet(t *testing.T) {
	t.Parallel()
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`
	lines := call + `generate_chart","arguments":{"format":"summary","indicators":[{"name":"pine","source":"//@version=6\nindicator('x')\nn = input.int(3)\nplot(ta.sma(close, n), 'mean')","n":5}]}}}` + "\n" +
		call + `generate_chart","arguments":{"format":"summary","indicators":[{"name":"pine","source":"//@version=6\nindicator('x')\nplot(close, 'mean')"}]}}}` + "\n" +
		call + `list_indicators","arguments":{"brief":true}}}` + "\n" +
		call + `generate_chart","arguments":{"format":"summary","indicators":["stored"]}}}` + "\n" +
		call + `generate_chart","arguments":{"format":"summary","indicators":[{"name":"pine","source":"//@version=6\nindicator('x')\nimport a/stored/1\nplot(close)"}]}}}` + "\n"
	home := filepath.Join(t.TempDir(), "home")
	shelf := scripts.Open(home, scripts.Unshared, pine.Compile)
	for name, source := range map[string]string{"stored": "//@version=6\nindicator('s')\nplot(close)", "a/stored/1": "//@version=6\nlibrary('stored')\nexport f() => 1\n"} {
		if _, err := shelf.Save(name, source); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(home, 0o700); err != nil {
		t.Fatal(err)
	}
	answers := overStdioIn(t, home, lines)
	for i, want := range []string{`x(5)`, `\"pine\"`, `{\\\"name\\\":\\\"pine\\\"`, "unknown_indicator", "pine_"} {
		if !strings.Contains(answers[i], want) || (i < 3) == strings.Contains(answers[i], `"isError":true`) {
			t.Errorf("%d: want %s: %.700s", i, want, answers[i])
		}
	}
}
