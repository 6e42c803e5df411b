package check

import (
	"regexp"
	"strings"

	"candela/lib/pattern"
	"candela/lib/pine/syntax"
)

// suggest gives each error the line as it would be right, where that is known, and the words
// about a habit of another language.
func suggest(source string, errors []Diagnostic) {
	lines := strings.Split(strings.ReplaceAll(source, "\r\n", "\n"), "\n")
	for i := range errors {
		d := &errors[i]
		if d.Line < 1 || d.Line > len(lines) {
			continue
		}
		line := lines[d.Line-1]
		if len(line) > longestLine {
			continue
		}
		before := ""
		if d.Line > 1 {
			before = lines[d.Line-2]
		}
		d.Instead = replaced(line, d)
		if h := habitOf(line, before, d); h != nil {
			d.Instead, d.Fix = h.line, h.words
		}
		if d.Instead == line {
			d.Instead = ""
		}
	}
}

// longestLine is the length in bytes of a line that is repaired.
const longestLine = 1000

// better is a line that is repaired, with what to say about it.
type better struct{ line, words string }

// habitOf finds what is written as in another language on the line of an error.
func habitOf(line, before string, d *Diagnostic) *better {
	if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "*"); ok && strings.HasPrefix(strings.TrimSpace(before), "//") {
		return &better{"// " + strings.TrimSpace(rest), "There are no block comments; begin each line with //."}
	}
	if b := blockHabit(line, before, d); b != nil {
		return b
	}
	for _, h := range habits() {
		if h.of != "" && h.of != d.Code && !strings.Contains(d.Message, h.of) {
			continue
		}
		if fixed := h.apply(line); fixed != line {
			return &better{fixed, h.words}
		}
	}
	return nil
}

// indentedBlock is how far a block stands in.
const indentedBlock = 4

// blockHabit repairs a block that is not indented by 4 spaces.
func blockHabit(line, before string, d *Diagnostic) *better {
	if d.Code != "pine_syntax" && d.Code != "pine_layout" {
		return nil
	}
	have, above := indentOf(line), indentOf(before)
	if strings.Contains(d.Message, "fits no block") && have%indentedBlock != 0 {
		return &better{strings.Repeat(" ", (have/indentedBlock+1)*indentedBlock) + strings.TrimSpace(line), "Indent a block by 4 spaces for each level."}
	}
	if have <= above || have%indentedBlock == 0 || !opener().MatchString(before) {
		return nil
	}
	return &better{strings.Repeat(" ", above/indentedBlock*indentedBlock+indentedBlock) + strings.TrimSpace(line), "Indent a block by 4 spaces for each level."}
}

// opener is a line that a block follows.
var opener = pattern.Of(`^\s*(?:(?:else\s+)?if\b|else\b|for\b|while\b|switch\b|.*=>\s*$|.*[:=]=?\s*(?:if|for|while|switch)\b)`)

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// replaced is a line with the name put in that the fix of a diagnostic proposes.
func replaced(line string, d *Diagnostic) string {
	if d.wrap != nil {
		return wrapped(line, d.wrap)
	}
	m := proposal().FindStringSubmatch(d.Fix)
	if m == nil || d.EndColumn <= d.Column {
		return line
	}
	runes := []rune(line)
	if d.EndColumn-1 > len(runes) {
		return line
	}
	with := m[1] + m[2]
	return string(runes[:d.Column-1]) + with + string(runes[d.EndColumn-1:])
}

// wrap is what to write before and after a part of a line.
type wrap struct {
	at            syntax.Span
	before, after string
}

func wrapped(line string, w *wrap) string {
	runes := []rune(line)
	from, to := int(w.at.From.Column)-1, int(w.at.To.Column)-1
	if w.at.From.Line != w.at.To.Line || from < 0 || to > len(runes) || from > to {
		return line
	}
	return string(runes[:from]) + w.before + string(runes[from:to]) + w.after + string(runes[to:])
}

// wrapFor converts a value of one type into another, nil if nothing does.
func wrapFor(at syntax.Span, have, want *Type) *wrap {
	switch {
	case want == nil || have == nil:
	case have.Kind == Float && want.Kind == Int:
		return &wrap{at, "int(", ")"}
	case want.Kind == String && (have.Numeric() || have.Kind == Bool):
		return &wrap{at, "str.tostring(", ")"}
	case want.Kind == Bool && have.Numeric():
		return &wrap{at, "(", ") != 0"}
	}
	return nil
}

// proposal is a fix that names what to write.
var proposal = pattern.Of(`^(?:Did you mean "([A-Za-z_][\w.]*)"\?$|Write ((?:ta|math|str|request|color|syminfo|timeframe|plot|ticker|dayofweek)\.\w+|bar_index|indicator)\.$)`)

// habit is a way of writing that Pine does not know, and what to write for it.
type habit struct {
	pattern *regexp.Regexp
	with    string
	words   string
	of      string // the code of the errors that it explains, or a part of their message; empty for all
}

// apply writes a line as Pine does. What stands in a string stays.
func (h *habit) apply(line string) string {
	var b strings.Builder
	at := 0
	for _, m := range h.pattern.FindAllStringSubmatchIndex(line, -1) {
		if m[0] < at || quoted(line[:m[0]]) {
			continue
		}
		b.WriteString(line[at:m[0]])
		b.Write(h.pattern.ExpandString(nil, h.with, line, m))
		at = m[1]
	}
	b.WriteString(line[at:])
	return b.String()
}

// quoted reports whether a string is open at the end of a part of a line.
func quoted(s string) bool {
	var open rune
	for _, r := range s {
		switch {
		case open == 0 && (r == '"' || r == '\''):
			open = r
		case r == open:
			open = 0
		}
	}
	return open != 0
}
