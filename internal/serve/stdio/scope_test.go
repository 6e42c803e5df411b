package stdio_test

import (
	"fmt"
	"strings"
	"testing"

	"candela/internal/serve/tool/tooltest"
)

// TestScopes_OfAProcess calls every tool: the user who starts the program may do everything.
func TestScopes_OfAProcess(t *testing.T) {
	t.Parallel()
	s, _ := pushing(t)
	for name := range tooltest.AllScopes() {
		s.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, name))
		if line := s.read(t); strings.Contains(line, "insufficient_scope") || !strings.Contains(line, `"result"`) {
			t.Errorf("%s: %.300s", name, line)
		}
	}
	if rest, err := s.end(t); rest != "" || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
}
