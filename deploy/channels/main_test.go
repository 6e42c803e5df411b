package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const version = "1.2.3-rc.1"

// release writes a folder as goreleaser leaves it, with small programs.
func release(t *testing.T) string {
	t.Helper()
	return releaseOf(t, func(p platform) []byte { return []byte("the program for " + p.system + "/" + p.arch) })
}

func releaseOf(t *testing.T, of func(platform) []byte) string {
	t.Helper()
	dir := t.TempDir()
	var sums strings.Builder
	for _, p := range platforms() {
		program := of(p)
		files := []entry{{p.program(), 0o755, program}, {"LICENSE", 0o644, []byte("licence")}, {"THIRD_PARTY_NOTICES.txt", 0o644, []byte("notices")}}
		packed := packedAs(t, p, files)
		sums.WriteString(hashOf(packed) + "  " + p.archive(version) + "\n")
		save(t, packed, dir, p.archive(version))
		save(t, []byte(`{"metadata":{"component":{"hashes":[{"content":"`+hashOf(program)+`"}]}}}`), dir, p.stem(version)+".cdx.json")
	}
	save(t, []byte(sums.String()), dir, "checksums.txt")
	return dir
}

func packedAs(t *testing.T, p platform, files []entry) []byte {
	t.Helper()
	if p.system == "windows" {
		packed, err := zipped(files)
		if err != nil {
			t.Fatal(err)
		}
		return packed
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.data))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func save(t *testing.T, data []byte, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func written(t *testing.T) input {
	t.Helper()
	in := input{dist: release(t), version: version, repository: "example/candela", npm: "candela", python: "candela", out: t.TempDir()}
	if err := in.write(); err != nil {
		t.Fatal(err)
	}
	return in
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestNPM_CarriesTheProgramOfTheArchive(t *testing.T) {
	t.Parallel()
	in := written(t)
	var launcher manifest
	for _, p := range platforms() {
		name := "candela-" + p.nodeSystem + "-" + p.nodeArch
		files, err := untar(read(t, in.out, "npm", name+"-"+version+".tgz"))
		if err != nil {
			t.Fatal(err)
		}
		if have := string(files["package/bin/"+p.program()]); have != "the program for "+p.system+"/"+p.arch {
			t.Errorf("%s carries %q", name, have)
		}
		var m manifest
		if err := json.Unmarshal(files["package/package.json"], &m); err != nil || m.Name != name || m.OS[0] != p.nodeSystem || m.CPU[0] != p.nodeArch {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
		for _, file := range []string{"LICENSE", "THIRD_PARTY_NOTICES.txt", "sbom.cdx.json"} {
			if len(files["package/"+file]) == 0 {
				t.Errorf("%s has no %s", name, file)
			}
		}
	}
	files, err := untar(read(t, in.out, "npm", "candela-"+version+".tgz"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(files["package/package.json"], &launcher); err != nil {
		t.Fatal(err)
	}
	if len(launcher.Optional) != len(platforms()) || launcher.Optional["candela-win32-arm64"] != version || launcher.MCPName != "io.github.example/candela" {
		t.Errorf("%+v", launcher)
	}
	if !strings.Contains(string(files["package/README.md"]), "npx -y candela demo") {
		t.Errorf("the page is %s", files["package/README.md"])
	}
}

func TestWheel_CarriesTheProgramOfTheArchive(t *testing.T) {
	t.Parallel()
	in := written(t)
	for _, p := range platforms() {
		file := filepath.Join(in.out, "python", "candela-1.2.3rc1-py3-none-"+strings.Join(p.tags, ".")+".whl")
		z, err := zip.OpenReader(file)
		if err != nil {
			t.Fatal(err)
		}
		files, err := unzip(read(t, file))
		if err != nil {
			t.Fatal(err)
		}
		program := "candela-1.2.3rc1.data/scripts/" + p.program()
		if have := string(files[program]); have != "the program for "+p.system+"/"+p.arch {
			t.Errorf("%s carries %q", file, have)
		}
		if info, err := fs.Stat(z, program); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s cannot be started: %v", program, err)
		}
		_ = z.Close() // only read
		if record := string(files["candela-1.2.3rc1.dist-info/RECORD"]); strings.Count(record, "\n") != len(files) {
			t.Errorf("%d files, the record is\n%s", len(files), record)
		}
		if page := string(files["candela-1.2.3rc1.dist-info/METADATA"]); !strings.Contains(page, "\nVersion: 1.2.3rc1\n") || !strings.Contains(page, "mcp-name: io.github.example/candela ") {
			t.Errorf("%s", page)
		}
	}
}

func TestWrite_GivesTheSameBytes(t *testing.T) {
	t.Parallel()
	one := written(t)
	another := one
	another.out = t.TempDir()
	if err := another.write(); err != nil {
		t.Fatal(err)
	}
	count := 0
	err := fs.WalkDir(os.DirFS(one.out), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if count++; !bytes.Equal(read(t, one.out, path), read(t, another.out, path)) {
				t.Errorf("%s differs", path)
			}
		}
		return err
	})
	if err != nil || count < 2*len(platforms())+1 {
		t.Errorf("%d files, %v", count, err)
	}
}

// TestWrite_RefusesWhatIsNotTheRelease changes one thing of a release at a time.
func TestWrite_RefusesWhatIsNotTheRelease(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		spoil func(t *testing.T, in *input)
		want  string
	}{
		"an archive with other bytes": {func(t *testing.T, in *input) {
			t.Helper()
			save(t, []byte("other"), in.dist, platforms()[3].archive(version))
		}, "candela_1.2.3-rc.1_darwin_arm64.tar.gz has the hash"},
		"an archive that no list names": {func(t *testing.T, in *input) { t.Helper(); save(t, nil, in.dist, "checksums.txt") }, `says ""`},
		"a program that is not the one of its SBOM": {func(t *testing.T, in *input) {
			t.Helper()
			save(t, []byte(`{"metadata":{"component":{"hashes":[{"content":"00"}]}}}`), in.dist, platforms()[0].stem(version)+".cdx.json")
		}, "the program has"},
		"a version with v":       {func(_ *testing.T, in *input) { in.version = "v1.2.3" }, `-version "v1.2.3"`},
		"a repository of nobody": {func(_ *testing.T, in *input) { in.repository = "candela" }, `-repository "candela"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input{dist: release(t), version: version, repository: "example/candela", npm: "candela", python: "candela", out: t.TempDir()}
			test.spoil(t, &in)
			if err := in.write(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
