package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// SyntaxError is a file that cannot be read or edited, with the place.
type SyntaxError struct {
	Line, Column int // from 1; the column counts characters and is 0 when it is not known
	Reason       string
}

// Error names the place before the reason.
func (e *SyntaxError) Error() string {
	if e.Column == 0 {
		return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

func syntaxError(text string, offset int, format string, args ...any) *SyntaxError {
	before := text[:max(0, min(offset, len(text)))]
	start := strings.LastIndexByte(before, '\n') + 1
	return &SyntaxError{strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[start:]) + 1, fmt.Sprintf(format, args...)}
}

// checkUTF8 returns an error for the first byte that is not UTF-8.
func checkUTF8(text string) error {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return syntaxError(text, i, "the file is not UTF-8 text")
		}
	}
	return nil
}

// document is a parsed JSON file, perhaps with comments.
type document struct {
	before string // as it was read
	text   string // as it is now
	root   hujson.Value
	strict bool // neither comments nor trailing commas
	broken bool // the last line has no line break; the parser needs one after a line comment
}

// parseJSON parses a whole file. One without a value counts as an empty object after its
// comments.
func parseJSON(text string, strict bool) (*document, error) {
	d := &document{text: text, strict: strict}
	if d.broken = !strings.HasSuffix(text, "\n"); d.broken {
		d.text += newline(text)
	}
	if hujson.Extra(d.text).IsValid() { // no value
		if d.broken = false; strings.TrimSpace(text) == "" {
			d.text = ""
		}
		d.text += "{}" + newline(text)
	}
	if strict {
		if bad, ok := errors.AsType[*json.SyntaxError](json.Unmarshal([]byte(d.text), new(any))); ok {
			return nil, syntaxError(text, int(bad.Offset)-1, "%v; this client allows neither comments nor trailing commas", bad)
		}
	}
	d.before = d.text
	var err error
	if d.root, err = hujson.Parse([]byte(d.text)); err != nil {
		return nil, placed(text, d.text, err)
	}
	return d, nil
}

// placed turns an error of hujson, which counts bytes, into a SyntaxError. parsed is the
// text with the line break that it may lack.
func placed(text, parsed string, err error) error {
	var line, column int
	if _, scan := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scan != nil {
		return err
	}
	offset := column - 1
	for range line - 1 {
		offset += strings.IndexByte(parsed[offset-column+1:], '\n') + 1
	}
	reason := errors.Unwrap(err).Error()
	if strings.HasPrefix(reason, "invalid literal") {
		reason = "invalid literal" // its text may be a secret
	}
	return syntaxError(text, offset, "%s", reason)
}

// object returns a value as an object. A key that occurs twice is an error, because it is
// ambiguous which one counts.
func (d *document) object(v *hujson.Value, name string) (*hujson.Object, error) {
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, syntaxError(d.text, v.StartOffset, "%s must be an object in braces", name)
	}
	seen := make(map[string]bool)
	for i := range o.Members {
		key := keyOf(o, i)
		if seen[key] {
			return nil, syntaxError(d.text, o.Members[i].Name.StartOffset, "key %q occurs a second time in %s", key, name)
		}
		seen[key] = true
	}
	return o, nil
}

func keyOf(o *hujson.Object, i int) string {
	key, _ := o.Members[i].Name.Value.(hujson.Literal)
	return key.String()
}

// member returns the value of a key, nil when there is none, and its index.
func member(o *hujson.Object, key string) (*hujson.Value, int) {
	for i := range o.Members {
		if keyOf(o, i) == key {
			return &o.Members[i].Value, i
		}
	}
	return nil, -1
}

func (c Client) setJSON(text, name string, want []field) (string, error) {
	d, err := parseJSON(text, c.format == plainJSON)
	if err != nil {
		return "", err
	}
	if err := c.checkLayout(d); err != nil {
		return "", err
	}
	to, missing := &d.root, []string{c.key, name}
	for what := "the file"; ; missing = missing[1:] {
		o, err := d.object(to, what)
		if err != nil {
			return "", err
		}
		if len(missing) == 0 {
			d.change(to, o, c.visited(want), want)
			break
		}
		next, _ := member(o, missing[0])
		if next == nil {
			d.add(to, o, missing[0], func(st style) string { return st.nested(missing[1:], want) })
			break
		}
		to, what = next, fmt.Sprintf("%q", missing[0])
	}
	return d.result(c, name, c.meant(want))
}

