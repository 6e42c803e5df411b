package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

const root = "../.."

// TestGoreleaser_LoadsTheConfiguration reads the file as goreleaser does, which
// refuses keys that it does not know, and looks at what the binaries promise.
func TestGoreleaser_LoadsTheConfiguration(t *testing.T) {
	t.Parallel()
	project, err := config.Load(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(project.Builds) != 1 {
		t.Fatalf("%d builds", len(project.Builds))
	}
	b := project.Builds[0]
	for name, list := range map[string]struct{ have, want []string }{
		"systems":       {b.Goos, []string{"darwin", "linux", "windows"}},
		"architectures": {b.Goarch, []string{"amd64", "arm64"}},
		"environment":   {b.Env, []string{"CGO_ENABLED=0"}},
	} {
		if have := slices.Sorted(slices.Values(list.have)); !slices.Equal(have, list.want) {
			t.Errorf("%s: %q, want %q", name, have, list.want)
		}
	}
	flags := strings.Join(append(slices.Clone(b.Flags), b.Ldflags...), " ")
	for _, flag := range []string{"-trimpath", "-s -w", "-buildid=", "-X main.version="} {
		if !strings.Contains(flags, flag) {
			t.Errorf("binaries are built without %s: %s", flag, flags)
		}
	}
	script, err := os.ReadFile(filepath.Join(root, "deploy", "run"))
	if err != nil {
		t.Fatal(err)
	}
	ldflags, _, _ := strings.Cut(b.Ldflags[0], "v{{")
	if !strings.Contains(string(script), ldflags) {
		t.Errorf("deploy/run does not build with %q", ldflags)
	}
}

// TestGoreleaser_NamesFilesThatAreThere follows every path of the configuration.
func TestGoreleaser_NamesFilesThatAreThere(t *testing.T) {
	t.Parallel()
	project, err := config.Load(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, a := range project.Archives {
		for _, f := range a.Files {
			paths = append(paths, f.Source)
		}
	}
	for _, n := range project.NFPMs {
		paths = append(paths, n.Scripts.PostInstall, n.Scripts.PreRemove)
		for _, c := range n.Contents {
			if c.Type != "dir" {
				paths = append(paths, c.Source)
			}
		}
	}
	for _, d := range project.DockersV2 {
		paths = append(paths, d.Dockerfile)
	}
	if len(paths) < 10 {
		t.Fatalf("only %q", paths)
	}
	for _, path := range paths {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Error(err)
		}
	}
}

// TestPackages_CarryTheUnitAndTheLicences is what an installed package must have.
func TestPackages_CarryTheUnitAndTheLicences(t *testing.T) {
	t.Parallel()
	project, err := config.Load(filepath.Join(root, ".goreleaser.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n := project.NFPMs[0]
	if formats := slices.Sorted(slices.Values(n.Formats)); !slices.Equal(formats, []string{"deb", "rpm"}) {
		t.Errorf("formats %q", formats)
	}
	for _, want := range []string{
		"/usr/lib/systemd/system/candela.service", "/etc/candela/candela.env",
		"/usr/share/candela/owners.conf", "/usr/share/candela/replica.conf", "/usr/share/candela/secrets.sh",
		"/usr/share/doc/candela/copyright", "/usr/share/doc/candela/THIRD_PARTY_NOTICES.txt",
	} {
		if !slices.ContainsFunc(n.Contents, func(c config.NFPMContent) bool { return c.Destination == want }) {
			t.Errorf("no package has %s", want)
		}
	}
}
