package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the top of the repository, seen from this package's directory, where
// go test runs.
const root = "../../.."

// listPackages asks the go command what this module contains.
func listPackages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,Doc,GoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	pkgs := listPackages(t)
	if len(pkgs) == 0 {
		t.Fatal("go list found no package: nothing was checked")
	}
	for _, sentence := range checkImports(pkgs) {
		t.Error(sentence)
	}
}

func TestEveryPackageSaysWhatItOwns(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment", shortName(p.ImportPath))
		}
	}
}

func TestCheckImports(t *testing.T) {
	t.Parallel()
	in := func(name string) string { return modulePath + "/internal/" + name }
	lib := func(name string) string { return modulePath + "/lib/" + name }
	cases := map[string]struct {
		pkg  pkg
		want string // a part of the only complaint; empty: none
	}{
		"a lower room is allowed":                      {pkg{ImportPath: in("work/charting/payload"), Imports: []string{lib("market"), in("data/provider")}}, ""},
		"the standard library is not checked":          {pkg{ImportPath: lib("market"), Imports: []string{"time"}}, ""},
		"a higher room is refused":                     {pkg{ImportPath: lib("market"), Imports: []string{in("kit/id")}}, "arrows point down"},
		"the command is above everything":              {pkg{ImportPath: in("app"), Imports: []string{modulePath + "/cmd/candela"}}, "arrows point down"},
		"a higher row of the same room is refused":     {pkg{ImportPath: in("serve/mcp"), Imports: []string{in("serve/tool")}}, "arrows point down"},
		"a room of the same floor is refused":          {pkg{ImportPath: in("alerting/alert"), Imports: []string{in("access/plan")}}, "share a floor"},
		"a peer is refused":                            {pkg{ImportPath: in("work/research/scan"), Imports: []string{in("work/research/sweep")}}, "peer work/research/sweep"},
		"one venue may not use another":                {pkg{ImportPath: in("data/provider/sample"), Imports: []string{in("data/provider/csv")}}, "peer data/provider/csv"},
		"a new venue stands on the contract":           {pkg{ImportPath: in("data/provider/nowhere"), Imports: []string{in("data/provider")}}, ""},
		"the contract does not know its venues":        {pkg{ImportPath: in("data/provider"), Imports: []string{in("data/provider/csv")}}, "arrows point down"},
		"an unlisted package is refused":               {pkg{ImportPath: in("helpers")}, "in no room"},
		"an unlisted package of a room is refused":     {pkg{ImportPath: in("kit/helpers")}, "in no room"},
		"a part of a venue must be listed":             {pkg{ImportPath: in("trading/broker/nowhere/wire")}, "in no room"},
		"a second command must be listed":              {pkg{ImportPath: modulePath + "/cmd/other"}, "in no room"},
		"product code does not import a test suite":    {pkg{ImportPath: in("data/provider/csv"), Imports: []string{in("data/provider/providertest")}}, "for tests only"},
		"product code does not import a fake venue":    {pkg{ImportPath: in("alerting/engine"), Imports: []string{in("testkit/fake/binance")}}, "for tests only"},
		"a test may import a test suite":               {pkg{ImportPath: in("data/provider/csv"), XTestImports: []string{in("data/provider/providertest")}}, ""},
		"a test may import its own package and a peer": {pkg{ImportPath: in("data/provider/csv"), XTestImports: []string{in("data/provider/csv"), in("data/provider/sample")}}, ""},
		"a test may import a room of the same floor":   {pkg{ImportPath: in("access/oauth"), XTestImports: []string{in("alerting/notify")}}, ""},
		"a test may not import a higher room":          {pkg{ImportPath: lib("market"), TestImports: []string{in("alerting/engine")}}, "a test of lib/market"},
		"a test suite may import anything":             {pkg{ImportPath: in("access/oauth/storetest"), Imports: []string{in("access/oauth"), in("store/ledger")}}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := checkImports([]pkg{tc.pkg})
			switch {
			case tc.want == "" && len(got) > 0:
				t.Errorf("complains without cause: %q", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("got %q, want one complaint with %q", got, tc.want)
			}
		})
	}
}

func TestTable_NamesEachPackageOnce(t *testing.T) {
	t.Parallel()
	var seen []string
	for _, rooms := range floors() {
		for _, r := range rooms {
			for name := range strings.FieldsSeq(strings.Join(r.rows, " ")) {
				if slices.Contains(seen, name) {
					t.Errorf("%s is listed twice", name)
				}
				if testOnly(name) {
					t.Errorf("%s is both product and test-only", name)
				}
				if name != r.name && !strings.HasPrefix(name, r.name+"/") {
					t.Errorf("%s is listed in the room %s", name, r.name)
				}
				seen = append(seen, name)
			}
		}
	}
	for _, owner := range goroutineOwners() {
		if !slices.Contains(seen, owner) {
			t.Errorf("%s may start goroutines but is in no room", owner)
		}
	}
}

var update = flag.Bool("update", false, "rewrite the rooms in AGENTS.md")

func TestAgentsPage_ShowsTheTable(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- rooms: go test ./internal/testkit/archtest -update -->\n", "<!-- end of rooms -->"
	path := filepath.Join(root, "AGENTS.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatal("AGENTS.md has no section for the rooms")
	}
	want := head + begin + "```\n" + diagram() + "```\n" + end + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("AGENTS.md does not show the rooms; run with -update. It should contain\n%s", diagram())
	}
}
