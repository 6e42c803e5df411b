package check

import (
	"math"
	"strings"

	"candela/lib/pine/syntax"
)

// expr checks an expression that is not a structure.
func (c *checker) expr(x syntax.Expr) Expr {
	switch x := x.(type) {
	case *syntax.Paren:
		return c.expr(x.X)
	case *syntax.Number:
		t := typeOf(Float)
		if x.Int {
			t = typeOf(Int)
		}
		return &Const{Typed: Typed{x.Span, t, ConstQ}, Num: x.Value}
	case *syntax.String:
		return &Const{Typed: Typed{x.Span, typeOf(String), ConstQ}, Str: x.Value}
	case *syntax.Bool:
		k := &Const{Typed: Typed{x.Span, typeOf(Bool), ConstQ}}
		if x.Value {
			k.Num = 1
		}
		return k
	case *syntax.Color:
		return &Const{Typed: Typed{x.Span, typeOf(Color), ConstQ}, Num: float64(x.RGBA)}
	case *syntax.Ident:
		return c.ident(x)
	case *syntax.Member:
		return c.member(x)
	case *syntax.Unary:
		return c.unary(x)
	case *syntax.Binary:
		return c.binaryExpr(x)
	case *syntax.Cond:
		return c.cond(x)
	case *syntax.Tuple:
		return c.tuple(x)
	case *syntax.Index:
		return c.index(x)
	case *syntax.Call:
		return c.call(x)
	case *syntax.BadExpr:
		panic(bail{})
	}
	c.fail(x.Where(), codeType, "if, switch and loops stand only after = and :=, or alone.", "Put it into a variable of its own.")
	return nil
}

// ident checks a name that stands alone.
func (c *checker) ident(x *syntax.Ident) Expr {
	if sym, ok := c.lookup(x.Name); ok {
		return c.variable(x.Span, sym)
	}
	if x.Name == "na" {
		return &Const{Typed: Typed{x.Span, typeOf(NA), ConstQ}, NA: true}
	}
	if e := c.named(x.Span, x.Name); e != nil {
		return e
	}
	c.unknown(x.Span, x.Name)
	return nil
}

// variable reads a variable, or its value if that is constant.
func (c *checker) variable(at syntax.Span, sym *symbol) Expr {
	if sym.v == nil {
		panic(bail{})
	}
	if k, ok := sym.value.(*Const); ok {
		out := *k
		out.Span = at
		return &out
	}
	return &VarRef{Typed{at, sym.v.Type, sym.v.Qual}, sym.v}
}

// named finds a constant or a variable of the language.
func (c *checker) named(at syntax.Span, name string) Expr {
	r := builtins()
	if k, ok := r.constants[name]; ok {
		out := *k[min(max(c.version, 5), 6)-5]
		out.Span = at
		return &out
	}
	v := r.variables[name]
	if v == nil || v.only != 0 && v.only != c.version {
		return nil
	}
	if v.support == Refused {
		c.failf(at, codeUnsupported, "Remove what uses it.", "%s is not available: %s.", name, v.reason)
	}
	c.prog.Redraws |= v.redraws
	if name == "n" {
		name = "bar_index"
	}
	return &BuiltinVar{Typed{at, v.typ, v.qual}, name, c.site()}
}

func (c *checker) isBuiltin(name string) bool {
	r := builtins()
	_, constant := r.constants[name]
	return constant || r.variables[name] != nil || r.functions[name] != nil
}

// unknown reports a name that nothing declares.
func (c *checker) unknown(at syntax.Span, name string) {
	if fix := c.olderName(name); fix != "" {
		c.failf(at, codeName, fix, "\"%s\" is a name of an older version.", name)
	}
	if builtins().functions[name] != nil || len(c.mod.funcs[name]) > 0 {
		c.failf(at, codeName, "Call it: "+name+"(...).", "\"%s\" is a function, not a value.", name)
	}
	fix := c.nearest(name)
	if of, field, found := strings.Cut(name, "."); found && (of == "this" || of == "self") && c.fn.fn != nil && len(c.fn.fn.Params) > 0 {
		fix = "Did you mean \"" + c.fn.fn.Params[0].name + "." + field + "\"?" // a method names its object itself
	}
	c.fail(at, codeName, "Unknown name \""+name+"\".", fix)
}

