// Package scripts keeps the owner's Pine scripts in a directory and gives them to the
// library of indicators. A script is a file that an editor can open: <name>.pine, or
// <user>.<library>.<number>.pine for what an import names. An alert keeps the version that
// it was set with, under pinned, until no alert uses it any more.
package scripts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"candela/internal/kit/disk"
	"candela/internal/kit/lru"
	"candela/lib/fault"
	"candela/lib/pattern"
	"candela/lib/pine"
	"candela/lib/ta"
)

// DirName is the directory of scripts in the state directory.
const DirName = "scripts"

// Bounds of what is kept.
const (
	MaxScripts = 200
	MaxSource  = pine.MaxSource

	extension = ".pine"
	pinnedDir = "pinned"
	keptCost  = 16 << 20 // of sources whose definitions are kept
)

// Folders returns the folders of scripts in a state directory.
func Folders() []string { return []string{DirName, filepath.Join(DirName, pinnedDir)} }

// IsFile reports whether a file in those folders has the name of a script, a library or a version.
func IsFile(name string) bool {
	if plain, ok := strings.CutSuffix(name, extension); ok {
		return scriptName().MatchString(plain) || libraryName().MatchString(plain)
	}
	return pinnedName().MatchString(name)
}

// NotFoundCode is the fault code of a script that is not stored.
const NotFoundCode = "unknown_script"

// TooManyCode is that of one too many.
const TooManyCode = "too_many_scripts"

// OneNodeCode is that of several replicas.
const OneNodeCode = "scripts_one_node"

// OperatorCode is that of many owners.
const OperatorCode = "scripts_of_operator"

// Sharing is who else uses the scripts of a state directory.
type Sharing int

// With Replicas and ManyOwners no tool stores a script: the files are one process's alone,
// and would be everybody's. Alerts of many owners keep versions of the scripts that the operator stored.
const (
	Unshared Sharing = iota
	Replicas
	ManyOwners
)

// names of scripts and of libraries.
//

var (
	scriptName  = pattern.Of(`^[a-z][a-z0-9_]{0,47}$`)
	pinnedName  = pattern.Of(`^[a-z][a-z0-9_]{0,47}@[0-9a-f]{12}\.json$`)
	libraryName = pattern.Of(`^[A-Za-z][A-Za-z0-9_-]{0,47}\.[A-Za-z][A-Za-z0-9_]{0,99}\.[1-9][0-9]{0,5}$`)
)

// Compile makes the definition of a script. library returns the source of what an import
// names, as user/library/number.
type Compile func(name, source string, library func(path string) (string, bool)) (*ta.Def, error)

// Shelf is the scripts in a directory. It is safe for concurrent use; other processes may
// change the files at any time.
type Shelf struct {
	dir     string
	compile Compile
	sharing Sharing

	mu   sync.Mutex // of writers
	made lru.Cache[string, *compiled]
}

// compiled is a script with the files that it was made of.
type compiled struct {
	def       *ta.Def
	source    string
	libraries map[string]string // by path
}

// Open returns the scripts in a state directory. The directory is made when a script is
// saved.
func Open(home string, sharing Sharing, compile Compile) *Shelf {
	return &Shelf{dir: filepath.Join(home, DirName), compile: compile, sharing: sharing, made: lru.Cache[string, *compiled]{Limit: keptCost}}
}

// Entry is a stored file.
type Entry struct {
	Name    string // of a script, or user/library/number
	Library bool
	Version string
	Bytes   int
}

// Inline compiles a source that is not stored.
func (s *Shelf) Inline(source string) (*ta.Def, error) {
	c, err := s.build(ta.InlineName, source, s.Library)
	if err != nil {
		return nil, err
	}
	return c.def, nil
}

// Script returns a stored script by its name, or by its name and version. It returns nil
// for an unknown name.
func (s *Shelf) Script(name string) (*ta.Def, error) {
	plain, version, pinned := strings.Cut(name, "@")
	if !scriptName().MatchString(plain) {
		return nil, nil
	}
	if pinned {
		return s.pinnedScript(plain, version)
	}
	c, err := s.current(name)
	if c == nil || err != nil {
		return nil, err
	}
	return c.def, nil
}

