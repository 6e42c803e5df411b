package check

import "candela/lib/pine/syntax"

// Expr is a checked expression: a pointer to one of the structs below.
type Expr interface {
	Where() syntax.Span
	Type() *Type
	Qual() Qualifier
}

// Typed is the part that all expressions share.
type Typed struct {
	syntax.Span
	T *Type
	Q Qualifier
}

// Type returns the type of the value.
func (t *Typed) Type() *Type { return t.T }

// Qual describes when the value is known.
func (t *Typed) Qual() Qualifier { return t.Q }

// Const is a value known when compiling. NA holds for every type but a v6 bool. The value
// is in Num for Int, Float, Bool (0 or 1) and Color (RGBA, alpha in the lowest byte, as a
// number), in Str for String and Option, and the member's index is in Num for Enum. A
// constant of an object type (na) has NA set.
//
// The named constants of the language are Options or Strings whose Str is the last part
// of the name: size.small "small", plot.style_linebr "style_linebr",
// label.style_label_down "style_label_down", barmerge.gaps_on "gaps_on", extend.right
// "right", location.abovebar "abovebar", alert.freq_once_per_bar "freq_once_per_bar".
// display.* are numbers, so that they can be added and subtracted.
type Const struct {
	Typed
	NA  bool
	Num float64
	Str string
}

// VarRef reads a variable.
type VarRef struct {
	Typed
	Var *Var
}

// BuiltinVar reads a variable of the language: close, bar_index, ta.obv, syminfo.tickerid.
// It is evaluated as if read on every bar, wherever it stands.
type BuiltinVar struct {
	Typed
	Name string
	site int // a place for state, as Call.Site
}

// InputRef reads an input.
type InputRef struct {
	Typed
	Input *Input
}

// Op is an operator.
type Op uint8

// The operators. Add of strings joins them.
const (
	None Op = iota
	Add
	Sub
	Mul
	Div
	Mod
	Eq
	Ne
	Lt
	Gt
	Le
	Ge
	And
	Or
	Neg
	Not
)

// Unary is Neg or Not.
type Unary struct {
	Typed
	Op Op
	X  Expr
}

// Binary is an arithmetic or comparing operator. X and Y have the same type: both Int,
// both Float, both String, or for Eq and Ne any one type. Comparing Floats has the
// tolerance; comparing Ints has none. Div of two Ints truncates only when IntDiv is set
// (version 5, both constant; such are folded, so eval sees it never).
type Binary struct {
	Typed
	Op   Op
	X, Y Expr
}

// Logic is And or Or. Both says that both sides always run (version 5); otherwise the
// right side runs only if the left one does not decide. na counts as false.
type Logic struct {
	Typed
	Op   Op
	X, Y Expr
	Both bool
}

// Cond is If ? Then : Else; only the chosen side runs.
type Cond struct {
	Typed
	If, Then, Else Expr
}

// Cast changes the type of a number: Int to Float (the same number), Float to Int
// (truncates towards zero, by int() only), Int or Float to Bool (not 0 and not na;
// version 5 by itself, else by bool()).
type Cast struct {
	Typed
	X Expr
}

// History is X[Offset]. If X is a VarRef, the history is the variable's own (all reads of
// one variable share it). If X is a BuiltinVar, it is that of the built-in variable.
// Otherwise the history belongs to this node, in the place Site of its owner, and X is
// evaluated on each run of the node. Offset is an Int.
type History struct {
	Typed
	X, Offset Expr
	site      int
	// Max is the offset if it is constant, -1 otherwise.
	Max int
}

// Call is a call of a built-in function or of a user function: exactly one of Builtin and
// Func is set.
type Call struct {
	Typed
	Builtin *Builtin
	Func    *Func
	Args    []Expr // by parameter; nil where left out
	Rest    []Expr // of a variadic parameter
	// Elem is the type argument of array.new<T>, matrix.new<T>; Elems of map.new<K, V>.
	Elems []*Type
	// Site is the place of the call's state in its owner (the Func it is written in, or the
	// global scope): 0 to Sites-1, each used by one node. Calls without state have one too.
	Site int
	// Output is the index in Program.Plots, Conditions or Requests for calls listed there,
	// -1 otherwise.
	Output int
}

// Arg returns the argument of a parameter of a built-in by name, nil if it was left out.
func (c *Call) Arg(name string) Expr {
	if c.Builtin == nil {
		return nil
	}
	for i, p := range c.Builtin.Params {
		if p.Name == name && i < len(c.Args) {
			return c.Args[i]
		}
	}
	return nil
}

// New makes an object of a user type, T.new(...). Fields has one expression for each
// field, defaults filled in (na without one).
type New struct {
	Typed
	Fields []Expr
}

// Field reads a field of an object or of a chart.point (fields time, index, price).
type Field struct {
	Typed
	X     Expr
	Field int // index in X's type's Object.Fields
}

// Copy makes a shallow copy of an object of a user type, x.copy() or T.copy(x).
type Copy struct {
	Typed
	X Expr
}

// Tuple gives several values.
type Tuple struct {
	Typed
	Elems []Expr
}

// If is an if or a chain of them. Else is nil if there is none: the value is then na, or
// false for a bool in version 6.
type If struct {
	Typed
	Cond Expr
	Then *Block
	Else *Block
}

// Switch takes the first case that matches. If X is nil, Match is a Bool; otherwise Match
// has X's type and is compared with Eq. A nil Match is the default.
type Switch struct {
	Typed
	X     Expr
	Cases []*Case
}

// Case is an arm of a switch.
type Case struct {
	Match Expr
	Body  *Block
}

// For counts from From to To by Step (nil: 1). It counts down if From is greater than To.
// Again says that To is evaluated before each turn (version 6); the direction is fixed at
// entry. The value is that of the last turn's body, na without a turn.
type For struct {
	Typed
	Var            *Var
	From, To, Step Expr
	Again          bool
	Body           *Block
}

// ForIn visits an array's elements, a matrix's rows (as arrays) or a map's pairs (Index is
// the key). Index is nil if only the value is named.
type ForIn struct {
	Typed
	Index, Value *Var
	X            Expr
	Body         *Block
}

// While repeats its body.
type While struct {
	Typed
	Cond Expr
	Body *Block
}
