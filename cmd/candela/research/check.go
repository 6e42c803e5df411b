package research

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"candela/cmd/candela/cli"

	"candela/lib/fault"
	"candela/lib/pine/check"
)

// Script checks Pine scripts, and lists, adds and removes stored ones.
func Script() cli.Runner {
	return cli.OneOf("script", cli.Sub("check", checkScript), cli.Sub("list", listScripts), cli.Sub("add", addScript), cli.Sub("remove", removeScript))
}

// checkScript checks a Pine script in a file.
func checkScript(_ context.Context, in cli.Call) error {
	if len(in.Args) != 1 || strings.HasPrefix(in.Args[0], "-") {
		return fault.Field("script check", strings.Join(in.Args, " "), "one FILE")
	}
	path := in.Args[0]
	source, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return fmt.Errorf("read script: %w", err)
	}
	program, found := check.Check(string(source), check.Options{Library: librariesIn(filepath.Dir(path))})
	errors := 0
	for _, d := range found {
		kind := "warning"
		if d.Severity == check.Error {
			kind = "error"
			errors++
		}
		fmt.Fprintf(in.Stdout, "%s:%d:%d: %s %s: %s\n", path, d.Line, d.Column, kind, d.Code, d.Message)
		if d.Fix != "" {
			fmt.Fprintf(in.Stdout, "    %s\n", d.Fix)
		}
		if d.Instead != "" {
			fmt.Fprintf(in.Stdout, "    instead: %s\n", d.Instead)
		}
	}
	if errors > 0 {
		return fault.New(fault.Invalid, "invalid_file", "%s has %d errors.", path, errors)
	}
	return summarise(in.Stdout, program)
}

// librariesIn answers imports with files of a folder.
func librariesIn(folder string) func(user, name string, version int) (string, bool) {
	return func(user, name string, version int) (string, bool) {
		source, err := os.ReadFile(filepath.Join(folder, fmt.Sprintf("%s.%s.%d.pine", user, name, version))) //nolint:gosec // names are identifiers
		return string(source), err == nil
	}
}

// summarise prints what a checked script declares.
func summarise(w io.Writer, p *check.Program) error {
	kind := map[check.ScriptKind]string{check.Indicator: "indicator", check.Strategy: "strategy", check.Library: "library"}[p.Kind]
	fmt.Fprintf(w, "%q is a valid %s, Pine version %d.\n", p.Title, kind, p.Version)
	if r := p.Converted; r != nil {
		fmt.Fprintf(w, "  converted from version %d:\n", r.From)
		for _, c := range r.Changes {
			fmt.Fprintf(w, "    line %d: %s is now %s\n", c.Line, c.Was, c.Is)
		}
		if r.More > 0 {
			fmt.Fprintf(w, "    and %d more\n", r.More)
		}
	}
	for _, i := range p.Inputs {
		fmt.Fprintf(w, "  input %s (%s)%s\n", i.Name, i.Kind, titled(i.Title))
	}
	for _, o := range p.Plots {
		fmt.Fprintf(w, "  %s%s\n", o.Kind, titled(o.Title))
	}
	for _, c := range p.Conditions {
		fmt.Fprintf(w, "  alert condition%s\n", titled(c.Title))
	}
	requests := "asks for no other symbol or interval"
	if n := len(p.Requests); n == 1 {
		requests = "asks for 1 other symbol or interval"
	} else if n > 1 {
		requests = fmt.Sprintf("asks for %d other symbols or intervals", n)
	}
	_, err := fmt.Fprintln(w, "  "+requests)
	return err
}

// titled is a title behind a word, or that there is none.
func titled(title string) string {
	if title == "" {
		return " without a title"
	}
	return fmt.Sprintf(" %q", title)
}
