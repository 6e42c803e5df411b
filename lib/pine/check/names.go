package check

import (
	"cmp"
	"slices"
	"strings"
)

// Name is a name of the language and what candela does with it.
type Name struct {
	Name    string
	Kind    string // function, variable or constant
	Type    string // of a variable or constant
	Support Support
	Reason  string // why it is refused
	Forms   []string
}

// Names lists every name of the language that the checker knows, by name.
func Names() []Name {
	r := builtins()
	out := make([]Name, 0, len(r.functions)+len(r.variables)+len(r.constants))
	for name, sigs := range r.functions {
		n := Name{Name: name, Kind: "function", Support: sigs[0].support, Reason: sigs[0].reason}
		for _, s := range sigs {
			n.Forms = append(n.Forms, s.String())
		}
		out = append(out, n)
	}
	for name, v := range r.variables {
		out = append(out, Name{Name: name, Kind: "variable", Type: v.qual.String() + " " + v.typ.String(), Support: v.support, Reason: v.reason})
	}
	for name, k := range r.constants {
		out = append(out, Name{Name: name, Kind: "constant", Type: k[1].T.String()})
	}
	slices.SortFunc(out, func(a, b Name) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind)) })
	return out
}

// String returns the signature as Pine documents it: parameters that may be left out have
// a question mark.
func (b *Builtin) String() string {
	parts := make([]string, len(b.Params))
	for i, p := range b.Params {
		parts[i] = p.Name
		if p.optional {
			parts[i] += "?"
		}
		if b.Variadic && i == len(b.Params)-1 {
			parts[i] += "..."
		}
	}
	return b.Name + "(" + strings.Join(parts, ", ") + ")"
}
