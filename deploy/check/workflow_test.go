package check

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWorkflows_PinTheirActions refuses an action that is named by a tag, which its
// owner can move, and a workflow that takes every permission there is. What stands in
// this repository needs no pin.
func TestWorkflows_PinTheirActions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(root, ".github", "workflows", "*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no workflows", err)
	}
	uses := regexp.MustCompile(`(?m)uses:\s*(.*)$`)
	pinned := regexp.MustCompile(`^[\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	digests := map[string]string{}
	actions, err := filepath.Glob(filepath.Join(root, ".github", "actions", "*", "action.yml"))
	if err != nil || len(actions) == 0 {
		t.Fatal("no actions", err)
	}
	for _, file := range append(files, actions...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, m := range uses.FindAllStringSubmatch(text, -1) {
			if strings.HasPrefix(m[1], "./") {
				continue
			}
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s: %s is not owner/name@digest # vX.Y.Z", filepath.Base(file), m[1])
			}
			name, digest, _ := strings.Cut(m[1], "@")
			if have, ok := digests[name]; ok && have != digest {
				t.Errorf("%s: %s in two versions", filepath.Base(file), name)
			}
			digests[name] = digest
		}
		if !slices.Contains(actions, file) && !strings.Contains(text, "\npermissions:\n  contents: read\n") {
			t.Errorf("%s does not begin with contents: read alone", filepath.Base(file))
		}
		if strings.Contains(text, "-u CI") || strings.Contains(text, "CI=''") {
			t.Errorf("%s unsets CI, so that what cannot be checked would pass", filepath.Base(file))
		}
		if strings.Contains(text, "pull_request_target") || strings.Contains(text, "write-all") {
			t.Errorf("%s gives strangers' code a token that writes", filepath.Base(file))
		}
	}
}
