package statedir

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"candela/lib/fault"
)

func TestOpen_AHomeOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no such owners on Windows")
	}
	home := t.TempDir()
	info, err := os.Stat(home)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkOwner(home, info, os.Geteuid()); err != nil {
		t.Errorf("one's own: %v", err)
	}
	err = checkOwner(home, info, os.Geteuid()+1)
	if f := fault.Of(err); f == nil || f.Code != "state_directory_foreign" || f.Field != "home" || !strings.Contains(f.Message, "chown") {
		t.Errorf("another's: %v", err)
	}
}
