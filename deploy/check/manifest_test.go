package check

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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

// program builds candela, once for all tests.
func program(t *testing.T) string {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "candela-check-*")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "candela")
	build := exec.Command("go", "-C", root, "build", "-trimpath", "-ldflags", "-s -w -buildid=", "-o", binary, "./cmd/candela")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return binary, nil
})

func TestMain(m *testing.M) {
	status := m.Run()
	if binary, err := built(); err == nil {
		_ = os.RemoveAll(filepath.Dir(binary)) // the system clears what is left
	}
	os.Exit(status)
}

// tools returns the names of the program's tools, in its order.
func tools(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	server := exec.CommandContext(t.Context(), program(t), "--mcp", "--home", filepath.Join(dir, "state"))
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
	requests := hello + `{"jsonrpc":"2.0","method":"notifications/initialized"}
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
