package main

import (
	"archive/zip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestPack_FillsInTheManifest(t *testing.T) {
	t.Parallel()
	for system, want := range map[string]struct{ entry, platform string }{
		"linux":   {"server/candela", "linux"},
		"darwin":  {"server/candela", "darwin"},
		"windows": {"server/candela.exe", "win32"},
	} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			in := input{
				manifest: "../mcpb/manifest.json", license: "../../LICENSE", notices: "../../LICENSE",
				binary: "main.go", system: system, version: "1.2.3", out: filepath.Join(dir, "a.mcpb"),
			}
			again := in
			again.out = filepath.Join(dir, "b.mcpb")
			for _, one := range []input{in, again} {
				if err := one.pack(); err != nil {
					t.Fatal(err)
				}
			}
			a, _ := os.ReadFile(in.out)
			b, _ := os.ReadFile(again.out)
			if len(a) == 0 || !slices.Equal(a, b) {
				t.Error("the same input gives two bundles")
			}
			z, err := zip.OpenReader(in.out)
			if err != nil {
				t.Fatal(err)
			}
			defer z.Close() //nolint:errcheck // opened for reading
			f, err := z.Open("manifest.json")
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(f)
			if err != nil {
				t.Fatal(err)
			}
			var m struct {
				Version string
				Server  struct {
					Entry string `json:"entry_point"`
				}
				Compatibility struct{ Platforms []string }
			}
			if err := json.Unmarshal(data, &m); err != nil {
				t.Fatal(err)
			}
			if m.Version != "1.2.3" || m.Server.Entry != want.entry || !slices.Equal(m.Compatibility.Platforms, []string{want.platform}) {
				t.Errorf("%+v", m)
			}
			at := slices.IndexFunc(z.File, func(f *zip.File) bool { return f.Name == want.entry })
			if at < 0 || z.File[at].Mode()&0o111 == 0 {
				t.Errorf("no program at %s", want.entry)
			}
		})
	}
}

func TestPack_RefusesAnUnknownSystem(t *testing.T) {
	t.Parallel()
	if err := (input{system: "plan9", version: "1"}).pack(); err == nil {
		t.Error("was packed")
	}
}
