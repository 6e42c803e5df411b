package check

import (
	"fmt"
	"slices"

	"candela/lib/pine/syntax"
)

// use says what happens to the value of a structure.
type use uint8

const (
	unused   use = iota // a statement: branches may give different things
	returned            // the end of a function: a value if the branches agree
	needed              // a value must come out
)

// structure checks an expression that may be an if, a switch or a loop.
func (c *checker) structure(x syntax.Expr, u use) Expr {
	switch x := x.(type) {
	case *syntax.If:
		return c.ifExpr(x, u)
	case *syntax.Switch:
		return c.switchExpr(x, u)
	case *syntax.For:
		return c.forExpr(x, u)
	case *syntax.ForIn:
		return c.forIn(x, u)
	case *syntax.While:
		return c.while(x, u)
	}
	e := c.expr(x)
	if u == needed && e.Type().Kind == Void {
		c.fail(x.Where(), codeType, "This gives no value.", "Use it as a statement of its own.")
	}
	return e
}

func onceOf(s *syntax.ExprStmt) *syntax.If {
	if x, ok := s.X.(*syntax.If); ok && x.Once {
		return x
	}
	return nil
}

// once checks a once: an if whose block says in a variable of its own that it has run. A try undoes that.
func (c *checker) once(s *syntax.ExprStmt, x *syntax.If) []Stmt {
	at := x.Span
	ran := &syntax.Ident{Span: at, Name: fmt.Sprintf("once %d:%d", at.From.Line, at.From.Column)}
	never := &syntax.Binary{Span: at, Op: "<", X: &syntax.Ident{Span: at, Name: "bar_index"}, Y: &syntax.Number{Span: at, Text: "0", Int: true}}
	out := c.decl(&syntax.Decl{Span: at, Mode: syntax.Var, Name: ran, Value: never})
	mark := &syntax.Assign{Span: at, Target: ran, Op: ":=", Value: &syntax.Bool{Span: at, Value: true}}
	run := &syntax.If{
		Span: at,
		Cond: &syntax.Binary{Span: at, Op: "and", X: x.Cond, Y: &syntax.Unary{Span: at, Op: "not", X: ran}},
		Then: &syntax.Block{Span: x.Then.Span, Stmts: append([]syntax.Stmt{mark}, x.Then.Stmts...)},
	}
	return append(out, &Do{s.Span, c.structure(run, unused)})
}

// block checks the statements of a block in a scope of its own. A failed statement does not
// hide the errors of those after it.
func (c *checker) block(b *syntax.Block, u use) *Block {
	c.push()
	defer c.pop()
	return c.statements(b.Stmts, u)
}

func (c *checker) statements(list []syntax.Stmt, u use) *Block {
	out := &Block{}
	failed := false
	for i, s := range list {
		last := i == len(list)-1 && u != unused
		ok := guard(func() {
			if e, is := s.(*syntax.ExprStmt); is && last && onceOf(e) == nil {
				out.Value = c.structure(e.X, u)
				return
			}
			out.Stmts = append(out.Stmts, c.stmt(s)...)
			if last {
				out.Value = c.valueOf(out.Stmts)
			}
		})
		failed = failed || !ok
	}
	if failed {
		panic(bail{})
	}
	if out.Value != nil && out.Value.Type().Kind == Void {
		c.drop(out)
	}
	return out
}

// valueOf returns what a block gives that ends with a declaration or an assignment.
func (c *checker) valueOf(list []Stmt) Expr {
	if len(list) == 0 {
		return nil
	}
	var v *Var
	switch s := list[len(list)-1].(type) {
	case *Declare:
		v = s.Var
	case *Assign:
		v = s.Var
	case *DeclareTuple:
		if t := tupleOf(s); t != nil {
			return t
		}
		return nil
	default:
		return nil
	}
	return &VarRef{Typed{v.at, v.Type, v.Qual}, v}
}

// tupleOf reads the variables that a tuple declares, nil if one of them has no name.
func tupleOf(s *DeclareTuple) *Tuple {
	t := &Tuple{Typed: Typed{s.Span, &Type{Kind: TupleKind}, ConstQ}}
	for _, v := range s.Vars {
		if v == nil {
			return nil
		}
		t.Elems, t.T.Tuple = append(t.Elems, &VarRef{Typed{v.at, v.Type, v.Qual}, v}), append(t.T.Tuple, v.Type)
		t.Q = max(t.Q, v.Qual)
	}
	return t
}

// drop makes the value of a block a statement.
func (c *checker) drop(b *Block) {
	if b == nil || b.Value == nil {
		return
	}
	if len(b.Stmts) == 0 || !gives(b.Stmts[len(b.Stmts)-1], b.Value) {
		b.Stmts = append(b.Stmts, &Do{b.Value.Where(), b.Value})
	}
	b.Value = nil
}