// undeclared is the fix of a name that is not known and near to no other.
const undeclared = "Declare it before it is used."

// nearest suggests a name for one that is not known.
func (c *checker) nearest(name string) string {
	var known []string
	if !c.mayMean(name) {
		return undeclared
	}
	for s := c.scope; s != nil; s = s.parent {
		for n := range s.names {
			known = append(known, n)
		}
	}
	r := builtins()
	for n := range r.variables {
		known = append(known, n)
	}
	for n := range r.constants {
		known = append(known, n)
	}
	for n := range r.functions {
		known = append(known, n)
	}
	for n := range c.mod.funcs {
		known = append(known, n)
	}
	return c.didYouMean(name, known, undeclared)
}

// member checks x.name that is not called.
func (c *checker) member(x *syntax.Member) Expr {
	name, root, ok := dotted(x)
	if !ok {
		return c.field(x, c.expr(x.X))
	}
	if sym, found := c.lookup(root.Name); found {
		if sym.v == nil {
			panic(bail{})
		}
		if e := c.namedOver(x.Span, name, sym); e != nil {
			return e
		}
		return c.field(x, c.expr(x.X))
	}
	if e := c.moduleMember(x, name, root); e != nil {
		return e
	}
	if e := c.named(x.Span, name); e != nil {
		return e
	}
	if e := c.enumMember(x.Span, c.mod, name); e != nil {
		return e
	}
	if inner, isMember := x.X.(*syntax.Member); isMember && !builtins().spaces[name[:len(name)-len(x.Name.Name)-1]] {
		return c.field(x, c.member(inner))
	}
	c.unknown(x.Span, name)
	return nil
}

// namedOver returns a name of the language although a variable has the name of its
// namespace, if the variable's type has no fields.
func (c *checker) namedOver(at syntax.Span, name string, sym *symbol) Expr {
	if sym.v.Type.Kind == Object {
		return nil
	}
	return c.named(at, name)
}

func (c *checker) field(x *syntax.Member, on Expr) Expr {
	t := on.Type()
	if t.Kind != Object {
		c.failf(x.Name.Span, codeType, "Call a function of the type instead.", "A value of type %s has no field \"%s\".", t, x.Name.Name)
	}
	i := c.fieldOf(t, x.Name)
	return &Field{Typed{x.Span, t.Object.Fields[i].Type, SeriesQ}, on, i}
}

// enumMember finds Enum.member.
func (c *checker) enumMember(at syntax.Span, m *module, name string) Expr {
	for i := range name {
		if name[i] != '.' {
			continue
		}
		e := m.enums[name[:i]]
		if e == nil {
			return nil
		}
		for k, member := range e.Members {
			if member == name[i+1:] {
				return &Const{Typed: Typed{at, &Type{Kind: Enum, Enum: e}, ConstQ}, Num: float64(k), Str: e.Titles[k]}
			}
		}
		c.fail(at, codeName, "The enum "+e.Name+" has no member \""+name[i+1:]+"\".", c.didYouMean(name[i+1:], append([]string(nil), e.Members...), "Declare it in the enum."))
	}
	return nil
}

func (c *checker) unary(x *syntax.Unary) Expr {
	if x.Op == "not" {
		e := c.asBool(x.X.Where(), c.expr(x.X))
		t := Typed{x.Span, typeOf(Bool), e.Qual()}
		if k, ok := e.(*Const); ok {
			return foldUnary(Not, k, t)
		}
		return &Unary{t, Not, e}
	}
	e := c.number(x.X)
	if x.Op == "+" {
		return e
	}
	t := Typed{x.Span, e.Type(), e.Qual()}
	if k, ok := e.(*Const); ok {
		return foldUnary(Neg, k, t)
	}
	return &Unary{t, Neg, e}
}

func operator(op string) Op {
	for o, text := range opTexts() {
		if text == op {
			return Op(o)
		}
	}
	return None
}

