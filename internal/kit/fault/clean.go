package fault

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Truncate returns text, or at most so many of its first bytes and three dots, cut between
// characters.
func Truncate(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "..."
}

// MaxForeign bounds external text in an error, such as a venue's message, in characters.
const MaxForeign = 300

// Clean makes external text safe to show: one line of valid UTF-8, without control and
// bidirectional characters, and of at most most characters. White space becomes a single
// space; a longer text ends in three dots.
func Clean(text string, most int) string {
	var b strings.Builder
	left, space := most, false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r): // line and paragraph separators too
			space = true
			continue
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
			left--
		}
		if space = false; left <= 0 {
			return strings.TrimRight(b.String(), " ") + "..."
		}
		b.WriteRune(r) // U+FFFD for invalid UTF-8
		left--
	}
	return b.String()
}

// Plain reports whether text is printable ASCII without leading or trailing spaces, so
// that no different text looks the same.
func Plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return strings.Trim(text, " ") == text
}
