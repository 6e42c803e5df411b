// Package strictjson reads and writes JSON without ambiguity. Check rejects any text
// that two decoders could read differently, such as one with duplicate keys; Reader
// reads the numbers and keys of a document without allocating.
package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest. The deepest legal request
// needs seven levels; the limit keeps the recursive reader's stack small.
const MaxDepth = 64

// manyKeys is the size of an object from which a map finds duplicate keys faster
// than a scan of the keys before.
const manyKeys = 24

// Check reports whether data is exactly one JSON value: valid UTF-8, no lone
// surrogate, no key twice in an object, nested at most MaxDepth deep and nothing
// but white space after it. The error says what is wrong and where.
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
		s := scanner{data: object}
		for s.step('{') {
			key, err := s.key()
			if err != nil || s.colon() != nil {
				return
			}
			value, err := s.raw()
			if err != nil || !yield(string(key), value) {
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

// raw returns the next value of a checked text.
func (s *scanner) raw() (json.RawMessage, error) {
	var err error
	start := s.pos
	if s.pos < len(s.data) && (s.data[s.pos] == '{' || s.data[s.pos] == '[') {
		err = s.skip()
	} else {
		err = s.value(0)
	}
	if err != nil {
		return nil, err
	}
	return s.data[start:s.pos:s.pos], nil
}

// skip moves behind a checked object or array.
func (s *scanner) skip() error {
	for depth := 0; s.pos < len(s.data); {
		switch s.data[s.pos] {
		case '"':
			if err := s.text(); err != nil {
				return err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if s.pos++; depth == 0 {
			return nil
		}
	}
	return s.fail("unexpected end of JSON")
}

func (s *scanner) fail(reason string) error { return fmt.Errorf("%s at byte %d", reason, s.pos) }

func (s *scanner) space() { s.pos = skipSpace(s.data, s.pos) }

func (s *scanner) value(depth int) error {
	if s.pos >= len(s.data) {
		return s.fail("unexpected end of JSON")
	}
	switch c := s.data[s.pos]; c {
	case '{', '[':
		if depth >= MaxDepth {
			return s.fail(fmt.Sprintf("nested deeper than %d levels", MaxDepth))
		}
		return s.list(c, depth+1)
	case '"':
		return s.text()
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

// list reads an array or an object, which open begins.
func (s *scanner) list(open byte, depth int) error {
	closing := open + 2 // in ASCII
	base := len(s.keys)
	defer func() { s.keys = s.keys[:base] }()
	var seen map[string]bool
	s.pos++
	s.space()
	if s.eat(closing) {
		return nil
	}
	for {
		s.space()
		if open == '{' {
			if err := s.newKey(base, &seen); err != nil {
				return err
			}
		}
		if err := s.value(depth); err != nil {
			return err
		}
		s.space()
		if s.eat(closing) {
			return nil
		}
		if !s.eat(',') {
			return s.fail("expected ',' or '" + string(rune(closing)) + "'")
		}
	}
}

// newKey reads a key that the object whose keys start at base must not have already, and
// the colon.
func (s *scanner) newKey(base int, seen *map[string]bool) error {
	start := s.pos
	key, err := s.key()
	if err != nil {
		return err
	}
	if s.repeated(base, key, seen) {
		s.pos = start
		return s.fail(fmt.Sprintf("key %.64q is given twice", key))
	}
	s.keys = append(s.keys, key)
	return s.colon()
}

// key reads a key.
func (s *scanner) key() ([]byte, error) {
	start := s.pos
	if s.pos >= len(s.data) || s.data[s.pos] != '"' {
		return nil, s.fail("expected a key in quotes")
	}
	if err := s.text(); err != nil {
		return nil, err
	}
	return unquote(s.data[start:s.pos]), nil
}

// colon reads the colon behind a key.
func (s *scanner) colon() error {
	s.space()
	if !s.eat(':') {
		return s.fail("expected ':'")
	}
	s.space()
	return nil
}

// repeated reports whether the object whose keys start at base has key already.
func (s *scanner) repeated(base int, key []byte, seen *map[string]bool) bool {
	before := s.keys[base:]
	if len(before) < manyKeys {
		return slices.ContainsFunc(before, func(k []byte) bool { return bytes.Equal(k, key) })
	}
	if *seen == nil {
		*seen = make(map[string]bool, 2*manyKeys)
		for _, k := range before {
			(*seen)[string(k)] = true
		}
	}
	known := (*seen)[string(key)]
	(*seen)[string(key)] = true
	return known
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

func (s *scanner) number() error {
	n, wrong := numberLen(s.data[s.pos:])
	s.pos += n
	if wrong != "" {
		return s.fail(wrong)
	}
	return nil
}

// text reads a string.
func (s *scanner) text() error {
	s.pos++ // the opening quote
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c < ' ':
			return s.fail("control character in a string")
		case c < utf8.RuneSelf:
			s.pos++
		default:
			r, size := utf8.DecodeRune(s.data[s.pos:])
			if r == utf8.RuneError && size == 1 {
				return s.fail("invalid UTF-8")
			}
			s.pos += size
		}
	}
	return s.fail("unexpected end of a string")
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
	unit, err := strconv.ParseUint(string(s.data[s.pos+2:s.pos+6]), 16, 16)
	if err != nil {
		return 0, false
	}
	s.pos += 6
	return rune(unit), true
}

// unquote returns the text of a checked JSON string. Without an escape it
// aliases the input.
func unquote(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
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
	return string(unquote(value)), true
}
