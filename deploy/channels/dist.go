package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxFile bounds one file of an archive.
const maxFile = 1 << 30

// platform is a system and an architecture as Go, Node and Python name them.
type platform struct {
	system, arch         string
	nodeSystem, nodeArch string
	tags                 []string // of a wheel
}

// platforms are those of .goreleaser.yaml. A static program needs neither C library, and
// the oldest macOS is that of its Go.
func platforms() []platform {
	linux := func(machine string) []string {
		return []string{"manylinux_2_17_" + machine, "manylinux2014_" + machine, "musllinux_1_1_" + machine}
	}
	return []platform{
		{"linux", "amd64", "linux", "x64", linux("x86_64")},
		{"linux", "arm64", "linux", "arm64", linux("aarch64")},
		{"darwin", "amd64", "darwin", "x64", []string{"macosx_12_0_x86_64"}},
		{"darwin", "arm64", "darwin", "arm64", []string{"macosx_12_0_arm64"}},
		{"windows", "amd64", "win32", "x64", []string{"win_amd64"}},
		{"windows", "arm64", "win32", "arm64", []string{"win_arm64"}},
	}
}

func (p platform) program() string {
	if p.system == "windows" {
		return "candela.exe"
	}
	return "candela"
}

func (p platform) stem(version string) string {
	return "candela_" + version + "_" + p.system + "_" + p.arch
}

func (p platform) archive(version string) string {
	if p.system == "windows" {
		return p.stem(version) + ".zip"
	}
	return p.stem(version) + ".tar.gz"
}

// build is the content of one archive, and the SBOM of its program.
type build struct {
	platform
	files map[string][]byte
	sbom  []byte
}

// readSums reads checksums.txt: the hash of each file by its name.
func readSums(file string) (map[string]string, error) {
	text, err := os.ReadFile(file) //nolint:gosec // G304: the caller names the folder, that is the purpose
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || len(sum) != 2*sha256.Size {
			return nil, fmt.Errorf("%s: %q is not a hash and a name", file, line)
		}
		sums[strings.TrimLeft(name, " *")] = sum
	}
	return sums, nil
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// read opens the archive of a platform. It refuses one that checksums.txt does not list with
// its hash, and a program that is not the one of the SBOM.
func (in input) read(p platform, sums map[string]string) (build, error) {
	name := p.archive(in.version)
	data, err := os.ReadFile(filepath.Join(in.dist, name)) //nolint:gosec // G304: the caller names the folder, that is the purpose
	if err != nil {
		return build{}, err
	}
	if have := hashOf(data); have != sums[name] {
		return build{}, fmt.Errorf("%s has the hash %s, checksums.txt says %q", name, have, sums[name])
	}
	unpack := untar
	if p.system == "windows" {
		unpack = unzip
	}
	files, err := unpack(data)
	if err != nil {
		return build{}, fmt.Errorf("%s: %w", name, err)
	}
	for _, file := range []string{p.program(), "LICENSE", "THIRD_PARTY_NOTICES.txt"} {
		if len(files[file]) == 0 {
			return build{}, fmt.Errorf("%s has no %s", name, file)
		}
	}
	sbom, err := os.ReadFile(filepath.Join(in.dist, p.stem(in.version)+".cdx.json"))
	if err != nil {
		return build{}, err
	}
	return build{p, files, sbom}, describes(sbom, p.stem(in.version), files[p.program()])
}

// describes compares the program with the hash that the SBOM is for.
func describes(sbom []byte, name string, program []byte) error {
	var doc struct {
		Metadata struct {
			Component struct {
				Hashes []struct{ Content string }
			}
		}
	}
	if err := json.Unmarshal(sbom, &doc); err != nil {
		return fmt.Errorf("%s.cdx.json: %w", name, err)
	}
	hashes := doc.Metadata.Component.Hashes
	if have := hashOf(program); len(hashes) != 1 || hashes[0].Content != have {
		return fmt.Errorf("%s.cdx.json is for %v, the program has %s", name, hashes, have)
	}
	return nil
}

func untar(data []byte) (map[string][]byte, error) {
	packed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for r := tar.NewReader(packed); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeReg {
			if files[path.Clean(h.Name)], err = all(r); err != nil {
				return nil, err
			}
		}
	}
}

func unzip(data []byte) (map[string][]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		files[f.Name], err = all(r)
		if err := errors.Join(err, r.Close()); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func all(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if len(data) > maxFile {
		return nil, fmt.Errorf("a file has more than %d bytes", maxFile)
	}
	return data, err
}
