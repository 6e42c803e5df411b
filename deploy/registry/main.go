// Command registry writes server.json, by which the MCP Registry knows a release:
// one package per bundle, with its hash.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/registry/pkg/model"

	apiv0 "github.com/modelcontextprotocol/registry/pkg/api/v0"
)

func main() {
	repository := flag.String("repository", "", "OWNER/NAME of the repository that releases")
	version := flag.String("version", "", "version without v")
	bundles := flag.String("bundles", "", "folder with the bundles")
	out := flag.String("out", "", "file to write")
	flag.Parse()
	if err := write(*repository, *version, *bundles, *out); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func write(repository, version, bundles, out string) error {
	owner, _, ok := strings.Cut(repository, "/")
	if !ok || owner == "" || version == "" {
		return fmt.Errorf("-repository %q -version %q: want OWNER/NAME and a version", repository, version)
	}
	server := apiv0.ServerJSON{
		Schema: model.CurrentSchemaURL, Name: "io.github." + owner + "/candela", Title: "Candela",
		Description: "Charts, technical indicators, alerts and trading for crypto, stocks and currencies.",
		Repository:  &model.Repository{URL: "https://github.com/" + repository, Source: "github"},
		Version:     version,
	}
	files, err := filepath.Glob(filepath.Join(bundles, "candela_"+version+"_*.mcpb"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no bundle of version %s in %s", version, bundles)
	}
	slices.Sort(files)
	for _, file := range files {
		data, err := os.ReadFile(file) //nolint:gosec // G304: the caller names the folder, that is the purpose
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		server.Packages = append(server.Packages, model.Package{
			RegistryType: model.RegistryTypeMCPB,
			Identifier:   fmt.Sprintf("https://github.com/%s/releases/download/v%s/%s", repository, version, filepath.Base(file)),
			FileSHA256:   hex.EncodeToString(sum[:]),
			Transport:    model.Transport{Type: model.TransportTypeStdio},
		})
	}
	document, err := json.MarshalIndent(server, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(document, '\n'), 0o644) //nolint:gosec // G306: it is published
}
