package webchart_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"candela/internal/serve/webchart"
)

// The library is the one that is named, or there is none.
func TestScript_IsTheNamedLibraryOrNothing(t *testing.T) {
	t.Parallel()
	script, err := webchart.Script()
	if err != nil {
		t.Fatal(err)
	}
	if webchart.Library() == nil {
		if script != nil {
			t.Error("there is a script without a library")
		}
		return
	}
	if sum := sha256.Sum256(script); hex.EncodeToString(sum[:]) != webchart.SHA256 {
		t.Errorf("the library has the SHA-256 %x; run web/bring", sum)
	}
	if !strings.Contains(string(script[:300]), "v"+webchart.Version) {
		t.Errorf("the library does not begin with its version: %q", script[:300])
	}
}

// The lock file pins the version by its hash, and names no address: any registry will do.
func TestLockFile_PinsTheLibrary(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "web", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version, Integrity, Resolved string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	for name, p := range lock.Packages {
		if name != "" && (!strings.HasPrefix(p.Integrity, "sha512-") || p.Resolved != "") {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if got := lock.Packages["node_modules/lightweight-charts"].Version; got != webchart.Version {
		t.Errorf("web/package-lock.json has version %s, the program %s", got, webchart.Version)
	}
}

// The modules have no colour of their own: those of a chart come with its look.
func TestModules_HaveNoColours(t *testing.T) {
	t.Parallel()
	for _, m := range webchart.Modules() {
		if found := regexp.MustCompile(`#[0-9a-fA-F]{6}|rgba?\(`).FindAllString(string(m.Source), -1); len(found) > 0 {
			t.Errorf("%s has %v", m.Name, found)
		}
	}
}

// The modules ask nothing of any host, import only each other, and run under a policy
// without inline styles.
func TestModules_ReachNothing(t *testing.T) {
	t.Parallel()
	var before []string
	for _, m := range webchart.Modules() {
		source := string(m.Source)
		for _, word := range []string{"http:", "https:", "fetch(", "XMLHttpRequest", "WebSocket", "innerHTML", "eval(", "new Function", "import("} {
			if strings.Contains(source, word) {
				t.Errorf("%s has %q", m.Name, word)
			}
		}
		for line := range strings.Lines(source) {
			if _, from, ok := strings.Cut(strings.TrimSpace(line), " from './"); strings.HasPrefix(line, "import ") && (!ok || !slices.Contains(before, strings.TrimSuffix(from, "'"))) {
				t.Errorf("%s: %s", m.Name, line)
			}
		}
		before = append(before, m.Name)
	}
}
