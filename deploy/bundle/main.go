// Command bundle packs a binary and its manifest into a bundle that desktop
// clients install (MCPB): a zip file whose bytes depend on its input alone.
package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	var in input
	flag.StringVar(&in.manifest, "manifest", "", "manifest to fill in")
	flag.StringVar(&in.license, "license", "", "licence that goes into the bundle")
	flag.StringVar(&in.notices, "notices", "", "licences of what is linked")
	flag.StringVar(&in.binary, "binary", "", "binary to pack")
	flag.StringVar(&in.system, "os", "", "system of the binary, as Go names it")
	flag.StringVar(&in.version, "version", "", "version without v")
	flag.StringVar(&in.out, "out", "", "bundle to write")
	flag.Parse()
	if err := in.pack(); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

type input struct {
	manifest, license, notices, binary, system, version, out string
}

// platforms are Go's names of systems as the manifest writes them.
func platforms() map[string]string {
	return map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}
}

func (in input) pack() error {
	platform := platforms()[in.system]
	if platform == "" || in.version == "" {
		return fmt.Errorf("-os %q -version %q: want linux, darwin or windows, and a version", in.system, in.version)
	}
	manifest, err := in.fill(platform)
	if err != nil {
		return err
	}
	name := "server/candela"
	if in.system == "windows" {
		name += ".exe"
	}
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	err = errors.Join(
		add(z, "manifest.json", 0o644, manifest),
		copyIn(z, "LICENSE", 0o644, in.license),
		copyIn(z, "THIRD_PARTY_NOTICES.txt", 0o644, in.notices),
		copyIn(z, name, 0o755, in.binary),
		z.Close(),
	)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(in.out), 0o750); err != nil {
		return err
	}
	return os.WriteFile(in.out, packed.Bytes(), 0o644) //nolint:gosec // G306: a release is for everyone to read
}

// fill puts what belongs to one bundle into the manifest: its version, its platform
// and the name of the binary there.
func (in input) fill(platform string) ([]byte, error) {
	data, err := os.ReadFile(in.manifest)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%s: %w", in.manifest, err)
	}
	server, isServer := m["server"].(map[string]any)
	fit, isFit := m["compatibility"].(map[string]any)
	if !isServer || !isFit {
		return nil, fmt.Errorf("%s has no server or no compatibility", in.manifest)
	}
	m["version"] = in.version
	fit["platforms"] = []string{platform}
	if platform == "win32" {
		server["entry_point"] = "server/candela.exe"
	}
	return json.MarshalIndent(m, "", "  ")
}

func copyIn(z *zip.Writer, name string, mode os.FileMode, from string) error {
	data, err := os.ReadFile(from) //nolint:gosec // G304: the caller names the file, that is the purpose
	if err != nil {
		return err
	}
	return add(z, name, mode, data)
}

// add writes one file without a time, so that the same input gives the same bytes.
func add(z *zip.Writer, name string, mode os.FileMode, data []byte) error {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	h.SetMode(mode)
	w, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
