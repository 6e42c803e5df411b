package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest. The deepest legal request
// needs seven levels; the limit keeps the recursive reader's stack small.
const MaxDepth = 64

// manyKeys is the size of an object from which a map finds duplicate keys faster
// than a scan of the keys before.
const manyKeys = 24

// SyntaxError says where a text stops being one strict JSON value.
type SyntaxError struct {
	Offset int // bytes from the start
	Reason string
}

// Error returns the reason and the place.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset) }

// Check reports whether data is exactly one JSON value: valid UTF-8, no lone
// surrogate, no key twice in an object, nested at most MaxDepth deep and nothing
// but white space after it.
func Check(data []byte) error {
	var room [16][]byte // enough for the usual request without an allocation
	s := scanner{data: data, keys: room[:0]}
	s.space()
	if err := s.value(0); err != nil {
		return err
	}
	s.space()
	if s.pos < len(s.data) {
		return s.fail("unexpected bytes after the JSON value")
	}
	return nil
}

// Fields returns the members of a JSON object in order. The text must have
// passed Check and be an object; the values alias it.
func Fields(object json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		var room [16][]byte
		s := scanner{data: object, keys: room[:0]}
		for s.step('{') {
			start := s.pos
			escaped, err := s.text()
			if err != nil {
				return
			}
			key := string(unquote(s.data[start:s.pos], escaped))
			s.space()
			s.pos++ // the colon
			s.space()
			value, err := s.raw()
			if err != nil || !yield(key, value) {
				return
			}
		}
	}
}

// Items returns the elements of a JSON array in order, under the same terms as
// Fields.
func Items(array json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		s := scanner{data: array}
		for s.step('[') {
			value, err := s.raw()
			if err != nil || !yield(value) {
				return
			}
		}
	}
}

// scanner walks a JSON text. keys holds the keys of every object that is open,
// innermost last, so that one slice serves all levels.
type scanner struct {
	data []byte
	pos  int
	keys [][]byte
}

// step moves to the next element of a checked object or array that opens with
// the given bracket and reports whether there is one.
func (s *scanner) step(open byte) bool {
	s.space()
	if s.pos >= len(s.data) {
		return false
	}
	switch s.data[s.pos] {
	case open, ',':
		s.pos++
		s.space()
	default:
		return false
	}
	return s.pos < len(s.data) && s.data[s.pos] != '}' && s.data[s.pos] != ']'
}

func (s *scanner) raw() (json.RawMessage, error) {
	start := s.pos
	if err := s.value(0); err != nil {
		return nil, err
	}
	return s.data[start:s.pos:s.pos], nil
}

func (s *scanner) fail(reason string) error { return &SyntaxError{Offset: s.pos, Reason: reason} }

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) value(depth int) error {
	if s.pos >= len(s.data) {
		return s.fail("unexpected end of JSON")
	}
	switch c := s.data[s.pos]; c {
	case '{', '[':
		if depth >= MaxDepth {
			return s.fail(fmt.Sprintf("nested deeper than %d levels", MaxDepth))
		}
		s.pos++
		if c == '[' {
			return s.array(depth + 1)
		}
		return s.object(depth + 1)
	case '"':
		_, err := s.text()
		return err
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		return s.number()
	}
}

func (s *scanner) array(depth int) error {
	s.space()
	if s.eat(']') {
		return nil
	}
	for {
		s.space()
		if err := s.value(depth); err != nil {
			return err
		}
		s.space()
		if s.eat(']') {
			return nil
		}
		if !s.eat(',') {
			return s.fail("expected ',' or ']'")
		}
	}
}

func (s *scanner) object(depth int) error {
	base := len(s.keys)
	defer func() { s.keys = s.keys[:base] }()
	var seen map[string]bool
	s.space()
	if s.eat('}') {
		return nil
	}
	for {
		s.space()
		start := s.pos
		if s.pos >= len(s.data) || s.data[s.pos] != '"' {
			return s.fail("expected a key in quotes")
		}
		escaped, err := s.text()
		if err != nil {
			return err
		}
		key := unquote(s.data[start:s.pos], escaped)
		if s.repeated(base, key, &seen) {
			return &SyntaxError{Offset: start, Reason: fmt.Sprintf("key %.64q is given twice", key)}
		}
		s.keys = append(s.keys, key)
		s.space()
		if !s.eat(':') {
			return s.fail("expected ':'")
		}
		s.space()
		if err := s.value(depth); err != nil {
			return err
		}
		s.space()
		if s.eat('}') {
			return nil
		}
		if !s.eat(',') {
			return s.fail("expected ',' or '}'")
		}
	}
}

