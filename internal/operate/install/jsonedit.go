package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// setJSON is Set for a file of JSON.
func (c Client) setJSON(text, name string, s Server) (string, error) {
	want := c.fields(s)
	before, entry, err := c.readJSON(text, name)
	if err != nil {
		return "", err
	}
	var after string
	if entry == nil {
		after = c.addEntry(before, name, want)
	} else if after, err = c.changeEntry(text, name, want); err != nil {
		return "", err
	}
	return after, c.checkJSON(text, after, name, c.meant(want))
}

// meant returns what becomes of an entry that is to say what is wanted.
func (c Client) meant(want []field) func(entry map[string]any) map[string]any {
	return func(entry map[string]any) map[string]any {
		if entry == nil {
			entry = make(map[string]any)
		}
		for _, key := range c.owned() {
			delete(entry, key)
		}
		for _, f := range want {
			entry[f.key] = f.plain()
		}
		return entry
	}
}

// removeJSON is Remove for a file of JSON.
func (c Client) removeJSON(text, name string) (string, error) {
	doc, entry, err := c.readJSON(text, name)
	if err != nil || entry == nil {
		return text, err
	}
	servers := doc.root.members[doc.root.get(c.key)].value
	after := doc.without(servers, servers.get(name))
	return after, c.checkJSON(text, after, name, func(map[string]any) map[string]any { return nil })
}

// readJSON reads a file and finds the entry of a server, nil where there is none.
// What stands on the way to it must be objects whose keys are there once.
func (c Client) readJSON(text, name string) (*document, *node, error) {
	doc, err := parseJSON(text, c.format == plainJSON)
	if err != nil {
		return nil, nil, err
	}
	if doc.root.kind == 0 {
		return doc, nil, nil
	}
	n, what := doc.root, "the file"
	for _, key := range []string{c.key, name} {
		if err := doc.editable(n, what); err != nil {
			return nil, nil, err
		}
		i := n.get(key)
		if i < 0 {
			return doc, nil, nil
		}
		n, what = n.members[i].value, fmt.Sprintf("%q", key)
	}
	return doc, &n, doc.editable(n, what)
}

func (d *document) editable(n node, what string) error {
	if n.kind != '{' {
		return at(d.text, n.start, "%s should be an object in braces", what)
	}
	if n.again > 0 {
		return at(d.text, n.again, "this key stands in %s a second time, so that it is not plain which one counts", what)
	}
	return nil
}

// addEntry puts a new entry in, with the object around it where that is missing.
func (c Client) addEntry(doc *document, name string, want []field) string {
	if doc.root.kind == 0 {
		nl := doc.newline()
		head := doc.text
		if rest := strings.TrimPrefix(head, byteOrderMark); rest != "" && !strings.HasSuffix(head, "\n") && len(doc.comments) > 0 {
			head += nl
		} else if len(doc.comments) == 0 {
			head = head[:len(head)-len(rest)]
		}
		s := style{nl: nl, indent: "", unit: "  "}
		return head + s.object([]string{s.deeper().member(c.key, s.deeper().object([]string{s.deeper().deeper().entry(name, want)}))}) + nl
	}
	if i := doc.root.get(c.key); i >= 0 {
		return doc.with(doc.root.members[i].value, func(s style) string { return s.entry(name, want) })
	}
	return doc.with(doc.root, func(s style) string {
		return s.member(c.key, s.object([]string{s.deeper().entry(name, want)}))
	})
}

// changeEntry brings the keys of an entry that are ours in line, one after the
// other: each change moves what stands behind it.
func (c Client) changeEntry(text, name string, want []field) (string, error) {
	for _, key := range c.owned() {
		doc, entry, err := c.readJSON(text, name)
		if err != nil {
			return "", err
		}
		w := slices.IndexFunc(want, func(f field) bool { return f.key == key })
		switch i := entry.get(key); {
		case i < 0 && w >= 0:
			text = doc.with(*entry, func(s style) string { return s.member(key, want[w].raw()) })
		case i >= 0 && w < 0:
			text = doc.without(*entry, i)
		case i >= 0 && !same(doc.text, entry.members[i].value, want[w], c.format == plainJSON):
			v := entry.members[i].value
			text = text[:v.start] + want[w].raw() + text[v.end:]
		}
	}
	return text, nil
}

