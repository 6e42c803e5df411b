package fault

import (
	"strings"
	"unicode"
)

// MaxForeign is how many characters of a text that somebody else wrote, such as a
// venue's message, may stand in an error.
const MaxForeign = 300

// Clean returns a text that somebody else wrote as it may stand among ours: on one
// line, in valid UTF-8, without control characters and without those that turn the
// direction of what follows, and of at most most characters. Line breaks and tabs
// become a space; what is longer ends in three dots.
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
		b.WriteRune(r) // U+FFFD for what is no UTF-8
		left--
	}
	return b.String()
}

// Plain reports whether text is printable ASCII without spaces at its ends: it looks
// like no other text that differs from it.
func Plain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return strings.Trim(text, " ") == text
}
