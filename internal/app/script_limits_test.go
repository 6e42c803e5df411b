package app_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"candela/internal/app"
	"candela/internal/store/statedir"
	"candela/internal/work/charting"
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
		fmt.Sprintf("\n| Charts with scripts at a time | %d |", charting.ScriptCalls),
		fmt.Sprintf("\n| Back-tests with scripts at a time | %d | And sweeps, tests of alerts and scans; with many owners %d of one.", charting.ScriptStudies, charting.ScriptStudiesOfOne),
		fmt.Sprintf("\n| Scripts of alerts that the record of evaluations names | %d |", statedir.EvaluatingSlots),
	} {
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/limits.md lacks the row %q", row[1:])
		}
	}
}
