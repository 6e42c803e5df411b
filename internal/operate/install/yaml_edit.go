package install

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

func (c Client) setYAML(text, name string, want []field) (string, error) {
	y, err := parseYAML(text)
	if err != nil {
		return "", err
	}
	before := y.value
	if y, err = c.changeYAML(y, name, want); err != nil {
		return "", err
	}
	return c.checkYAML(before, y, name, c.meant(want))
}

func (c Client) removeYAML(text, name string) (string, error) {
	y, err := parseYAML(text)
	if err != nil {
		return "", err
	}
	servers, entry, err := c.pairs(y, name)
	if err != nil || entry == nil {
		return text, err
	}
	before, lines := y.value, []string(nil)
	if len(servers.value.Content) == 2 { // Goose reads {} as no servers, and nothing as a mistake
		at, _ := y.colon(servers)
		head := y.lines[servers.start]
		lines = append([]string{head[:at] + " {}" + head[at:]}, y.lines[servers.start+1:entry.start]...)
		entry.start = servers.start
	}
	if y, err = y.replace(entry.start, entry.end, lines...); err != nil {
		return "", err
	}
	return c.checkYAML(before, y, name, func(map[string]any) map[string]any { return nil })
}

// hasAnchor reports whether another part of the file may refer to a value.
func hasAnchor(n *yaml.Node) bool {
	return n.Anchor != "" || slices.ContainsFunc(n.Content, hasAnchor)
}

// pairs returns the mapping of servers and the entry of one, nil where there is none.
func (c Client) pairs(y *yamlText, name string) (servers, entry *pair, err error) {
	if y.root == nil {
		return nil, nil, nil
	}
	if servers, err = y.find(y.root, c.key, len(y.lines)); err != nil || servers == nil || y.isEmpty(servers) {
		return servers, nil, err
	}
	if err := y.checkValue(servers); err != nil {
		return nil, nil, err
	}
	if entry, err = y.find(servers.value, name, servers.end); err != nil || entry == nil || y.isEmpty(entry) {
		return servers, entry, err
	}
	if hasAnchor(entry.value) {
		return nil, nil, &SyntaxError{entry.key.Line, entry.key.Column, fmt.Sprintf("%q has an anchor, which candela does not edit", name)}
	}
	return servers, entry, y.checkValue(entry)
}

// changeYAML makes the keys of the server's entry that candela owns say what is wanted, and
// adds an entry that is missing: as the first one, because the lines of a key say where its
// value begins and not where it ends.
func (c Client) changeYAML(y *yamlText, name string, want []field) (*yamlText, error) {
	servers, entry, err := c.pairs(y, name)
	switch {
	case err != nil:
		return nil, err
	case servers == nil:
		return c.addServers(y, name, want)
	case entry == nil:
		indent, inner := children(servers)
		return y.insert(servers, append([]string{yamlKey(indent, name) + y.nl}, y.entry(inner, want)...))
	case y.isEmpty(entry):
		indent, _ := children(entry)
		return y.insert(entry, y.entry(indent, want))
	}
	keys := c.visited(want)
	for _, key := range slices.Backward(keys) { // each is added as the first
		if _, entry, err = c.pairs(y, name); err != nil {
			return nil, err
		}
		p, err := y.find(entry.value, key, entry.end)
		if err != nil {
			return nil, err
		}
		w := slices.IndexFunc(want, func(f field) bool { return f.key == key })
		switch {
		case p == nil && w >= 0:
			indent, _ := children(entry)
			y, err = y.insert(entry, y.entry(indent, want[w:w+1]))
		case p != nil && w < 0:
			y, err = y.replace(p.start, p.end)
		case p != nil && !want[w].first:
			y, err = y.setValue(p, want[w])
		}
		if err != nil {
			return nil, err
		}
	}
	return y, nil
}

// addServers adds the mapping of servers at the end of a file.
func (c Client) addServers(y *yamlText, name string, want []field) (*yamlText, error) {
	lines, indent := y.lines, 0
	if y.root != nil {
		indent = y.root.Content[0].Column - 1
	}
	if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
		ended, err := y.replace(n-1, n, lines[n-1]+y.nl)
		if err != nil || !sameValue(ended.value, y.value) {
			return nil, &SyntaxError{Line: n, Reason: "the last line has no line break; add one and try again"}
		}
		lines = ended.lines
	}
	y = &yamlText{lines: lines, nl: y.nl}
	return y.replace(len(lines), len(lines), append(
		[]string{yamlKey(indent, c.key) + y.nl, yamlKey(indent+2, name) + y.nl}, y.entry(indent+4, want)...)...)
}

// yamlKey returns the line of a key. A name that some reader takes for a number, a date or a
// truth value is quoted.
func yamlKey(indent int, name string) string {
	var v any
	switch strings.ToLower(name) {
	case "y", "n", "yes", "no", "on", "off":
	default:
		if yaml.Unmarshal([]byte(name), &v) == nil && v == name {
			return strings.Repeat(" ", indent) + name + ":"
		}
	}
	return strings.Repeat(" ", indent) + quote(name) + ":"
}

// setValue puts another value behind a key. The spelling of the key and a comment in its
// line stay.
func (y *yamlText) setValue(p *pair, want field) (*yamlText, error) {
	var old any
	if p.value.Decode(&old) == nil && reflect.DeepEqual(old, want.plain()) {
		return y, nil
	}
	head := y.lines[p.start]
	at, _ := y.colon(p)
	comment := cmp.Or(p.key.LineComment, p.value.LineComment)
	if comment != "" && strings.HasSuffix(strings.TrimRight(head, "\r\n"), comment) {
		comment = " " + comment
	} else {
		comment = "" // it is in a later line, which goes
	}
	return y.replace(p.start, p.end, head[:at]+" "+want.lay(quote)+comment+y.nl)
}

// checkYAML compares the edited text with the file before.
func (c Client) checkYAML(before map[string]any, y *yamlText, name string, change func(entry map[string]any) map[string]any) (string, error) {
	apply(before, c.key, name, change)
	if !sameValue(y.value, before) {
		return "", errUnexpectedEdit
	}
	return strings.Join(y.lines, ""), nil
}
