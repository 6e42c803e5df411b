package install

import (
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"candela/internal/testkit/pagetest"
)

var update = flag.Bool("update", false, "rewrite the generated parts of the documentation")

// page holds the text between two marks of a page to what is generated.
func page(t *testing.T, file, part, text string) {
	t.Helper()
	pagetest.Part(t, file, part, "go test ./internal/operate/install -update", text, *update)
}

// entryOf returns the entry of a server as the client's file has it, in one line.
func entryOf(t *testing.T, c Client, s Server) string {
	t.Helper()
	before := map[format]string{plainJSON: `{"x":1}`, commentedJSON: `{"x":1}`}[c.format] // a file in one line stays so
	text, err := c.Set(before, "candela", s)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(text, `{"x":1, `, "{", 1)
}

// TestDocs_MatchTheTable holds the pages for users to the table of clients.
func TestDocs_MatchTheTable(t *testing.T) {
	t.Parallel()
	holdFiles(t)
	holdEntries(t)
	holdLinks(t)
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		if !strings.Contains(string(readme), "`"+name+"`") {
			t.Errorf("README.md does not name %s", name)
		}
	}
}

func holdFiles(t *testing.T) {
	t.Helper()
	var table strings.Builder
	table.WriteString("| Client | Linux | macOS | Windows |\n|---|---|---|---|\n")
	for _, c := range clients() {
		path := func(os, home string, env map[string]string) string {
			return c.Path(System{OS: os, Home: home, Env: func(name string) string { return env[name] }, Exists: func(string) bool { return false }})
		}
		linux, darwin := path("linux", "~", nil), path("darwin", "~", nil)
		if darwin == linux {
			darwin = "the same"
		} else {
			darwin = "`" + darwin + "`"
		}
		windows := path("windows", "%USERPROFILE%", map[string]string{"APPDATA": "%APPDATA%"})
		fmt.Fprintf(&table, "| `%s` | `%s` | %s | `%s` |\n", c.Name, linux, darwin, windows)
	}
	page(t, "docs/clients.md", "files", table.String())
}

// holdEntries holds what the page shows for an installation by hand to what candela writes.
func holdEntries(t *testing.T) {
	t.Helper()
	for _, c := range clients() {
		var b strings.Builder
		language := map[format]string{tomlFile: "toml", yamlFile: "yaml"}[c.format]
		if language == "" {
			language = "json"
		}
		entry := entryOf(t, c, Server{Command: "/usr/local/bin/candela", Args: []string{"--mcp"}})
		fmt.Fprintf(&b, "```%s\n%s\n```\n", language, strings.TrimSuffix(entry, "\n"))
		if c.remote != nil {
			entry = entryOf(t, c, Server{URL: "https://charts.example.com/mcp"})
			fmt.Fprintf(&b, "\nWith a URL:\n\n```%s\n%s\n```\n", language, strings.TrimSuffix(entry, "\n"))
		}
		page(t, "docs/clients.md", c.Name+" by hand", b.String())
	}
}

// holdLinks holds the links that add candela to a client in one click. They name candela
// without a path, so it has to be in PATH.
func holdLinks(t *testing.T) {
	t.Helper()
	entry := func(name string, with ...field) string {
		object := map[string]any{}
		for _, f := range append(client(t, name).local("candela", Server{Command: "candela", Args: []string{"--mcp"}}), with...) {
			object[f.key] = f.plain()
		}
		data, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	cursor := "name=candela&config=" + url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(entry("cursor"))))
	vscode := "vscode:mcp/install?" + url.QueryEscape(entry("vscode", field{key: "name", value: "candela"}))
	// A page on GitHub cannot link to other schemes, so the vendors redirect.
	page(t, "README.md", "links", "[![Add to Cursor](docs/badges/cursor.svg)](https://cursor.com/en/install-mcp?"+cursor+")\n"+
		"[![Add to VS Code](docs/badges/vscode.svg)](https://insiders.vscode.dev/redirect?url="+url.QueryEscape(vscode)+")\n")
	page(t, "docs/clients.md", "links", "```text\ncursor://anysphere.cursor-deeplink/mcp/install?"+cursor+"\n"+vscode+"\n```\n")
}
