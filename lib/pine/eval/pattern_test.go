package eval_test

import (
	"regexp"
	"strings"
	"testing"

	"candela/lib/pine/eval"
)

// TestMatch_FindsWhatTheLibraryFinds compares str.match, which reads letter by letter, with a search in the whole text.
func TestMatch_FindsWhatTheLibraryFinds(t *testing.T) {
	t.Parallel()
	for pattern, texts := range map[string][]string{
		"[A-Z]+USD":         {"BINANCE:BTCUSD", "btcusd", "XUSDUSD", ""},
		"a|ab|abc":          {"zabc", "b"},
		"(?:a+)+b":          {"aaaaaac", "xaab"},
		"^x*":               {"xxy", "yxx"},
		"é.ü$":              {"aébü", "ébüa"},
		"b*?c|\\\\d{2,3}":   {"bbc", "a1234"},
		"(?i)long|short":    {"go SHORT now", "none"},
		"[^,]+,([^,]+)":     {"a,b,c", ","},
		"\\\\bword\\\\b.*?": {"a word here", "sword"},
	} {
		for _, text := range texts {
			m := compile(t, "//@version=6\nindicator(\"t\")\nvar s = \"\"\ns := str.match(\""+text+"\", \""+pattern+"\")\nlog.info(\"{0}\", s)\nplot(1)\n", hourly())
			if err := m.Keep(ramp(1)[0]); err != nil {
				t.Fatal(err)
			}
			want := regexp.MustCompile(strings.ReplaceAll(pattern, `\\`, `\`)).FindString(text)
			if got := m.Logs(); len(got) != 1 || got[0] != want {
				t.Errorf("str.match(%q, %q) is %q, want %q", text, pattern, got, want)
			}
		}
	}
}

func TestMatch_RefusesLargePatterns(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`x = str.match("a", str.repeat("(a?){1000}", 3))`,
		`x = str.match("a", str.repeat("\\pL", 1300))`,
		`x = str.match("a", str.repeat("a", 5000))`,
		`x = str.match("a", "(((a{10}){10}){10})b{1000}c{200}")`,
	} {
		if e := failure(t, body+"\nplot(1)", hourly()); e == nil || e.Code != eval.CodeRuntime || !strings.Contains(e.Message, "more than") {
			t.Errorf("%s: ended with %v", body, e)
		}
	}
}