// gives reports whether a value is no more than what a statement has declared or assigned.
func gives(s Stmt, value Expr) bool {
	switch s := s.(type) {
	case *Declare:
		return reads(value, s.Var)
	case *Assign:
		return reads(value, s.Var)
	case *DeclareTuple:
		t, ok := value.(*Tuple)
		return ok && len(t.Elems) == len(s.Vars) && !slices.ContainsFunc(s.Vars, func(v *Var) bool {
			return !slices.ContainsFunc(t.Elems, func(e Expr) bool { return reads(e, v) })
		})
	}
	return false
}

func reads(e Expr, v *Var) bool {
	r, ok := e.(*VarRef)
	return ok && r.Var == v
}

// merge gives the blocks one type, or takes their values away if the use allows it.
func (c *checker) merge(at syntax.Span, u use, blocks ...*Block) *Type {
	var t *Type
	agree := true
	for _, b := range blocks {
		if b == nil {
			continue
		}
		if b.Value == nil {
			agree = false
			continue
		}
		if t == nil {
			t = b.Value.Type()
		} else if n, ok := c.unify(t, b.Value.Type()); ok {
			t = n
		} else {
			if u == needed {
				c.failf(at, codeType, "Let every branch end with a value of one type.", "The branches give %s and %s.", t, b.Value.Type())
			}
			agree = false
		}
	}
	if u == needed && (t == nil || !agree) {
		// A branch that gives nothing counts as na.
		if t == nil {
			c.fail(at, codeType, "No branch gives a value.", "End each branch with a value.")
		}
		for _, b := range blocks {
			if b != nil && b.Value == nil {
				b.Value = c.emptyValue(at, t)
			}
		}
		agree = true
	}
	if !agree || t == nil || t.Kind == Void || u == unused {
		for _, b := range blocks {
			c.drop(b)
		}
		return typeOf(Void)
	}
	for _, b := range blocks {
		if b != nil {
			if !c.fits(b.Value.Type(), t) {
				c.mismatch(b.Value.Where(), b.Value.Type(), t)
			}
			b.Value = c.cast(b.Value, t)
		}
	}
	return t
}

// emptyValue is what a branch without a value gives.
func (c *checker) emptyValue(at syntax.Span, t *Type) Expr {
	k := &Const{Typed: Typed{at, t, SeriesQ}, NA: true}
	if t.Kind == Bool && c.version >= 6 {
		k.NA = false
	}
	return k
}

// condition checks an expression that must be a bool.
func (c *checker) condition(x syntax.Expr) Expr {
	e := c.expr(x)
	return c.asBool(x.Where(), e)
}

func (c *checker) asBool(at syntax.Span, e Expr) Expr {
	if !c.fits(e.Type(), typeOf(Bool)) {
		c.mismatch(at, e.Type(), typeOf(Bool))
	}
	return c.cast(e, typeOf(Bool))
}

func (c *checker) ifExpr(x *syntax.If, u use) Expr {
	out := &If{Typed: Typed{Span: x.Span, Q: SeriesQ}}
	ok := guard(func() { out.Cond = c.condition(x.Cond) })
	ok = guard(func() { out.Then = c.block(x.Then, u) }) && ok
	if x.Else != nil {
		ok = guard(func() { out.Else = c.block(x.Else, u) }) && ok
	}
	if !ok {
		panic(bail{})
	}
	out.T = c.merge(x.Span, u, out.Then, out.Else)
	out.Q = max(out.Cond.Qual(), blockQual(out.Then), blockQual(out.Else))
	return out
}

func (c *checker) switchExpr(x *syntax.Switch, u use) Expr {
	out := &Switch{Typed: Typed{Span: x.Span, Q: SeriesQ}}
	ok := x.X == nil || guard(func() { out.X = c.expr(x.X) })
	var blocks []*Block
	for _, k := range x.Cases {
		ok = guard(func() {
			n := &Case{}
			if k.Match != nil {
				n.Match = c.caseMatch(out, k.Match)
			}
			n.Body = c.block(k.Body, u)
			out.Cases, blocks = append(out.Cases, n), append(blocks, n.Body)
		}) && ok
	}
	if !ok {
		panic(bail{})
	}
	out.T = c.merge(x.Span, u, blocks...)
	out.Q = joinQual(out.X)
	for _, k := range out.Cases {
		out.Q = max(out.Q, joinQual(k.Match), blockQual(k.Body))
	}
	return out
}

