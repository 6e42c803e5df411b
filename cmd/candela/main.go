// Command candela gives AI agents charts, indicators, alerts and trading over MCP. It parses
// arguments, calls package app or the package of a command, and turns errors into exit codes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	_ "time/tzdata" // sessions need time zones, and containers often have none

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/kit/fault"
)

// The exit codes.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2 // invalid arguments, flags, variables or configuration file
)

func main() { os.Exit(process(app.Wired(), os.Stderr)) }

// process connects run with the operating system.
func process(services app.Services, stderr io.Writer) int {
	ctx := untilSignal(stderr, os.Exit)
	return run(ctx, os.Args[1:], os.Environ(), app.Deps{
		Version: buildVersion(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: stderr, Halts: haltSignals(), Services: services,
	})
}

// run is the program without globals.
func run(ctx context.Context, args, environ []string, deps app.Deps) int {
	err := dispatch(ctx, args, environ, deps)
	if err == nil {
		return exitOK
	}
	return report(deps.Stderr, err)
}

// report prints err and returns the exit code.
func report(w io.Writer, err error) int {
	problems := []error{err}
	if e, ok := errors.AsType[*config.Error](err); ok {
		problems = e.Problems
	}
	if e, ok := errors.AsType[*app.PolicyError](err); ok {
		problems = e.Problems()
	}
	var printed []string
	for _, p := range problems {
		for line := range strings.Lines(strings.TrimSpace(p.Error())) {
			// Several accounts on one full disk fail with the same message.
			if line = strings.TrimRight(line, "\n"); !slices.Contains(printed, line) {
				printed = append(printed, line)
				fmt.Fprintf(w, "candela: %s\n", line)
			}
		}
	}
	if fault.KindOf(err) != fault.Invalid {
		return exitFailure
	}
	fmt.Fprintln(w, "candela: Nothing was started. Run candela --help for all flags.")
	return exitUsage
}
