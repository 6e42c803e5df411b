package metering

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// hourForm is how names of files and lines write an hour.
const hourForm = "2006-01-02T15"

// suffix ends the name of a file, after its hour and its run.
const suffix = ".jsonl"

func nameOf(hour time.Time, run string) string { return hour.Format(hourForm) + "-" + run + suffix }

// file is a file of counts.
type file struct {
	hour time.Time
	path string
}

// list returns the files of a folder, the oldest first. One that does not exist has none.
func list(dir string) ([]file, error) {
	entries, err := os.ReadDir(dir) // sorted by name, and so by hour
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []file
	for _, e := range entries {
		name := e.Name()
		if len(name) <= len(hourForm) || !strings.HasSuffix(name, suffix) {
			continue
		}
		if hour, err := time.Parse(hourForm, name[:len(hourForm)]); err == nil {
			files = append(files, file{hour, filepath.Join(dir, name)})
		}
	}
	return files, nil
}

// Read yields the lines of a folder whose hours begin at from or later, and before until unless it is
// zero. They ascend by hour.
func Read(dir string, from, until time.Time) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		files, err := list(dir)
		if err != nil {
			yield(Line{}, err)
			return
		}
		for _, f := range files {
			if f.hour.Before(from) || !until.IsZero() && !f.hour.Before(until) {
				continue
			}
			if !readFile(f.path, yield) {
				return
			}
		}
	}
}

func readFile(path string, yield func(Line, error) bool) bool {
	open, err := os.Open(path) //nolint:gosec // G304: a file of the state directory
	if err != nil {
		return yield(Line{}, err)
	}
	defer func() { _ = open.Close() }()
	decode := json.NewDecoder(bufio.NewReader(open))
	for decode.More() {
		var l Line
		if err := decode.Decode(&l); err != nil {
			return yield(Line{}, fmt.Errorf("%s: %w", path, err))
		}
		if !yield(l, nil) {
			return false
		}
	}
	return true
}