func (c *checker) caseMatch(s *Switch, x syntax.Expr) Expr {
	if s.X == nil {
		return c.condition(x)
	}
	m := c.expr(x)
	t, ok := c.unify(s.X.Type(), m.Type())
	if !ok {
		c.mismatch(x.Where(), m.Type(), s.X.Type())
	}
	if !s.X.Type().Same(t) {
		s.X = c.cast(s.X, t)
		for _, k := range s.Cases {
			if k.Match != nil {
				k.Match = c.cast(k.Match, t)
			}
		}
	}
	return c.cast(m, t)
}

// body checks the body of a loop.
func (c *checker) body(b *syntax.Block, u use) *Block {
	c.loops++
	defer func() { c.loops-- }()
	return c.block(b, u)
}

func (c *checker) loopVar(id *syntax.Ident, t *Type) *Var {
	return c.declare(id, t, SeriesQ, syntax.Each)
}

func (c *checker) forExpr(x *syntax.For, u use) Expr {
	out := &For{Typed: Typed{Span: x.Span, Q: SeriesQ}, Again: c.version >= 6}
	out.From, out.To = c.number(x.From), c.number(x.To)
	if x.Step != nil {
		out.Step = c.number(x.Step)
	}
	t := typeOf(Int)
	for _, e := range []Expr{out.From, out.Step} { // the end may be a fraction that the counter never has
		if e != nil && e.Type().Kind == Float {
			t = typeOf(Float)
		}
	}
	out.From = c.cast(out.From, t)
	if t.Kind == Float {
		out.To = c.cast(out.To, t)
	}
	if out.Step != nil {
		out.Step = c.cast(out.Step, t)
	}
	c.emptyLoop(x)
	c.push()
	defer c.pop()
	out.Var = c.loopVar(x.Name, t)
	out.Body = c.body(x.Body, u)
	out.T = c.merge(x.Span, u, out.Body)
	return out
}

// emptyLoop warns about a loop to size - 1, which runs twice over an empty array.
func (c *checker) emptyLoop(x *syntax.For) {
	to, ok := x.To.(*syntax.Binary)
	if !ok || to.Op != "-" || x.Step != nil {
		return
	}
	one, ok := to.Y.(*syntax.Number)
	call, isCall := to.X.(*syntax.Call)
	from, isNumber := x.From.(*syntax.Number)
	if !ok || !isCall || !isNumber || one.Value != 1 || from.Value != 0 {
		return
	}
	if m, ok := call.Fun.(*syntax.Member); ok && m.Name.Name == "size" {
		c.warn(x.To.Where(), codeLoop, "Over an empty array this loop counts down: 0, then -1.", "Ask for the size before the loop, or use for ... in.")
	}
}

// number checks an expression that must be an int or a float.
func (c *checker) number(x syntax.Expr) Expr {
	e := c.expr(x)
	if e.Type().Kind == NA {
		return c.cast(e, typeOf(Int))
	}
	if !e.Type().Numeric() {
		c.mismatch(x.Where(), e.Type(), typeOf(Int))
	}
	return e
}

func (c *checker) forIn(x *syntax.ForIn, u use) Expr {
	out := &ForIn{Typed: Typed{Span: x.Span, Q: SeriesQ}, X: c.expr(x.X)}
	t := out.X.Type()
	index, elem := typeOf(Int), t.Elem
	switch t.Kind {
	case Array:
	case Matrix:
		elem = &Type{Kind: Array, Elem: t.Elem}
	case Map:
		index = t.Key
		if x.Index == nil {
			c.fail(x.Value.Span, codeType, "A loop over a map needs a name for the key and one for the value.", "Write for [key, value] in.")
		}
	default:
		c.failf(x.X.Where(), codeType, "Use an array, a matrix or a map.", "A loop cannot visit a value of type %s.", t)
	}
	c.push()
	defer c.pop()
	if x.Index != nil {
		out.Index = c.loopVar(x.Index, index)
	}
	out.Value = c.loopVar(x.Value, elem)
	out.Body = c.body(x.Body, u)
	out.T = c.merge(x.Span, u, out.Body)
	return out
}

func (c *checker) while(x *syntax.While, u use) Expr {
	c.loops++
	out := &While{Typed: Typed{Span: x.Span, Q: SeriesQ}, Cond: c.condition(x.Cond)}
	c.loops--
	out.Body = c.body(x.Body, u)
	out.T = c.merge(x.Span, u, out.Body)
	return out
}

// blockQual returns when the value of a block is known.
func blockQual(b *Block) Qualifier {
	if b == nil {
		return ConstQ
	}
	if b.Value == nil {
		return SeriesQ
	}
	return b.Value.Qual()
}

// joinQual returns the weakest qualifier of some expressions.
func joinQual(list ...Expr) Qualifier {
	q := ConstQ
	for _, e := range list {
		if e != nil {
			q = max(q, e.Qual())
		}
	}
	return q
}
