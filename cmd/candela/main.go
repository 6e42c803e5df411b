// Command candela gives AI agents charts, indicators, alerts and trading over MCP. It parses
// arguments, calls package app or the package of a command, and turns errors into exit codes.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // sessions need time zones, and containers often have none

	"candela/internal/app"
	"candela/internal/config"
	"candela/internal/kit/fair"
	"candela/lib/fault"
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
		Version: buildVersion(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: stderr, Halts: haltSignals(), MakeRoom: fair.MakeRoom, Apart: fair.Apart, Services: services,
	})
}

// run is the program without globals.
func run(ctx context.Context, args, environ []string, deps app.Deps) int {
	err := dispatch(ctx, args, environ, deps)
	if err == nil {
		return exitOK
	}
	return report(deps.Stderr, commandOf(args), err)
}

// untilSignal returns a context that ends with the first interrupt or SIGTERM. The second
// one ends the process at once.
// Windows delivers both names for Ctrl-C, Ctrl-Break and a closed console.
func untilSignal(stderr io.Writer, exit func(int)) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // lives as long as the process, which it may end
		cancel(fmt.Errorf("signal: %s", <-signals))
		fmt.Fprintf(stderr, "candela: second signal (%s): exiting at once\n", <-signals)
		exit(exitFailure)
	}()
	return ctx
}

// problemList is an error of several problems.
type problemList interface {
	error
	Problems() []error
}

// report prints the error of a command, "" for a server, and returns the exit code.
func report(w io.Writer, command string, err error) int {
	problems := []error{err}
	if e, ok := errors.AsType[*config.Error](err); ok {
		problems = e.Problems
	}
	if e, ok := errors.AsType[problemList](err); ok {
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
	if command == "" {
		fmt.Fprintln(w, "candela: Nothing was started. Run candela --help for all flags.")
	} else {
		fmt.Fprintf(w, "candela: Run candela %s --help for what it takes.\n", command)
	}
	return exitUsage
}

// version is stamped by a release: -ldflags "-X main.version=v1.2.3".
// The linker writes it, nothing else does.
var version string

// buildVersion returns the version followed by what the toolchain recorded.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return describeBuild(version, info)
}

// describeBuild writes, for example,
// "v1.2.3 (commit 0123456789ab, modified, 2026-01-02T03:04:05Z, go1.26.0 linux/amd64)".
func describeBuild(stamped string, info *debug.BuildInfo) string {
	recorded := make(map[string]string)
	for _, s := range info.Settings {
		recorded[s.Key] = s.Value
	}
	var facts []string
	if commit := recorded["vcs.revision"]; commit != "" {
		facts = append(facts, "commit "+commit[:min(12, len(commit))])
	}
	if recorded["vcs.modified"] == "true" {
		facts = append(facts, "modified")
	}
	if when := recorded["vcs.time"]; when != "" {
		facts = append(facts, when)
	}
	facts = append(facts, fmt.Sprintf("%s %s/%s", cmp.Or(info.GoVersion, runtime.Version()), runtime.GOOS, runtime.GOARCH))
	return fmt.Sprintf("%s (%s)", cmp.Or(stamped, info.Main.Version, "(devel)"), strings.Join(facts, ", "))
}
