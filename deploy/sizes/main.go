// Command sizes writes the sizes of a release's artefacts into the page about releases, or holds that the page has them.
//
// usage: sizes [-write] -page ../docs/release.md FOLDER...
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	begins = "<!-- sizes: deploy/run sizes -->\n"
	ends   = "<!-- end of sizes -->\n"
	// tolerance is the share by which a page may be behind.
	tolerance = 0.1
)

// kinds names the artefacts by how their files end, as the page lists them.
func kinds() []struct{ name, ending string } {
	return []struct{ name, ending string }{
		{"program", ""}, {"archive", ".tar.gz"}, {"archive", ".zip"}, {"deb", ".deb"}, {"rpm", ".rpm"}, {"bundle", ".mcpb"}, {"npm", ".tgz"}, {"wheel", ".whl"},
	}
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("sizes", flag.ContinueOnError)
	write := flags.Bool("write", false, "write the page instead of reading it")
	page := flags.String("page", "", "the page")
	if err := flags.Parse(args); err != nil {
		return err
	}
	sizes := make(map[cell]int64)
	for _, folder := range flags.Args() {
		if err := measure(folder, sizes); err != nil {
			return err
		}
	}
	old, err := os.ReadFile(*page)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(old), begins)
	table, after, closed := strings.Cut(rest, ends)
	switch {
	case !found || !closed:
		return fmt.Errorf("%s has no place for the sizes", *page)
	case len(sizes) == 0:
		return errors.New("there are no artefacts")
	case *write:
		return os.WriteFile(*page, []byte(before+begins+"\n"+format(sizes)+"\n"+ends+after), 0o644) //nolint:gosec // a page
	}
	return compare(read(table), sizes)
}

// cell is a place in the table.
type cell struct{ kind, platform string }

// measure notes the artefacts of a folder.
func measure(folder string, sizes map[cell]int64) error {
	return filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		at, ok := place(entry.Name())
		if !ok {
			return nil
		}
		info, err := entry.Info()
		if err == nil {
			sizes[at] = info.Size()
		}
		return err
	})
}

// place returns which artefact a file is.
func place(name string) (cell, bool) {
	platform := regexp.MustCompile(`(manylinux|linux|darwin|macosx|windows|win32|win)[\w.]*?[_-](amd64|x64|x86_64|arm64|aarch64)`).FindStringSubmatch(name)
	if platform == nil || strings.HasSuffix(name, ".json") {
		return cell{}, false
	}
	system := map[string]string{"manylinux": "Linux", "linux": "Linux", "darwin": "macOS", "macosx": "macOS"}[platform[1]]
	if system == "" {
		system = "Windows"
	}
	arch := "amd64"
	if strings.HasPrefix(platform[2], "a") && platform[2] != "amd64" {
		arch = "arm64"
	}
	kind := ""
	for _, k := range kinds() {
		if k.ending != "" && strings.HasSuffix(name, k.ending) {
			kind = k.name
		}
	}
	if base := strings.TrimSuffix(name, ".exe"); kind == "" && strings.HasSuffix(base, platform[0]) {
		kind = "program"
	}
	return cell{kind, system + " " + arch}, kind != ""
}

// platforms lists the columns.
func platforms(sizes map[cell]int64) []string {
	all := make(map[string]bool)
	for at := range sizes {
		all[at.platform] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func format(sizes map[cell]int64) string {
	var out strings.Builder
	columns := platforms(sizes)
	fmt.Fprintf(&out, "| MB | %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	last := ""
	for _, k := range kinds() {
		if k.name == last {
			continue
		}
		last = k.name
		fmt.Fprintf(&out, "| %s |", k.name)
		for _, p := range columns {
			if n, ok := sizes[cell{k.name, p}]; ok {
				fmt.Fprintf(&out, " %.1f |", float64(n)/1e6)
			} else {
				out.WriteString(" |")
			}
		}
		out.WriteString("\n")
	}
	return out.String()
}

// read returns the sizes that a page names.
func read(table string) map[cell]int64 {
	sizes := make(map[cell]int64)
	var columns []string
	for line := range strings.Lines(table) {
		fields := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		if columns == nil {
			if fields[0] == "MB" {
				columns = fields
			}
			continue
		}
		for i := 1; i < len(fields) && i < len(columns); i++ {
			if mb, err := strconv.ParseFloat(fields[i], 64); err == nil {
				sizes[cell{fields[0], columns[i]}] = int64(mb * 1e6)
			}
		}
	}
	return sizes
}

// compare holds that the page has every artefact, about as large as it is.
func compare(page, sizes map[cell]int64) error {
	var wrong []string
	for at, have := range sizes {
		says := page[at]
		if off := float64(have-says) / float64(have); off > tolerance || off < -tolerance {
			wrong = append(wrong, fmt.Sprintf("%s for %s has %d bytes, and the page says %d", at.kind, at.platform, have, says))
		}
	}
	for at := range page {
		if _, ok := sizes[at]; !ok {
			wrong = append(wrong, fmt.Sprintf("the page has a %s for %s, which is not made", at.kind, at.platform))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return fmt.Errorf("%s; deploy/run sizes writes the page", strings.Join(wrong, "; "))
}
