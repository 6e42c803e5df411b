package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSign_DoesNothingWithoutACertificate: a release without keys is complete.
func TestSign_DoesNothingWithoutACertificate(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "candela.exe")
	if err := os.WriteFile(program, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, system := range []string{"windows", "linux", "darwin"} {
		sign := exec.CommandContext(t.Context(), "sh", filepath.Join(root, "deploy", "sign", "windows"), system, program)
		sign.Env = []string{"PATH=" + os.Getenv("PATH")}
		if out, err := sign.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %s%v", system, out, err)
		}
	}
	if text, err := os.ReadFile(program); err != nil || string(text) != "program" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestSign_PageNamesTheSecrets compares the page with what the workflow hands on.
func TestSign_PageNamesTheSecrets(t *testing.T) {
	t.Parallel()
	read := func(path ...string) string {
		text, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page, release := read("docs", "signing.md"), read(".goreleaser.yaml")+read("deploy", "sign", "windows")
	secrets := regexp.MustCompile(`secrets\.(\w+)`).FindAllStringSubmatch(read(".github", "workflows", "release.yml"), -1)
	for _, secret := range secrets {
		if !strings.Contains(page, "`"+secret[1]+"`") {
			t.Errorf("docs/signing.md does not name %s", secret[1])
		}
		if !strings.Contains(release, secret[1]) {
			t.Errorf("nothing reads %s", secret[1])
		}
	}
	if len(secrets) < 9 {
		t.Errorf("only %v", secrets)
	}
	// The bundle must hold the signed program.
	if hooks := read(".goreleaser.yaml"); strings.Index(hooks, "deploy/sign/windows") > strings.Index(hooks, "run ./bundle") {
		t.Error("bundles are packed before the program is signed")
	}
}