// current compiles the file of a script. It returns nil if there is none.
func (s *Shelf) current(name string) (*compiled, error) {
	source, err := s.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.build(name, source, s.Library)
}

// Stored returns the stored scripts that compile, in order of their names.
func (s *Shelf) Stored() []*ta.Def {
	var all []*ta.Def
	entries, _ := s.List() // an unreadable directory has no scripts that could be used
	for _, e := range entries {
		if e.Library || taken(e.Name) != nil {
			continue
		}
		if d, err := s.Script(e.Name); err == nil && d != nil {
			all = append(all, d)
		}
	}
	return all
}

// List returns the stored files, scripts first, in order of their names.
func (s *Shelf) List() ([]Entry, error) {
	files, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read scripts: %w", err)
	}
	var all []Entry
	for _, f := range files {
		name, isScript := strings.CutSuffix(f.Name(), extension)
		library := libraryName().MatchString(name)
		if f.IsDir() || !isScript || !library && !scriptName().MatchString(name) {
			continue
		}
		source, err := s.read(name)
		if err != nil {
			continue // removed meanwhile, or not a source
		}
		e := Entry{Name: name, Library: library, Version: version(source, nil), Bytes: len(source)}
		if library {
			e.Name = strings.ReplaceAll(name, ".", "/")
		} else if c, err := s.build(name, source, s.Library); err == nil {
			e.Version = c.def.Version
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Entry) int {
		if a.Library != b.Library {
			if a.Library {
				return 1
			}
			return -1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all, nil
}

// Source returns the text of a stored script or library.
func (s *Shelf) Source(name string) (string, error) {
	file, err := fileName(name)
	if err != nil {
		return "", err
	}
	source, err := s.read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", s.unknown(name)
	}
	return source, err
}

// Save checks a script and stores it. A library has the name user/library/number; its definition is nil.
func (s *Shelf) Save(name, source string) (*ta.Def, error) {
	if err := s.writable(); err != nil {
		return nil, err
	}
	file, err := fileName(name)
	if err != nil {
		return nil, err
	}
	var def *ta.Def
	if scriptName().MatchString(file) {
		if def, err = s.check(file, source); err != nil {
			return nil, err
		}
	} else if err := s.checkLibrary(file, source); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.room(file); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory of scripts: %w", err)
	}
	if err := disk.Replace(s.path(file), []byte(source)); err != nil {
		return nil, fmt.Errorf("store script: %w", err)
	}
	return def, nil
}

// taken returns the error of a name that means something else than a script, nil for any other. A file that
// has such a name is not used.
func taken(name string) error {
	if d, err := ta.FindSpelled(name); err == nil {
		return fault.Field("name", name, "a name that no indicator of the catalogue has; this one means "+d.Name)
	}
	if name == "volume" || name == "price" || slices.Contains(ta.Sources(), name) {
		return fault.Field("name", name, "another name: this one means the price of a bar", "my_"+name)
	}
	if name == ta.InlineName {
		return fault.Field("name", name, "another name: pine is for scripts that are sent with a request")
	}
	return nil
}

// check compiles a script under a name that may be stored.
func (s *Shelf) check(name, source string) (*ta.Def, error) {
	if err := taken(name); err != nil {
		return nil, err
	}
	c, err := s.build(name, source, s.Library)
	if err != nil {
		return nil, err
	}
	return c.def, nil
}

// checkLibrary compiles a library with those that it imports itself.
func (s *Shelf) checkLibrary(file, source string) error {
	if err := checkText(source); err != nil {
		return err
	}
	_, err := s.compile(strings.ReplaceAll(file, ".", "/"), source, s.Library)
	return err
}

// room refuses a new file beyond the bound.
func (s *Shelf) room(name string) error {
	all, err := s.List()
	if err != nil {
		return err
	}
	own := strings.ReplaceAll(name, ".", "/")
	if len(all) >= MaxScripts && !slices.ContainsFunc(all, func(e Entry) bool { return e.Name == own }) {
		return fault.New(fault.Conflict, TooManyCode, "%d scripts are stored, and at most %d may be; remove one with delete_script", len(all), MaxScripts)
	}
	return nil
}

