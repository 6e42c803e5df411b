package archtest

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// room is a group of packages with one subject, a folder of internal/ or lib/ itself. A package is
// named by its path below internal/, any other by its path from the root. A star stands
// for exactly one path element, so a new venue needs no edit here.
type room struct {
	name string
	note string
	rows []string // packages from the top down, separated by spaces; row imports lower rows
}

// floors lists the rooms of the product from the top down. A package imports packages
// of lower floors and of lower rows of its own room: never of another room on its floor,
// never upwards.
func floors() [][]room {
	return [][]room{
		{{"cmd/candela", "main and the commands", []string{"cmd/candela", "cmd/candela/people cmd/candela/records cmd/candela/research cmd/candela/rules", "cmd/candela/cli"}}},
		{{"app", "builds the program from its configuration; starts and stops it", []string{"app"}}},
		{
			{"serve", "how clients reach it", []string{"serve/admin serve/console/consolelocal serve/console/source serve/hostdesk", "serve/console serve/httpd serve/stdio", "serve/chartapp serve/tool serve/window", "serve/resource serve/task", "serve/mcp serve/webchart", "serve/rpc"}},
			{"operate", "what an operator runs", []string{"operate/backup operate/commands operate/demo operate/doctor operate/install operate/migrate operate/rehearse", "operate/status", "operate/control"}},
		},
		{{"work", "what can be asked for, typed", []string{"work/drawings work/hosting work/strategies", "work/research", "work/research/past", "work/charting work/research/firings work/research/report work/research/rules work/research/scan work/ordering work/research/sweep work/wording", "work/charting/payload work/research/replay"}}},
		{{"store", "what survives a restart", []string{
			"store/replica/audit store/replica/deskproxy",
			"store/ledger store/loginfile store/replica/alerts store/replica/inbox store/replica/logins store/replica/orders store/replica/owners store/scripts",
			"store/receipt store/replica/member", "store/replica/auditlog store/replica/table", "store/chain store/replica/conn store store/statedir",
		}}},
		{
			{"alerting", "which alerts fire and who hears of them", []string{"alerting/approval alerting/engine alerting/sink/*", "alerting/evaluate alerting/sink", "alerting/notify/transfer", "alerting/notify/local alerting/notify/replicated", "alerting/notify/internal/core", "alerting/notify/records", "alerting/alert alerting/notify"}},
			{"access", "who may do what", []string{"access/owner access/owners", "access/oauth", "access/cimd access/door access/metering access/plan access/upstream access/usage"}},
		},
		{{"trading", "orders, limits, accounts", []string{"trading/accounts trading/deploy trading/policy", "trading/desk", "trading/broker/*", "trading/venue", "trading/broker trading/guard", "trading/drift", "trading/order", "trading/margin"}}},
		{
			{"data", "bars, prices and facts of venues", []string{"data/feed data/marketdata", "data/listing data/provider/*", "data/provider", "data/upstream"}},
			{"config", "settings and their sources", []string{"config"}},
		},
		{{"kit", "knows nothing about markets", []string{"kit/budget kit/run kit/setting kit/strictjson", "kit/bucket kit/disk kit/fair kit/fonts kit/id kit/ipkind kit/lifecycle kit/lograte kit/loopback kit/lru kit/meter kit/principal kit/retry kit/seal kit/secret kit/sendby kit/shutdown"}}},
		{{"lib", "the library: what is computed and drawn, public and pure", []string{
			"lib/backtest lib/chart lib/pine", "lib/pine/eval lib/chart/raster", "lib/pine/check lib/chart/deflate lib/chart/webfont", "lib/pine/convert lib/ta", "lib/pine/syntax",
			"lib/ta/candle lib/backtest/performance lib/backtest/simulate lib/market/csv lib/pine/stopwatch", "lib/ta/calc lib/ta/elementary lib/market", "lib/fault lib/pattern",
		}}},
	}
}

// testOnly lists packages that exist for tests: contract suites next to the interface
// they test, the testkit room, and programs of the build and of the end-to-end tests. They may import any
// package; product code may not import them.
func testOnly(name string) bool {
	return strings.HasPrefix(name, "testkit/") || strings.HasPrefix(name, "e2e/") || name == "cmd/fakevenue" || name == "web/pack" || name == "bench/figures" ||
		strings.HasSuffix(name, "test") && name != "lib/backtest"
}

