package install

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/config"
	"candela/internal/data/provider/csv"
	"candela/internal/kit/setting"
	"candela/lib/fault"
)

func TestRemoteAddress(t *testing.T) {
	t.Parallel()
	good := map[string]string{
		"https://a.example":           "https://a.example/mcp",
		"https://a.example/":          "https://a.example/mcp",
		"https://a.example/x/mcp":     "https://a.example/x/mcp",
		"http://localhost:9315":       "http://localhost:9315/mcp",
		"http://127.0.0.1:9315/mcp":   "http://127.0.0.1:9315/mcp",
		"https://[2001:db8::1]:8443/": "https://[2001:db8::1]:8443/mcp",
	}
	for in, want := range good {
		if got, err := remoteAddress(in); err != nil || got != want {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "a.example", "http://a.example", "ftp://a.example", "https://", "https:a", "https://u:secret@a.example", "https://a.example?key=secret", "https://a.example#secret"} {
		_, err := remoteAddress(bad)
		if fault.KindOf(err) != fault.Invalid || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// change installs into a new file.
func change(t *testing.T, text string, want Installation) (dir, path string, done Installed, err error) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "client.json")
	if text != "" {
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	want.File, want.Name = path, "candela"
	done, err = Install(want)
	return dir, path, done, err
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestInstall_KeepsPermissionsAndABackup(t *testing.T) {
	t.Parallel()
	dir, path, done, err := change(t, `{"mcpServers": {}}`, Installation{Client: "cursor", URL: "https://a.example"})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, path); !strings.Contains(got, "https://a.example/mcp") {
		t.Error(got)
	}
	if got := read(t, done.Backup); got != `{"mcpServers": {}}` {
		t.Error(got)
	}
	for _, p := range []string{path, done.Backup} {
		if info, err := os.Stat(p); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("unexpected files: %v", files)
	}
}

func TestInstall_FollowsALinkAndKeepsIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	if err := os.WriteFile(target, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err) // few Windows users may create one
	}
	if _, err := Install(Installation{Client: "cursor", URL: "https://a.example", File: link, Name: "candela"}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if !strings.Contains(read(t, target), "a.example") {
		t.Error("the target was not changed")
	}
	if err := os.Remove(target); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(Installation{Client: "cursor", URL: "https://a.example", File: link, Name: "candela"}); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Error(err)
	}
}

func TestInstall_DoesNotChangeAnUnreadableFile(t *testing.T) {
	t.Parallel()
	dir, path, _, err := change(t, "{\n  oops\n}", Installation{Client: "cursor", URL: "https://a.example"})
	if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "client.json was not changed: line 2, column 3") {
		t.Error(err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 || read(t, path) != "{\n  oops\n}" {
		t.Errorf("%v", files)
	}
}

func TestInstall_DetectsAnotherWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "client.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := openClientFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"a": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := file.replace("{}\n", time.Now()); fault.KindOf(err) != fault.Conflict {
		t.Error(err)
	}
	if read(t, path) != `{"a": 1}` {
		t.Error("the other change was overwritten")
	}
}

func TestAbsolutePaths(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	build := Installation{Parts: config.Parts{Venues: []setting.Part{csv.Descriptor().Part}}}
	got := build.absolutePaths([]string{"--trade", "--home", "state", "--csv-dir=bars", "--policy", "~/p.toml", "--crypto-venue", "kraken"})
	want := []string{"--trade", "--home", filepath.Join(here, "state"), "--csv-dir=" + filepath.Join(here, "bars"), "--policy", "~/p.toml", "--crypto-venue", "kraken"}
	if !slices.Equal(got, want) {
		t.Error(got)
	}
}

func TestInstall_DryRunWritesNothing(t *testing.T) {
	t.Parallel()
	dir, path, done, err := change(t, "{}", Installation{Client: "cursor", URL: "https://a.example", DryRun: true})
	if err != nil || done.Backup != "" || done.Command != "https://a.example/mcp" || !strings.Contains(done.Diff, "a.example") {
		t.Errorf("%+v, %v", done, err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 || read(t, path) != "{}" {
		t.Errorf("%v", files)
	}
}

func TestInstall_RemovesOnceAndThenChangesNothing(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	want := Installation{Client: "cursor", Name: "candela", URL: "https://a.example", Environ: []string{"HOME=" + home, "USERPROFILE=" + home}}
	done, err := Install(want)
	if err != nil || done.Backup != "" || !strings.HasPrefix(done.Path, home) || !strings.Contains(read(t, done.Path), "a.example") {
		t.Fatalf("%+v, %v", done, err)
	}
	want.URL, want.Remove = "", true
	for _, changes := range []bool{true, false} {
		done, err := Install(want)
		if err != nil || (done.Diff != "") != changes || strings.Contains(read(t, done.Path), "a.example") {
			t.Errorf("%+v, %v", done, err)
		}
	}
}

func TestInstall_Refuses(t *testing.T) {
	t.Parallel()
	for want, how := range map[string]Installation{
		"netscape":           {Client: "netscape", Name: "candela"},
		"--file is required": {Client: "cursor", Name: "candela", URL: "https://a.example"},
		"exclude each other": {Client: "cursor", Name: "candela", URL: "https://a.example", Flags: []string{"--trade"}, File: "client.json"},
		"--no-such-flag":     {Client: "cursor", Name: "candela", Flags: []string{"--no-such-flag"}, File: "client.json"},
	} {
		if _, err := Install(how); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestInstallation_ListsSettingsAClientDoesNotHave(t *testing.T) {
	t.Parallel()
	want := Installation{Environ: []string{"CANDELA_TRADE=true", "CANDELA_HOME=", "CANDELA_BROKER=paper", "HOME=/x"}}
	if got := want.unseen(); !slices.Equal(got, []string{"CANDELA_BROKER", "CANDELA_TRADE"}) {
		t.Error(got)
	}
	if want.URL = "https://a.example"; want.unseen() != nil {
		t.Error("a remote server has its own environment")
	}
}