// Delete removes a stored script or library. Alerts on it keep their version.
func (s *Shelf) Delete(name string) error {
	if err := s.writable(); err != nil {
		return err
	}
	file, err := fileName(name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = os.Remove(s.path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return s.unknown(name)
	}
	if err != nil {
		return fmt.Errorf("remove script: %w", err)
	}
	return disk.SyncDir(s.dir)
}

// writable refuses to store anything where several processes or owners use it.
func (s *Shelf) writable() error {
	switch s.sharing {
	case Unshared:
	case ManyOwners:
		return fault.New(fault.Unsupported, OperatorCode, "stored scripts are for all owners of this server, and only its operator adds and removes them, with candela script; "+
			`send the script with each request instead: {"name":"pine","source":"..."}; for an alert ask the operator to store it`)
	case Replicas:
		return fault.New(fault.Unsupported, OneNodeCode, "scripts are stored on one node only, and this candela is one of several replicas, so no alert can use one; "+
			`send the script with each request of a chart, of indicators or of a back-test instead: {"name":"pine","source":"..."}`)
	}
	return nil
}

func (s *Shelf) unknown(name string) error {
	all, _ := s.List()
	names := make([]string, len(all))
	for i, e := range all {
		names[i] = e.Name
	}
	e := fault.New(fault.NotFound, NotFoundCode, "No script %q is stored.", fault.Truncate(name, 60)).About("name", name, "the name of a stored script")
	if e.Suggestions = fault.Nearest(name, names); len(e.Suggestions) > 0 {
		e.Message += fmt.Sprintf(" Did you mean %q?", e.Suggestions[0])
	}
	return e
}

// fileName returns the name of a script's file without its extension.
func fileName(name string) (string, error) {
	library := strings.ReplaceAll(name, "/", ".")
	switch {
	case scriptName().MatchString(name):
		return name, nil
	case strings.Count(name, "/") == 2 && libraryName().MatchString(library):
		return library, nil
	}
	return "", fault.Field("name", name, "a name of 1 to 48 lower-case letters, digits and _ that begins with a letter, or user/library/number for a library")
}

func (s *Shelf) path(name string) string { return filepath.Join(s.dir, name+extension) }

// read returns the text of a file.
func (s *Shelf) read(name string) (string, error) {
	info, err := os.Lstat(s.path(name))
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fault.New(fault.Conflict, "not_a_file", "%s is a link or no file, and is not read. Put the script itself there.", s.path(name))
	}
	if info.Size() > MaxSource {
		return "", tooLong(int(info.Size()))
	}
	text, err := os.ReadFile(s.path(name))
	return string(text), err
}

// Library returns the source of an import, as user/library/number.
func (s *Shelf) Library(path string) (string, bool) {
	name := strings.ReplaceAll(path, "/", ".")
	if !libraryName().MatchString(name) {
		return "", false
	}
	source, err := s.read(name)
	return source, err == nil
}

// Importers returns the stored scripts and libraries that import a library, which has the name user/library/number.
func (s *Shelf) Importers(path string) []string {
	entries, err := s.List()
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		source, err := s.Source(e.Name)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(strings.Split(source, "\n"), func(line string) bool {
			words := strings.Fields(line)
			return len(words) > 1 && words[0] == "import" && words[1] == path
		}) {
			all = append(all, e.Name)
		}
	}
	return all
}

func checkText(source string) error {
	switch {
	case len(source) > MaxSource:
		return tooLong(len(source))
	case strings.TrimSpace(source) == "":
		return fault.Missing("source", "the text of a Pine script")
	case !utf8.ValidString(source):
		return fault.Field("source", "bytes that are not UTF-8", "a text in UTF-8")
	}
	return nil
}

func tooLong(size int) error {
	return fault.New(fault.Invalid, "pine_size", "the script has %d bytes, and at most %d are allowed", size, MaxSource).About("source", fmt.Sprint(size, " bytes"), fmt.Sprint("at most ", MaxSource, " bytes"))
}