// opTexts returns how operators are written, by Op.
func opTexts() [Not + 1]string {
	return [...]string{Add: "+", Sub: "-", Mul: "*", Div: "/", Mod: "%", Eq: "==", Ne: "!=", Lt: "<", Gt: ">", Le: "<=", Ge: ">=", And: "and", Or: "or", Not: ""}
}

func (c *checker) binaryExpr(x *syntax.Binary) Expr {
	var left, right Expr
	ok := guard(func() { left = c.expr(x.X) })
	ok = guard(func() { right = c.expr(x.Y) }) && ok
	if !ok {
		panic(bail{})
	}
	return c.binary(x.Span, operator(x.Op), left, right)
}

// binary checks an operator with checked sides.
func (c *checker) binary(at syntax.Span, op Op, x, y Expr) Expr {
	if op == And || op == Or {
		return c.logic(at, op, c.asBool(x.Where(), x), c.asBool(y.Where(), y))
	}
	t, ok := c.unify(x.Type(), y.Type())
	if ok && t.Kind == NA {
		t = typeOf(Float)
	}
	if ok && t.Kind == Bool && (x.Type().Kind == NA || y.Type().Kind == NA) && c.version >= 6 {
		ok = false
	}
	if !ok || !operandFits(op, t) {
		c.operands(at, op, x, y)
	}
	if op >= Eq && (isNA(x) || isNA(y)) {
		c.warn(at, codeNA, "A comparison with na is always false.", "Use na(x), or not na(x).")
	}
	x, y = c.cast(x, t), c.cast(y, t)
	r := Typed{at, t, joinQual(x, y)}
	if op >= Eq {
		r.T = typeOf(Bool)
	}
	if kx, ok := x.(*Const); ok {
		if ky, ok := y.(*Const); ok {
			if e := foldBinary(op, kx, ky, r, c.version); e != nil {
				return e
			}
		}
	}
	return &Binary{r, op, x, y}
}

func isNA(e Expr) bool {
	return e.Type().Kind == NA
}

// operandFits reports whether an operator takes operands of a type.
func operandFits(op Op, t *Type) bool {
	switch op {
	case Eq, Ne:
		return t.Kind != Void && t.Kind != TupleKind
	case Add:
		return t.Numeric() || t.Kind == String || t.Kind == Option && t.Name == "display"
	case Sub:
		return t.Numeric() || t.Kind == Option && t.Name == "display"
	default:
		return t.Numeric()
	}
}

func (c *checker) operands(at syntax.Span, op Op, x, y Expr) {
	fix := "Use operands of one type."
	a, b := x.Type(), y.Type()
	switch {
	case op == Add && a.Kind == String:
		c.wrap = wrapFor(y.Where(), b, a)
		fix = "Convert the other side with str.tostring()."
	case op == Add && b.Kind == String:
		c.wrap = wrapFor(x.Where(), a, b)
		fix = "Convert the other side with str.tostring()."
	case a.Kind == Bool || b.Kind == Bool:
		fix = "Use the condition itself, or cond ? 1 : 0 as a number."
	}
	c.failf(at, codeType, fix, "\"%s\" cannot take %s and %s.", opTexts()[op], a, b)
}

func (c *checker) logic(at syntax.Span, op Op, x, y Expr) Expr {
	t := Typed{at, typeOf(Bool), joinQual(x, y)}
	kx, okx := x.(*Const)
	ky, oky := y.(*Const)
	if okx && oky {
		yes := kx.Num != 0 && ky.Num != 0
		if op == Or {
			yes = kx.Num != 0 || ky.Num != 0
		}
		k := &Const{Typed: t}
		if yes {
			k.Num = 1
		}
		return k
	}
	return &Logic{t, op, x, y, c.version < 6}
}

