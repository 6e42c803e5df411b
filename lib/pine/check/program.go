// Package check gives a parsed Pine script its meaning: names, types, qualifiers,
// overloads, folded constants and the places of variables and calls. The result is a
// Program, which package eval runs, or a list of diagnostics.
//
// A Program guarantees the following, so that nothing has to be checked again:
//
//   - Every expression has its final type. A value is used only where its type fits:
//     implicit casts (int to float, in version 5 number to bool, na to anything) are
//     explicit Cast nodes or constants of the wanted type.
//   - Constant expressions are folded to a Const.
//   - Arguments stand in the order of the parameters, whatever names were written.
//     Args has exactly one entry for each parameter: the default where the documentation
//     gives one, nil where the parameter was left out and has none. The values of a
//     variadic parameter are in Rest.
//   - A method call is a call whose first argument is the receiver.
//   - An overload without a source (ta.highest(10), ta.pivothigh(3, 3)) is given its
//     source, so that one name has one list of parameters.
//   - A compound assignment to a variable (x += e) is an Assign of x + e.
//   - A user function is checked once for each combination of types and qualifiers of
//     its arguments: one Func each. Every Call of it in the text has state of its own,
//     and a call inside a function has one state for each path of calls that leads to it.
//     All turns of a loop share the state of a call.
//   - There is no recursion, and a function assigns no variable of the global scope.
//   - Functions that contain an output, an input or a request (directly or by what they
//     call) have one Func for each Call, so their parameters have exactly one argument:
//     Var.Bound.
package check

import (
	"candela/lib/pine/convert"
	"candela/lib/pine/syntax"
)

// ScriptKind is what a script declares itself to be.
type ScriptKind uint8

// The kinds of script.
const (
	Indicator ScriptKind = iota
	Strategy
	Library
)

// Program is a checked script.
type Program struct {
	Version int // 5 or 6; 5 for a converted script
	Kind    ScriptKind

	// Declaration is the call of indicator, strategy or library; its arguments are
	// constants in the order of the parameters (see Builtin.Params).
	Declaration  *Call
	Title        string
	ShortTitle   string
	Overlay      bool
	MaxLines     int // max_lines_count, 50 if not given, at most 500
	MaxLabels    int
	MaxBoxes     int
	MaxPolylines int

	Inputs     []*Input
	Plots      []*Plot // every plot, plotshape, ..., hline, fill, bgcolor, barcolor in the order of the text
	Conditions []*Condition
	Requests   []*Request
	Alerts     []*Call // calls of alert(), in the order of the text

	// Body is the global scope. Vars are its variables, including those of blocks that
	// are not in a function; Var.Place is the index here.
	Body *Block
	Vars []*Var

	Funcs []*Func // those that are called, callees before callers

	Redraws Redraw
	// Instances is the number of call states of the whole tree of calls.
	Instances int
	// Converted says what was changed in a script of a version before 5; nil for another.
	Converted *convert.Result
	// Warnings are diagnostics that do not keep the script from running.
	Warnings []Diagnostic
}

// Redraw describes what makes the newest bar of a script differ from a bar that is kept:
// values of this kind reach a plot, a drawing or an alert.
type Redraw uint8

// The reasons to redraw.
const (
	RedrawLast     Redraw = 1 << iota // barstate.islast and its family, last_bar_index, timenow
	RedrawRealtime                    // barstate.isrealtime, isconfirmed, isnew; varip
	RedrawFuture                      // lookahead_on without [1], negative offsets
)

// Func is a user function or method for one combination of types of its arguments.
type Func struct {
	name   string // with the alias of its library: "lib.f"
	at     syntax.Span
	Params []*Var // also in Vars
	Vars   []*Var // all variables of the body, Var.Place is the index here
	Body   *Block
	Result *Type // Tuple for several values, Void if it gives none
	sites  int   // calls and histories with a place (see Call.Site)
	// single says that exactly one Call names this Func.
	single bool

	calls  []*Func   // what it calls, once for each call
	qual   Qualifier // of the result
	failed bool
}

// Var is a variable or a parameter.
type Var struct {
	name  string
	at    syntax.Span
	Type  *Type
	Qual  Qualifier
	Mode  syntax.Mode // Each, Var, Varip
	Owner *Func       // nil: the global scope
	Place int         // index in Owner.Vars or Program.Vars
	// Assigned says that := changes it somewhere.
	Assigned bool
	// History is the longest constant offset that is read of it, 0 if none is read.
	// Dynamic says that an offset is not constant, so its length is known at run time only.
	History int
	Dynamic bool
	// Bound is the argument of a parameter of a Single function, checked in the scope of
	// the caller; nil for other variables.
	Bound Expr
}

