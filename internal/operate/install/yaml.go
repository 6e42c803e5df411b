package install

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"candela/lib/pattern"

	"go.yaml.in/yaml/v3"
)

// yamlText is a parsed YAML file with its lines. It is edited by whole lines, because an
// encoder would write all of the user's lines again.
type yamlText struct {
	lines []string // each with its line break
	root  *yaml.Node
	value map[string]any
	nl    string
}

// A pair is a key of a mapping with its value.
type pair struct {
	key, value *yaml.Node
	start, end int // of its lines, without the blanks and comments before what follows
}

// parseYAML parses a file that is one mapping. A file without a value counts as an empty
// mapping: its root is nil.
func parseYAML(text string) (*yamlText, error) {
	if i := strings.IndexFunc(strings.ReplaceAll(text, "\r\n", " \n"), func(r rune) bool { return r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029 }); i >= 0 {
		return nil, syntaxError(text, i, "a line ends in a way that candela does not edit")
	}
	y := &yamlText{lines: slices.Collect(strings.Lines(text)), value: make(map[string]any), nl: newline(text)}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var document yaml.Node
	switch err := decoder.Decode(&document); {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, yamlError(err)
	case y.dropEmpty():
		return y, nil
	case err != nil:
		return nil, syntaxError(text, 0, "the file must be a mapping")
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, syntaxError(text, 0, "the file must be one YAML document")
	}
	y.root = document.Content[0]
	if err := checkMapping(y.root, "the file"); err != nil {
		return nil, err
	}
	if err := document.Decode(&y.value); err != nil {
		return nil, yamlError(err)
	}
	return y, y.checkMarkers(text)
}

// dropEmpty reports whether the file has nothing but comments, perhaps after the line that
// begins a document. It removes a line {}.
func (y *yamlText) dropEmpty() bool {
	head, braces := -1, -1
	for i, line := range y.lines {
		rest, marked := strings.CutPrefix(line, "---")
		switch {
		case isRemark(line):
		case marked && isRemark(rest) && !strings.HasPrefix(rest, "#") && head < 0 && braces < 0:
			head = i
		case strings.Trim(line, blanks) == "{}" && braces < 0:
			braces = i
		default:
			return false
		}
	}
	if braces >= 0 {
		y.lines = slices.Delete(y.lines, braces, braces+1)
	}
	return true
}

// checkMarkers refuses the line that ends a document: nothing can be added after it.
func (y *yamlText) checkMarkers(text string) error {
	offset := 0
	for _, line := range y.lines {
		if strings.HasPrefix(line, "...") {
			return syntaxError(text, offset, "the line that ends the document must not be there")
		}
		offset += len(line)
	}
	return nil
}

// blanks are the characters of a blank line. Others that Go takes for blanks are text.
const blanks = " \t\r\n"

// isRemark reports whether a line is blank or a comment.
func isRemark(line string) bool {
	line = strings.Trim(line, blanks)
	return line == "" || line[0] == '#'
}

// noValue is what may be behind a colon instead of a mapping: nothing, null or {}.
var noValue = pattern.Of(`^[ \t]*(null|~|\{[ \t]*\})?[ \t]*(#.*)?\r?\n?$`)

// isEmpty reports whether a value can be replaced by a mapping.
func (y *yamlText) isEmpty(p *pair) bool {
	at, _ := y.colon(p)
	none := p.value.Kind == yaml.ScalarNode && p.value.Tag == "!!null" || p.value.Kind == yaml.MappingNode && len(p.value.Content) == 0
	return none && noValue().MatchString(y.lines[p.start][at:]) && !slices.ContainsFunc(y.lines[p.start+1:p.end], func(l string) bool { return !isRemark(l) })
}

// checkMapping refuses a value that is not a mapping in lines of its own, or that shares
// its content with another one.
func checkMapping(n *yaml.Node, name string) error {
	refuse := func(format string, args ...any) error {
		return &SyntaxError{n.Line, n.Column, name + " " + fmt.Sprintf(format, args...)}
	}
	switch {
	case n.Kind != yaml.MappingNode:
		return refuse("must be a mapping: keys with values, one in each line")
	case n.Style&yaml.FlowStyle != 0:
		return refuse("is in braces; write its keys in lines of their own and try again")
	case n.Anchor != "" || n.Style&yaml.TaggedStyle != 0:
		return refuse("has an anchor or a tag, which candela does not edit")
	}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || key.Anchor != "" || key.Column != n.Column {
			return &SyntaxError{key.Line, key.Column, "the keys of " + name + " must be text at the beginning of a line, without anchors and merges"}
		}
	}
	return nil
}

