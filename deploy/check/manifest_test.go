package check

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestManifest_NamesTheToolsOfTheProgram starts the program and asks.
func TestManifest_NamesTheToolsOfTheProgram(t *testing.T) {
	t.Parallel()
	var manifest struct {
		Tools []struct{ Name string }
	}
	data, err := os.ReadFile(filepath.Join(root, "deploy", "mcpb", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	listed := make([]string, 0, len(manifest.Tools))
	for _, tool := range manifest.Tools {
		listed = append(listed, tool.Name)
	}
	if have, want := strings.Join(listed, " "), strings.Join(tools(t), " "); have != want {
		t.Errorf("the manifest lists\n%s\nthe program\n%s", have, want)
	}
}

// tools returns the names of the program's tools, in its order.
func tools(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "candela")
	build := exec.CommandContext(t.Context(), "go", "-C", root, "build", "-trimpath", "-o", binary, "./cmd/candela")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := exec.CommandContext(t.Context(), binary, "--mcp", "--home", filepath.Join(dir, "state"))
	server.Env = []string{"HOME=" + dir}
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	requests := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"check","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`
	if _, err := in.Write([]byte(requests)); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Result struct{ Tools []struct{ Name string } }
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for len(answer.Result.Tools) == 0 && lines.Scan() {
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
	names := make([]string, 0, len(answer.Result.Tools))
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}
