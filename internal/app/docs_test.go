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
