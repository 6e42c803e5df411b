package app

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"candela/internal/testkit/longtest"
)

// leak is a mistake that would show one owner something of another: texts of the program that
// are replaced.
type leak struct {
	name  string
	edits []edit
}

type edit struct{ file, from, to string }

func leaks() []leak {
	const index, engine, inbox = "../alerting/alert/index.go", "../alerting/engine/alerts.go", "../alerting/notify/local/inbox.go"
	const all = "return b.list(owner, func(*record) bool { return true })"
	return []leak{
		{"a query without the owner", []edit{{index, all, "return b.Where(func(Dependency) bool { return true })"}}},
		{"a cache of alerts by symbol", []edit{
			{engine, "return l.index.ListOn(caller.Subject, s)", "return leaked(l, caller.Subject, s)"},
			{engine, "	\"slices\"\n", "	\"slices\"\n	\"sync\"\n"},
			{engine, "// Scripts returns", "var leakedOn sync.Map\n\nfunc leaked(l *loop, owner principal.Owner, s market.Symbol) []alert.Alert {\n\tkey := struct{l *loop; s market.Symbol}{l, s}\n\tif found, ok := leakedOn.Load(key); ok {\n\t\treturn slices.Clone(found.([]alert.Alert))\n\t}\n\tall := l.index.ListOn(owner, s)\n\tif len(all) > 0 {\n\t\tleakedOn.Store(key, slices.Clone(all))\n\t}\n\treturn all\n}\n\n// Scripts returns"},
		}},
		{"a subscriber found by its client alone", []edit{
			{"../alerting/notify/internal/core/backlog.go", "return Client{c.Subject, c.ClientKey}", "return Client{\"\", c.ClientKey}"},
			{"../alerting/notify/local/file.go", "core.Client{Owner: saved.Owner, Key: saved.Client}", "core.Client{Key: saved.Client}"},
			{"../alerting/notify/local/file.go", "Owner: s.Client.Owner, Client: s.Client.Key", "Owner: s.Owner.Name, Client: s.Client.Key"},
		}},
		{"a polling queue by token", []edit{{inbox, "o := b.Owner(caller.Subject)", "o := b.Owner(principal.Owner(caller.Key))"}}},
		{"an eviction over all owners", []edit{
			{"../alerting/notify/internal/core/index.go", "return x.byOwner[owner] >= share || len(x.ByKey) >= most", "return len(x.ByKey) >= 5"},
			{"../alerting/notify/internal/core/index.go", "if c.Owner.Name == owner && (!ok", "if true && (!ok"},
		}},
		{"an idempotency key without the owner", []edit{
			{"../store/ledger/order.go", `"SELECT body FROM orders WHERE owner = ? AND "+by+" = ?", owner, name)`, `"SELECT body FROM orders WHERE "+by+" = ?", name)`},
		}},
		{"one call of ten without the owner", []edit{
			{index, all, "if leakedCalls++; leakedCalls%10 == 0 {\n\t\treturn b.Where(func(Dependency) bool { return true })\n\t}\n\t" + all},
			{index, "// List returns", "var leakedCalls int\n\n// List returns"},
		}},
	}
}

// TestLeaks_AreCaught builds the program with one leak after the other: the comparison of owners
// with servers of their own must fail for each. The short form checks that the leaks still fit
// the sources.
func TestLeaks_AreCaught(t *testing.T) { //nolint:tparallel // each builds the program
	t.Parallel()
	for _, l := range leaks() {
		t.Run(l.name, func(t *testing.T) {
			overlay := l.overlay(t)
			if !longtest.On() {
				return
			}
			cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-count=1", "-run", "^TestOwners_InterleavedEqualServersOfTheirOwn$", ".")
			cmd.Env = append(cmd.Environ(), "LONGTEST=1")
			out, err := cmd.CombinedOutput()
			if text := string(out); err == nil || !strings.Contains(text, "differs for owner") && !strings.Contains(text, "notifications, want") {
				t.Errorf("the leak is not caught: %v\n%s", err, text)
			} else {
				t.Log(text[strings.Index(text, "step"):][:min(300, len(text)-strings.Index(text, "step"))])
			}
		})
	}
}

// overlay writes the changed files and returns the file that names them.
func (l leak) overlay(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	replaced, texts := map[string]string{}, map[string]string{}
	for _, e := range l.edits {
		path, err := filepath.Abs(e.file)
		if err != nil {
			t.Fatal(err)
		}
		if texts[path] == "" {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts[path] = string(raw)
		}
		if strings.Count(texts[path], e.from) != 1 {
			t.Fatalf("%s has %q %d times, want once: the leak must follow the source", e.file, e.from, strings.Count(texts[path], e.from))
		}
		texts[path] = strings.Replace(texts[path], e.from, e.to, 1)
	}
	for path, text := range texts {
		replaced[path] = filepath.Join(dir, strconv.Itoa(len(replaced))+".go")
		if err := os.WriteFile(replaced[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
