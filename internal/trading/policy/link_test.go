package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRead_ALinkToNothingIsNoDefault holds that the limits that an owner wrote do
// not become the defaults because the file that the link names has moved.
func TestRead_ALinkToNothingIsNoDefault(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "policy.toml")
	if err := os.Symlink(filepath.Join(t.TempDir(), "moved.toml"), path); err != nil {
		t.Skip("no links here: ", err)
	}
	if _, _, err := Read(path, alone); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "link") {
		t.Errorf("the policy is read: %v", err)
	}
}
