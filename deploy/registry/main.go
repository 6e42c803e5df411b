// Command registry writes server.json, by which the MCP Registry knows a release: a bundle
// for each platform with its hash, the packages for npm and Python, and the image.
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

	"candela/deploy/naming"

	apiv0 "github.com/modelcontextprotocol/registry/pkg/api/v0"
)

func main() {
	repository := flag.String("repository", "", "OWNER/NAME of the repository that releases")
	version := flag.String("version", "", "version without v")
	bundles := flag.String("bundles", "", "folder with the bundles")
	npm := flag.String("npm", "candela", "name of the npm package, empty if there is none")
	python := flag.String("python", "candela", "name of the Python package, empty if there is none")
	out := flag.String("out", "", "file to write")
	flag.Parse()
	if err := write(release{*repository, *version, *bundles, *npm, *python}, *out); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

// release says where a release is to be found.
type release struct {
	repository, version, bundles, npm, python string
}

func write(r release, out string) error {
	if owner, _, ok := strings.Cut(r.repository, "/"); !ok || owner == "" || r.version == "" {
		return fmt.Errorf("-repository %q -version %q: want OWNER/NAME and a version", r.repository, r.version)
	}
	bundles, err := r.bundled()
	if err != nil {
		return err
	}
	document, err := json.MarshalIndent(apiv0.ServerJSON{
		Schema: model.CurrentSchemaURL, Name: naming.Server(r.repository), Title: "Candela",
		Description: "Charts, technical indicators, alerts and trading for crypto, stocks and currencies.",
		Repository:  &model.Repository{URL: naming.Home(r.repository), Source: "github"},
		Version:     r.version,
		Packages:    append(r.installed(), bundles...),
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(document, '\n'), 0o644) //nolint:gosec // G306: it is published
}

// installed are the packages that another program gets and starts.
func (r release) installed() []model.Package {
	var all []model.Package
	if r.npm != "" {
		all = append(all, model.Package{
			RegistryType: model.RegistryTypeNPM, RegistryBaseURL: model.RegistryURLNPM,
			Identifier: r.npm, Version: r.version, RunTimeHint: model.RuntimeHintNPX,
		})
	}
	if r.python != "" {
		all = append(all, model.Package{
			RegistryType: model.RegistryTypePyPI, RegistryBaseURL: model.RegistryURLPyPI,
			Identifier: r.python, Version: naming.Python(r.version), RunTimeHint: model.RuntimeHintUVX,
		})
	}
	// The state directory of a container is in a volume.
	all = append(all, model.Package{
		RegistryType: model.RegistryTypeOCI, Identifier: naming.Image(r.repository, r.version), RunTimeHint: model.RuntimeHintDocker,
		RuntimeArguments: []model.Argument{named("-v", "candela:/home/nonroot")},
	})
	for i := range all {
		all[i].Transport = model.Transport{Type: model.TransportTypeStdio}
		all[i].PackageArguments = []model.Argument{flagAlone("--mcp")}
		all[i].EnvironmentVariables = settings()
	}
	all[len(all)-1].EnvironmentVariables = settings()[:2] // the image sets its state directory
	return all
}

func named(name, value string) model.Argument {
	a := model.Argument{Type: model.ArgumentTypeNamed, Name: name}
	a.Value = value
	return a
}

// flagAlone is a flag without a value: clients ask for the value of a named argument.
func flagAlone(name string) model.Argument {
	a := model.Argument{Type: model.ArgumentTypePositional}
	a.Value = name
	return a
}

// settings are the variables that a user may set in a client; the test compares them with the
// page of all settings.
func settings() []model.KeyValueInput {
	all := make([]model.KeyValueInput, 0, 3)
	for _, one := range []struct {
		name, about string
		format      model.Format
		value       string
	}{
		{"CANDELA_TRADE", "Watch alerts and keep a paper account while the client runs.", model.FormatBoolean, "false"},
		{"CANDELA_TOOLSETS", "More tools, such as all or scripts,research.", model.FormatString, ""},
		{"CANDELA_HOME", "The state directory, instead of .candela in the home directory.", model.FormatFilePath, ""},
	} {
		v := model.KeyValueInput{Name: one.name}
		v.Description, v.Format, v.Default = one.about, one.format, one.value
		all = append(all, v)
	}
	return all
}

// bundled are the bundles in the folder.
func (r release) bundled() ([]model.Package, error) {
	files, err := filepath.Glob(filepath.Join(r.bundles, "candela_"+r.version+"_*.mcpb"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no bundle of version %s in %s", r.version, r.bundles)
	}
	slices.Sort(files)
	var all []model.Package
	for _, file := range files {
		data, err := os.ReadFile(file) //nolint:gosec // G304: the caller names the folder, that is the purpose
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(data)
		all = append(all, model.Package{
			RegistryType: model.RegistryTypeMCPB,
			Identifier:   naming.Download(r.repository, r.version, filepath.Base(file)),
			FileSHA256:   hex.EncodeToString(sum[:]),
			Transport:    model.Transport{Type: model.TransportTypeStdio},
		})
	}
	return all, nil
}
