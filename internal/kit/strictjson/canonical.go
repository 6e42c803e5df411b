package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxInteger bounds the integers that every reader of JSON keeps: below 2^53.
const maxInteger = 1 << 53

// Canonical returns the canonical form of a JSON text by RFC 8785: no white space, keys sorted, strings in
// UTF-8 with as few escapes as possible. It takes a part of JSON on which all programs agree: the text must pass Check,
// keys are ASCII, and numbers are integers whose size is below 2^53, written without a fraction or an exponent.
func Canonical(data []byte) ([]byte, error) {
	if err := Check(data); err != nil {
		return nil, err
	}
	return appendCanonical(make([]byte, 0, len(data)), bytes.TrimRight(trim(data), " \t\r\n"))
}

// CanonicalOf is Canonical of what Marshal writes for v.
func CanonicalOf(v any) ([]byte, error) {
	data, err := Marshal(v)
	if err != nil {
		return nil, err
	}
	return Canonical(data)
}

func trim(data []byte) []byte { return data[skipSpace(data, 0):] }

func appendCanonical(dst []byte, value json.RawMessage) ([]byte, error) {
	switch value[0] {
	case '{':
		return appendObject(dst, value)
	case '[':
		dst = append(dst, '[')
		first := true
		for item := range Items(value) {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			var err error
			if dst, err = appendCanonical(dst, trim(item)); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case '"':
		text, _ := Text(value)
		return appendText(dst, text), nil
	case 't', 'f', 'n':
		return append(dst, word(value)...), nil
	default:
		return appendInteger(dst, value)
	}
}

// word returns a value without what follows it.
func word(value []byte) []byte {
	for i, c := range value {
		if c <= ' ' {
			return value[:i]
		}
	}
	return value
}

func appendObject(dst []byte, object json.RawMessage) ([]byte, error) {
	type member struct {
		key   string
		value json.RawMessage
	}
	var members []member
	for key, value := range Fields(object) {
		if strings.IndexFunc(key, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
			return nil, fmt.Errorf("key %q: keys are ASCII", key)
		}
		members = append(members, member{key, trim(value)})
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, m.key), ':')
		var err error
		if dst, err = appendCanonical(dst, m.value); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendInteger appends a number, which must be an integer that every reader keeps.
func appendInteger(dst []byte, value []byte) ([]byte, error) {
	text := word(value)
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n >= maxInteger || n <= -maxInteger || string(text) == "-0" {
		return nil, fmt.Errorf("number %s: numbers are integers below 2^53", clip(text))
	}
	return append(dst, text...), nil
}

// appendText appends a string as RFC 8785 writes it.
func appendText(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		case strings.IndexByte("\b\t\n\f\r", c) >= 0:
			dst = append(dst, '\\', "btn?fr"[c-'\b'])
		default:
			dst = fmt.Appendf(dst, `\u%04x`, c)
		}
	}
	return append(dst, '"')
}
