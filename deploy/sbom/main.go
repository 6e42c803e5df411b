// Command sbom writes what a binary was built from as CycloneDX 1.6. It reads what
// the linker recorded in the binary itself, so the list is of what is inside and
// not of what go.mod allows.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

func main() {
	binary := flag.String("binary", "", "binary to describe")
	version := flag.String("version", "", "version without v")
	out := flag.String("out", "", "document to write")
	flag.Parse()
	if err := write(*binary, *version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(binary, version, out string) error {
	data, err := os.ReadFile(binary) //nolint:gosec // G304: the caller names the file, that is the purpose
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	document, err := json.MarshalIndent(describe(filepath.Base(binary), version, sha256.Sum256(data), info), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(document, '\n'), 0o644) //nolint:gosec // G306: a release is for everyone to read
}

type bom struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	Purl       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// describe lists the toolchain and every module. The number of the document is made
// from the binary's hash: the same binary has the same document.
func describe(name, version string, sum [sha256.Size]byte, info *buildinfo.BuildInfo) bom {
	root := component{
		Type: "application", Ref: "candela", Name: "candela", Version: version,
		Hashes:     []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
		Properties: []property{{"candela:file", name}},
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "GOOS", "GOARCH", "CGO_ENABLED", "-trimpath", "vcs.revision", "vcs.time":
			root.Properties = append(root.Properties, property{"candela:go:" + s.Key, s.Value})
		}
	}
	doc := bom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6",
		Serial: serial(sum), Version: 1, Metadata: metadata{root},
	}
	needs := dependency{Ref: root.Ref}
	toolchain := strings.TrimPrefix(info.GoVersion, "go")
	for _, m := range append([]*debug.Module{{Path: "stdlib", Version: toolchain}}, info.Deps...) {
		if m.Replace != nil {
			m = m.Replace
		}
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		doc.Components = append(doc.Components, component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, Purl: purl})
		doc.Dependencies = append(doc.Dependencies, dependency{Ref: purl})
		needs.DependsOn = append(needs.DependsOn, purl)
	}
	doc.Dependencies = append([]dependency{needs}, doc.Dependencies...)
	return doc
}

// serial returns the hash in the form of a UUID of version 8, which is for values
// that somebody else defines. RFC 9562 5.8.
func serial(sum [sha256.Size]byte) string {
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}
