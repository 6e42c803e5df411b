// Package syntax turns Pine Script source into a tree with positions, and a tree back
// into source. It knows the layout rules of versions 5 and 6, and no names or types.
package syntax

// Pos is a place in the source. Line and Column count from 1; Column counts characters,
// and a tab is one. The zero Pos means "nowhere".
type Pos struct {
	Line, Column int32
}

// Span is a part of the source: from From up to and without To.
type Span struct {
	From, To Pos
}

// Where returns the span itself, so that every node that embeds one is a Node.
func (s Span) Where() Span { return s }

// Node is anything with a place in the source.
type Node interface {
	Where() Span
}

// File is a whole script.
type File struct {
	Version   int  // from //@version=; 1 without it
	VersionAt Span // of that comment
	Stmts     []Stmt
}

// Stmt is a statement.
type Stmt interface {
	Node
	stmt()
}

// Expr is an expression. if, switch, for and while are expressions too.
type Expr interface {
	Node
	expr()
}

// Ident is a name as written.
type Ident struct {
	Span
	Name string
}

// Mode says how long a variable lives.
type Mode uint8

// The modes of a declaration.
const (
	Each  Mode = iota // set again on every bar
	Var               // set once, kept from bar to bar
	Varip             // as Var, and kept from try to try of one bar
)

// TypeExpr is a written type: float, array<int>, float[], lib.point, map<string, float>.
// For the older form float[], Name is "array" and Args has the element.
type TypeExpr struct {
	Span
	Qualifier string // const, input, simple or series; empty if none is written
	Name      string // with dots as written: "chart.point"
	Args      []*TypeExpr
}

// Decl declares one variable: [mode] [type] name = value.
type Decl struct {
	Span
	Export bool
	Mode   Mode
	Type   *TypeExpr // nil if none is written
	Name   *Ident
	Value  Expr
}

// TupleDecl declares several variables from a tuple: [a, b] = f(). A name "_" is skipped.
type TupleDecl struct {
	Span
	Names []*Ident
	Value Expr
}

// Assign gives a variable, a field or (never valid) anything else a new value.
type Assign struct {
	Span
	Target Expr
	Op     string // ":=", "+=", "-=", "*=", "/=" or "%="
	Value  Expr
}

// ExprStmt is an expression that stands alone.
type ExprStmt struct {
	Span
	X Expr
}

// Param is a parameter of a function.
type Param struct {
	Span
	Type    *TypeExpr // nil if none is written
	Name    *Ident
	Default Expr // nil if there is none
}

// FuncDecl declares a function or a method. Its body is a block; a body on the line of
// the arrow is a block as well.
type FuncDecl struct {
	Span
	Export bool
	Method bool
	Name   *Ident
	Params []*Param
	Body   *Block
}

// FieldDecl is a field of a user type.
type FieldDecl struct {
	Span
	Varip   bool
	Type    *TypeExpr
	Name    *Ident
	Default Expr // nil if there is none
}

// TypeDecl declares a user type.
type TypeDecl struct {
	Span
	Export bool
	Name   *Ident
	Fields []*FieldDecl
}

// EnumMember is a member of an enum, with its title if one is written.
type EnumMember struct {
	Span
	Name  *Ident
	Title Expr
}

// EnumDecl declares an enum.
type EnumDecl struct {
	Span
	Export  bool
	Name    *Ident
	Members []*EnumMember
}

// Import names a library: import user/lib/3 as alias.
type Import struct {
	Span
	User, Lib string
	Version   int
	Alias     *Ident // nil if none is written: the library's name counts
}

// Break leaves the innermost loop.
type Break struct{ Span }

// Continue goes to the next turn of the innermost loop.
type Continue struct{ Span }

// BadStmt stands where a statement could not be read.
type BadStmt struct{ Span }

// Block is a list of statements; its value is that of the last one.
type Block struct {
	Span
	Stmts []Stmt
}

// Number is a literal number. Int says that it has neither a point nor an exponent.
type Number struct {
	Span
	Text  string
	Value float64
	Int   bool
}

// String is a literal string, without quotes, escapes and characters that hide others.
type String struct {
	Span
	Value string
}

// Bool is true or false.
type Bool struct {
	Span
	Value bool
}

// Color is a literal colour, #rrggbb or #rrggbbaa. RGBA has alpha in the lowest byte,
// 255 without one.
type Color struct {
	Span
	Text string
	RGBA uint32
}

// Unary is + x, - x or not x.
type Unary struct {
	Span
	Op string
	X  Expr
}

// Binary is x op y, with op one of + - * / % == != < > <= >= and or.
type Binary struct {
	Span
	Op   string
	X, Y Expr
}

// Cond is cond ? x : y.
type Cond struct {
	Span
	If, Then, Else Expr
}

// Paren is an expression in parentheses.
type Paren struct {
	Span
	X Expr
}

// Tuple is [a, b, c].
type Tuple struct {
	Span
	Elems []Expr
}

// Index is x[k], the value k bars back.
type Index struct {
	Span
	X, Offset Expr
}

// Member is x.name.
type Member struct {
	Span
	X    Expr
	Name *Ident
}

// Arg is an argument of a call, with its name if one is written.
type Arg struct {
	Span
	Name  *Ident
	Value Expr
}

// Call is f(a, b = c) or array.new<float>(3). Fun is an *Ident or a *Member.
type Call struct {
	Span
	Fun   Expr
	Types []*TypeExpr // between < and >
	Args  []*Arg
}

// If is an if with its else; Else is a *Block, or one that holds only another *If.
type If struct {
	Span
	Cond Expr
	Then *Block
	Else *Block // nil if there is none
	Once bool   // a once, whose block runs on one closed bar at most
}

// Case is one arm of a switch. Match is nil in the default arm.
type Case struct {
	Span
	Match Expr
	Body  *Block
}

// Switch compares X with the match of each case, or takes the first true one if X is nil.
type Switch struct {
	Span
	X     Expr
	Cases []*Case
}

// For is for name = from to to [by step].
type For struct {
	Span
	Type     *TypeExpr // nil if none is written
	Name     *Ident
	From, To Expr
	Step     Expr // nil if there is none
	Body     *Block
}

// ForIn is for value in x or for [index, value] in x.
type ForIn struct {
	Span
	Index *Ident // nil if only the value is named
	Value *Ident
	X     Expr
	Body  *Block
}

// While repeats its body while the condition holds.
type While struct {
	Span
	Cond Expr
	Body *Block
}

// BadExpr stands where an expression could not be read.
type BadExpr struct{ Span }

func (*Decl) stmt()      {}
func (*TupleDecl) stmt() {}
func (*Assign) stmt()    {}
func (*ExprStmt) stmt()  {}
func (*FuncDecl) stmt()  {}
func (*TypeDecl) stmt()  {}
func (*EnumDecl) stmt()  {}
func (*Import) stmt()    {}
func (*Break) stmt()     {}
func (*Continue) stmt()  {}
func (*BadStmt) stmt()   {}

func (*Ident) expr()   {}
func (*Number) expr()  {}
func (*String) expr()  {}
func (*Bool) expr()    {}
func (*Color) expr()   {}
func (*Unary) expr()   {}
func (*Binary) expr()  {}
func (*Cond) expr()    {}
func (*Paren) expr()   {}
func (*Tuple) expr()   {}
func (*Index) expr()   {}
func (*Member) expr()  {}
func (*Call) expr()    {}
func (*If) expr()      {}
func (*Switch) expr()  {}
func (*For) expr()     {}
func (*ForIn) expr()   {}
func (*While) expr()   {}
func (*BadExpr) expr() {}