// checkValue refuses a value that is not a mapping, or one with more than comments between
// its key and its first line.
func (y *yamlText) checkValue(p *pair) error {
	name := strconv.Quote(p.key.Value)
	if err := checkMapping(p.value, name); err != nil {
		return err
	}
	at, _ := y.colon(p)
	between := append([]string{y.lines[p.start][at:]}, y.lines[p.start+1:p.value.Content[0].Line-1]...)
	for i, line := range between {
		if !isRemark(line) {
			return &SyntaxError{p.key.Line + i, 0, name + " has a tag, which candela does not edit"}
		}
	}
	return nil
}

var (
	yamlLine  = pattern.Of(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): `)
	yamlValue = pattern.Of("`[^`]*`")
)

// yamlError turns an error of the parser into a SyntaxError. Values are left out, because
// they may be secrets.
func yamlError(err error) error {
	reason := err.Error()
	place := yamlLine().FindStringSubmatch(reason)
	if place == nil {
		return errors.New(yamlValue().ReplaceAllString(strings.TrimPrefix(reason, "yaml: "), "a value"))
	}
	line, _ := strconv.Atoi(place[1])
	reason, _, _ = strings.Cut(reason[len(place[0]):], "\n")
	return &SyntaxError{Line: line, Reason: yamlValue().ReplaceAllString(reason, "a value")}
}

// find returns the pair of a key in a mapping whose lines end before limit. It is nil when
// there is none.
func (y *yamlText) find(in *yaml.Node, key string, limit int) (*pair, error) {
	for i := 0; i < len(in.Content); i += 2 {
		p := &pair{key: in.Content[i], value: in.Content[i+1], end: limit}
		if p.key.Value != key {
			continue
		}
		if i+2 < len(in.Content) {
			p.end = in.Content[i+2].Line - 1
		}
		p.start = p.key.Line - 1
		if _, ok := y.colon(p); !ok {
			return nil, &SyntaxError{p.key.Line, p.key.Column, fmt.Sprintf("%q must be followed by a colon in its line", key)}
		}
		for p.end > p.start+1 && isBetween(y.lines[p.end-1], p.key.Column-1) {
			p.end--
		}
		return p, nil
	}
	return nil, nil
}

// isBetween reports whether a line is blank or a comment that is not inside a value
// indented deeper than indent.
func isBetween(line string, indent int) bool {
	rest := strings.TrimLeft(line, " ")
	return strings.Trim(rest, blanks) == "" || rest[0] == '#' && len(line)-len(rest) <= indent
}

// colon returns the offset behind the colon of a key in its line.
func (y *yamlText) colon(p *pair) (int, bool) {
	line := y.lines[p.start]
	rest := strings.TrimLeft(line, " ")
	indent := len(line) - len(rest)
	for _, spelling := range []string{p.key.Value, `"` + p.key.Value + `"`, "'" + p.key.Value + "'"} {
		if after, ok := strings.CutPrefix(rest, spelling); ok && indent == p.key.Column-1 {
			if trimmed := strings.TrimLeft(after, " \t"); strings.HasPrefix(trimmed, ":") {
				return len(line) - len(trimmed) + 1, true
			}
		}
	}
	return 0, false
}

// replace replaces lines, and parses the result.
func (y *yamlText) replace(start, end int, lines ...string) (*yamlText, error) {
	after, err := parseYAML(strings.Join(slices.Replace(slices.Clone(y.lines), start, end, lines...), ""))
	if err != nil {
		return nil, fmt.Errorf("the edited file would not be readable, so it was not written: %w", err)
	}
	return after, nil
}

// insert adds lines behind the line of a key. An empty value of that key goes.
func (y *yamlText) insert(p *pair, lines []string) (*yamlText, error) {
	head := y.lines[p.start]
	if at, _ := y.colon(p); y.isEmpty(p) {
		if written := noValue().FindStringSubmatch(head[at:])[1]; written != "" {
			_, rest, _ := strings.Cut(head[at:], written)
			if strings.HasPrefix(rest, "#") {
				rest = " " + rest
			}
			head = head[:at] + rest
		}
	}
	if !strings.HasSuffix(head, "\n") {
		head += y.nl
	}
	return y.replace(p.start, p.start+1, append([]string{head}, lines...)...)
}

// entry lays out keys with values at an indentation.
func (y *yamlText) entry(indent int, want []field) []string {
	lines := make([]string, len(want))
	for i, f := range want {
		lines[i] = strings.Repeat(" ", indent) + f.key + ": " + f.lay(quote) + y.nl
	}
	return lines
}

// children returns the indentation of the keys in a value, and that of the first key in
// one of them. Without keys both follow the key of the value.
func children(p *pair) (indent, inner int) {
	indent = p.key.Column + 1
	inner = indent + 2
	if len(p.value.Content) > 0 && p.value.Kind == yaml.MappingNode {
		indent = p.value.Content[0].Column - 1
		inner = 2*indent - p.key.Column + 1
	}
	return indent, inner
}
