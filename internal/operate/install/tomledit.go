package install

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// setTOML is Set for a file of TOML.
func (c Client) setTOML(text, name string, s Server) (string, error) {
	before, err := decodeTOML(text)
	if err != nil {
		return "", err
	}
	want := c.fields(s)
	var after string
	if servers, ok := before[c.key].(map[string]any); ok && servers[name] != nil {
		after, err = c.changeTable(text, name, want)
	} else {
		after, err = c.addTable(text, name, want)
	}
	if err != nil {
		return "", err
	}
	return after, c.checkTOML(before, after, name, c.meant(want))
}

// removeTOML is Remove for a file of TOML.
func (c Client) removeTOML(text, name string) (string, error) {
	before, err := decodeTOML(text)
	if err != nil {
		return "", err
	}
	if servers, ok := before[c.key].(map[string]any); !ok || servers[name] == nil {
		return text, nil
	}
	all := statements(text)
	if _, err := c.header(text, all, name); err != nil {
		return "", err
	}
	// The tables of the server go, each to its last statement: remarks after that
	// belong to what follows.
	var b strings.Builder
	pos := 0
	for i := 0; i < len(all); i++ {
		if !all[i].table || !all[i].under(c.key, name) {
			continue
		}
		last := i
		for last+1 < len(all) && !all[last+1].table {
			last++
		}
		b.WriteString(withoutBlankLine(text[pos:all[i].start]))
		pos = all[last].end
		i = last
	}
	b.WriteString(text[pos:])
	after := b.String()
	return after, c.checkTOML(before, after, name, func(map[string]any) map[string]any { return nil })
}

// withoutBlankLine drops one blank line at the end, which stood before a table.
func withoutBlankLine(s string) string {
	for _, nl := range []string{"\r\n", "\n"} {
		if strings.HasSuffix(s, nl+nl) {
			return strings.TrimSuffix(s, nl)
		}
	}
	return s
}

// header finds the header of the server's own table. A server that is written in
// another form, such as an inline table, is refused with its place: changing it
// would mean to rewrite what the user wrote.
func (c Client) header(text string, all []statement, name string) (int, error) {
	found := -1
	table := -1 // the header that the statement stands under
	for i, st := range all {
		if st.table {
			table = i
		}
		switch {
		case st.table && !st.array && slices.Equal(st.path, []string{c.key, name}):
			found = i
		case st.array && st.under(c.key):
			return 0, at(text, st.start, "%s is a list of tables here; it should be a table for each server", strings.Join(st.path, "."))
		case st.table || !st.under(c.key, name) && !slices.Equal(st.path, []string{c.key}):
		case table < 0 || !all[table].under(c.key, name):
			return 0, at(text, st.start, "%s is written inline or with dots here; give it a table of its own, [%s.%s], and try again", strings.Join(st.path, "."), c.key, name)
		}
	}
	return found, nil
}

// addTable puts the table of a new server at the end.
func (c Client) addTable(text, name string, want []field) (string, error) {
	if _, err := c.header(text, statements(text), name); err != nil {
		return "", err
	}
	nl := newlineOf(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += nl
	}
	if strings.TrimPrefix(text, byteOrderMark) != "" {
		text += nl
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s[%s.%s]%s", text, c.key, keyTOML(name), nl)
	for _, f := range want {
		b.WriteString(f.key + " = " + f.toml() + nl)
	}
	return b.String(), nil
}

// changeTable brings the keys of a server's table that are ours in line.
func (c Client) changeTable(text, name string, want []field) (string, error) {
	for _, key := range c.owned() {
		all := statements(text)
		head, err := c.header(text, all, name)
		if err != nil {
			return "", err
		}
		if head < 0 { // only [mcp_servers.name.env] and the like are there
			first := slices.IndexFunc(all, func(st statement) bool { return st.table && st.under(c.key, name) })
			text = text[:all[first].start] + fmt.Sprintf("[%s.%s]", c.key, keyTOML(name)) + newlineOf(text) + text[all[first].start:]
			all = statements(text)
			head = first
		}
		at := -1
		for i := head + 1; i < len(all) && !all[i].table; i++ {
			if all[i].key[0] == key {
				at = i
			}
		}
		w := slices.IndexFunc(want, func(f field) bool { return f.key == key })
		switch {
		case at < 0 && w >= 0:
			end := all[head].end
			line := key + " = " + want[w].toml() + newlineOf(text)
			if !strings.HasSuffix(text[:end], "\n") {
				line = newlineOf(text) + line
			}
			text = text[:end] + line + text[end:]
		case at >= 0 && w < 0:
			text = text[:all[at].start] + text[all[at].end:]
		case at >= 0:
			raw := text[all[at].valueAt:all[at].valueEnd]
			if got, err := decodeTOML("k = " + raw); err == nil && reflect.DeepEqual(got["k"], want[w].plain()) {
				continue
			}
			text = text[:all[at].valueAt] + want[w].toml() + text[all[at].valueEnd:]
		}
	}
	return text, nil
}

func newlineOf(text string) string { return (&document{text: text}).newline() }

// toml returns the value as TOML, in one line.
func (f field) toml() string {
	if f.list == nil {
		return quoteTOML(f.text)
	}
	all := make([]string, len(f.list))
	for i, s := range f.list {
		all[i] = quoteTOML(s)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// quoteTOML writes a string, one with backslashes as they are where that can be:
// paths of Windows stay readable.
func quoteTOML(s string) string {
	if strings.Contains(s, `\`) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == '\'' || r == 0x7f }) {
		return "'" + s + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// keyTOML writes a key, bare where it may be.
func keyTOML(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !nameRune(r) }) {
		return s
	}
	return quoteTOML(s)
}

// checkTOML is checkJSON for TOML.
func (c Client) checkTOML(before map[string]any, after, name string, change func(entry map[string]any) map[string]any) error {
	got, err := decodeTOML(after)
	if err != nil {
		return fmt.Errorf("the changed file would not be readable, so it is left alone: %w", err)
	}
	if _, there := got[c.key]; !there {
		got[c.key] = make(map[string]any)
	}
	return compare(before, any(got), c.key, name, change)
}
