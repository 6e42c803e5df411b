package check

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"candela/lib/pine/syntax"
)

// pointType returns the type chart.point.
//
//nolint:gochecknoglobals // made once, never written: types of objects are compared by address
var pointType = sync.OnceValue(func() *Type {
	return &Type{Kind: Object, Object: &ObjectType{Name: "chart.point", Fields: []FieldType{
		{Name: "time", Type: &Type{Kind: Int}}, {Name: "index", Type: &Type{Kind: Int}}, {Name: "price", Type: &Type{Kind: Float}},
	}}}
})

// PointType returns the type chart.point.
func PointType() *Type { return pointType() }

// basicKind returns the kind of a type that needs no declaration.
func basicKind(name string) (Kind, bool) {
	switch name {
	case "int":
		return Int, true
	case "float":
		return Float, true
	case "bool":
		return Bool, true
	case "string":
		return String, true
	case "color":
		return Color, true
	case "plot":
		return PlotRef, true
	case "hline":
		return HLineRef, true
	case "line":
		return Line, true
	case "label":
		return Label, true
	case "box":
		return Box, true
	case "table":
		return Table, true
	case "linefill":
		return Linefill, true
	case "polyline":
		return Polyline, true
	case "void":
		return Void, true
	}
	return 0, false
}

// plainType returns the type that a table spells; other names are families of options.
func plainType(s string) *Type {
	if k, ok := basicKind(s); ok {
		return &Type{Kind: k}
	}
	if s == "chart.point" {
		return pointType()
	}
	if inner, ok := strings.CutPrefix(s, "array<"); ok {
		return &Type{Kind: Array, Elem: plainType(strings.TrimSuffix(inner, ">"))}
	}
	if s == "any" {
		return &Type{Kind: String}
	}
	return &Type{Kind: Option, Name: s}
}

func typeOf(k Kind) *Type { return &Type{Kind: k} }

// typeExpr resolves a written type. Nil stands for a qualifier without a type.
func (c *checker) typeExpr(t *syntax.TypeExpr) *Type {
	if t == nil || t.Name == "" {
		return nil
	}
	if k, ok := basicKind(t.Name); ok && k != Void {
		if len(t.Args) > 0 {
			c.fail(t.Span, codeType, "The type "+t.Name+" has no element type.", "Remove what stands between < and >.")
		}
		return typeOf(k)
	}
	want := map[string]int{"array": 1, "matrix": 1, "map": 2}[t.Name]
	if want > 0 {
		return c.collectionType(t, want)
	}
	if t.Name == "chart.point" {
		return pointType()
	}
	if u := c.namedType(t.Name); u != nil {
		return u
	}
	if t.Name == "footprint" || t.Name == "volume_row" {
		c.fail(t.Span, codeUnsupported, t.Name+" is not available: candela has no volume by price inside a bar.", "Remove what uses it.")
	}
	c.fail(t.Span, codeName, "Unknown type \""+t.Name+"\".", c.nearestType(t.Name))
	return nil
}

func (c *checker) collectionType(t *syntax.TypeExpr, want int) *Type {
	if len(t.Args) != want {
		c.fail(t.Span, codeType, "The type "+t.Name+" needs the type of its elements.", "Write array<float>, matrix<float> or map<string, float>.")
	}
	switch t.Name {
	case "array":
		return &Type{Kind: Array, Elem: c.typeExpr(t.Args[0])}
	case "matrix":
		return &Type{Kind: Matrix, Elem: c.typeExpr(t.Args[0])}
	}
	return &Type{Kind: Map, Key: c.typeExpr(t.Args[0]), Elem: c.typeExpr(t.Args[1])}
}

// namedType finds a user type or an enum, of a library if the name has a dot.
func (c *checker) namedType(name string) *Type {
	m := c.mod
	if alias, rest, ok := strings.Cut(name, "."); ok {
		if m = c.mod.imports[alias]; m == nil {
			return nil
		}
		name = rest
	}
	if u := m.types[name]; u != nil {
		return &Type{Kind: Object, Object: u.object}
	}
	if e := m.enums[name]; e != nil {
		return &Type{Kind: Enum, Enum: e}
	}
	return nil
}