// checkLayout refuses a layout in which the client would not see the server.
func (c Client) checkLayout(d *document) error {
	if c.later == "" {
		return nil
	}
	servers := d.root.Find("/" + c.key + "/" + c.later)
	if servers == nil || servers.Find("/type") != nil {
		return nil
	}
	return syntaxError(d.text, servers.StartOffset, "%q is the layout of a later %s, which candela does not edit; add the server there by hand", c.later, c.Title)
}

func (c Client) removeJSON(text, name string) (string, error) {
	d, err := parseJSON(text, c.format == plainJSON)
	if err != nil {
		return "", err
	}
	root, err := d.object(&d.root, "the file")
	if err != nil {
		return "", err
	}
	servers, _ := member(root, c.key)
	if servers == nil {
		return text, nil
	}
	all, err := d.object(servers, fmt.Sprintf("%q", c.key))
	if err != nil {
		return "", err
	}
	entry, i := member(all, name)
	if entry == nil {
		return text, nil
	}
	if _, err := d.object(entry, fmt.Sprintf("%q", name)); err != nil {
		return "", err
	}
	remove(all, i)
	return d.result(c, name, func(map[string]any) map[string]any { return nil })
}

// result returns the edited text after it was read back and compared with the file before.
func (d *document) result(c Client, name string, change func(entry map[string]any) map[string]any) (string, error) {
	text := d.root.String()
	if d.broken {
		text = strings.TrimSuffix(text, newline(text))
	}
	var root map[string]any
	if err := decodeJSON(d.before, &root); err != nil {
		return "", err
	}
	after, err := parseJSON(text, d.strict)
	if err != nil {
		return "", fmt.Errorf("the edited file would not be readable, so it was not written: %w", err)
	}
	var got any
	if err := decodeJSON(after.text, &got); err != nil {
		return "", err
	}
	apply(root, c.key, name, change)
	if !reflect.DeepEqual(got, any(root)) {
		return "", errUnexpectedEdit
	}
	return text, nil
}

// decodeJSON decodes a text with comments, and keeps numbers as they are written.
func decodeJSON(text string, to any) error {
	data, err := hujson.Standardize([]byte(text))
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(to)
}

// change makes the keys of an entry that candela owns say what is wanted.
func (d *document) change(v *hujson.Value, o *hujson.Object, keys []string, want []field) {
	for _, key := range keys {
		w := slices.IndexFunc(want, func(f field) bool { return f.key == key })
		switch old, i := member(o, key); {
		case i < 0 && w >= 0:
			d.add(v, o, key, func(style) string { return want[w].json() })
		case i >= 0 && w < 0:
			remove(o, i)
		case i >= 0 && !want[w].first:
			var got any
			if decodeJSON(hujson.Value{Value: old.Value}.String(), &got) != nil || !reflect.DeepEqual(got, want[w].plain()) {
				old.Value = hujson.Literal(want[w].json())
			}
		}
		d.text = d.root.String()
		d.root.UpdateOffsets()
	}
}

// style is the layout of the members of one object.
type style struct {
	newline string // "" for an object in one line
	indent  string // of the members
	unit    string // one step of indentation
}

// nested lays out the entry of a server inside objects with the given keys.
func (s style) nested(keys []string, want []field) string {
	inner := style{s.newline, s.indent + s.unit, s.unit}
	if len(keys) > 0 {
		return s.object(string(hujson.String(keys[0])) + ": " + inner.nested(keys[1:], want))
	}
	members := make([]string, len(want))
	for i, f := range want {
		members[i] = string(hujson.String(f.key)) + ": " + f.json()
	}
	return s.object(members...)
}

// object lays out an object whose closing brace is at s.indent.
func (s style) object(members ...string) string {
	if s.newline == "" {
		return "{" + strings.Join(members, ", ") + "}"
	}
	inner := s.newline + s.indent + s.unit
	return "{" + inner + strings.Join(members, ","+inner) + s.newline + s.indent + "}"
}

