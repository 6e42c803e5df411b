package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestForms_HaveTheHashesOfTheRelease reads each manifest as its channel does.
func TestForms_HaveTheHashesOfTheRelease(t *testing.T) {
	t.Parallel()
	in := written(t)
	sums, err := readSums(filepath.Join(in.dist, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	sum := func(at int) string { return sums[platforms()[at].archive(version)] }
	address := func(at int) string {
		return "https://github.com/example/candela/releases/download/v1.2.3-rc.1/" + platforms()[at].archive(version)
	}
	var scoop struct {
		Architecture map[string]struct{ URL, Hash string }
	}
	if err := json.Unmarshal(read(t, in.out, "scoop", "candela.json"), &scoop); err != nil {
		t.Fatal(err)
	}
	if a := scoop.Architecture["arm64"]; a.URL != address(5) || a.Hash != sum(5) {
		t.Errorf("scoop has %+v", a)
	}
	var winget struct {
		Installers []struct {
			URL string `yaml:"InstallerUrl"`
			Sum string `yaml:"InstallerSha256"`
		} `yaml:"Installers"`
	}
	if err := yaml.Unmarshal(read(t, in.out, "winget", "example.candela.installer.yaml"), &winget); err != nil {
		t.Fatal(err)
	}
	if i := winget.Installers; len(i) != 2 || i[0].URL != address(4) || i[0].Sum != strings.ToUpper(sum(4)) {
		t.Errorf("winget has %+v", i)
	}
	formula := string(read(t, in.out, "homebrew", "candela.rb"))
	for at := range 4 {
		if !strings.Contains(formula, "url \""+address(at)+"\"\n      sha256 \""+sum(at)+"\"\n") {
			t.Errorf("the formula has no %s\n%s", address(at), formula)
		}
	}
	holdPKGBUILD(t, in, address, sum)
}

// holdPKGBUILD reads the file with a shell, as makepkg does, and compares .SRCINFO.
func holdPKGBUILD(t *testing.T, in input, address, sum func(at int) string) {
	t.Helper()
	bash := exec.CommandContext(t.Context(), "bash", "-c", `. ./PKGBUILD && declare -F package >&2 && echo "$pkgver $source_x86_64 $sha256sums_x86_64 $source_aarch64 $sha256sums_aarch64"`)
	bash.Dir = filepath.Join(in.out, "aur")
	out, err := bash.Output()
	if want := strings.Join([]string{"1.2.3_rc.1", address(0), sum(0), address(1), sum(1)}, " ") + "\n"; err != nil || string(out) != want {
		t.Errorf("PKGBUILD says %s, %v; want %s", out, err, want)
	}
	info := string(read(t, in.out, "aur", ".SRCINFO"))
	for _, line := range []string{"source_x86_64 = " + address(0), "sha256sums_aarch64 = " + sum(1), "pkgver = 1.2.3_rc.1"} {
		if !strings.Contains(info, "\t"+line+"\n") {
			t.Errorf(".SRCINFO has no %s", line)
		}
	}
}

// runInstaller runs the installer of this system with the archives of a folder.
func runInstaller(t *testing.T, in input, to string) (string, error) {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(in.dist)))
	t.Cleanup(server.Close)
	install := exec.CommandContext(t.Context(), "sh", filepath.Join(in.out, "install.sh"), "--from", server.URL, "--to", to)
	if runtime.GOOS == "windows" {
		install = exec.CommandContext(t.Context(), "powershell", "-ExecutionPolicy", "Bypass", "-File", filepath.Join(in.out, "install.ps1"), "-From", server.URL, "-To", to)
	}
	install.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := install.CombinedOutput()
	return string(out), err
}

// withProgram makes a release whose programs are scripts that a shell starts. Where there are
// no such scripts, it is this test's own program.
func withProgram(t *testing.T) input {
	t.Helper()
	program := []byte("#!/bin/sh\necho started: \"$@\"\n")
	if runtime.GOOS == "windows" {
		own, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		program = read(t, own)
	}
	in := input{dist: releaseOf(t, func(platform) []byte { return program }), version: version, repository: "example/candela", npm: "candela", python: "candela", out: t.TempDir()}
	if err := in.write(); err != nil {
		t.Fatal(err)
	}
	return in
}

func TestInstaller_InstallsTheProgram(t *testing.T) {
	t.Parallel()
	in, to := withProgram(t), filepath.Join(t.TempDir(), "a folder")
	for range 2 { // the second time over the first
		if out, err := runInstaller(t, in, to); err != nil || !strings.Contains(out, "installed: ") {
			t.Fatalf("%s%v", out, err)
		}
	}
	entries, err := os.ReadDir(to)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestInstaller_RefusesOtherBytes(t *testing.T) {
	t.Parallel()
	in, to := withProgram(t), filepath.Join(t.TempDir(), "bin")
	for _, p := range platforms() {
		save(t, append(read(t, in.dist, p.archive(version)), 0), in.dist, p.archive(version))
	}
	out, err := runInstaller(t, in, to)
	if err == nil || !strings.Contains(out, "Nothing was installed") {
		t.Errorf("%s%v", out, err)
	}
	if _, err := os.Stat(to); !os.IsNotExist(err) {
		t.Errorf("something is there: %v", err)
	}
}

func TestInstaller_SaysWhatItCannotGet(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the words are those of PowerShell")
	}
	in, to := withProgram(t), filepath.Join(t.TempDir(), "bin")
	for _, p := range platforms() {
		if err := os.Remove(filepath.Join(in.dist, p.archive(version))); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := runInstaller(t, in, to); err == nil || !strings.Contains(out, "cannot get http://127.0.0.1:") {
		t.Errorf("%s%v", out, err)
	}
}

// TestPowerShell_BalancesItsBraces is what can be said of the script without PowerShell, where
// TestInstaller runs the other one.
func TestPowerShell_BalancesItsBraces(t *testing.T) {
	t.Parallel()
	in := written(t)
	script := string(read(t, in.out, "install.ps1"))
	for _, pair := range []string{"{}", "()", "[]"} {
		if open, closed := strings.Count(script, pair[:1]), strings.Count(script, pair[1:]); open != closed {
			t.Errorf("%d %s and %d %s", open, pair[:1], closed, pair[1:])
		}
	}
	if strings.Contains(script, "{{") || !strings.Contains(script, "'candela_1.2.3-rc.1_windows_arm64.zip'; $want = '") {
		t.Errorf("%s", script)
	}
}
