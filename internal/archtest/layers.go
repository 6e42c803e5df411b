package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// layer is one row of the table. A package is named by its path below
// internal/, a command by its path from the root. A star stands for exactly one
// path element, so a new venue needs no edit here.
type layer struct {
	packages []string
	note     string
}

// layers lists the product from the top down. A package may import packages of
// lower layers only: not of a higher one, and not its peers.
func layers() []layer {
	return []layer{
		{[]string{"cmd/candela"}, "main, and nothing but main"},
		{[]string{"app"}, "wiring, order of shutdown"},
		{[]string{"admin", "doctor", "control", "backup", "migrate", "demo"}, "what an operator asks: health, metrics, profiles; what is wrong; a command; a copy; a tour"},
		{[]string{"httpd", "stdio"}, "transports"},
		{[]string{"tool", "cluster"}, "typed arguments in, content out; the ports below for many nodes"},
		{[]string{"engine", "desk", "oauth"}, "symbols and alerts; an account's orders; authorization server"},
		{[]string{"marketdata", "feed", "ledger", "sink", "broker/*", "setup"}, "caches, stores, venues to trade on; the files of clients"},
		{[]string{"provider/*", "chart", "payload", "alert", "broker", "guard", "notify", "config", "install"}, "bars from somewhere; pure rules and pictures"},
		{[]string{"indicator", "provider", "order"}, "the catalogue; the contract of a bar source; what an order is"},
		{[]string{"market", "mcp", "upstream", "statedir"}, "bars, symbols, intervals; the protocol without a transport; how a venue is asked; the state directory"},
		{[]string{"fault", "calc", "raster", "rpc", "id", "meter", "disk", "fair", "bucket", "lograte", "seal"}, "error kinds, kernels, pixels, JSON-RPC, ids, counts, files, turns, rates, bounds of logs, seals: know nothing of markets"},
	}
}

// testOnly lists packages that exist for tests: conformance suites and fakes
// next to the interface they serve, whole fake venues, and programs for the
// end-to-end tests. They may import any layer; no code of the product may import
// them.
func testOnly() []string {
	return []string{"*test", "*/*test", "*/*/*test", "fake", "fake/*", "cmd/fakevenue", "e2e/*"}
}

// goroutineOwners lists the packages whose product code may contain a go
// statement: the owners named in CONTRIBUTING, and the parts that hold a
// connection to a venue or a cluster open. Everything else is called, returns,
// and leaves nothing running.
func goroutineOwners() []string {
	return []string{
		"app", "httpd", "stdio", "engine", "desk", "sink",
		"marketdata", "feed", "cluster", "provider/*", "broker/*",
	}
}

// pkg is what the checks need to know of one package, as go list tells it.
type pkg struct {
	ImportPath   string
	Dir          string
	Doc          string
	GoFiles      []string
	Imports      []string // of product files
	TestImports  []string // of _test.go files in the package
	XTestImports []string // of _test.go files in package x_test
}

// place is where a package stands in the table.
type place struct {
	level    int // height above the ground; meaningless for testOnly
	testOnly bool
	known    bool
}

// shortName returns the name the table uses: "internal/" is implied.
func shortName(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, modulePath+"/"), "internal/")
}

const modulePath = "candela"

// locate finds a package in the table. Exact names come before patterns, so
// that "provider" and "provider/*" can stand on different layers.
func locate(importPath string) place {
	name := shortName(importPath)
	if matchAny(testOnly(), name) {
		return place{testOnly: true, known: true}
	}
	rows := layers()
	for i, row := range rows {
		if matchAny(row.packages, name) {
			return place{level: len(rows) - 1 - i, known: true}
		}
	}
	return place{}
}

// matchAny reports whether name fits one of the patterns.
func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return err == nil && ok
	})
}

// checkImports returns one sentence per broken rule, in the order of the
// packages given.
func checkImports(pkgs []pkg) []string {
	var broken []string
	for _, p := range pkgs {
		if !locate(p.ImportPath).known {
			broken = append(broken, shortName(p.ImportPath)+" is in no layer: add it to internal/archtest/layers.go")
			continue
		}
		for _, to := range p.Imports {
			broken = appendBroken(broken, p.ImportPath, to, false)
		}
		for _, to := range slices.Concat(p.TestImports, p.XTestImports) {
			broken = appendBroken(broken, p.ImportPath, to, true)
		}
	}
	return broken
}

// appendBroken adds what is wrong with one import, if anything is. Test files
// may use their own package, its peers and anything made for tests, but not a
// higher layer: a test that needs the house above it belongs to that house.
func appendBroken(broken []string, from, to string, inTest bool) []string {
	if !strings.HasPrefix(to, modulePath+"/") {
		return broken
	}
	src, dst := locate(from), locate(to)
	if src.testOnly || !dst.known || from == to {
		return broken // an unlisted target is reported once, as itself
	}
	name, target := shortName(from), shortName(to)
	switch {
	case dst.testOnly && !inTest:
		return append(broken, fmt.Sprintf("%s imports %s, which is for tests only", name, target))
	case dst.testOnly:
		return broken
	case dst.level > src.level && inTest:
		return append(broken, fmt.Sprintf("a test of %s (layer %d) imports %s (layer %d): arrows point down", name, src.level, target, dst.level))
	case dst.level > src.level:
		return append(broken, fmt.Sprintf("%s (layer %d) imports %s (layer %d): arrows point down", name, src.level, target, dst.level))
	case dst.level == src.level && !inTest:
		return append(broken, fmt.Sprintf("%s imports its peer %s (layer %d): share through a lower layer or an interface of the caller", name, target, dst.level))
	}
	return broken
}

// diagram draws the table for AGENTS.md: names, then the note, on a line of
// its own where the names leave no room.
func diagram() string {
	const noteColumn = 38
	rows := layers()
	var b strings.Builder
	for i, row := range rows {
		level := len(rows) - 1 - i
		names := strings.Join(row.packages, "  ")
		if len(names) > noteColumn {
			fmt.Fprintf(&b, "%2d  %s\n", level, names)
			fmt.Fprintf(&b, "    %*s  %s\n", noteColumn, "", row.note)
			continue
		}
		fmt.Fprintf(&b, "%2d  %-*s  %s\n", level, noteColumn, names, row.note)
	}
	return b.String()
}
