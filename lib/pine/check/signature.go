package check

import (
	"math"
	"strconv"
	"strings"
	"sync"
)

// registry has every name of the language.
type registry struct {
	functions map[string][]*Builtin
	variables map[string]*variable
	constants map[string][2]*Const // of version 5 and 6
	spaces    map[string]bool      // prefixes of dotted names
}

// variable is a variable of the language.
type variable struct {
	name    string
	qual    Qualifier
	typ     *Type
	support Support
	reason  string
	redraws Redraw
	only    int // the only version that has it, 0 for all
}

// builtins returns the compiled tables.
//
//nolint:gochecknoglobals // compiled once, never written
var builtins = sync.OnceValue(func() *registry {
	r := &registry{map[string][]*Builtin{}, map[string]*variable{}, map[string][2]*Const{}, map[string]bool{}}
	for _, table := range []string{coreTable, plotTable, taTable, strategyTable, collectionTable, drawingTable} {
		for line := range strings.Lines(table) {
			if line = strings.TrimSpace(line); line != "" {
				b := parseSignature(line)
				r.functions[b.Name] = append(r.functions[b.Name], b)
				r.space(b.Name)
			}
		}
	}
	for line := range strings.Lines(variableTable) {
		if line = strings.TrimSpace(line); line != "" {
			v := parseVariable(line)
			r.variables[v.name] = v
			r.space(v.name)
		}
	}
	for line := range strings.Lines(constantTable) {
		if line = strings.TrimSpace(line); line != "" {
			r.parseConstants(line)
		}
	}
	return r
})

// space records the prefixes of a dotted name.
func (r *registry) space(name string) {
	for i, c := range name {
		if c == '.' {
			r.spaces[name[:i]] = true
		}
	}
}

func parseSignature(line string) *Builtin {
	head, flags, _ := strings.Cut(line, " | ")
	open, end := strings.IndexByte(head, '('), strings.LastIndexByte(head, ')')
	b := &Builtin{Name: head[:open]}
	res := strings.TrimSpace(head[end+1:])
	q, typ := cutQualifier(res)
	b.resultQ, b.fixed, b.result = q, typ != res, parseRule(typ)
	for _, p := range splitTop(head[open+1 : end]) {
		b.Variadic = strings.Contains(p, "... ")
		b.Params = append(b.Params, parseParam(strings.Replace(p, "... ", " ", 1)))
	}
	b.flags(flags)
	return b
}

func (b *Builtin) flags(flags string) {
	if reason, ok := strings.CutPrefix(flags, "refused "); ok {
		b.support, b.reason = Refused, reason
		return
	}
	for f := range strings.FieldsSeq(flags) {
		key, value, _ := strings.Cut(f, "=")
		switch key {
		case "global":
			b.global = true
		case "none":
			b.support = NoEffect
		case "memory":
			if b.Memory = math.Inf(1); value != "all" {
				b.Memory, _ = strconv.ParseFloat(value, 64)
			}
		case "form":
			b.form = value
		case "prepend":
			b.prepend = value
		case "v5":
			b.maxVersion = 5
		case "v6":
			b.minVersion = 6
		}
	}
}

// splitTop splits at commas outside of brackets and quotes.
func splitTop(s string) []string {
	var out []string
	depth, from, quoted := 0, 0, false
	for i, c := range s {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '<' || c == '[':
			depth++
		case c == '>' || c == ']':
			depth--
		case c == ',' && depth == 0:
			out = append(out, strings.TrimSpace(s[from:i]))
			from = i + 1
		}
	}
	if rest := strings.TrimSpace(s[from:]); rest != "" {
		out = append(out, rest)
	}
	return out
}

func parseParam(s string) Param {
	decl, def, hasDefault := strings.Cut(s, " = ")
	p := Param{qual: SeriesQ, optional: hasDefault, other: def}
	if rest, ok := strings.CutPrefix(decl, "v5 "); ok {
		p.only5, decl = true, rest
	}
	p.qual, decl = cutQualifier(decl)
	i := strings.LastIndexByte(decl, ' ')
	typ := strings.TrimSpace(decl[:i])
	p.Name = decl[i+1:]
	if t, ok := strings.CutSuffix(typ, "?"); ok {
		p.optional, typ = true, t
	}
	p.rule = parseRule(typ)
	return p
}

// cutQualifier splits a written qualifier off, series if there is none.
func cutQualifier(s string) (Qualifier, string) {
	for q := range SeriesQ + 1 {
		if rest, ok := strings.CutPrefix(s, q.String()+" "); ok {
			return q, rest
		}
	}
	return SeriesQ, s
}

func parseVariable(line string) *variable {
	head, flags, _ := strings.Cut(line, " | ")
	v := &variable{}
	v.qual, head = cutQualifier(head)
	i := strings.LastIndexByte(head, ' ')
	v.name, v.typ = head[i+1:], plainType(head[:i])
	switch {
	case flags == "none":
		v.support = NoEffect
	case flags == "v5":
		v.only = 5
	case flags == "last":
		v.redraws = RedrawLast
	case flags == "realtime":
		v.redraws = RedrawRealtime
	case flags != "":
		v.support, v.reason = Refused, strings.TrimPrefix(flags, "refused ")
	}
	return v
}

func (r *registry) parseConstants(line string) {
	fields := strings.Fields(line)
	typ, space := plainType(fields[0]), fields[1]
	for _, f := range fields[2:] {
		name, value, _ := strings.Cut(f, "=")
		old, young, two := strings.Cut(value, "/")
		if !two {
			young = old
		}
		full := space + "." + name
		r.constants[full] = [2]*Const{constant(typ, name, old), constant(typ, name, young)}
		r.space(full)
	}
}
