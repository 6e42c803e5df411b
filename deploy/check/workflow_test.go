package check

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWorkflows_PinTheirActions refuses an action that is named by a tag, which its
// owner can move, and a workflow that takes every permission there is.
func TestWorkflows_PinTheirActions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no workflows", err)
	}
	uses := regexp.MustCompile(`(?m)uses:\s*(.*)$`)
	pinned := regexp.MustCompile(`^[\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	digests := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, m := range uses.FindAllStringSubmatch(text, -1) {
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s: %s is not owner/name@digest # vX.Y.Z", filepath.Base(file), m[1])
			}
			name, digest, _ := strings.Cut(m[1], "@")
			if have, ok := digests[name]; ok && have != digest {
				t.Errorf("%s: %s in two versions", filepath.Base(file), name)
			}
			digests[name] = digest
		}
		if !strings.Contains(text, "\npermissions:\n  contents: read\n") {
			t.Errorf("%s does not begin with contents: read alone", filepath.Base(file))
		}
		if strings.Contains(text, "pull_request_target") || strings.Contains(text, "write-all") {
			t.Errorf("%s gives strangers' code a token that writes", filepath.Base(file))
		}
	}
}