// Input is a call of input or input.*; the call is replaced by an InputRef.
type Input struct {
	Index   int
	at      syntax.Span
	Name    string // variable it is assigned to; input_N if there is none
	Kind    string // int, float, bool, string, source, timeframe, symbol, color, session, time, price, text_area, enum
	Type    *Type
	Title   string
	Default Const
	// DefaultSource is the built-in variable that an input of kind source begins with:
	// close, hl2 and so on.
	DefaultSource string
	Min, Max      *float64 // nil if not given
	Options       []Const  // nil if not given; for an enum its members in order
	Tooltip       string
	// Length says that the value reaches a length of a built-in or a history offset.
	Length bool
}

// Plot is one output of the global scope. Kind is the built-in's name: plot, plotshape,
// plotchar, plotarrow, plotcandle, plotbar, hline, fill, bgcolor, barcolor.
type Plot struct {
	Index int
	Kind  string
	Title string
	Call  *Call // Call.Output is Index
	// A and B are the indexes of the two plots or hlines of a fill, -1 otherwise.
	A, B int
}

// Condition is an alertcondition. Call.Output is Index.
type Condition struct {
	Index          int
	Title, Message string
	call           *Call
}

// Request is a request.security or request.security_lower_tf. Call.Output is Index. The
// argument "expression" is evaluated in the other context, not in the place of the call.
type Request struct {
	index int
	Call  *Call
	Lower bool // security_lower_tf: the result is an array
	// Symbol and Timeframe are the constant values if they are known when compiling, with
	// SymbolKnown, TimeframeKnown. The chart's own symbol (syminfo.tickerid) is "" and
	// known, and so is its timeframe.
	Symbol, Timeframe           string
	SymbolKnown, TimeframeKnown bool
	Gaps, Lookahead             bool
	// Expr is the requested expression (also Call.Args[2]). needs are the variables that it
	// depends on, directly or by what sets them, in the order of their declarations; the
	// slice has the statements that set them.
	Expr  Expr
	needs []*Var
	Slice
	// Context sets what a symbol or timeframe depends on that may change from bar to bar.
	Context Slice
	// Timeframes are constants, inputs and names of the chart's timeframe among what such a
	// timeframe depends on: one of them may be it. Varies says that it depends on prices, times or turns of a loop.
	Timeframes []Expr
	Varies     bool
	// Symbols and SymbolVaries are the same for a symbol.
	Symbols      []Expr
	SymbolVaries bool
}

// Slice is a part of a script: statements of the global scope, and of functions around the
// place that needs them, outer ones first.
type Slice struct {
	Stmts  []Stmt
	Locals []Local
}

// Local has statements of a function whose variables are needed.
type Local struct {
	Func  *Func
	Stmts []Stmt
}

// Block is a list of statements. Value is the value of the block: what its last statement
// gives, cast to the type of the structure or function that it belongs to. Value is nil if
// nothing uses it. When the last statement is an expression, it is only in Value, not in
// Stmts; a declaration or an assignment at the end stays in Stmts and Value reads its
// variable.
type Block struct {
	Stmts []Stmt
	Value Expr
}

// Stmt is a checked statement.
type Stmt interface {
	Where() syntax.Span
	checkedStmt()
}

// Declare sets a variable where it is declared: on every run of its scope, or once for Var
// and Varip.
type Declare struct {
	syntax.Span
	Var  *Var
	Init Expr
}

// DeclareTuple declares several variables. Vars has nil for the name "_". Init has a type
// of kind Tuple with as many members; the variables have the members' types.
type DeclareTuple struct {
	syntax.Span
	Vars []*Var
	Init Expr
}

// Assign is x := e.
type Assign struct {
	syntax.Span
	Var   *Var
	Value Expr
}

// AssignField is x.f := e, or x.f op= e when Op is not None: then the new value is the old
// one Op Value, and X is evaluated once. Value has the field's type.
type AssignField struct {
	syntax.Span
	X     Expr
	Field int // index in X's type's Object.Fields
	Op    Op
	Value Expr
}

// Do is an expression whose value is not used.
type Do struct {
	syntax.Span
	X Expr
}

// Break leaves the innermost loop.
type Break struct{ syntax.Span }

// Continue goes on with the next round of the innermost loop.
type Continue struct{ syntax.Span }

func (*Declare) checkedStmt()      {}
func (*DeclareTuple) checkedStmt() {}
func (*Assign) checkedStmt()       {}
func (*AssignField) checkedStmt()  {}
func (*Do) checkedStmt()           {}
func (*Break) checkedStmt()        {}
func (*Continue) checkedStmt()     {}
