package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// quoted is an error that a page shows, after the line that provokes it.
var quoted = regexp.MustCompile("(?m)^<!-- from: (.*) -->\n```text\n((?:.*\n)*?)```$")

// TestTroubleshooting_QuotesWhatIsPrinted provokes every error of the page.
func TestTroubleshooting_QuotesWhatIsPrinted(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	all := quoted.FindAllSubmatch(page, -1)
	if fences := strings.Count(string(page), "```text"); len(all) != fences || fences == 0 {
		t.Fatalf("%d texts are quoted and %d have a line that provokes them", fences, len(all))
	}
	for _, m := range all {
		u := newUser(t)
		out, _ := u.run(t, string(m[1]), "")
		out = strings.ReplaceAll(out, u.home, "/home/you")
		for line := range strings.Lines(string(m[2])) {
			if !shows(out, strings.TrimSuffix(line, "\n")) {
				t.Errorf("%s\ndoes not print\n%s\nbut\n%s", m[1], line, out)
			}
		}
	}
}

// shows reports whether a line of out is the one that is quoted, where "..." stands
// for anything.
func shows(out, quote string) bool {
	var pattern strings.Builder
	for i, part := range strings.Split(quote, "...") {
		if i > 0 {
			pattern.WriteString(".*")
		}
		pattern.WriteString(regexp.QuoteMeta(part))
	}
	return regexp.MustCompile(pattern.String()).MatchString(out)
}
