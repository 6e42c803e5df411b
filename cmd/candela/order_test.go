package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"candela/internal/app"
)

// TestCommands_FlagsStandAnywhere runs every command that takes an argument with the flags
// behind it and with the flags before it: both do the same.
func TestCommands_FlagsStandAnywhere(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "my_cross.pine")
	if err := os.WriteFile(script, []byte("//@version=6\nindicator(\"x\")\nplot(close)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ words, flags string }{
		"script add":     {script, ""},
		"script remove":  {"my_cross", ""},
		"backtest":       {"SAMPLE 1h", "--quiet --long {} --bars 100"},
		"test-alert":     {"SAMPLE 1h", "--bars 100 --condition {}"},
		"scan":           {"1h", "--symbols SAMPLE --condition {}"},
		"approve":        {"O1", ""},
		"refuse":         {"O1", "--reason no"},
		"halt":           {"too fast", "--all --owner ann"},
		"policy check":   {script, ""},
		"receipt":        {"O1", "--out F"},
		"receipt verify": {script, "--json"},
		"owners show":    {"ann", "--json"},
		"owners suspend": {"ann", ""},
		"owners resume":  {"ann", ""},
		"owners plan":    {"ann free", ""},
		"owners link":    {"ann", "--issuer https://id.example --subject 1"},
		"owners export":  {"ann", "--to F"},
		"owners erase":   {"ann", "--yes"},
		"owners usage":   {"ann", "--since 2026-11-01"},
		"backup":         {filepath.Join(script, "no"), ""},
		"restore":        {filepath.Join(script, "no"), ""},
		"install":        {"cursor", "--dry-run --name one"},
		"uninstall":      {"cursor", "--dry-run --name one"},
		"auth revoke":    {"C1", ""},
	}
	for _, c := range allCommands() {
		if word := strings.Trim(strings.Fields(c.args + " -")[0], "[]"); strings.ToUpper(word) == word && word != "-" && word != "COMMAND" {
			if _, ok := cases[c.name]; !ok {
				t.Errorf("no case for the command %s %s", c.name, c.args)
			}
		}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			words, flags := strings.Fields(tc.words), strings.Fields("--home HOME "+tc.flags)
			want := ranAs(t, slices.Concat(strings.Fields(name), words, flags))
			if strings.Contains(want, " is required") {
				t.Errorf("with the words first: %s", want)
			}
			if got := ranAs(t, slices.Concat(strings.Fields(name), flags, words)); got != want {
				t.Errorf("with the flags first:\n%s\nwith the words first:\n%s", got, want)
			}
		})
	}
}

// ranAs returns what a command says in a home of its own, which the arguments call HOME.
func ranAs(t *testing.T, args []string) string {
	t.Helper()
	home := t.TempDir()
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "HOME", home)
	}
	var out bytes.Buffer
	code := run(t.Context(), args, []string{"HOME=" + home}, app.Deps{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Services: app.Wired()})
	return strings.ReplaceAll(fmt.Sprintf("%sexit code %d", &out, code), home, "HOME")
}
