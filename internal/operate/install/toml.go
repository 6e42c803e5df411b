package install

import (
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// errNotAsMeant means that a change did more or less than it should; nothing is
// written then.
var errNotAsMeant = errors.New("the changed file would not say what it should, so it is left alone: edit it by hand")

// statement is a line of TOML that is not blank or a comment, or several where a
// value goes over lines.
type statement struct {
	table    bool     // a header in brackets; otherwise a key with a value
	array    bool     // a header in double brackets
	path     []string // of the table, or of the key with its table's
	key      []string // the key as it stands
	start    int      // of its first line
	valueAt  int
	valueEnd int
	end      int // after the line break of its last line
}

// under reports whether the statement is about what path names.
func (s statement) under(path ...string) bool {
	return len(s.path) >= len(path) && slices.Equal(s.path[:len(path)], path)
}

// decodeTOML reads a text as TOML.
func decodeTOML(text string) (map[string]any, error) {
	if i := invalidUTF8(text); i >= 0 {
		return nil, at(text, i, "this is not UTF-8")
	}
	v := make(map[string]any)
	if _, err := toml.Decode(text, &v); err != nil {
		if bad, ok := errors.AsType[toml.ParseError](err); ok {
			e := at(text, bad.Position.Start, "%s", bad.Message)
			e.Line = bad.Position.Line
			return nil, e
		}
		return nil, err
	}
	return equalable(v).(map[string]any), nil //nolint:errcheck // a map stays one
}

// equalable puts a text in the place of every NaN, which equals nothing.
func equalable(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) {
			return "not a number"
		}
	case []any:
		for i := range v {
			v[i] = equalable(v[i])
		}
	case []map[string]any:
		for i := range v {
			equalable(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = equalable(v[k])
		}
	}
	return v
}

// tomlScanner splits a text that is TOML into statements. One goroutine only.
type tomlScanner struct {
	text string
	pos  int
}

// statements returns the statements of a text that has been decoded before: it
// trusts that the text is TOML, and only finds where things begin and end.
func statements(text string) []statement {
	s := &tomlScanner{text: text}
	if strings.HasPrefix(text, byteOrderMark) {
		s.pos = len(byteOrderMark)
	}
	var all []statement
	var table []string
	for s.pos < len(text) {
		start := s.pos
		s.blanks()
		if s.pos >= len(text) || strings.IndexByte("#\r\n", text[s.pos]) >= 0 {
			s.nextLine()
			continue
		}
		st := statement{start: start}
		if text[s.pos] == '[' {
			st.table = true
			s.pos++
			if s.pos < len(text) && text[s.pos] == '[' {
				st.array = true
				s.pos++
			}
			st.key = s.dotted()
			table, st.path = st.key, st.key
		} else {
			st.key = s.dotted()
			st.path = append(slices.Clone(table), st.key...)
			s.pos = min(s.pos+1, len(text)) // the equals sign
			s.blanks()
			st.valueAt = s.pos
			s.value()
			st.valueEnd = s.pos
		}
		s.nextLine()
		st.end = s.pos
		all = append(all, st)
	}
	return all
}

func (s *tomlScanner) blanks() {
	for s.pos < len(s.text) && (s.text[s.pos] == ' ' || s.text[s.pos] == '\t') {
		s.pos++
	}
}

func (s *tomlScanner) nextLine() {
	if i := strings.IndexByte(s.text[s.pos:], '\n'); i >= 0 {
		s.pos += i + 1
		return
	}
	s.pos = len(s.text)
}

// dotted reads a key with its dots.
func (s *tomlScanner) dotted() []string {
	var parts []string
	for s.pos < len(s.text) {
		s.blanks()
		from := s.pos
		if from < len(s.text) && (s.text[from] == '"' || s.text[from] == '\'') {
			s.quoted()
			parts = append(parts, unquoteTOML(s.text[from:s.pos]))
		} else {
			for s.pos < len(s.text) && strings.IndexByte(" \t.=]\r\n", s.text[s.pos]) < 0 {
				s.pos++
			}
			parts = append(parts, s.text[from:s.pos])
		}
		s.blanks()
		if s.pos >= len(s.text) || s.text[s.pos] != '.' {
			return parts
		}
		s.pos++
	}
	return parts
}

// unquoteTOML decodes a quoted key.
func unquoteTOML(raw string) string {
	v := make(map[string]string)
	if _, err := toml.Decode("k = "+raw, &v); err != nil {
		return raw
	}
	return v["k"]
}

// quoted moves over a string of any of the four kinds.
func (s *tomlScanner) quoted() {
	quote := s.text[s.pos : s.pos+1]
	closing := quote
	if strings.HasPrefix(s.text[s.pos:], quote+quote+quote) {
		closing = quote + quote + quote
	}
	s.pos += len(closing)
	for s.pos < len(s.text) {
		switch {
		case quote == `"` && s.text[s.pos] == '\\':
			s.pos = min(s.pos+2, len(s.text))
		case strings.HasPrefix(s.text[s.pos:], closing):
			s.pos += len(closing)
			// Up to two quotes may stand before the three that close.
			for range 2 {
				if len(closing) == 3 && strings.HasPrefix(s.text[s.pos:], quote) {
					s.pos++
				}
			}
			return
		default:
			s.pos++
		}
	}
}

// value moves over a value.
func (s *tomlScanner) value() {
	depth := 0
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == '"' || c == '\'':
			s.quoted()
			continue
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == '#' && depth > 0:
			s.nextLine()
			continue
		case depth <= 0 && (c == '#' || c == '\n'):
			end := len(strings.TrimRight(s.text[:s.pos], " \t\r"))
			s.pos = end
			return
		}
		s.pos++
	}
}
