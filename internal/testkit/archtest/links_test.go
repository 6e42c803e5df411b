package archtest

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// TestLinksResolve follows every relative link of the documentation, to the file
// and to the heading in it, so that what moves takes the pages that speak of it along.
func TestLinksResolve(t *testing.T) {
	t.Parallel()
	pages := map[string]string{} // without fenced blocks
	walk(t, func(name string, data []byte) {
		if path.Ext(name) == ".md" || name == "llms.txt" {
			pages[name] = unfenced(string(data))
		}
	})
	link := regexp.MustCompile(`\]\(([^)\s]+)\)|\b(?:href|src)="([^"]+)"`)
	headings := map[string]map[string]bool{} // of the pages that are linked to
	followed := 0
	for name, text := range pages {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to := m[1] + m[2]
			file, anchor, _ := strings.Cut(to, "#")
			if strings.Contains(file, "://") || strings.HasPrefix(file, "mailto:") {
				continue
			}
			followed++
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, to)
				continue
			}
			page, ok := pages[target]
			if anchor == "" || !ok {
				continue
			}
			if headings[target] == nil {
				headings[target] = anchors(page)
			}
			if !headings[target][anchor] {
				t.Errorf("%s links to %s, and %s has no such heading", name, to, target)
			}
		}
	}
	if followed < 100 {
		t.Errorf("only %d links were followed", followed)
	}
}

// TestPagesNamedInTexts_Exist looks for pages that code, templates and scripts name, in
// messages and comments, so that no message sends its reader to a page that is gone.
func TestPagesNamedInTexts_Exist(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`\bdocs/[a-z0-9/-]+\.md\b`)
	found := 0
	walk(t, func(name string, data []byte) {
		if path.Ext(name) == ".md" || bytes.IndexByte(data, 0) >= 0 {
			return
		}
		for _, page := range named.FindAllString(string(data), -1) {
			found++
			if _, err := os.Stat(filepath.Join(root, page)); err != nil {
				t.Errorf("%s names %s, which is not there", name, page)
			}
		}
	})
	if found < 50 {
		t.Errorf("only %d names of pages were found", found)
	}
}

// unfenced is a page without its blocks of code, in which brackets mean other things.
func unfenced(page string) string {
	var b strings.Builder
	open := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			open = !open
			continue
		}
		if !open {
			b.WriteString(line)
		}
	}
	return b.String()
}

// anchors are the names that GitHub gives to the headings of a page: lower case,
// without punctuation, with hyphens for spaces and a number for one that repeats.
func anchors(page string) map[string]bool {
	heading := regexp.MustCompile(`(?m)^#{1,6} +(.*?) *$`)
	linked := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	seen, times := map[string]bool{}, map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(linked.ReplaceAllString(m[1], "$1")) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				b.WriteRune(r)
			}
		}
		name := b.String()
		if n := times[name]; n > 0 {
			seen[fmt.Sprintf("%s-%d", name, n)] = true
		} else {
			seen[name] = true
		}
		times[name]++
	}
	return seen
}

func TestAnchors_AreGitHubs(t *testing.T) {
	t.Parallel()
	got := anchors("# HTTP server (--serve)\n## What happens when\n## What happens when\n### `get_x`, and [a link](x.md)!\n")
	for _, want := range []string{"http-server---serve", "what-happens-when", "what-happens-when-1", "get_x-and-a-link"} {
		if !got[want] {
			t.Errorf("no anchor %s in %v", want, got)
		}
	}
}

// TestLLMs_HoldsItsForm checks llms.txt against its convention: a title, a summary as
// a quotation, and sections of nothing but links with a colon and a note; the section
// of what may be left out last.
func TestLLMs_HoldsItsForm(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(root, "llms.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if !strings.HasPrefix(lines[0], "# ") || lines[1] != "" || !strings.HasPrefix(lines[2], "> ") {
		t.Error("llms.txt does not begin with a title and a summary")
	}
	item := regexp.MustCompile(`^- \[[^\]]+\]\([^)]+\): .+$`)
	section := ""
	for i, line := range lines[3:] {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			section = name
		} else if section != "" && line != "" && !item.MatchString(line) {
			t.Errorf("llms.txt:%d is no link with a note: %s", i+4, line)
		}
	}
	if section != "Optional" {
		t.Errorf("the last section of llms.txt is %q", section)
	}
}
