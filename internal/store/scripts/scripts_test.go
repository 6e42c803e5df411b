package scripts_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candela/internal/store/scripts"
	"candela/lib/fault"
	"candela/lib/ta"
)

// compile takes any source but "wrong", and reads a library for each "import PATH".
func compile(name, source string, library func(string) (string, bool)) (*ta.Def, error) {
	if source == "wrong" {
		return nil, fault.New(fault.Invalid, "pine_syntax", "line 1")
	}
	doc := source
	var docSb21 strings.Builder
	for line := range strings.Lines(source) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "import "); ok {
			text, found := library(path)
			if !found {
				return nil, fault.New(fault.Invalid, "pine_import", "no %s", path)
			}
			docSb21.WriteString(text)
		}
	}
	doc += docSb21.String()
	return &ta.Def{Name: name, Doc: doc}, nil
}

func open(t *testing.T) (*scripts.Shelf, string) {
	t.Helper()
	home := t.TempDir()
	return scripts.Open(home, scripts.Unshared, compile), home
}

func save(t *testing.T, s *scripts.Shelf, name, source string) *ta.Def {
	t.Helper()
	d, err := s.Save(name, source)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func code(err error) string {
	if e := fault.Of(err); e != nil {
		return e.Code
	}
	return fmt.Sprint(err)
}

func TestSave_StoresWhatCompiles(t *testing.T) {
	t.Parallel()
	s, home := open(t)
	d := save(t, s, "my_cross", "one")
	info, err := os.Stat(filepath.Join(home, "scripts", "my_cross.pine"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	for _, name := range []string{"my_cross", "my_cross@" + d.Version} {
		if got, err := s.Script(name); err != nil || got == nil || got.Name != "my_cross" || got.Version != d.Version || got.Doc != "one" {
			t.Errorf("%s is %+v, %v", name, got, err)
		}
	}
	if again := save(t, s, "my_cross", "two"); again.Version == d.Version {
		t.Error("another source has the same version")
	}
	if got, err := s.Script("my_cross@" + d.Version); got != nil || err != nil {
		t.Errorf("the replaced version is %v, %v", got, err)
	}
	if text, err := s.Source("my_cross"); err != nil || text != "two" {
		t.Errorf("the source is %q, %v", text, err)
	}
	if err := s.Delete("my_cross"); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete("my_cross"); code(err) != scripts.NotFoundCode {
		t.Errorf("the second removal gives %v", err)
	}
	if got, err := s.Script("my_cross"); got != nil || err != nil {
		t.Errorf("a removed script is %v, %v", got, err)
	}
}

func TestSave_Refuses(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	for _, c := range []struct{ name, source, code string }{
		{"My Cross", "x", "invalid_argument"},
		{"../x", "x", "invalid_argument"},
		{"", "x", "invalid_argument"},
		{strings.Repeat("a", 49), "x", "invalid_argument"},
		{"rsi", "x", "invalid_argument"},
		{"sma_200", "x", "invalid_argument"},
		{"pine", "x", "invalid_argument"},
		{"a/b", "x", "invalid_argument"},
		{"fine", "wrong", "pine_syntax"},
		{"fine", " \n", "missing_argument"},
		{"fine", "\xff", "invalid_argument"},
		{"fine", strings.Repeat("x", scripts.MaxSource+1), "pine_size"},
	} {
		if _, err := s.Save(c.name, c.source); code(err) != c.code {
			t.Errorf("%q with %.20q gives %v", c.name, c.source, err)
		}
	}
	if all, err := s.List(); len(all) > 0 || err != nil {
		t.Errorf("stored are %v, %v", all, err)
	}
	for i := range scripts.MaxScripts {
		save(t, s, fmt.Sprintf("s%d_x", i), "x")
	}
	if _, err := s.Save("one_more", "x"); code(err) != scripts.TooManyCode {
		t.Errorf("one more gives %v", err)
	}
	save(t, s, "s0_x", "y")
}

func TestShared_StoresNothing(t *testing.T) {
	t.Parallel()
	for sharing, want := range map[scripts.Sharing]string{scripts.Replicas: scripts.OneNodeCode, scripts.ManyOwners: scripts.OperatorCode} {
		s := scripts.Open(t.TempDir(), sharing, compile)
		if _, err := s.Save("mine", "x"); code(err) != want {
			t.Errorf("saving gives %v", err)
		}
		if err := s.Delete("mine"); code(err) != want {
			t.Errorf("removing gives %v", err)
		}
		if d, err := s.Inline("x"); err != nil || d.Name != "pine" {
			t.Errorf("inline gives %v, %v", d, err)
		}
	}
}

// Alerts of many owners keep versions of what the operator stored. At replicas there is nothing that all could read.
func TestPin_OfSharedScripts(t *testing.T) {
	t.Parallel()
	operator, home := open(t)
	save(t, operator, "mine", "x")
	for _, sharing := range []scripts.Sharing{scripts.Replicas, scripts.ManyOwners} {
		s := scripts.Open(home, sharing, compile)
		d, err := s.Script("mine")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Pin(d); (err != nil) != (sharing == scripts.Replicas) || err != nil && code(err) != scripts.OneNodeCode {
			t.Errorf("%v: %v", sharing, err)
		}
	}
}

func TestPin_KeepsTheVersionOfAlerts(t *testing.T) {
	t.Parallel()
	s, home := open(t)
	save(t, s, "someone/lib/1", "library one")
	d := save(t, s, "mine", "import someone/lib/1")
	if err := s.Pin(d); err != nil {
		t.Fatal(err)
	}
	save(t, s, "someone/lib/1", "library two")
	now, err := s.Script("mine")
	if err != nil || now.Version == d.Version || now.Doc != "import someone/lib/1library two" {
		t.Errorf("with another library the script is %+v, %v", now, err)
	}
	if err := s.Delete("mine"); err != nil {
		t.Fatal(err)
	}
	pinned := "mine@" + d.Version
	again := scripts.Open(home, scripts.Unshared, compile)
	if got, err := again.Script(pinned); err != nil || got == nil || got.Version != d.Version || got.Doc != "import someone/lib/1library one" {
		t.Errorf("the kept version is %+v, %v", got, err)
	}
	if err := again.Pin(&ta.Def{Name: "mine", Version: "000000000000"}); code(err) != scripts.NotFoundCode {
		t.Errorf("keeping an unknown version gives %v", err)
	}
	if err := again.Prune(func(name string) bool { return name == pinned }); err != nil {
		t.Fatal(err)
	}
	if got, err := again.Script(pinned); got == nil || err != nil {
		t.Errorf("a version in use is %v, %v", got, err)
	}
	if err := again.Prune(func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if got, err := again.Script(pinned); got != nil || err != nil {
		t.Errorf("a version that nothing uses is %v, %v", got, err)
	}
	all, err := again.List()
	if err != nil || len(all) != 1 || all[0].Name != "someone/lib/1" || !all[0].Library {
		t.Errorf("stored are %v, %v", all, err)
	}
}

// A link among the scripts is not read: it may point to a file of somebody else.
func TestShelf_ReadsNoLinks(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	secret := filepath.Join(home, "secret")
	if err := errors.Join(os.Mkdir(filepath.Join(home, scripts.DirName), 0o700), os.WriteFile(secret, []byte("secret"), 0o600),
		os.Symlink(secret, filepath.Join(home, scripts.DirName, "linked.pine")), os.Symlink(secret, filepath.Join(home, scripts.DirName, "user.lib.1.pine"))); err != nil {
		t.Fatal(err)
	}
	s := scripts.Open(home, scripts.Unshared, nil)
	if text, err := s.Source("linked"); err == nil || text != "" {
		t.Errorf("read %q, %v", text, err)
	}
	if text, found := s.Library("user/lib/1"); found || text != "" {
		t.Errorf("read %q", text)
	}
	if all, err := s.List(); err != nil || len(all) > 0 {
		t.Errorf("listed %v, %v", all, err)
	}
}

// A library names the scripts that import it, so that its removal can warn of them.
func TestImporters_NameWhoNeedsALibrary(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	save(t, s, "me/lib/1", "one")
	save(t, s, "uses", "x\nimport me/lib/1\n")
	save(t, s, "other", "x")
	if got := s.Importers("me/lib/1"); len(got) != 1 || got[0] != "uses" {
		t.Errorf("needed for %v", got)
	}
	if got := s.Importers("uses"); len(got) != 0 {
		t.Errorf("a script is needed for %v", got)
	}
}

// A script has no name that already means something: a price, or an indicator. A file of such a name is not listed as one.
func TestNames_ThatMeanSomethingElse(t *testing.T) {
	t.Parallel()
	s, home := open(t)
	for _, name := range []string{"close", "hl2", "volume", "price", "rsi"} {
		if _, err := s.Save(name, "x"); err == nil {
			t.Errorf("%s is stored", name)
		}
	}
	save(t, s, "mine", "x")
	for _, name := range []string{"rsi.pine", "close.pine", "pine.pine"} {
		if err := os.WriteFile(filepath.Join(home, "scripts", name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if all := s.Stored(); len(all) != 1 || all[0].Name != "mine" {
		t.Errorf("%d scripts are listed", len(all))
	}
}
