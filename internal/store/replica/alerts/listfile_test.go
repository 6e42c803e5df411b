package alerts

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"candela/internal/kit/seal"
)

func listBox(tb testing.TB, secret string) *seal.Box {
	tb.Helper()
	box, err := seal.NewBox([]byte(strings.Repeat(secret, seal.MinSecret)), "files")
	if err != nil {
		tb.Fatal(err)
	}
	return box
}

// lines yields n records, of which some hundred thousand bytes make a frame.
func lines(n int) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		for i := range n {
			if !yield(fmt.Sprint(i, strings.Repeat("x", 1000)), nil) {
				return
			}
		}
	}
}

func readLines(path string, box *seal.Box) (all []string, err error) {
	for line, err := range listRecords(path, box) {
		if err != nil {
			return all, err
		}
		all = append(all, string(line))
	}
	return all, nil
}

func TestListFile_HoldsWhatWasWritten(t *testing.T) {
	t.Parallel()
	box, path := listBox(t, "a"), filepath.Join(t.TempDir(), "list")
	want := listHead{Stream: "s", Through: 7, At: time.Now().UTC().Truncate(time.Second)}
	want.setRecent(recentAlerts{floor: 3, sets: []alertSeq{{4, "four"}, {7, "seven"}}})
	for _, n := range []int{0, 1, 1000} {
		if err := writeList(path, box, want, lines(n)); err != nil {
			t.Fatal(err)
		}
		head, err := readHead(path, box)
		if err != nil || head.Stream != "s" || head.Through != 7 || !head.At.Equal(want.At) {
			t.Errorf("%+v, %v", head, err)
		}
		if r := head.recent(); r.floor != 3 || !slices.Equal(r.sets, []alertSeq{{4, "four"}, {7, "seven"}}) {
			t.Errorf("recent %+v", r)
		}
		got, err := readLines(path, box)
		if err != nil || len(got) != n {
			t.Errorf("%d of %d lines, %v", len(got), n, err)
		}
		for i, line := range got {
			if !strings.HasPrefix(line, fmt.Sprintf("\"%dx", i)) || !strings.HasSuffix(line, "x\"") {
				t.Errorf("line %d is %q", i, line)
			}
		}
	}
	if _, err := readHead(path, listBox(t, "b")); !errors.Is(err, errListFile) {
		t.Errorf("with another secret: %v", err)
	}
	if _, err := readHead(path+"x", box); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
}

func TestListFile_RefusesWhatIsNotWhole(t *testing.T) {
	t.Parallel()
	box, dir := listBox(t, "a"), t.TempDir()
	path, other := filepath.Join(dir, "list"), filepath.Join(dir, "other")
	for _, p := range []string{path, other} {
		if err := writeList(p, box, listHead{At: time.Now()}, lines(1000)); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	half := len(whole) / 2
	bad := map[string][]byte{
		"nothing":                  nil,
		"more after it":            append(bytes.Clone(whole), 0),
		"two halves of two files":  append(bytes.Clone(whole[:half]), second[half:]...),
		"a length beyond the file": append([]byte{255, 255, 255, 255}, whole[4:]...),
	}
	for i := 0; i < len(whole); i += len(whole) / 97 {
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		bad[fmt.Sprint("bit of byte ", i)] = changed
		bad[fmt.Sprint("cut off at ", i)] = whole[:i]
	}
	for name, data := range bad {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readHead(path, box); !errors.Is(err, errListFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A list that cannot be written whole leaves the former one.
func TestListFile_AFailureLeavesTheFormerOne(t *testing.T) {
	t.Parallel()
	box, path := listBox(t, "a"), filepath.Join(t.TempDir(), "list")
	if err := writeList(path, box, listHead{Through: 1}, lines(3)); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	err := writeList(path, box, listHead{Through: 2}, func(yield func(any, error) bool) { _ = yield("one", nil) && yield(nil, refused) })
	if head, readErr := readHead(path, box); !errors.Is(err, refused) || readErr != nil || head.Through != 1 {
		t.Errorf("%v; %+v, %v", err, head, readErr)
	}
}
