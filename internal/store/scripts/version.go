package scripts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"candela/internal/kit/disk"
	"candela/lib/fault"
	"candela/lib/ta"
)

// version is the first 12 digits of the hash of a source and what it imports.
func version(source string, libraries map[string]string) string {
	h := sha256.New()
	h.Write([]byte(source))
	for _, path := range slices.Sorted(maps.Keys(libraries)) {
		h.Write([]byte("\x00" + path + "\x00" + libraries[path]))
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// build compiles a source, or returns what it was compiled to before.
func (s *Shelf) build(name, source string, library func(string) (string, bool)) (*compiled, error) {
	if err := checkText(source); err != nil {
		return nil, err
	}
	key := name + "\x00" + source
	if c, ok := s.made.Get(key); ok && c.fresh(library) {
		return c, nil
	}
	c := &compiled{source: source, libraries: map[string]string{}}
	def, err := s.compile(name, source, func(path string) (string, bool) {
		text, found := library(path)
		if found {
			c.libraries[path] = text
		}
		return text, found
	})
	if err != nil {
		return nil, err
	}
	def.Name, def.Version = name, version(source, c.libraries)
	c.def = def
	s.made.Put(key, c, len(key)+16<<10)
	return c, nil
}

// fresh reports whether the imported libraries are still the same.
func (c *compiled) fresh(library func(string) (string, bool)) bool {
	for path, text := range c.libraries {
		if now, found := library(path); !found || now != text {
			return false
		}
	}
	return true
}

// pinnedFile is a script with all that it imports, as it was when an alert was set.
type pinnedFile struct {
	Name      string            `json:"name"`
	Source    string            `json:"source"`
	Libraries map[string]string `json:"libraries,omitempty"`
}

func (s *Shelf) pinnedPath(name, version string) string {
	return filepath.Join(s.dir, pinnedDir, name+"@"+version+".json")
}

// Pin stores a version of a script for alerts. It is durable when Pin returns.
func (s *Shelf) Pin(d *ta.Def) error {
	if s.sharing == Replicas {
		return s.writable()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	path := s.pinnedPath(d.Name, d.Version)
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	c, err := s.current(d.Name)
	if err != nil {
		return err
	}
	if c == nil || c.def.Version != d.Version {
		return fault.New(fault.Conflict, NotFoundCode, "The script %q was changed or removed meanwhile. Set the alert again.", d.Name).About("indicator", d.Name, "")
	}
	text, err := json.Marshal(pinnedFile{d.Name, c.source, c.libraries})
	if err != nil {
		return fmt.Errorf("keep script %s: %w", d.Name, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keep script %s: %w", d.Name, err)
	}
	if err := disk.Replace(path, text); err != nil {
		return fmt.Errorf("keep script %s: %w", d.Name, err)
	}
	return nil
}

// pinnedScript returns a version of a script: one that an alert keeps, or the stored one if
// it is that version. It returns nil if there is none.
func (s *Shelf) pinnedScript(name, wanted string) (*ta.Def, error) {
	if len(wanted) != 12 || strings.Trim(wanted, "0123456789abcdef") != "" {
		return nil, nil
	}
	text, err := os.ReadFile(s.pinnedPath(name, wanted))
	if errors.Is(err, fs.ErrNotExist) {
		c, err := s.current(name)
		if err != nil || c == nil || c.def.Version != wanted {
			return nil, err
		}
		return c.def, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read script %s: %w", name, err)
	}
	var p pinnedFile
	if err := json.Unmarshal(text, &p); err != nil || version(p.Source, p.Libraries) != wanted {
		return nil, fault.New(fault.Internal, "", "the version %s of script %s is damaged", wanted, name)
	}
	c, err := s.build(name, p.Source, func(path string) (string, bool) { t, found := p.Libraries[path]; return t, found })
	if err != nil {
		return nil, err
	}
	return c.def, nil
}

// Prune removes the versions that no alert uses. inUse has their names as alerts do, with
// the version.
func (s *Shelf) Prune(inUse func(name string) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir := filepath.Join(s.dir, pinnedDir)
	files, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read scripts of alerts: %w", err)
	}
	for _, f := range files {
		name, _ := strings.CutSuffix(f.Name(), ".json")
		if inUse(name) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
			return fmt.Errorf("remove script of ended alerts: %w", err)
		}
	}
	return nil
}
