// Package convert writes scripts of Pine versions 1 to 4 as scripts of version 5: names with
// their namespaces, inputs by their type, declarations with a type. It keeps every line where
// it is, so that what is said about a line of the converted script holds for the script that
// was given. It checks nothing: what it leaves alone, package check refuses by line.
package convert

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"candela/lib/pine/syntax"
)

// MaxChanges is how many changes a result lists.
const MaxChanges = 100

// Change is a part of a line that was written in another way.
type Change struct {
	Line int    `json:"line"`
	Was  string `json:"was"`
	Is   string `json:"is"`
}

// Result is a converted script.
type Result struct {
	Source  string
	From    int      // the version that was converted
	Changes []Change // in the order of the lines, at most MaxChanges
	More    int      // changes that are not listed
}

// target is the version that scripts are converted to.
const target = 5

// Convert converts a script of a version before 5 that has been parsed from a source.
func Convert(source string, file *syntax.File) Result {
	c := &converter{text: newText(source), version: file.Version, assigned: map[string]kind{}}
	c.findAssigned(file.Stmts)
	c.push()
	c.stmts(file.Stmts)
	c.versionLine(file)
	out, changes := c.text.apply()
	r := Result{Source: out, From: file.Version}
	for _, change := range changes {
		if len(r.Changes) < MaxChanges && !slices.Contains(r.Changes, change) {
			r.Changes = append(r.Changes, change)
		} else {
			r.More++
		}
	}
	return r
}

func (c *converter) versionLine(file *syntax.File) {
	comment := "//@version=" + strconv.Itoa(target)
	if at := file.VersionAt; at != (syntax.Span{}) {
		c.text.replace(at, comment)
		return
	}
	c.text.tail = "\n" + comment
}

// edit is a part of the source that is replaced.
type edit struct {
	from, to int
	with     string
}

// text is a source with the edits to make.
type text struct {
	source string
	lines  []int // offset of each line
	edits  []edit
	tail   string // what to add at the end

	seen   syntax.Pos // the last place that was looked up
	seenAt int
}

func newText(source string) *text {
	t := &text{source: strings.TrimPrefix(source, "\ufeff"), lines: []int{0}}
	for i := range len(t.source) {
		switch t.source[i] {
		case '\r':
			if i+1 < len(t.source) && t.source[i+1] == '\n' {
				continue
			}
			t.lines = append(t.lines, i+1)
		case '\n':
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// offset returns where a place is. Columns count characters.
func (t *text) offset(p syntax.Pos) int {
	if int(p.Line) > len(t.lines) || p.Line < 1 {
		return len(t.source)
	}
	from := syntax.Pos{Line: p.Line, Column: 1}
	at := t.lines[p.Line-1]
	if t.seen.Line == p.Line && t.seen.Column <= p.Column { // a line is read once, mostly
		from, at = t.seen, t.seenAt
	}
	for range p.Column - from.Column {
		_, n := utf8.DecodeRuneInString(t.source[at:])
		at += n
	}
	t.seen, t.seenAt = p, at
	return at
}

func (t *text) of(s syntax.Span) string { return t.source[t.offset(s.From):t.offset(s.To)] }

func (t *text) replace(s syntax.Span, with string) {
	t.edits = append(t.edits, edit{t.offset(s.From), t.offset(s.To), with})
}

func (t *text) insert(p syntax.Pos, what string) {
	at := t.offset(p)
	t.edits = append(t.edits, edit{at, at, what})
}

func (t *text) remove(from, to syntax.Pos) {
	t.edits = append(t.edits, edit{t.offset(from), t.offset(to), ""})
}

// apply makes all edits. One that begins inside an earlier one is left out; insertions at one
// place stand in the order in which they were asked for.
func (t *text) apply() (string, []Change) {
	slices.SortStableFunc(t.edits, func(a, b edit) int { return a.from - b.from })
	var b strings.Builder
	var changes []Change
	at, line := 0, 1
	for _, e := range t.edits {
		if e.from < at {
			continue
		}
		gap := t.source[at:e.from]
		b.WriteString(gap)
		line += strings.Count(gap, "\n")
		b.WriteString(e.with)
		was := t.source[e.from:e.to]
		b.WriteString(strings.Repeat("\n", strings.Count(was, "\n")-strings.Count(e.with, "\n")))
		changes = append(changes, Change{line, strings.Join(strings.Fields(was), " "), strings.TrimSpace(e.with)})
		line += strings.Count(was, "\n")
		at = e.to
	}
	b.WriteString(t.source[at:])
	b.WriteString(t.tail)
	return b.String(), changes
}
