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
	"path/filepath"
	"slices"
	"strings"
	"time"

	"candela/lib/market"
	"candela/lib/pine/check"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) //nolint:forbidigo // a program of its own, and its main
}

// run does the command and returns its exit code.
func run(args []string, out, failures io.Writer) int {
	flags := flag.NewFlagSet("pinerate", flag.ContinueOnError)
	flags.SetOutput(failures)
	verbose := flags.Bool("v", false, "list every script that fails")
	kind := flags.String("kind", "indicator", "list causes of this kind: indicator, strategy, library or all")
	bars := flags.Int("run", 0, "also run each script over this many bars; one that fails counts as not compiled")
	same := flags.Bool("same", false, "with -run: compare the bits of the scripts stepped, with tries, restored and hoisted instead")
	hash := flags.Bool("hash", false, "with -run: print digests of what the scripts plot instead")
	shelf := flags.String("libraries", "", "directory of more libraries, as user.name.number.pine")
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 {
		fmt.Fprintln(failures, "usage: pinerate [-v] [-kind KIND] [-run BARS [-hash | -same]] [-libraries DIRECTORY] DIRECTORY")
		return 2
	}
	all, err := load(flags.Arg(0))
	if err != nil {
		fmt.Fprintln(failures, err)
		return 1
	}
	if *same {
		compareForms(out, all, shelved(*shelf, libraryFinder(all)), wave(*bars))
		return 0
	}
	if *hash {
		digests(out, all, shelved(*shelf, libraryFinder(all)), wave(*bars))
		return 0
	}
	c := &survey{libraries: shelved(*shelf, libraryFinder(all)), kind: *kind, verbose: *verbose, bars: wave(*bars)}
	c.report(out, all)
	return 0
}

// shelved looks for a library in a directory before it asks the corpus.
func shelved(directory string, other finder) finder {
	if directory == "" {
		return other
	}
	return func(user, name string, number int) (string, bool) {
		text, err := os.ReadFile(filepath.Join(directory, fmt.Sprintf("%s.%s.%d.pine", user, name, number))) //nolint:gosec // G304: the caller names the folder
		if err != nil {
			return other(user, name, number)
		}
		return string(text), true
	}
}

// finder returns the source of a library by user, name and number.
type finder func(user, name string, number int) (string, bool)

// tally counts the scripts of one kind and version: all, those that compile, and those that
// compile without the source of any library.
type tally struct{ all, passed, alone int }

func (t *tally) add(passed, alone bool) {
	t.all++
	if passed {
		t.passed++
	}
	if alone {
		t.alone++
	}
}

func (t *tally) line(name string) string {
	share := func(n int) float64 { return 100 * float64(n) / float64(t.all) }
	return fmt.Sprintf("%-16s %4d of %4d  %5.1f %%   without libraries %4d  %5.1f %%", name, t.passed, t.all, share(t.passed), t.alone, share(t.alone))
}

// spent is how long a script took.
type spent struct {
	path string
	time time.Duration
}

// survey is what to count and to list.
type survey struct {
	libraries finder
	kind      string
	verbose   bool
	bars      []market.Bar
}

func (c *survey) report(out io.Writer, all []script) {
	counts := map[string]*tally{}
	causes := map[string][]string{}
	var slow []spent
	start := time.Now()
	count := func(key string, passed, alone bool) {
		if counts[key] == nil {
			counts[key] = &tally{}
		}
		counts[key].add(passed, alone)
	}
	for _, s := range all {
		begun := time.Now()
		place, cause := c.firstError(s, c.libraries)
		slow = append(slow, spent{s.path, time.Since(begun)})
		without := cause
		if strings.Contains(s.source, "import ") {
			_, without = c.firstError(s, nil)
		}
		count(fmt.Sprintf("%s v%d", s.kind, s.version), cause == "", without == "")
		if s.version < 5 {
			continue
		}
		count(s.kind+" v5, v6", cause == "", without == "")
		if cause != "" && (s.kind == c.kind || c.kind == "all") {
			causes[cause] = append(causes[cause], s.path+place)
		}
	}
	fmt.Fprintf(out, "%d scripts in %v\n", len(all), time.Since(start).Round(time.Millisecond))
	for _, k := range sortedKeys(counts) {
		fmt.Fprintln(out, counts[k].line(k))
	}
	slices.SortFunc(slow, func(a, b spent) int { return cmp.Compare(b.time, a.time) })
	for _, s := range slow[:min(len(slow), 5)] {
		fmt.Fprintf(out, "%8v  %s\n", s.time.Round(time.Millisecond), s.path)
	}
	list := sortedKeys(causes)
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(len(causes[b]), len(causes[a])) })
	for _, cause := range list {
		fmt.Fprintf(out, "%4d  %s  (%s)\n", len(causes[cause]), cause, causes[cause][0])
		if c.verbose {
			for _, p := range causes[cause][1:] {
				fmt.Fprintf(out, "          %s\n", p)
			}
		}
	}
}

// libraryFinder answers imports with the libraries of the corpus, by their titles.
func libraryFinder(all []script) finder {
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

func (c *survey) firstError(s script, libraries finder) (place, cause string) {
	_, found := check.Check(s.source, check.Options{Library: libraries})
	for _, d := range found {
		if d.Severity == check.Error {
			return fmt.Sprintf(":%d:%d", d.Line, d.Column), d.Code + ": " + d.Message
		}
	}
	if len(c.bars) > 0 {
		if d, failed := runError(s, libraries, c.bars); failed {
			return fmt.Sprintf(":%d:%d", d.Line, d.Column), d.Code + ": " + d.Message
		}
	}
	return "", ""
}
