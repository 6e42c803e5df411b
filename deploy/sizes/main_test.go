package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlace(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]cell{
		"candela_linux_amd64":               {"program", "Linux amd64"},
		"candela_windows_arm64.exe":         {"program", "Windows arm64"},
		"candela_1.2.3_darwin_arm64.tar.gz": {"archive", "macOS arm64"},
		"candela_1.2.3_windows_amd64.zip":   {"archive", "Windows amd64"},
		"candela_1.2.3_linux_arm64.deb":     {"deb", "Linux arm64"},
		"candela_1.2.3_darwin_amd64.mcpb":   {"bundle", "macOS amd64"},
		"candela-linux-x64-1.2.3.tgz":       {"npm", "Linux amd64"},
		"candela-win32-arm64-1.2.3.tgz":     {"npm", "Windows arm64"},
		"candela-1.2.3-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl": {"wheel", "Linux amd64"},
		"candela-1.2.3-py3-none-macosx_12_0_arm64.whl":                                               {"wheel", "macOS arm64"},
		"candela-1.2.3-py3-none-win_amd64.whl":                                                       {"wheel", "Windows amd64"},
		"candela-1.2.3-py3-none-manylinux_2_17_aarch64.whl":                                          {"wheel", "Linux arm64"},
		"candela_linux_amd64.cdx.json":                                                               {},
		"candela-1.2.3.tgz":                                                                          {},
		"checksums.txt":                                                                              {},
	} {
		if got, _ := place(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// A page that was written is accepted, and refused when an artefact is larger, missing or new.
func TestRun_HoldsThePage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	page, folder := filepath.Join(dir, "page.md"), filepath.Join(dir, "dist")
	save := func(name string, size int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, []byte("before\n"+begins+ends+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	save("candela_linux_amd64", 1_500_000)
	save("candela_1_windows_amd64.zip", 700_000)
	check := func(want string) {
		t.Helper()
		err := run([]string{"-page", page, folder})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	check("the page says 0")
	if err := run([]string{"-write", "-page", page, folder}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "| program | 1.5 | |\n| archive | | 0.7 |\n") || !strings.HasSuffix(string(text), "after\n") {
		t.Errorf("%s %v", text, err)
	}
	check("")
	save("candela_linux_amd64", 2_000_000)
	check("program for Linux amd64 has 2000000 bytes")
	save("candela_linux_amd64", 1_500_000)
	save("candela_1_linux_amd64.deb", 100)
	check("deb for Linux amd64")
}
