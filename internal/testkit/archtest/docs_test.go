package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestToolsAreExplained compares the versions that .ci/stage/tools installs with the
// table in docs/dependencies.md.
func TestToolsAreExplained(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join(root, ".ci", "stage", "tools"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, tools, _ := strings.Cut(string(page), "## Tools of the build")
	installed := pairs(`(?m)^\s*need (\S+) (v\S+)$`, string(script))
	explained := pairs("(?m)^\\| `([^`]+)` \\| (v\\S+) ", tools)
	if len(installed) == 0 || !slices.Equal(installed, explained) {
		t.Errorf(".ci/stage/tools installs %q, docs/dependencies.md explains %q", installed, explained)
	}
}

// pairs returns the two groups of each match, joined by a space, in order.
func pairs(pattern, text string) []string {
	var found []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1]+" "+m[2])
	}
	slices.Sort(found)
	return found
}

// TestChangelog_SaysWhatThereIsUntilARelease holds the changelog to one page while there
// is no release: changes of what nobody had are in the history of the repository.
func TestChangelog_SaysWhatThereIsUntilARelease(t *testing.T) {
	t.Parallel()
	const most = 8 << 10
	data, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	if released := regexp.MustCompile(`(?m)^## \[\d`).Match(data); !released && len(data) > most {
		t.Errorf("CHANGELOG.md has %d bytes before the first release, at most %d are allowed: say what there is, not what changed", len(data), most)
	}
}
