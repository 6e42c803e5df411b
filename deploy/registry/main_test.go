package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"candela/deploy/naming"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/registry/pkg/model"
)

// schema reads the schema that the registry itself validates with: its module brings
// it along. The folder of a package is known without the network, that of a module is not.
func schema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/registry/pkg/model").Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "..", "..", "internal", "validators", "schemas", model.CurrentSchemaVersion+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func written(t *testing.T, bundles ...string) map[string]any {
	t.Helper()
	dir := t.TempDir()
	for _, name := range bundles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "server.json")
	if err := write(release{"example/candela", "1.2.3", dir, "candela", "candela"}, out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestWrite_FollowsTheSchemaOfTheRegistry(t *testing.T) {
	t.Parallel()
	doc := written(t, "candela_1.2.3_linux_amd64.mcpb", "candela_1.2.3_windows_arm64.mcpb")
	if err := schema(t).Validate(doc); err != nil {
		t.Error(err)
	}
	if packages, ok := doc["packages"].([]any); !ok || len(packages) != 5 {
		t.Errorf("packages are %v", doc["packages"])
	}
}

func TestSchema_RefusesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(map[string]any){
		"a name without a namespace":     func(d map[string]any) { d["name"] = "candela" },
		"a description that is too long": func(d map[string]any) { d["description"] = strings.Repeat("x", 101) },
		"no version":                     func(d map[string]any) { delete(d, "version") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := written(t, "candela_1.2.3_linux_amd64.mcpb")
			spoil(doc)
			if err := schema(t).Validate(doc); err == nil {
				t.Error("was taken")
			}
		})
	}
}

func TestWrite_NeedsABundleOfItsVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "candela_1.2.2_linux_amd64.mcpb"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(release{"example/candela", "1.2.3", dir, "", ""}, filepath.Join(dir, "server.json")); err == nil {
		t.Error("a release without bundles was described")
	}
}

// TestSettings_AreThoseOfTheProgram holds the variables in server.json to the page of all settings,
// and what the registry looks for in the image to the name of the server.
func TestSettings_AreThoseOfTheProgram(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range settings() {
		if !strings.Contains(string(page), "`"+v.Name+"`") {
			t.Errorf("there is no %s", v.Name)
		}
	}
	release, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := `io.modelcontextprotocol.server.name: "` + naming.Server("{{ .Env.OWNER }}/candela") + `"`; !strings.Contains(string(release), want) {
		t.Errorf("the image has no label %s", want)
	}
}
