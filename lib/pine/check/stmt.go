package check

import "candela/lib/pine/syntax"

// stmt checks a statement.
func (c *checker) stmt(s syntax.Stmt) []Stmt {
	switch s := s.(type) {
	case *syntax.Decl:
		return c.decl(s)
	case *syntax.TupleDecl:
		return c.tupleDecl(s)
	case *syntax.Assign:
		return []Stmt{c.assign(s)}
	case *syntax.ExprStmt:
		if x := onceOf(s); x != nil {
			return c.once(s, x)
		}
		x := c.structure(s.X, unused)
		if x == nil {
			return nil
		}
		return []Stmt{&Do{s.Span, x}}
	case *syntax.Break, *syntax.Continue:
		return []Stmt{c.jump(s)}
	case *syntax.BadStmt:
		return nil
	}
	c.fail(s.Where(), codeScope, "Functions, types, enums and imports are declared in the global scope only.", "Move it to the left edge.")
	return nil
}

func (c *checker) jump(s syntax.Stmt) Stmt {
	if c.loops == 0 {
		c.fail(s.Where(), codeScope, "break and continue stand only in loops.", "Remove it.")
	}
	if _, ok := s.(*syntax.Break); ok {
		return &Break{s.Where()}
	}
	return &Continue{s.Where()}
}

// poison declares names whose declaration failed, so that their uses report nothing.
func (c *checker) poison(ids ...*syntax.Ident) {
	for _, id := range ids {
		if _, ok := c.scope.names[id.Name]; !ok {
			c.scope.names[id.Name] = &symbol{}
		}
	}
}

func (c *checker) decl(s *syntax.Decl) []Stmt {
	var out []Stmt
	if !guard(func() { out = c.declared(s) }) {
		c.poison(s.Name)
		panic(bail{})
	}
	return out
}

func (c *checker) declared(s *syntax.Decl) []Stmt {
	t := c.typeExpr(s.Type)
	c.naming = s.Name.Name
	x := c.structure(s.Value, needed)
	c.naming = ""
	if t == nil {
		t = x.Type()
	}
	x = c.emptied(x, t)
	c.declarable(s, x, t)
	x = c.cast(x, t)
	q := x.Qual()
	if s.Type != nil && s.Type.Qualifier == "series" {
		q = SeriesQ
	}
	c.shadowing(s.Name)
	v := c.declare(s.Name, t, q, s.Mode)
	if s.Mode == syntax.Varip {
		c.prog.Redraws |= RedrawRealtime
		c.warn(s.Span, codeRedraws, "varip acts as var: candela keeps no values from try to try of one bar, but numbers and booleans where calc_on_order_fills computes a bar again, and while a bar forms in an alert on ticks.", "Use var.")
	}
	if k, ok := x.(*Const); ok && !v.Assigned && !k.NA {
		c.scope.names[s.Name.Name].value = x
	}
	if r, ok := x.(*InputRef); ok {
		c.inputOf[v] = r.Input
	}
	if t.Kind == PlotRef || t.Kind == HLineRef {
		c.plotVars[v] = c.plotOf(x)
	}
	return []Stmt{&Declare{s.Span, v, x}}
}

// emptied gives array.from(na, ...) the type that a declaration writes.
func (c *checker) emptied(x Expr, t *Type) Expr {
	call, ok := x.(*Call)
	if !ok || t.Kind != Array || call.Builtin == nil || call.Builtin.Name != "array.from" || !c.fits(typeOf(NA), t.Elem) {
		return x
	}
	for _, e := range call.Rest {
		if k, ok := e.(*Const); !ok || !k.NA {
			return x
		}
	}
	for i, e := range call.Rest {
		call.Rest[i] = &Const{Typed: Typed{e.Where(), t.Elem, ConstQ}, NA: true}
	}
	call.T = t
	return call
}

func (c *checker) declarable(s *syntax.Decl, x Expr, t *Type) {
	name := s.Name.Name
	switch {
	case t.Kind == NA:
		c.fail(s.Value.Where(), codeType, "The type of \""+name+"\" is not known: na has none.", "Write the type before the name: float "+name+" = na.")
	case t.Kind == Void || t.Kind == TupleKind && s.Type == nil:
		fix := "Remove \"" + name + " =\"."
		if t.Kind == TupleKind {
			fix = "Declare a name for each value: [a, b] = ..."
		}
		c.failf(s.Value.Where(), codeType, fix, "This gives %s, which a variable cannot hold.", valueWords(t))
	case !c.fits(x.Type(), t):
		c.mismatch(s.Value.Where(), x.Type(), t)
	}
	if s.Type != nil && s.Type.Qualifier != "" && s.Type.Qualifier != "series" && !t.Reference() {
		want, _ := cutQualifier(s.Type.Qualifier + " ")
		if x.Qual() > want {
			c.failf(s.Value.Where(), codeQualifier, "Remove \""+s.Type.Qualifier+"\".", "The value is %s, not %s.", x.Qual(), want)
		}
	}
}

func valueWords(t *Type) string {
	if t.Kind == Void {
		return "no value"
	}
	return "several values"
}

// mismatch reports a value of a wrong type, with the fix if there is one.
func (c *checker) mismatch(at syntax.Span, have, want *Type) {
	fix := "Use a value of type " + want.String() + "."
	switch {
	case have.Kind == Float && want.Kind == Int:
		fix = "Convert it with int() or math.round(), or declare a float."
	case want.Kind == String:
		fix = "Convert it with str.tostring()."
	case want.Kind == Bool && have.Numeric():
		fix = "Compare it, for example with != 0, or convert it with bool()."
	case want.Kind == Bool && have.Kind == NA:
		fix = "Use false: in version 6 a bool is never na."
	case want.Kind == Array && have.Kind == Array:
		fix = "Make the array with array.new<" + want.Elem.String() + ">()."
	}
	c.wrap = wrapFor(at, have, want)
	c.failf(at, codeType, fix, "This is %s where %s is wanted.", have, want)
}

