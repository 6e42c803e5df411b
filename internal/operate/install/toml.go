package install

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// decodeTOML decodes a text. Its keys are in the order of the text.
func decodeTOML(text string) (map[string]any, []toml.Key, error) {
	v := make(map[string]any)
	meta, err := toml.Decode(text, &v)
	if bad, ok := errors.AsType[toml.ParseError](err); ok {
		e := syntaxError(text, bad.Position.Start, "%s", bad.Message)
		e.Line = bad.Position.Line
		return nil, nil, e
	}
	return v, meta.Keys(), err
}

// statement is a table header or a key with its value.
type statement struct {
	path       toml.Key // of the table, or of the key with its table's
	start, end int      // of its lines
	table      bool
	array      bool // a header in double brackets
}

// under reports whether the statement is about what path names.
func (s statement) under(path ...string) bool {
	return len(s.path) >= len(path) && slices.Equal(s.path[:len(path)], path)
}

// statements splits a text that is TOML. A statement ends with the first line at which it
// is TOML by itself: strings and lists over several lines are not before their end.
func statements(text string) []statement {
	var all []statement
	var table toml.Key
	start, end := 0, 0
	for line := range strings.Lines(text) {
		end += len(line)
		_, keys, err := decodeTOML(text[start:end])
		if err != nil {
			continue
		}
		if len(keys) > 0 {
			s := statement{path: keys[0], start: start, end: end}
			if head := strings.TrimSpace(text[start:end]); head[0] == '[' {
				s.table, s.array = true, strings.HasPrefix(head, "[[")
				table = s.path
			} else {
				s.path = slices.Concat(table, keys[0])
			}
			all = append(all, s)
		}
		start = end
	}
	return all
}

func (c Client) setTOML(text, name string, want []field) (string, error) {
	before, _, err := decodeTOML(text)
	if err != nil {
		return "", err
	}
	after, err := c.changeTable(text, name, want)
	if err != nil {
		return "", err
	}
	return after, c.checkTOML(before, after, name, c.meant(want))
}

func (c Client) removeTOML(text, name string) (string, error) {
	before, _, err := decodeTOML(text)
	if err != nil {
		return "", err
	}
	if servers, ok := before[c.key].(map[string]any); !ok || servers[name] == nil {
		return text, nil
	}
	all := statements(text)
	if err := c.checkTables(text, all, name); err != nil {
		return "", err
	}
	// The tables of the server go, each up to its last statement: comments after that
	// belong to what follows.
	var b strings.Builder
	pos, inside := 0, false
	for _, st := range all {
		if st.table {
			inside = st.under(c.key, name)
		}
		if !inside {
			continue
		}
		if st.table {
			b.WriteString(withoutBlankLine(text[pos:st.start]))
		}
		pos = st.end
	}
	b.WriteString(text[pos:])
	after := b.String()
	return after, c.checkTOML(before, after, name, func(map[string]any) map[string]any { return nil })
}

func withoutBlankLine(s string) string {
	if nl := newline(s); strings.HasSuffix(s, nl+nl) {
		return strings.TrimSuffix(s, nl)
	}
	return s
}

// checkTables refuses a server that is not written as a table of its own: to edit it would
// rewrite the user's text.
func (c Client) checkTables(text string, all []statement, name string) error {
	own := false // the statement is in a table of the server
	for _, st := range all {
		if st.table {
			own = st.under(c.key, name)
		}
		path := strings.Join(st.path, ".")
		switch {
		case st.array && st.under(c.key):
			return syntaxError(text, st.start, "%s is a list of tables; use one table for each server", path)
		case !st.table && !own && (st.under(c.key, name) || slices.Equal(st.path, toml.Key{c.key})):
			return syntaxError(text, st.start, "%s is inline or has dots; write it as a table of its own, [%s.%s], and try again", path, c.key, name)
		}
	}
	return nil
}

// changeTable makes the keys of the server's table that candela owns say what is wanted,
// and adds a table that is missing: before the first table inside it, or at the end.
func (c Client) changeTable(text, name string, want []field) (string, error) {
	nl := newline(text)
	all := statements(text)
	if err := c.checkTables(text, all, name); err != nil {
		return "", err
	}
	isHeader := func(st statement) bool { return st.table && slices.Equal(st.path, toml.Key{c.key, name}) }
	if !slices.ContainsFunc(all, isHeader) {
		header := toml.Key{c.key, name}.String()
		if i := slices.IndexFunc(all, func(st statement) bool { return st.table && st.under(c.key, name) }); i >= 0 {
			text = text[:all[i].start] + "[" + header + "]" + nl + text[all[i].start:]
		} else {
			if text != "" && !strings.HasSuffix(text, "\n") {
				text += nl
			}
			if text != "" {
				text += nl
			}
			var section strings.Builder
			section.WriteString("[" + header + "]" + nl)
			for _, f := range want {
				section.WriteString(f.key + " = " + f.lay(quote) + nl)
			}
			text += section.String()
		}
	}
	for _, key := range c.visited(want) {
		all = statements(text)
		head := all[slices.IndexFunc(all, isHeader)]
		i := slices.IndexFunc(all, func(st statement) bool { return !st.table && slices.Equal(st.path, toml.Key{c.key, name, key}) })
		w := slices.IndexFunc(want, func(f field) bool { return f.key == key })
		switch {
		case i < 0 && w >= 0:
			line := key + " = " + want[w].lay(quote) + nl
			if !strings.HasSuffix(text[:head.end], "\n") {
				line = nl + line
			}
			text = text[:head.end] + line + text[head.end:]
		case i >= 0 && w < 0:
			text = text[:all[i].start] + text[all[i].end:]
		case i >= 0 && !want[w].first:
			text = text[:all[i].start] + replaceValue(text[all[i].start:all[i].end], key, want[w]) + text[all[i].end:]
		}
	}
	return text, nil
}

// replaceValue puts another value into the statement of a key. The spelling of the key and
// a comment behind the value stay.
func replaceValue(line, key string, want field) string {
	old, _, err := decodeTOML(line)
	if err != nil || reflect.DeepEqual(old[key], want.plain()) {
		return line
	}
	end := len(strings.TrimRight(line, " \t\r\n"))
	for i := range line {
		// A number sign inside a string or a list is not where a statement can end.
		if line[i] == '#' {
			if _, _, err := decodeTOML(line[:i]); err == nil {
				end = len(strings.TrimRight(line[:i], " \t"))
				break
			}
		}
	}
	return line[:strings.IndexByte(line, '=')+1] + " " + want.lay(quote) + line[end:]
}

// checkTOML reads the edited text back and compares it with the file before.
func (c Client) checkTOML(before map[string]any, after, name string, change func(entry map[string]any) map[string]any) error {
	got, _, err := decodeTOML(after)
	if err != nil {
		return fmt.Errorf("the edited file would not be readable, so it was not written: %w", err)
	}
	if _, ok := got[c.key]; !ok {
		got[c.key] = make(map[string]any)
	}
	apply(before, c.key, name, change)
	if !sameValue(got, before) {
		return errUnexpectedEdit
	}
	return nil
}
