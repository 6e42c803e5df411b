package check

import "strings"

// rule is a compiled type of a table.
type rule struct {
	any, num bool
	variable byte  // T, K, V, N, M or W
	typ      *Type // a plain type
	kind     Kind  // Array, Matrix or Map of elem
	elem     *rule
	key      *rule
	tuple    []*rule
}

// wider is the variable of a result that is an int if N and M are, and a float otherwise.
const wider = 'W'

// bindings are the types of the variables T, K, V, N and M.
type bindings map[byte]*Type

func parseRule(s string) *rule {
	switch {
	case s == "any":
		return &rule{any: true}
	case s == "num":
		return &rule{num: true}
	case len(s) == 1 && strings.Contains("TKVNMW", s):
		return &rule{variable: s[0]}
	case strings.HasPrefix(s, "["):
		r := &rule{}
		for _, p := range splitTop(s[1 : len(s)-1]) {
			r.tuple = append(r.tuple, parseRule(p))
		}
		return r
	}
	for name, kind := range map[string]Kind{"array<": Array, "matrix<": Matrix, "map<": Map} {
		if inner, ok := strings.CutPrefix(s, name); ok {
			parts := splitTop(strings.TrimSuffix(inner, ">"))
			r := &rule{kind: kind, elem: parseRule(parts[len(parts)-1])}
			if kind == Map {
				r.key = parseRule(parts[0])
			}
			return r
		}
	}
	return &rule{typ: plainType(s)}
}

// bindExact takes the type variables out of a generic type. It reports whether the type
// has the form of the rule.
func (r *rule) bindExact(t *Type, to bindings) bool {
	switch {
	case r.variable != 0:
		if have := to[r.variable]; have != nil {
			return have.Same(t) || have.Kind == Float && t.Kind == Int
		}
		if r.numeric() && !t.Numeric() {
			return false
		}
		to[r.variable], to[exactly(r.variable)] = t, t
		return true
	case r.elem != nil:
		return t.Kind == r.kind && r.elem.bindExact(t.Elem, to) && (r.key == nil || r.key.bindExact(t.Key, to))
	case r.typ != nil:
		return r.typ.Same(t)
	}
	return true
}

// exactly returns the key under which a binding by a generic is noted: other arguments
// cannot widen it.
func exactly(variable byte) byte { return variable | 0x20 }

func (r *rule) numeric() bool { return r.variable == 'N' || r.variable == 'M' }

// of returns the type that a rule means under bindings; a variable without one is a float.
func (r *rule) of(b bindings) *Type {
	switch {
	case r.variable == wider:
		if b['N'] != nil && b['N'].Kind == Int && b['M'] != nil && b['M'].Kind == Int {
			return typeOf(Int)
		}
		return typeOf(Float)
	case r.variable != 0:
		if t := b[r.variable]; t != nil && t.Kind != NA {
			return t
		}
		return typeOf(Float)
	case r.elem != nil:
		t := &Type{Kind: r.kind, Elem: r.elem.of(b)}
		if r.key != nil {
			t.Key = r.key.of(b)
		}
		return t
	case r.tuple != nil:
		t := &Type{Kind: TupleKind}
		for _, p := range r.tuple {
			t.Tuple = append(t.Tuple, p.of(b))
		}
		return t
	case r.typ != nil:
		return r.typ
	}
	return typeOf(Float)
}

// String returns the rule in the words of messages.
func (r *rule) String() string {
	switch {
	case r.any:
		return "any value"
	case r.num, r.numeric():
		return "a number"
	case r.variable != 0:
		return "a value"
	}
	return r.of(bindings{}).String()
}
