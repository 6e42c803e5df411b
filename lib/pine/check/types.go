package check

import "strings"

// Kind is the kind of a type.
type Kind uint8

// The kinds of types. Option is a family of named constants (Type.Name has the family:
// plot_style, hline_style, barmerge_gaps, barmerge_lookahead, sort_order, scale,
// strategy_direction, text_format, display). Plot and HLine are what plot() and hline()
// give: a number, the index in Program.Plots.
const (
	Void Kind = iota
	NA        // na without a type; no expression of a checked program has it
	Int
	Float
	Bool
	String
	Color
	Option
	Enum
	PlotRef
	HLineRef
	Line
	Label
	Box
	Table
	Linefill
	Polyline
	Array
	Matrix
	Map
	Object // user types, and chart.point with fields index, time, price
	TupleKind
)

// Type is a type. Compare with Same, not by pointer.
type Type struct {
	Kind   Kind
	Name   string // of an Option's family
	Elem   *Type  // of Array and Matrix, and a Map's values
	Key    *Type  // of a Map
	Object *ObjectType
	Enum   *EnumType
	Tuple  []*Type
}

// ObjectType is a user type. There is one for each declaration, so pointers compare.
type ObjectType struct {
	Name   string
	Fields []FieldType
}

// FieldType is a field of a user type.
type FieldType struct {
	Name  string
	Type  *Type
	varip bool
}

// EnumType is an enum. There is one for each declaration.
type EnumType struct {
	Name    string
	Members []string
	Titles  []string // what str.tostring gives; the member's name without a title
}

// Qualifier describes when a value is known: when compiling, when the inputs are set, on the
// first bar, or on each bar.
type Qualifier uint8

// The qualifiers, strongest first.
const (
	ConstQ Qualifier = iota
	InputQ
	SimpleQ
	SeriesQ
)

// String returns the qualifier as Pine spells it.
func (q Qualifier) String() string {
	return [...]string{"const", "input", "simple", "series"}[q&3]
}

// Same reports whether two types are equal.
func (t *Type) Same(u *Type) bool {
	if t == nil || u == nil {
		return t == u
	}
	if t == u {
		return true
	}
	if t.Kind != u.Kind || t.Name != u.Name || t.Object != u.Object || t.Enum != u.Enum || len(t.Tuple) != len(u.Tuple) {
		return false
	}
	for i := range t.Tuple {
		if !t.Tuple[i].Same(u.Tuple[i]) {
			return false
		}
	}
	return t.Elem.Same(u.Elem) && t.Key.Same(u.Key)
}

// Numeric reports whether the type is int or float.
func (t *Type) Numeric() bool { return t.Kind == Int || t.Kind == Float }

// Reference reports whether a value is a reference to a collection, an object or a drawing.
func (t *Type) Reference() bool { return t.Kind >= Line && t.Kind <= Object }

// String returns the type as Pine spells it.
func (t *Type) String() string {
	switch t.Kind {
	case Array:
		return "array<" + t.Elem.String() + ">"
	case Matrix:
		return "matrix<" + t.Elem.String() + ">"
	case Map:
		return "map<" + t.Key.String() + ", " + t.Elem.String() + ">"
	case Object:
		return t.Object.Name
	case Enum:
		return t.Enum.Name
	case Option:
		return t.Name
	case TupleKind:
		parts := make([]string, len(t.Tuple))
		for i, e := range t.Tuple {
			parts[i] = e.String()
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default: // the kinds below need nothing but their name
	}
	return [...]string{
		Void: "void", NA: "na", Int: "int", Float: "float", Bool: "bool", String: "string", Color: "color",
		PlotRef: "plot", HLineRef: "hline", Line: "line", Label: "label", Box: "box", Table: "table",
		Linefill: "linefill", Polyline: "polyline", Object: "",
	}[t.Kind]
}
