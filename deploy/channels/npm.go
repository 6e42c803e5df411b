package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"candela/deploy/naming"
)

//go:embed form/launch.js
var launch []byte

//go:embed form/about.md
var aboutForm string

// about is the page of a package: the registries show it, and the MCP Registry looks for
// the name of the server in it.
func (in input) about() string {
	return strings.NewReplacer("@HOME@", naming.Home(in.repository), "@SERVER@", naming.Server(in.repository), "@NPM@", in.npm, "@PYTHON@", in.python).Replace(aboutForm)
}

const summary = "Charts, indicators, alerts and trading for AI agents over MCP"

// manifest is a package.json.
type manifest struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	License     string            `json:"license"`
	Homepage    string            `json:"homepage"`
	Repository  map[string]string `json:"repository"`
	Keywords    []string          `json:"keywords,omitempty"`
	Engines     map[string]string `json:"engines,omitempty"`
	Bin         map[string]string `json:"bin,omitempty"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	Optional    map[string]string `json:"optionalDependencies,omitempty"`
	MCPName     string            `json:"mcpName,omitempty"`
	Unplugged   bool              `json:"preferUnplugged,omitempty"` // a program in a zip file cannot be started
}

func (in input) manifest(name string) manifest {
	return manifest{
		Name: name, Version: in.version, Description: summary, License: "Apache-2.0", Homepage: naming.Home(in.repository),
		Repository: map[string]string{"type": "git", "url": "git+" + naming.Home(in.repository) + ".git"},
	}
}

// platformPackage is the name of the package that carries the program of a platform.
func (in input) platformPackage(p platform) string {
	return in.npm + "-" + p.nodeSystem + "-" + p.nodeArch
}

// writeNPM writes the package of one platform: the program alone.
func (in input) writeNPM(b build) error {
	m := in.manifest(in.platformPackage(b.platform))
	m.Description = "The program of " + in.npm + " for " + b.nodeSystem + " on " + b.nodeArch
	m.OS, m.CPU, m.Unplugged = []string{b.nodeSystem}, []string{b.nodeArch}, true
	return in.writeTarball(m, []entry{
		{"bin/" + b.program(), 0o755, b.files[b.program()]},
		{"LICENSE", 0o644, b.files["LICENSE"]},
		{"README.md", 0o644, []byte(m.Description + ". Install `" + in.npm + "`.\n")},
		{"THIRD_PARTY_NOTICES.txt", 0o644, b.files["THIRD_PARTY_NOTICES.txt"]},
		{"sbom.cdx.json", 0o644, b.sbom},
	})
}

// writeLauncher writes the package that users name. It starts the program of the optional
// package that npm has installed for their platform.
func (in input) writeLauncher() error {
	m := in.manifest(in.npm)
	m.MCPName, m.Keywords = naming.Server(in.repository), []string{"mcp", "mcp-server", "trading", "charts", "indicators", "alerts"}
	m.Engines = map[string]string{"node": ">=18"}
	m.Bin = map[string]string{"candela": "bin/candela.js"}
	m.Optional = map[string]string{}
	for _, p := range platforms() {
		m.Optional[in.platformPackage(p)] = in.version
	}
	return in.writeTarball(m, []entry{{"bin/candela.js", 0o755, launch}, {"README.md", 0o644, []byte(in.about())}})
}

type entry struct {
	name string
	mode int64
	data []byte
}

// writeTarball packs as `npm pack` does: everything under package, in one order, without
// times and owners of this machine.
func (in input) writeTarball(m manifest, files []entry) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range append([]entry{{"package.json", 0o644, append(text, '\n')}}, files...) {
		h := tar.Header{Typeflag: tar.TypeReg, Name: "package/" + f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: epoch(), Format: tar.FormatUSTAR}
		if err := t.WriteHeader(&h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	if err := errors.Join(t.Close(), z.Close()); err != nil {
		return err
	}
	name := strings.NewReplacer("@", "", "/", "-").Replace(m.Name)
	return in.put(packed.Bytes(), "npm", name+"-"+m.Version+".tgz")
}

// epoch is the oldest time that zip files know.
func epoch() time.Time { return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) }
