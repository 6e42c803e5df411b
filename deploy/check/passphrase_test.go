package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// passphraseCommand returns the line of a file with which one sets the passphrase.
func passphraseCommand(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "candela auth hash-password") {
			return strings.TrimSpace(line)
		}
	}
	t.Fatalf("%q does not say how to set the passphrase", path)
	return ""
}

// TestPassphrase_StaysWhenNoOtherIsTyped runs the command that the packages and
// the page about them print: where the program gives up, because it was interrupted
// or the two entries differ, the service must find the passphrase it had.
func TestPassphrase_StaysWhenNoOtherIsTyped(t *testing.T) {
	t.Parallel()
	command := passphraseCommand(t, "deploy", "linux", "postinstall.sh")
	if page := passphraseCommand(t, "docs", "release.md"); page != command {
		t.Fatalf("docs/release.md says %q, the packages %q", page, command)
	}
	etc, bin := t.TempDir(), t.TempDir()
	file := filepath.Join(etc, "owner-password")
	if err := os.WriteFile(file, []byte("old\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	command = strings.ReplaceAll(strings.TrimPrefix(command, "sudo "), "/etc/candela", etc)
	// The shell writes the program: a process started beside this test could still hold a
	// file that the test has written, and what is open for writing cannot be run.
	const program = `printf '#!/bin/sh\n%s\n' "$DOES" >"$BIN/candela" && chmod 700 "$BIN/candela" && `
	for _, step := range []struct{ does, want string }{
		{"exit 1", "old\n"},
		{"echo new", "new\n"},
	} {
		run := exec.CommandContext(t.Context(), "sh", "-c", program+command)
		run.Env = []string{"DOES=" + step.does, "BIN=" + bin, "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")}
		out, err := run.CombinedOutput()
		if (err == nil) != (step.want == "new\n") {
			t.Fatalf("%v: %s", err, out)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != step.want {
			t.Fatalf("%q, %v; want %q", got, err, step.want)
		}
	}
	if info, err := os.Stat(file); err != nil {
		t.Error(err)
	} else if info.Mode().Perm() != 0o600 {
		t.Errorf("others may read it: %v", info.Mode())
	}
}
