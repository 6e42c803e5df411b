// Command pinerate measures how many scripts of a local corpus of Pine scripts the
// checker accepts, and lists the first error of each other one by cause. Each folder of
// the directory is a repository; nothing of it is part of candela.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"candela/internal/analysis/pine/check"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) //nolint:forbidigo // a program of its own, and its main
}

// run does the command and returns its exit code.
func run(args []string, out, failures io.Writer) int {
	flags := flag.NewFlagSet("pinerate", flag.ContinueOnError)
	flags.SetOutput(failures)
	verbose := flags.Bool("v", false, "list every script that fails")
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 {
		fmt.Fprintln(failures, "usage: pinerate [-v] DIRECTORY")
		return 2
	}
	all, err := load(flags.Arg(0))
	if err != nil {
		fmt.Fprintln(failures, err)
		return 1
	}
	report(out, all, *verbose)
	return 0
}

// tally counts the scripts of one kind and version.
type tally struct{ all, passed int }

func report(out io.Writer, all []script, verbose bool) {
	counts := map[string]*tally{}
	causes := map[string][]string{}
	libraries := libraryFinder(all)
	start := time.Now()
	for _, s := range all {
		key := fmt.Sprintf("%s v%d", s.kind, s.version)
		if counts[key] == nil {
			counts[key] = &tally{}
		}
		counts[key].all++
		place, cause := firstError(s, libraries)
		if cause == "" {
			counts[key].passed++
		} else if s.version >= 5 {
			causes[cause] = append(causes[cause], s.path+place)
		}
	}
	fmt.Fprintf(out, "%d scripts in %v\n", len(all), time.Since(start).Round(time.Millisecond))
	for _, k := range sortedKeys(counts) {
		c := counts[k]
		fmt.Fprintf(out, "%-16s %4d of %4d  %5.1f %%\n", k, c.passed, c.all, 100*float64(c.passed)/float64(c.all))
	}
	list := sortedKeys(causes)
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(len(causes[b]), len(causes[a])) })
	for _, c := range list {
		fmt.Fprintf(out, "%4d  %s  (%s)\n", len(causes[c]), c, causes[c][0])
		if verbose {
			for _, p := range causes[c][1:] {
				fmt.Fprintf(out, "          %s\n", p)
			}
		}
	}
}

// libraryFinder answers imports with the libraries of the corpus, by their titles.
func libraryFinder(all []script) func(string, string, int) (string, bool) {
	byTitle := map[string]string{}
	for _, s := range all {
		if m := title.FindStringSubmatch(s.source); s.kind == "library" && m != nil {
			byTitle[strings.ToLower(m[1])] = s.source
		}
	}
	return func(_, name string, _ int) (string, bool) {
		source, ok := byTitle[strings.ToLower(name)]
		return source, ok
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func firstError(s script, libraries func(string, string, int) (string, bool)) (place, cause string) {
	_, found := check.Check(s.source, check.Options{Library: libraries})
	for _, d := range found {
		if d.Severity == check.Error {
			return fmt.Sprintf(":%d:%d", d.Line, d.Column), d.Code + ": " + d.Message
		}
	}
	return "", ""
}
