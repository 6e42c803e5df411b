package guard

import (
	"regexp"
	"strings"
)

// quoteFractions puts the bare fractions of a TOML document in quotes, because the
// decoder would read them as binary floating point, which cannot represent 0.1. All
// other bytes stay the same; the decoder reports invalid TOML.
//
// A value begins after an equals sign outside strings and comments. Lists are skipped:
// no key of a policy is a list of numbers.
func quoteFractions(src string) string {
	var b strings.Builder
	for i := 0; i < len(src); {
		switch c := src[i]; c {
		case '#':
			i += copyTo(&b, src[i:], lineEnd(src[i:]))
		case '"', '\'':
			i += copyTo(&b, src[i:], stringEnd(src[i:]))
		case '=':
			blank := 1 + len(src[i+1:]) - len(strings.TrimLeft(src[i+1:], " \t"))
			i += copyTo(&b, src[i:], blank)
			number := tomlFloat.FindString(src[i:])
			if number != "" && endsValue(src[i+len(number):]) {
				b.WriteString(`"` + strings.TrimPrefix(strings.ReplaceAll(number, "_", ""), "+") + `"`)
				i += len(number)
			}
		default:
			i += copyTo(&b, src[i:], 1)
		}
	}
	return b.String()
}

// tomlFloat matches a TOML float other than inf and nan.
var tomlFloat = regexp.MustCompile(`^[+-]?(?:0|[1-9](?:_?[0-9])*)(?:\.[0-9](?:_?[0-9])*(?:[eE][+-]?[0-9](?:_?[0-9])*)?|[eE][+-]?[0-9](?:_?[0-9])*)`)

// endsValue reports whether a value before rest is complete.
func endsValue(rest string) bool { return rest == "" || strings.ContainsAny(rest[:1], " \t\r\n,}#") }

func copyTo(b *strings.Builder, src string, n int) int {
	b.WriteString(src[:n])
	return n
}

func lineEnd(src string) int {
	if i := strings.IndexByte(src, '\n'); i >= 0 {
		return i
	}
	return len(src)
}

// stringEnd returns the end of the string at the start of src: after its closing quotes
// or, if they are missing, at the end of the line or document.
func stringEnd(src string) int {
	quote := src[:1]
	if long := strings.Repeat(quote, 3); strings.HasPrefix(src, long) {
		quote = long
	}
	escapes := src[0] == '"'
	for i := len(quote); i < len(src); i++ {
		switch {
		case escapes && src[i] == '\\':
			i++
		case strings.HasPrefix(src[i:], quote):
			i += len(quote)
			// Up to two quotes may precede the closing three.
			for len(quote) == 3 && i < len(src) && src[i] == quote[0] {
				i++
			}
			return i
		case len(quote) == 1 && src[i] == '\n':
			return i
		}
	}
	return len(src)
}
