package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// runnable is a block of commands that is run, with the line that prepares for it.
var runnable = regexp.MustCompile("(?m)^(?:<!-- before: (.*) -->\n)?([ \t]*)```sh run\n((?:.*\n)*?)[ \t]*```$")

// TestCommands_RunAsWritten runs the blocks of each page in order, as one person
// would who reads it. The README's are run by e2e/newuser, in a clone.
func TestCommands_RunAsWritten(t *testing.T) {
	pages, err := filepath.Glob(root + "/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := runnable.FindAllSubmatch(data, -1)
		if marked := strings.Count(string(data), "```sh run"); marked != len(blocks) {
			t.Errorf("%s marks %d blocks, and %d can be read", filepath.Base(page), marked, len(blocks))
		}
		if len(blocks) == 0 {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			u := newUser(t)
			for _, b := range blocks {
				if before := string(b[1]); before != "" {
					if out, err := u.run(t, before, ""); err != nil {
						t.Fatalf("%s: %v\n%s", before, err, out)
					}
				}
				runBlock(t, u, string(b[3]))
			}
		})
		ran += len(blocks)
	}
	t.Logf("%d blocks of commands ran", ran)
	if ran == 0 {
		t.Error("no page has a command that is run")
	}
}

// serves is a line that does not end by itself.
var serves = regexp.MustCompile(`(^|/)candela\b.* --serve\b|fakevenue `)

// runBlock runs the lines of a block one after another. Those that serve run until
// the end of the block, and must end well when asked to.
func runBlock(t *testing.T, u *user, text string) {
	t.Helper()
	var running []*server
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case serves.MatchString(line):
			running = append(running, u.serve(t, line))
		default:
			if out, err := u.run(t, line, ""); err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
	}
	for _, s := range running {
		if err := s.stop(); err != nil {
			t.Errorf("a server of the block does not end well: %v\n%s", err, s.out.String())
		}
	}
}