func (c *checker) cond(x *syntax.Cond) Expr {
	var e, a, b Expr
	ok := guard(func() { e = c.condition(x.If) })
	ok = guard(func() { a = c.expr(x.Then) }) && ok
	ok = guard(func() { b = c.expr(x.Else) }) && ok
	if !ok {
		panic(bail{})
	}
	t, same := c.unify(a.Type(), b.Type())
	if !same && (lends(a.Type(), b.Type()) || lends(b.Type(), a.Type())) {
		t, same = &Type{Kind: a.Type().Kind, Elem: typeOf(Float)}, true
	}
	if !same || t.Kind == Void {
		c.failf(x.Span, codeType, "Give both sides one type.", "The sides of ?: are %s and %s.", a.Type(), b.Type())
	}
	for _, side := range []*Type{a.Type(), b.Type()} {
		if !c.fits(side, t) && !lends(side, t) {
			c.mismatch(x.Span, typeOf(NA), t)
		}
	}
	r := Typed{x.Span, t, joinQual(e, a, b)}
	if k, ok := e.(*Const); ok && a.Qual() == ConstQ && b.Qual() == ConstQ {
		if k.Num != 0 {
			return c.cast(a, t)
		}
		return c.cast(b, t)
	}
	return &Cond{r, e, c.cast(a, t), c.cast(b, t)}
}

func (c *checker) tuple(x *syntax.Tuple) Expr {
	out := &Tuple{Typed: Typed{x.Span, &Type{Kind: TupleKind}, ConstQ}}
	for _, e := range x.Elems {
		v := c.expr(e)
		if v.Type().Kind == Void || v.Type().Kind == TupleKind {
			c.failf(e.Where(), codeType, "Put one value here.", "A part of a tuple cannot be %s.", valueWords(v.Type()))
		}
		out.Elems, out.T.Tuple = append(out.Elems, v), append(out.T.Tuple, v.Type())
		out.Q = max(out.Q, v.Qual())
	}
	return out
}

// index checks x[k].
func (c *checker) index(x *syntax.Index) Expr {
	on := c.expr(x.X)
	k := c.number(x.Offset)
	t := on.Type()
	switch t.Kind {
	case Void, TupleKind, PlotRef, HLineRef:
		c.failf(x.Span, codeType, "Take the history of a single value.", "A value of type %s has no history.", t)
	case NA:
		return on
	default: // has a history
	}
	if k.Type().Kind == Float {
		k = wholeOf(k)
	}
	if c.version >= 6 {
		c.indexV6(x, on)
	}
	h := &History{Typed: Typed{x.Span, t, SeriesQ}, X: on, Offset: k, site: c.site(), Max: -1}
	if lit, ok := k.(*Const); ok && !lit.NA {
		h.Max = int(min(lit.Num, 1e6))
		if lit.Num < 0 {
			c.fail(x.Offset.Where(), codeArgument, "A history offset cannot be negative.", "Bars after this one are not known; use 0 or more.")
		}
	} else {
		c.markLength(k)
	}
	if r, ok := on.(*VarRef); ok {
		r.Var.History = max(r.Var.History, h.Max)
		r.Var.Dynamic = r.Var.Dynamic || h.Max < 0
	}
	return h
}

// wholeOf takes a float as an int: an offset is rounded towards 0.
func wholeOf(e Expr) Expr {
	if k, ok := e.(*Const); ok {
		out := *k
		out.T, out.Num = typeOf(Int), math.Trunc(k.Num)
		return &out
	}
	return &Cast{Typed{e.Where(), typeOf(Int), e.Qual()}, e}
}

// indexV6 refuses what version 6 no longer takes the history of.
func (c *checker) indexV6(x *syntax.Index, on Expr) {
	switch on.(type) {
	case *Const:
		if _, isName := x.X.(*syntax.Ident); !isName {
			c.fail(x.Span, codeType, "A literal has no history in version 6.", "Remove the offset.")
		}
	case *Field:
		c.fail(x.Span, codeType, "A field of an object has no history in version 6.", "Take the history of the object: (object[1]).field.")
	}
}

// markLength notes that inputs in an expression are lengths.
func (c *checker) markLength(e Expr) {
	switch e := e.(type) {
	case *InputRef:
		e.Input.Length = true
	case *VarRef:
		if in := c.inputOf[e.Var]; in != nil {
			in.Length = true
		}
	case *Binary:
		c.markLength(e.X)
		c.markLength(e.Y)
	case *Cast:
		c.markLength(e.X)
	}
}
