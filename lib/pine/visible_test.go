package pine_test

import (
	"fmt"
	"strings"
	"testing"

	"candela/lib/pine"
)

// TestTexts_HideNothing writes texts that turn the direction of others around and control a
// terminal wherever a script has a text. Nobody reads them.
func TestTexts_HideNothing(t *testing.T) {
	t.Parallel()
	const evil = "a\u202eb\u2066c\x1b[2Jd\u200fe"
	source := strings.ReplaceAll(`//VERSION=6
indicator("@ title", shorttitle="@ short", overlay=true)
word = input.string("@", "@ input", options=["@", "no"], tooltip="@")
free = input.string("x", "Free")
plot(close, "@ plot")
alertcondition(close > open, "@ condition", "@ message")
log.info("@ log")
if bar_index == 3
    alert("@ alert\n" + free)
    label.new(bar_index, close, "@ label" + word + free, tooltip="@")
    t = table.new(position.top_left, 1, 1)
    table.cell(t, 0, 0, '@ cell' + free)
if bar_index == STOP
    runtime.error("@ error" + "\n" + free)
`, "@", evil)
	for name, end := range map[string]string{"drawn": "1000", "failed": "20"} {
		s := compiled(t, strings.NewReplacer("STOP", end, "VERSION", "@version").Replace(source), `{"free":"F`+strings.ReplaceAll(evil, "\x1b", `\u001b`)+`"}`)
		r := s.Compute(input(bars(30)))
		said := fmt.Sprintf("%+v %+v %+v", *s.Def, r, r.Drawn)
		if r.Drawn.Problem != nil {
			said += r.Drawn.Problem.Message
		}
		if want := map[string]string{"drawn": "abc[2Jde cellFabc[2Jde", "failed": "line 14: abc[2Jde error Fabc[2Jde"}[name]; !strings.Contains(said, want) {
			t.Errorf("%s: no %q in %s", name, want, said)
		}
		for _, hidden := range []string{"\u202e", "\u2066", "\x1b", "\u200f"} {
			if strings.Contains(said, hidden) {
				t.Errorf("%s: %q is shown: %q", name, hidden, said)
			}
		}
	}
	_, found := pine.Check("//@version=6\nindicator(\"x\")\n\u202e = 1\nplot("+`"`+evil+`"`+")\n", nil)
	for _, d := range found {
		if strings.ContainsAny(d.Message+d.Fix, "\u202e\u2066\x1b") {
			t.Errorf("%q", d.Message)
		}
	}
}
