// Command candela gives AI agents charts, indicators, alerts and trading over
// MCP. It parses, calls package app or the package of a command, and turns errors
// into exit codes; everything else is below it.
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
	exitUsage   = 2 // wrong flags, variables, file or arguments
)

func main() { os.Exit(process(app.Wired(), os.Stderr)) }

// process connects run with the operating system.
func process(services app.Services, stderr io.Writer) int {
	ctx := untilSignal(stderr, os.Exit)
	return run(ctx, os.Args[1:], os.Environ(), app.Deps{
		Version: buildVersion(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: stderr, Halts: haltSignals(), Services: services,
	})
}

// run is the program without globals: what it is told is in its arguments, what
// it says is in the streams and the exit code.
func run(ctx context.Context, args, environ []string, deps app.Deps) int {
	err := dispatch(ctx, args, environ, deps)
	if err == nil {
		return exitOK
	}
	return report(deps.Stderr, err)
}

// report writes err for a person and returns the exit code it deserves.
func report(w io.Writer, err error) int {
	problems := []error{err}
	if e, ok := errors.AsType[*config.Error](err); ok {
		problems = e.Problems
	}
	if e, ok := errors.AsType[*app.PolicyError](err); ok {
		problems = e.Problems()
	}
	var told []string
	for _, p := range problems {
		for line := range strings.Lines(strings.TrimSpace(p.Error())) {
			// Six accounts on one full disk fail in the same words.
			if line = strings.TrimRight(line, "\n"); !slices.Contains(told, line) {
				told = append(told, line)
				fmt.Fprintf(w, "candela: %s\n", line)
			}
		}
	}
	if fault.KindOf(err) != fault.Invalid {
		return exitFailure
	}
	fmt.Fprintln(w, "candela: nothing was started; candela --help lists every flag")
	return exitUsage
}
