package app_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"candela/internal/app"
	"candela/internal/serve/tool"
)

// TestScriptLimits_ArePublished holds docs/limits.md against the limits of scripts.
func TestScriptLimits_ArePublished(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		fmt.Sprintf("\n| Memory of all scripts | %d MiB |", app.ScriptMemory>>20),
		fmt.Sprintf("\n| Memory of the scripts of an owner | %d MiB |", app.OwnerScriptMemory>>20),
		fmt.Sprintf("\n| Calls with scripts at a time | %d |", tool.ScriptCalls),
	} {
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/limits.md lacks the row %q", row[1:])
		}
	}
}