// repeated reports whether the object whose keys start at base has key already.
func (s *scanner) repeated(base int, key []byte, seen *map[string]bool) bool {
	before := s.keys[base:]
	if len(before) < manyKeys {
		for _, k := range before {
			if bytes.Equal(k, key) {
				return true
			}
		}
		return false
	}
	if *seen == nil {
		*seen = make(map[string]bool, 2*manyKeys)
		for _, k := range before {
			(*seen)[string(k)] = true
		}
	}
	if (*seen)[string(key)] {
		return true
	}
	(*seen)[string(key)] = true
	return false
}

func (s *scanner) eat(c byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) word(w string) error {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(w)) {
		return s.fail("unexpected character")
	}
	s.pos += len(w)
	return nil
}

// number reads RFC 8259 section 6: no leading zero, no leading plus, digits on
// both sides of the point.
func (s *scanner) number() error {
	s.eat('-')
	switch {
	case s.eat('0'):
	case s.digits() == 0:
		return s.fail("unexpected character")
	}
	if s.eat('.') && s.digits() == 0 {
		return s.fail("expected a digit after the point")
	}
	if s.eat('e') || s.eat('E') {
		if !s.eat('+') {
			s.eat('-')
		}
		if s.digits() == 0 {
			return s.fail("expected a digit in the exponent")
		}
	}
	return nil
}

func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}

// text reads a string and reports whether it holds an escape.
func (s *scanner) text() (escaped bool, err error) {
	s.pos++ // the opening quote
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return escaped, nil
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return escaped, err
			}
		case c < ' ':
			return escaped, s.fail("control character in a string")
		case c < utf8.RuneSelf:
			s.pos++
		default:
			r, size := utf8.DecodeRune(s.data[s.pos:])
			if r == utf8.RuneError && size == 1 {
				return escaped, s.fail("invalid UTF-8")
			}
			s.pos += size
		}
	}
	return escaped, s.fail("unexpected end of a string")
}

func (s *scanner) escape() error {
	if s.pos+1 >= len(s.data) {
		return s.fail("unexpected end of a string")
	}
	switch s.data[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return nil
	case 'u':
		unit, ok := s.unit()
		switch {
		case !ok:
			return s.fail("expected four hex digits")
		case unit >= 0xDC00 && unit < 0xE000:
			return s.fail("lone surrogate in a string")
		case unit >= 0xD800 && unit < 0xDC00:
			low, ok := s.unit()
			if !ok || low < 0xDC00 || low > 0xDFFF {
				return s.fail("lone surrogate in a string")
			}
		}
		return nil
	default:
		return s.fail("unknown escape in a string")
	}
}

// unit reads one \uXXXX.
func (s *scanner) unit() (rune, bool) {
	if s.pos+6 > len(s.data) || s.data[s.pos] != '\\' || s.data[s.pos+1] != 'u' {
		return 0, false
	}
	var unit rune
	for _, c := range s.data[s.pos+2 : s.pos+6] {
		var digit byte
		switch {
		case c >= '0' && c <= '9':
			digit = c - '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			digit = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(digit)
	}
	s.pos += 6
	return unit, true
}

// unquote returns the text of a checked JSON string. Without an escape it
// aliases the input.
func unquote(quoted []byte, escaped bool) []byte {
	if !escaped {
		return quoted[1 : len(quoted)-1]
	}
	var text string
	// A checked string always decodes.
	_ = json.Unmarshal(quoted, &text)
	return []byte(text)
}

// Text returns the string that a checked JSON value is, and whether it is one.
func Text(value json.RawMessage) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	return string(unquote(value, bytes.IndexByte(value, '\\') >= 0)), true
}
