package main

import (
	"crypto/sha1" //nolint:gosec // names duplicates, protects nothing
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// script is one file of the corpus.
type script struct {
	repository, path string
	source           string
	version          int
	kind             string // indicator, strategy or library
}

const maxBytes = 400_000

// patterns of the rules by which a file counts as a script.
var (
	declares = regexp.MustCompile(`(?m)^(indicator|strategy|library|study)\s*\(`)
	version  = regexp.MustCompile(`(?m)^\s*//\s*@version\s*=\s*(\d+)`)
	title    = regexp.MustCompile(`(?m)^library\s*\(\s*(?:title\s*=\s*)?["']([^"']+)`)
	comment  = regexp.MustCompile(`//[^\r\n]*`)
)

// load reads every script below a directory whose folders are repositories, without
// duplicates.
func load(root string) ([]script, error) {
	repositories, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var all []script
	seen := map[[sha1.Size]byte]bool{}
	for _, r := range repositories {
		found, err := scripts(root, r.Name())
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			h := sha1.Sum([]byte(strings.Join(strings.FieldsFunc(comment.ReplaceAllString(s.source, ""), unicode.IsSpace), ""))) //nolint:gosec // see above
			if !seen[h] {
				seen[h] = true
				all = append(all, s)
			}
		}
	}
	return all, nil
}

func scripts(root, repository string) ([]script, error) {
	var found []script
	err := filepath.WalkDir(filepath.Join(root, repository), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		ext := filepath.Ext(path)
		if !slices.Contains([]string{".pine", ".pinescript", ".txt", ".ps", ""}, ext) {
			return nil
		}
		text, err := os.ReadFile(path) //nolint:gosec // the directory is the caller's
		if err != nil || len(text) > maxBytes {
			return err
		}
		if s, ok := classify(string(text), ext); ok {
			s.repository = repository
			s.path, _ = filepath.Rel(root, path)
			found = append(found, s)
		}
		return nil
	})
	slices.SortFunc(found, func(a, b script) int { return strings.Compare(a.path, b.path) })
	return found, err
}

func classify(text, ext string) (script, bool) {
	kinds, versions := declares.FindAllStringSubmatch(text, -1), version.FindAllStringSubmatch(text, -1)
	if len(kinds) == 0 || len(kinds) > 1 && len(versions) > 1 {
		return script{}, false
	}
	if len(versions) == 0 && ext != ".pine" && ext != ".pinescript" {
		return script{}, false
	}
	s := script{source: text, version: 1, kind: kinds[0][1]}
	if s.kind == "study" {
		s.kind = "indicator"
	}
	if len(versions) > 0 {
		s.version, _ = strconv.Atoi(versions[0][1])
	}
	return s, true
}