func newline(text string) string {
	if strings.Contains(text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// indent returns the blanks at the beginning of the line of an offset.
func (d *document) indent(offset int) string {
	line := d.text[strings.LastIndexByte(d.text[:offset], '\n')+1 : offset]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// styleOf returns how an object's members are laid out. An empty object follows the file.
func (d *document) styleOf(v *hujson.Value, o *hujson.Object) style {
	outer := d.indent(v.StartOffset)
	s := style{newline: newline(d.text), unit: "  "}
	root, _ := d.root.Value.(*hujson.Object)
	if root != nil && len(root.Members) > 0 {
		if in := d.indent(root.Members[0].Name.StartOffset); in != "" {
			s.unit = in
		}
	}
	s.indent = outer + s.unit
	oneLine := d.text[d.root.StartOffset:d.root.EndOffset]
	if n := len(o.Members); n > 0 {
		last := o.Members[n-1].Name.StartOffset
		oneLine = d.text[v.StartOffset:last]
		s.indent = d.indent(last)
		if strings.HasPrefix(s.indent, outer) && len(s.indent) > len(outer) {
			s.unit = s.indent[len(outer):]
		}
	}
	if !strings.Contains(oneLine, "\n") && len(root.Members) > 0 {
		s.newline = ""
	}
	return s
}

// add adds a member at the end of an object, with a trailing comma where the last one had
// one. Comments behind the last member stay in its line.
func (d *document) add(v *hujson.Value, o *hujson.Object, key string, lay func(style) string) {
	s := d.styleOf(v, o)
	rest := string(o.AfterExtra)
	m := hujson.ObjectMember{
		Name:  hujson.Value{Value: hujson.String(key)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: hujson.Literal(lay(s))},
	}
	head, gap := "", s.newline+s.indent
	switch n := len(o.Members); {
	case n > 0:
		if last := &o.Members[n-1].Value; last.AfterExtra != nil {
			m.Value.AfterExtra = hujson.Extra{}
		}
		if s.newline == "" {
			gap = " "
		} else {
			head, rest = cutRemark(rest)
		}
	case strings.TrimSpace(rest) != "": // comments, perhaps to the end of a line
		if s.newline == "" {
			s.newline = newline(d.text)
			gap = s.newline + s.indent
		}
		head = strings.TrimRight(rest, " \t\r\n")
		rest = s.newline + d.indent(v.StartOffset)
	case s.newline == "":
		gap, rest = "", ""
	default:
		rest = s.newline + d.indent(v.StartOffset)
	}
	m.Name.BeforeExtra, o.AfterExtra = hujson.Extra(head+gap), hujson.Extra(rest)
	o.Members = append(o.Members, m)
}

// cutRemark cuts the comments that begin in the first line off from what follows them.
func cutRemark(extra string) (remark, rest string) {
	end := 0
	for pos := 0; pos < len(extra); {
		switch {
		case strings.HasPrefix(extra[pos:], "//"):
			end = pos + len(strings.TrimRight(extra[pos:pos+strings.IndexByte(extra[pos:], '\n')], "\r"))
			return extra[:end], extra[end:]
		case strings.HasPrefix(extra[pos:], "/*"):
			pos += 2 + strings.Index(extra[pos+2:], "*/") + 2
			end = pos
		case extra[pos] == ' ' || extra[pos] == '\t':
			pos++
		default:
			return extra[:end], extra[end:]
		}
	}
	return extra[:end], extra[end:]
}

// remove removes a member of an object and the comma it needed. Comments around it stay.
func remove(o *hujson.Object, i int) {
	m, last := o.Members[i], i == len(o.Members)-1
	after := &o.AfterExtra
	if !last {
		after = &o.Members[i+1].Name.BeforeExtra
	}
	head, rest := strings.TrimRight(string(m.Name.BeforeExtra), " \t\r\n"), string(m.Value.AfterExtra)+string(*after)
	if !strings.HasPrefix(strings.TrimLeft(rest, " \t\r"), "\n") && !hujson.Extra(head).IsValid() {
		// It ends with a line comment, which must not swallow what follows.
		head = string(m.Name.BeforeExtra[:len(head)+bytes.IndexByte(m.Name.BeforeExtra[len(head):], '\n')+1])
	}
	if last && i > 0 {
		before := &o.Members[i-1].Value
		switch {
		case m.Value.AfterExtra == nil: // the member before has no comma any more
			head = string(before.AfterExtra) + head
			before.AfterExtra = nil
		case before.AfterExtra == nil:
			before.AfterExtra = hujson.Extra{}
		}
	}
	if len(o.Members) == 1 && strings.TrimSpace(head+rest) == "" {
		head, rest = "", ""
	}
	*after = hujson.Extra(head + rest)
	o.Members = slices.Delete(o.Members, i, i+1)
}
