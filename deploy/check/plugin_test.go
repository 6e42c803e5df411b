package check

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// installed returns the entry that the program writes for a client, with the program found
// in PATH as plugins and links name it.
func installed(t *testing.T, client, key string) map[string]any {
	t.Helper()
	file := filepath.Join(t.TempDir(), "client.json")
	install := exec.CommandContext(t.Context(), program(t), "install", client, "--file", file)
	install.Env = []string{"HOME=" + t.TempDir()}
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var written map[string]map[string]map[string]any
	readJSON(t, file, &written)
	entry := written[key]["candela"]
	if entry["command"] != program(t) {
		t.Errorf("%s starts %v", client, entry["command"])
	}
	entry["command"] = "candela"
	return entry
}

func readJSON(t *testing.T, file string, to any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func TestPlugin_StartsTheProgramAsInstallDoes(t *testing.T) {
	t.Parallel()
	var plugin struct {
		Name, Version, License string
		McpServers             map[string]map[string]any
	}
	readJSON(t, filepath.Join(root, ".claude-plugin", "plugin.json"), &plugin)
	if want := installed(t, "claude-code", "mcpServers"); !reflect.DeepEqual(plugin.McpServers["candela"], want) || len(plugin.McpServers) != 1 {
		t.Errorf("the plugin has %v, candela install writes %v", plugin.McpServers, want)
	}
	var market struct {
		Plugins []struct{ Name, Source string }
	}
	readJSON(t, filepath.Join(root, ".claude-plugin", "marketplace.json"), &market)
	if len(market.Plugins) != 1 || market.Plugins[0].Name != plugin.Name || market.Plugins[0].Source != "./" {
		t.Errorf("the marketplace lists %v", market.Plugins)
	}
	// Clients update a plugin when its version changes.
	log, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := "0.1.0" // until there is a release
	if released := regexp.MustCompile(`(?m)^## \[(\d[^\]]*)\]`).FindStringSubmatch(string(log)); released != nil {
		want = released[1]
	}
	if plugin.Version != want {
		t.Errorf("the plugin has version %s, the newest release is %s", plugin.Version, want)
	}
}

// TestLinks_AddWhatInstallWrites decodes the links as Cursor and VS Code do.
func TestLinks_AddWhatInstallWrites(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, name := range []string{"README.md", "docs/clients.md"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
	}
	pages := text.String()
	decoded := func(text string) map[string]any {
		var entry map[string]any
		if err := json.Unmarshal([]byte(text), &entry); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return entry
	}
	query := func(link string) url.Values {
		u, err := url.Parse(link)
		if err != nil {
			t.Fatal(err)
		}
		return u.Query()
	}
	cursor := regexp.MustCompile(`(?:https://cursor\.com/en/install-mcp|cursor://anysphere\.cursor-deeplink/mcp/install)\?[^)\s]+`).FindAllString(pages, -1)
	for _, link := range cursor {
		config, err := base64.StdEncoding.DecodeString(query(link).Get("config"))
		if want := installed(t, "cursor", "mcpServers"); err != nil || query(link).Get("name") != "candela" || !reflect.DeepEqual(decoded(string(config)), want) {
			t.Errorf("%s adds %s, %v; candela install writes %v", link, config, err, want)
		}
	}
	direct := regexp.MustCompile(`(?m)^vscode:mcp/install\?\S+`).FindAllString(pages, -1)
	redirects := regexp.MustCompile(`https://insiders\.vscode\.dev/redirect\?[^)\s]+`).FindAllString(pages, -1)
	if len(cursor) != 2 || len(direct) != 1 || len(redirects) != 1 {
		t.Fatalf("links: %q %q %q", cursor, direct, redirects)
	}
	for _, link := range []string{direct[0], query(redirects[0]).Get("url")} {
		config, err := url.PathUnescape(strings.TrimPrefix(link, "vscode:mcp/install?"))
		want := installed(t, "vscode", "servers")
		want["name"] = "candela"
		if err != nil || !reflect.DeepEqual(decoded(config), want) {
			t.Errorf("%s adds %s, %v; candela install writes %v", link, config, err, want)
		}
	}
}