// same reports whether a value says what is wanted, however it is laid out.
func same(text string, v node, want field, strict bool) bool {
	got, err := decodeJSON(text[v.start:v.end], strict)
	return err == nil && reflect.DeepEqual(got, want.plain())
}

// plain returns the value as encoding/json would decode it.
func (f field) plain() any {
	if f.list == nil {
		return f.text
	}
	all := make([]any, len(f.list))
	for i, s := range f.list {
		all[i] = s
	}
	return all
}

// raw returns the value as JSON, in one line.
func (f field) raw() string {
	if f.list == nil {
		return quoteJSON(f.text)
	}
	all := make([]string, len(f.list))
	for i, s := range f.list {
		all[i] = quoteJSON(s)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func quoteJSON(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always can be
	return strings.TrimSuffix(b.String(), "\n")
}

// style is how the members of one object are laid out.
type style struct {
	nl     string // "" for an object in one line
	indent string // of the members
	unit   string // one step of indentation
}

// deeper is the style of an object inside a member.
func (s style) deeper() style { return style{s.nl, s.indent + s.unit, s.unit} }

// member lays out one member.
func (s style) member(key, raw string) string { return quoteJSON(key) + ": " + raw }

// entry lays out a server.
func (s style) entry(name string, want []field) string {
	members := make([]string, len(want))
	for i, f := range want {
		members[i] = s.member(f.key, f.raw())
	}
	return s.member(name, s.object(members))
}

// object lays out an object whose closing brace stands at s.indent.
func (s style) object(members []string) string {
	if s.nl == "" {
		return "{" + strings.Join(members, ", ") + "}"
	}
	inner := s.nl + s.indent + s.unit
	return "{" + inner + strings.Join(members, ","+inner) + s.nl + s.indent + "}"
}

func (d *document) newline() string {
	if strings.Contains(d.text, "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// lineIndent returns the blanks at the beginning of the line of an offset.
func (d *document) lineIndent(offset int) string {
	line := d.text[strings.LastIndexByte(d.text[:offset], '\n')+1 : offset]
	line = strings.TrimPrefix(line, byteOrderMark)
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// styleOf finds out how an object's members are laid out. An empty one follows the
// file.
func (d *document) styleOf(n node) style {
	s := style{nl: d.newline(), indent: d.lineIndent(n.start) + "  ", unit: "  "}
	if root := d.root; len(root.members) > 0 {
		if in := d.lineIndent(root.members[0].start); in != "" {
			s.unit = in
		}
	}
	if len(n.members) == 0 {
		s.indent = d.lineIndent(n.start) + s.unit
		if !strings.Contains(d.text[d.root.start:d.root.end], "\n") && len(d.root.members) > 0 {
			s.nl = ""
		}
		return s
	}
	last := n.members[len(n.members)-1]
	if !strings.Contains(d.text[n.start:last.start], "\n") {
		s.nl = ""
		return s
	}
	s.indent = d.lineIndent(last.start)
	if outer := d.lineIndent(n.start); strings.HasPrefix(s.indent, outer) && len(s.indent) > len(outer) {
		s.unit = s.indent[len(outer):]
	}
	return s
}

// with returns the text with one more member at the end of an object.
func (d *document) with(n node, lay func(style) string) string {
	s := d.styleOf(n)
	if len(n.members) == 0 {
		return d.withFirst(n, s, lay(s))
	}
	last := n.members[len(n.members)-1]
	from, comma := last.value.end, ","
	trailing := ""
	if last.comma >= 0 { // a trailing comma: ours has one too
		from, comma, trailing = last.comma+1, "", ","
	}
	if s.nl == "" {
		return d.text[:from] + comma + " " + lay(s) + trailing + d.text[from:]
	}
	put := d.lineEnd(from)
	return d.text[:from] + comma + d.text[from:put] + s.nl + s.indent + lay(s) + trailing + d.text[put:]
}

// withFirst returns the text with the first member of an object, after the
// comments that it may have.
func (d *document) withFirst(n node, s style, member string) string {
	put := n.start + 1
	for _, c := range d.comments {
		if c.start > n.start && c.end < n.end {
			put = c.end
		}
	}
	if s.nl == "" && put == n.start+1 {
		return d.text[:put] + member + d.text[n.end-1:]
	}
	if s.nl == "" {
		s.nl = d.newline()
	}
	return d.text[:put] + s.nl + s.indent + member + s.nl + d.lineIndent(n.start) + d.text[n.end-1:]
}

// lineEnd returns the end of the blanks and comments that follow an offset in its
// line: a remark on the member before stays with it.
func (d *document) lineEnd(from int) int {
	end := from
	for pos := from; pos < len(d.text); {
		if i := slices.IndexFunc(d.comments, func(c comment) bool { return c.start == pos }); i >= 0 {
			pos = d.comments[i].end
			end = pos
			continue
		}
		if c := d.text[pos]; c != ' ' && c != '\t' {
			break
		}
		pos++
	}
	return end
}

// without returns the text without one member of an object, and without the comma
// that it needed. Comments around it stay.
func (d *document) without(n node, i int) string {
	m := n.members[i]
	from := len(strings.TrimRight(d.text[:m.start], " \t\r\n"))
	rest := d.text[m.value.end:]
	if m.comma >= 0 {
		rest = d.text[m.value.end:m.comma] + d.text[m.comma+1:]
	}
	if slices.ContainsFunc(d.comments, func(c comment) bool { return c.end == from && c.line }) && !endsLine(rest) {
		// What follows must not become part of that comment.
		from += strings.IndexByte(d.text[from:], '\n') + 1
	}
	cuts := [][2]int{{from, m.value.end}}
	switch last := i == len(n.members)-1; {
	case m.comma >= 0:
		cuts = append(cuts, [2]int{m.comma, m.comma + 1})
	case last && i > 0:
		before := n.members[i-1].comma
		cuts = append([][2]int{{before, before + 1}}, cuts...)
	}
	if len(n.members) == 1 && strings.TrimSpace(d.text[n.start+1:from]) == "" && strings.TrimSpace(d.text[cuts[len(cuts)-1][1]:n.end-1]) == "" {
		cuts = [][2]int{{n.start + 1, n.end - 1}}
	}
	var b strings.Builder
	pos := 0
	for _, c := range cuts {
		b.WriteString(d.text[pos:c[0]])
		pos = c[1]
	}
	b.WriteString(d.text[pos:])
	return b.String()
}

// endsLine reports whether nothing but blanks stands before the next line break.
func endsLine(s string) bool {
	s = strings.TrimLeft(s, " \t\r")
	return s == "" || s[0] == '\n'
}

// decodeJSON returns the value of a text, with numbers as they are written.
func decodeJSON(text string, strict bool) (any, error) {
	doc, err := parseJSON(text, strict)
	if err != nil || doc.root.kind == 0 {
		return nil, err
	}
	// Comments and trailing commas become blanks.
	b := []byte(text)
	blank := func(start, end int) {
		for i := start; i < end; i++ {
			b[i] = ' '
		}
	}
	for _, c := range doc.comments {
		blank(c.start, c.end)
	}
	if !strict {
		blankCommas(b)
	}
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(b, []byte(byteOrderMark))))
	d.UseNumber()
	var v any
	return v, d.Decode(&v)
}

// blankCommas blanks the commas before a closing bracket.
func blankCommas(b []byte) {
	comma, quoted := -1, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted, comma = !quoted, -1
		case quoted || c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			b[comma], comma = ' ', -1
		default:
			comma = -1
		}
	}
}

// checkJSON makes sure that the text after is the text before with one entry
// changed: nothing is handed out that was not read back.
func (c Client) checkJSON(before, after, name string, change func(entry map[string]any) map[string]any) error {
	strict := c.format == plainJSON
	old, err := decodeJSON(before, strict)
	if err != nil {
		return err
	}
	got, err := decodeJSON(after, strict)
	if err != nil {
		return fmt.Errorf("the changed file would not be readable, so it is left alone: %w", err)
	}
	root, _ := old.(map[string]any)
	if root == nil {
		root = make(map[string]any)
	}
	return compare(root, got, c.key, name, change)
}

// compare applies a change to one entry of decoded servers and holds the result
// against what was read back.
func compare(root map[string]any, got any, key, name string, change func(map[string]any) map[string]any) error {
	servers, _ := root[key].(map[string]any)
	if servers == nil {
		servers = make(map[string]any)
	}
	entry, _ := servers[name].(map[string]any)
	if entry = change(entry); entry == nil {
		delete(servers, name)
	} else {
		servers[name] = entry
	}
	root[key] = servers
	if !reflect.DeepEqual(got, any(root)) {
		return errNotAsMeant
	}
	return nil
}
