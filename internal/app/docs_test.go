package app

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"candela/internal/config"
)

const docsHead = `# Configuration

A flag overrides the environment, which overrides ` + "`candela.toml`" + ` in the state directory, which overrides the default.
` + "`candela config`" + ` prints the values in effect and where they come from.

- A boolean is ` + "`true`, `false`, `1` or `0`" + `. In the file, lists are arrays of strings and numbers are bare.
- An empty variable counts as not set. A leading ` + "`~/`" + ` in a path is the user's home directory.
- Unknown or malformed settings, and flags without effect in the chosen mode, stop the start with exit code 2 and a list of all
  problems.

` + "`go test ./internal/app -update`" + ` writes this page from ` + "`internal/config/settings.go`" + ` and the descriptors of venues and brokers.
`

// TestDocs_MatchTable holds the page to the table it describes.
func TestDocs_MatchTable(t *testing.T) {
	t.Parallel()
	var want bytes.Buffer
	want.WriteString(docsHead)
	writeMarkdown(&want)
	path := filepath.Join("..", "..", "docs", "configuration.md")
	if *update {
		if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("docs/configuration.md differs from the table; run with -update (-want +got):\n%s", diff)
	}
}

// shown are the settings of the README, in its order.
func shown() []string {
	return []string{
		"mcp", "serve", "trade", "home", "crypto-venue", "stock-venue", "csv-dir", "port", "base-url", "trusted-proxies", "admin-listen",
		"owner-password-file", "broker", "live", "policy", "webhook-url", "ntfy-url", "log-level",
	}
}

// TestDocs_Readme holds the README's short table to the whole one.
func TestDocs_Readme(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- settings: go test ./internal/app -update -->\n", "<!-- end of settings -->"
	path := filepath.Join("..", "..", "README.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := bytes.Cut(page, []byte(begin))
	_, tail, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		t.Fatal("the README has no place for the settings")
	}
	all := map[string]config.Setting{}
	for _, s := range config.Settings(Parts()) {
		all[s.Name] = s
	}
	var want bytes.Buffer
	want.Write(head)
	want.WriteString(begin + "| Variable | Default | |\n|---|---|---|\n")
	for _, name := range shown() {
		s, ok := all[name]
		if !ok {
			t.Fatalf("there is no setting %s", name)
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", s.Env(), code(s.Default != "", s.Default), s.Doc)
	}
	want.WriteString(end)
	want.Write(tail)
	if *update {
		if err := os.WriteFile(path, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want.String(), string(page)); diff != "" {
		t.Errorf("README.md differs from the table; run with -update (-want +got):\n%s", diff)
	}
}

func writeMarkdown(w io.Writer) {
	group := ""
	for _, s := range config.Settings(Parts()) {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(w, "\n## %s\n\n| Flag | Variable | Key in the file | Default | |\n|---|---|---|---|---|\n", group)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", code(s.Sources&config.FromFlag != 0, s.Flag()),
			code(true, s.Env()), code(s.Sources&config.FromFile != 0, s.Key()), code(s.Default != "", s.Default), s.Doc)
	}
}

func code(present bool, text string) string {
	if !present {
		return ""
	}
	return "`" + text + "`"
}