func (c *checker) nearestType(name string) string {
	known := slices.AppendSeq([]string{"int", "float", "bool", "string", "color", "line", "label", "box", "table", "array", "matrix", "map", "linefill", "polyline", "chart.point"}, maps.Keys(c.mod.types))
	return c.didYouMean(name, known, "Declare it with \"type\", or use a built-in type.")
}

// unify returns the type that both values can have.
func (c *checker) unify(a, b *Type) (*Type, bool) {
	switch {
	case a.Same(b):
		return a, true
	case a.Kind == NA && b.Kind != Void:
		return b, true
	case b.Kind == NA && a.Kind != Void:
		return a, true
	case a.Numeric() && b.Numeric():
		return typeOf(Float), true
	case c.version < 6 && (a.Kind == Bool && b.Numeric() || a.Numeric() && b.Kind == Bool):
		return typeOf(Bool), true // version 5 takes a number as a bool
	case a.Kind == TupleKind && b.Kind == TupleKind && len(a.Tuple) == len(b.Tuple):
		t := &Type{Kind: TupleKind}
		for i := range a.Tuple {
			u, ok := c.unify(a.Tuple[i], b.Tuple[i])
			if !ok {
				return nil, false
			}
			t.Tuple = append(t.Tuple, u)
		}
		return t, true
	}
	return nil, false
}

// fits reports whether a value of type v may stand where type t is wanted.
func (c *checker) fits(v, t *Type) bool {
	switch {
	case v.Same(t):
		return true
	case v.Kind == NA:
		return t.Kind != Void && (t.Kind != Bool || c.version < 6)
	case v.Kind == Int && t.Kind == Float:
		return true
	case v.Numeric() && t.Kind == Bool:
		return c.version < 6
	case v.Kind == TupleKind && t.Kind == TupleKind && len(v.Tuple) == len(t.Tuple):
		for i := range v.Tuple {
			if !c.fits(v.Tuple[i], t.Tuple[i]) {
				return false
			}
		}
		return true
	}
	return false
}

// lends reports whether a collection of type v may be an argument where type t is wanted: one of
// ints is taken as one of floats.
func lends(v, t *Type) bool {
	return v.Kind == t.Kind && (v.Kind == Array || v.Kind == Matrix) && v.Elem.Kind == Int && t.Elem.Kind == Float
}

// cast returns the expression with type t, which must fit.
func (c *checker) cast(e Expr, t *Type) Expr {
	v := e.Type()
	if v.Same(t) {
		return e
	}
	if k, ok := e.(*Const); ok {
		return castConst(k, t)
	}
	if v.Kind == NA {
		return &Const{Typed: Typed{e.Where(), t, e.Qual()}, NA: true}
	}
	switch e := e.(type) {
	case *Cond:
		e.Then, e.Else, e.T = c.cast(e.Then, t), c.cast(e.Else, t), t
		return e
	case *Tuple:
		for i := range e.Elems {
			e.Elems[i] = c.cast(e.Elems[i], t.Tuple[i])
		}
		e.T = t
		return e
	case *If:
		c.castBlock(e.Then, t)
		c.castBlock(e.Else, t)
		e.T = t
		return e
	case *Switch:
		for _, k := range e.Cases {
			c.castBlock(k.Body, t)
		}
		e.T = t
		return e
	case *For:
		c.castBlock(e.Body, t)
		e.T = t
		return e
	}
	return &Cast{Typed: Typed{e.Where(), t, e.Qual()}, X: e}
}

func (c *checker) castBlock(b *Block, t *Type) {
	if b != nil && b.Value != nil {
		b.Value = c.cast(b.Value, t)
	}
}

func castConst(k *Const, t *Type) *Const {
	out := *k
	out.T = t
	if t.Kind == Bool && k.T.Numeric() && !k.NA {
		out.Num = 0
		if k.Num > tolerance || k.Num < -tolerance {
			out.Num = 1
		}
	}
	return &out
}
