package install

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// SyntaxError is a file that cannot be read or changed, with the place.
type SyntaxError struct {
	Line, Column int // from 1; the column counts characters
	Reason       string
}

// Error names the place before the reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// at returns a SyntaxError for an offset.
func at(text string, offset int, format string, args ...any) *SyntaxError {
	before := text[:max(0, min(offset, len(text)))]
	line := strings.Count(before, "\n") + 1
	start := strings.LastIndexByte(before, '\n') + 1
	return &SyntaxError{line, utf8.RuneCountInString(strings.TrimPrefix(before[start:], byteOrderMark)) + 1, fmt.Sprintf(format, args...)}
}

// byteOrderMark is what some editors of Windows put first.
const byteOrderMark = "\uFEFF"

// node is a value of JSON with its place in the text.
type node struct {
	kind       byte // the first byte of the value: { [ " and so on
	start, end int
	members    []member // of an object
	again      int      // offset of the first key that stands in it a second time, 0 for none
}

// member is a member of an object.
type member struct {
	key   string
	start int // of the key
	value node
	comma int // offset of the comma after it, -1 where there is none
}

// get returns the index of a key, -1 where there is none.
func (n node) get(key string) int {
	for i := range n.members {
		if n.members[i].key == key {
			return i
		}
	}
	return -1
}

// document is a text of JSON, perhaps with comments.
type document struct {
	text     string
	root     node // kind 0: the text has no value, only space and comments
	comments []comment
}

type comment struct {
	start, end int
	line       bool // it ends with its line
}

// maxDepth bounds the recursion.
const maxDepth = 200

// jsonParser reads a document. One goroutine only.
type jsonParser struct {
	document
	pos    int
	strict bool // neither comments nor trailing commas
}

// parseJSON reads a whole text.
func parseJSON(text string, strict bool) (*document, error) {
	if i := invalidUTF8(text); i >= 0 {
		return nil, at(text, i, "this is not UTF-8")
	}
	p := &jsonParser{document: document{text: text}, strict: strict}
	p.pos = len(text) - len(strings.TrimPrefix(text, byteOrderMark))
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.pos == len(text) {
		return &p.document, nil
	}
	var err error
	if p.root, err = p.value(0); err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.pos < len(text) {
		return nil, at(text, p.pos, "the file should end here, but goes on with %s", p.seen())
	}
	return &p.document, nil
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, -1 for none.
func invalidUTF8(text string) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// seen describes what stands at the position.
func (p *jsonParser) seen() string {
	if p.pos >= len(p.text) {
		return "the end of the file"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return fmt.Sprintf("%q", r)
}

// space moves over blanks and comments.
func (p *jsonParser) space() error {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\r', '\n':
			p.pos++
		case '/':
			if err := p.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (p *jsonParser) comment() error {
	rest := p.text[p.pos:]
	length, line := -1, strings.HasPrefix(rest, "//")
	switch {
	case p.strict:
		return at(p.text, p.pos, "a slash stands outside of quotes; this client reads JSON without comments")
	case line:
		length = strings.IndexByte(rest, '\n')
		if length < 0 {
			length = len(rest)
		}
		length = len(strings.TrimSuffix(rest[:length], "\r"))
	case strings.HasPrefix(rest, "/*"):
		if i := strings.Index(rest[2:], "*/"); i >= 0 {
			length = i + 4
		}
	}
	if length < 0 {
		return at(p.text, p.pos, "a comment begins here and has no end")
	}
	p.comments = append(p.comments, comment{p.pos, p.pos + length, line})
	p.pos += length
	return nil
}

func (p *jsonParser) value(depth int) (node, error) {
	if p.pos >= len(p.text) || depth > maxDepth {
		return node{}, at(p.text, p.pos, "a value should stand here, but there is %s", p.seen())
	}
	n := node{kind: p.text[p.pos], start: p.pos}
	var err error
	switch n.kind {
	case '{':
		err = p.object(depth, &n)
	case '[':
		err = p.array(depth)
	case '"':
		_, err = p.quoted()
	default:
		err = p.word()
	}
	n.end = p.pos
	return n, err
}

// word reads a number, true, false or null.
func (p *jsonParser) word() error {
	end := p.pos
	for end < len(p.text) && strings.IndexByte(" \t\r\n,:{}[]\"/", p.text[end]) < 0 {
		end++
	}
	if !json.Valid([]byte(p.text[p.pos:end])) {
		return at(p.text, p.pos, "a value should stand here, but there is %s", p.seen())
	}
	p.pos = end
	return nil
}

// quoted reads a string.
func (p *jsonParser) quoted() (string, error) {
	if p.pos >= len(p.text) || p.text[p.pos] != '"' {
		return "", at(p.text, p.pos, "a name in double quotes should stand here, but there is %s", p.seen())
	}
	for end := p.pos + 1; end < len(p.text); end++ {
		switch c := p.text[end]; {
		case c == '\\':
			end++
		case c < ' ':
			return "", at(p.text, end, "the text that begins before has no closing quote in its line")
		case c == '"':
			var s string
			if json.Unmarshal([]byte(p.text[p.pos:end+1]), &s) != nil {
				return "", at(p.text, p.pos, "this text has a wrong escape after a backslash")
			}
			p.pos = end + 1
			return s, nil
		}
	}
	return "", at(p.text, p.pos, "this text has no closing quote")
}

func (p *jsonParser) object(depth int, n *node) error {
	seen := make(map[string]bool)
	return p.list('}', func() error {
		m := member{start: p.pos, comma: -1}
		var err error
		if m.key, err = p.quoted(); err != nil {
			return err
		}
		if seen[m.key] && n.again == 0 {
			n.again = m.start
		}
		seen[m.key] = true
		if err = p.space(); err != nil {
			return err
		}
		if p.pos >= len(p.text) || p.text[p.pos] != ':' {
			return at(p.text, p.pos, "a colon should stand here, but there is %s", p.seen())
		}
		p.pos++
		if err = p.space(); err != nil {
			return err
		}
		m.value, err = p.value(depth + 1)
		n.members = append(n.members, m)
		return err
	}, func() { n.members[len(n.members)-1].comma = p.pos })
}

func (p *jsonParser) array(depth int) error {
	return p.list(']', func() error {
		_, err := p.value(depth + 1)
		return err
	}, func() {})
}

// list reads items between brackets. It calls item at each, and comma at the comma
// after one.
func (p *jsonParser) list(closing byte, item func() error, comma func()) error {
	p.pos++
	for first := true; ; first = false {
		if err := p.space(); err != nil {
			return err
		}
		if p.pos < len(p.text) && p.text[p.pos] == closing && (first || !p.strict) {
			p.pos++
			return nil
		}
		if err := item(); err != nil {
			return err
		}
		if err := p.space(); err != nil {
			return err
		}
		switch {
		case p.pos < len(p.text) && p.text[p.pos] == ',':
			comma()
			p.pos++
		case p.pos < len(p.text) && p.text[p.pos] == closing:
			p.pos++
			return nil
		default:
			return at(p.text, p.pos, "a comma or %q should stand here, but there is %s", rune(closing), p.seen())
		}
	}
}