// goroutineOwners lists the packages whose product code may contain a go statement.
// Every other package does its work in the goroutine of its caller.
func goroutineOwners() []string {
	return []string{
		"app", "serve/console", "serve/httpd", "serve/stdio", "operate/rehearse", "alerting/engine", "alerting/sink", "alerting/sink/*", "trading/accounts", "trading/deploy", "trading/desk", "kit/lifecycle", "kit/shutdown",
		"data/marketdata", "data/feed", "store/replica/alerts", "store/replica/deskproxy", "store/replica/logins", "store/replica/member", "store/replica/table", "data/provider/*", "trading/broker/*",
	}
}

// pkg is one package in the output of go list.
type pkg struct {
	ImportPath   string
	Dir          string
	Doc          string
	GoFiles      []string
	Imports      []string // of product files
	TestImports  []string // of _test.go files in the package
	XTestImports []string // of _test.go files in package x_test
}

// position says where a package stands in the table.
type position struct {
	room       string
	floor, row int // heights, 0 at the bottom
	testOnly   bool
	known      bool
}

// shortName returns the name the table uses: "internal/" is implied.
func shortName(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, modulePath+"/"), "internal/")
}

// ours reports whether a file is in one of the rooms below the commands.
func ours(name string) bool {
	return strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "lib/")
}

const modulePath = "candela"

// locate finds a package in the table. Exact names come before patterns, so that
// "data/provider" and "data/provider/*" can stand in different rows.
func locate(importPath string) position {
	name := shortName(importPath)
	if testOnly(name) {
		return position{testOnly: true, known: true}
	}
	all := floors()
	for i, rooms := range all {
		for _, r := range rooms {
			for k, row := range r.rows {
				if matchAny(strings.Fields(row), name) {
					return position{room: r.name, floor: len(all) - 1 - i, row: len(r.rows) - 1 - k, known: true}
				}
			}
		}
	}
	return position{}
}

// matchAny reports whether name fits one of the patterns.
func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return err == nil && ok
	})
}

// checkImports returns one sentence per broken rule, in the order of the packages.
func checkImports(pkgs []pkg) []string {
	var broken []string
	for _, p := range pkgs {
		if !locate(p.ImportPath).known {
			broken = append(broken, shortName(p.ImportPath)+" is in no room: add it to internal/testkit/archtest/layers.go")
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

// appendBroken adds what is wrong with one import, if anything is. Test files may import
// their own package, its peers, test-only packages and the SQLite store, which engine and
// desk are tested with, but nothing else above: a test that needs it belongs there.
func appendBroken(broken []string, from, to string, inTest bool) []string {
	if !strings.HasPrefix(to, modulePath+"/") {
		return broken
	}
	src, dst := locate(from), locate(to)
	if src.testOnly || !dst.known || from == to {
		return broken // an unlisted target is reported once, as itself
	}
	subject, target := shortName(from), shortName(to)
	if inTest {
		subject = "a test of " + subject
	}
	height := cmp.Or(cmp.Compare(dst.floor, src.floor), cmp.Compare(dst.row, src.row))
	switch {
	case dst.testOnly && !inTest:
		return append(broken, fmt.Sprintf("%s imports %s, which is for tests only", subject, target))
	case dst.testOnly, inTest && target == "store/ledger":
		return broken
	case dst.floor == src.floor && dst.room != src.room:
		if inTest {
			return broken
		}
		return append(broken, fmt.Sprintf("%s imports %s: the rooms %s and %s share a floor and do not know each other", subject, target, src.room, dst.room))
	case height > 0:
		return append(broken, fmt.Sprintf("%s imports %s, which is above it: arrows point down", subject, target))
	case height == 0 && !inTest:
		return append(broken, fmt.Sprintf("%s imports its peer %s: share through a lower package or an interface of the caller", subject, target))
	}
	return broken
}

// diagram draws the rooms for AGENTS.md, a line for each with its packages below it.
func diagram() string {
	var b strings.Builder
	for i, rooms := range floors() {
		for _, r := range rooms {
			fmt.Fprintf(&b, "%d  %-12s %s\n", len(floors())-1-i, r.name, r.note)
			packages := strings.ReplaceAll(strings.Join(r.rows, " > "), r.name+"/", "")
			if packages != r.name {
				fmt.Fprintf(&b, "     %s\n", packages)
			}
		}
	}
	return b.String()
}