// shadowing warns about a local that hides a variable of the function or script, which is
// most often a := written as =.
func (c *checker) shadowing(id *syntax.Ident) {
	if c.fn.depth == 0 {
		return
	}
	for s := c.scope.parent; s != nil; s = s.parent {
		if sym, ok := s.names[id.Name]; ok && sym.v != nil && sym.v.Owner == c.fn.fn {
			c.warn(id.Span, codeShadow, "\"=\" declares a new \""+id.Name+"\" in this block; the outer one keeps its value.", "Write := to change the outer one, or use another name.")
			return
		}
	}
}

func (c *checker) tupleDecl(s *syntax.TupleDecl) []Stmt {
	var out []Stmt
	if !guard(func() { out = c.tupleDeclared(s) }) {
		c.poison(s.Names...)
		panic(bail{})
	}
	return out
}

func (c *checker) tupleDeclared(s *syntax.TupleDecl) []Stmt {
	x := c.structure(s.Value, needed)
	t := x.Type()
	if t.Kind != TupleKind || len(t.Tuple) != len(s.Names) {
		n := 1
		if t.Kind == TupleKind {
			n = len(t.Tuple)
		}
		c.failf(s.Value.Where(), codeType, "Write as many names as there are values.", "This gives %d values for %d names.", n, len(s.Names))
	}
	d := &DeclareTuple{Span: s.Span, Init: x}
	for i, id := range s.Names {
		if id.Name == "_" {
			d.Vars = append(d.Vars, nil)
			continue
		}
		mt := t.Tuple[i]
		if mt.Kind == NA {
			mt = typeOf(Float)
			nt := *t
			nt.Tuple = append([]*Type(nil), t.Tuple...)
			nt.Tuple[i] = mt
			t = &nt
			x = c.cast(x, t)
			d.Init = x
		}
		c.shadowing(id)
		d.Vars = append(d.Vars, c.declare(id, mt, x.Qual(), syntax.Each))
	}
	return []Stmt{d}
}

func (c *checker) assign(s *syntax.Assign) Stmt {
	switch target := s.Target.(type) {
	case *syntax.Ident:
		return c.assignVar(s, target)
	case *syntax.Member:
		return c.assignField(s, target)
	}
	c.fail(s.Target.Where(), codeAssign, "Only a variable or a field can be assigned.", "To set an element of an array, call array.set().")
	return nil
}

func (c *checker) assignVar(s *syntax.Assign, id *syntax.Ident) Stmt {
	sym, ok := c.lookup(id.Name)
	if !ok {
		fix := "Declare it before with " + id.Name + " = ..."
		if c.isBuiltin(id.Name) {
			fix = "Declare a variable of your own with another name."
		}
		c.failf(id.Span, codeName, fix, "\"%s\" is not declared, so it cannot be assigned.", id.Name)
	}
	if sym.v == nil {
		c.structure(s.Value, needed)
		panic(bail{})
	}
	v := sym.v
	if v.Owner != c.fn.fn {
		c.failf(id.Span, codeAssign, "Return the value from the function and assign it in the global scope.", "A function cannot assign \"%s\", a variable of the global scope.", id.Name)
	}
	x := c.structure(s.Value, needed)
	if s.Op != ":=" {
		x = c.binary(s.Span, compoundOp(s.Op), &VarRef{Typed{id.Span, v.Type, SeriesQ}, v}, x)
	}
	if !c.fits(x.Type(), v.Type) {
		if v.Type.Kind == Int && x.Type().Kind == Float {
			c.failf(s.Value.Where(), codeType, "Declare it as float: float "+id.Name+" = ...", "\"%s\" was declared as int and cannot take a float.", id.Name)
		}
		c.mismatch(s.Value.Where(), x.Type(), v.Type)
	}
	v.Assigned, v.Qual = true, SeriesQ
	return &Assign{s.Span, v, c.cast(x, v.Type)}
}

// compoundOp returns the operator of += and its like.
func compoundOp(op string) Op { return operator(op[:1]) }

func (c *checker) assignField(s *syntax.Assign, m *syntax.Member) Stmt {
	x := c.expr(m.X)
	t := x.Type()
	if t.Kind != Object {
		c.failf(m.X.Where(), codeAssign, "Use the functions of the type to change it.", "A value of type %s has no fields.", t)
	}
	i := c.fieldOf(t, m.Name)
	v := c.structure(s.Value, needed)
	ft := t.Object.Fields[i].Type
	op := None
	if s.Op != ":=" {
		op = compoundOp(s.Op)
		sum := c.binary(s.Span, op, &Field{Typed{m.Span, ft, SeriesQ}, x, i}, v)
		if !c.fits(sum.Type(), ft) {
			c.mismatch(s.Value.Where(), sum.Type(), ft)
		}
	}
	if !c.fits(v.Type(), ft) {
		c.mismatch(s.Value.Where(), v.Type(), ft)
	}
	return &AssignField{s.Span, x, i, op, c.cast(v, ft)}
}

func (c *checker) fieldOf(t *Type, name *syntax.Ident) int {
	i := t.Object.field(name.Name)
	if i < 0 {
		known := make([]string, len(t.Object.Fields))
		for k, f := range t.Object.Fields {
			known[k] = f.Name
		}
		c.fail(name.Span, codeName, "The type "+t.Object.Name+" has no field \""+name.Name+"\".", c.didYouMean(name.Name, known, "Declare the field in the type."))
	}
	return i
}
