package check

import (
	"strings"

	"candela/lib/pine/syntax"
)

// call checks a call of a built-in, a user function or a method.
func (c *checker) call(x *syntax.Call) Expr {
	name, root, ok := dotted(x.Fun)
	if !ok {
		m, isMember := x.Fun.(*syntax.Member)
		if !isMember {
			c.fail(x.Fun.Where(), codeType, "Only a name can be called.", "Put the value into a variable.")
		}
		return c.method(x, m, c.expr(m.X))
	}
	if m, isMember := x.Fun.(*syntax.Member); isMember {
		return c.callMember(x, m, name, root)
	}
	if list := c.mod.funcs[name]; len(list) > 0 && c.declared1(list, x) {
		return c.callUser(x, list, c.arguments(x))
	}
	if sigs := builtins().functions[name]; sigs != nil {
		return c.callBuiltin(x, name, sigs, c.arguments(x))
	}
	c.arguments(x)
	c.unknownFunction(x, name)
	return nil
}

// declared1 reports whether one of the functions is declared before the call; libraries
// are whole when they are used.
func (c *checker) declared1(list []*function, x *syntax.Call) bool {
	if c.mod.name != "" || len(c.busy) > 0 {
		return true
	}
	for _, f := range list {
		if before(f.decl.From, x.From) {
			return true
		}
	}
	if builtins().functions[list[0].decl.Name.Name] != nil {
		return false
	}
	c.failf(x.Fun.Where(), codeName, "Move the function above this line.", "The function \"%s\" is used before it is declared.", list[0].decl.Name.Name)
	return false
}

func (c *checker) unknownFunction(x *syntax.Call, name string) {
	if fix := c.olderName(name); fix != "" {
		c.failf(x.Fun.Where(), codeName, fix, "\"%s\" is a function of an older version.", name)
	}
	if c.mod.types[name] != nil {
		c.failf(x.Fun.Where(), codeName, "Did you mean \""+name+".new\"?", "\"%s\" is a type, not a function.", name)
	}
	var known []string
	space, _, _ := strings.Cut(name, ".")
	for n := range builtins().functions {
		if c.mayMean(name) && (!strings.Contains(name, ".") || strings.HasPrefix(n, space+".")) {
			known = append(known, n)
		}
	}
	for n := range c.mod.funcs {
		known = append(known, n)
	}
	c.fail(x.Fun.Where(), codeName, "Unknown function \""+name+"\".", c.didYouMean(name, known, undeclared))
}

// arguments checks the arguments of a call. All are looked at, so that every error shows.
func (c *checker) arguments(x *syntax.Call) []argument {
	out := make([]argument, 0, len(x.Args)+1)
	ok := true
	for _, a := range x.Args {
		ok = guard(func() {
			out = append(out, argument{a.Name, c.expr(a.Value)})
		}) && ok
	}
	if !ok {
		panic(bail{})
	}
	return out
}

// callMember checks a call of a dotted name.
func (c *checker) callMember(x *syntax.Call, m *syntax.Member, name string, root *syntax.Ident) Expr {
	sigs := builtins().functions[name]
	if sym, found := c.lookup(root.Name); found {
		if sym.v == nil && sigs == nil {
			c.arguments(x)
			panic(bail{})
		}
		if sigs == nil || sym.v != nil && m.Name.Name != "new" && methodSpace(sym.v.Type) != root.Name+"." && (sym.v.Type.Kind == Object || methodSpace(sym.v.Type) != "") {
			return c.method(x, m, c.expr(m.X))
		}
		return c.namespaceOrMethod(x, m, name, sigs)
	}
	if lib := c.mod.imports[root.Name]; lib != nil && (sigs == nil || len(lib.funcs[m.Name.Name]) > 0) {
		if e := c.callLibrary(x, m, lib, strings.TrimPrefix(name, root.Name+".")); e != nil {
			return e
		}
		return c.method(x, m, c.expr(m.X))
	}
	if c.mod.failed[root.Name] && sigs == nil {
		c.arguments(x)
		panic(bail{})
	}
	if u := c.mod.types[root.Name]; u != nil && strings.Count(name, ".") == 1 {
		return c.callType(x, u, m.Name)
	}
	if sigs != nil {
		return c.callBuiltin(x, name, sigs, c.arguments(x))
	}
	prefix := name[:len(name)-len(m.Name.Name)-1]
	if c.isBuiltin(prefix) && builtins().functions[prefix] == nil || !builtins().spaces[prefix] && strings.Contains(prefix, ".") || builtins().variables[prefix] != nil {
		return c.method(x, m, c.expr(m.X))
	}
	c.arguments(x)
	c.unknownFunction(x, name)
	return nil
}

// namespaceOrMethod checks line.set_x1(...) where a variable is called line: the call of
// the namespace if its arguments fit, the method otherwise.
func (c *checker) namespaceOrMethod(x *syntax.Call, m *syntax.Member, name string, sigs []*Builtin) Expr {
	args := c.arguments(x)
	for _, s := range sigs {
		if _, r := c.match(x.Span, s, args, c.typeArgs(x)); r == nil {
			return c.callBuiltin(x, name, sigs, args)
		}
	}
	return c.method(x, m, c.expr(m.X))
}

func (c *checker) typeArgs(x *syntax.Call) []*Type {
	types := make([]*Type, len(x.Types))
	for i, t := range x.Types {
		types[i] = c.typeExpr(t)
	}
	return types
}

// callType checks T.new(...) and T.copy(x).
func (c *checker) callType(x *syntax.Call, u *userType, name *syntax.Ident) Expr {
	args := c.arguments(x)
	t := &Type{Kind: Object, Object: u.object}
	switch name.Name {
	case "new":
		return c.newObject(x, u, t, args)
	case "copy":
		if len(args) == 1 && args[0].value.Type().Same(t) {
			return &Copy{Typed{x.Span, t, SeriesQ}, args[0].value}
		}
		c.fail(x.Span, codeArgument, "copy takes one object of the type "+t.String()+".", "Write "+t.String()+".copy(object).")
	}
	c.failf(name.Span, codeName, "Use "+t.String()+".new() or "+t.String()+".copy().", "The type %s has no function \"%s\".", t, name.Name)
	return nil
}

func (c *checker) newObject(x *syntax.Call, u *userType, t *Type, args []argument) Expr {
	out := &New{Typed: Typed{x.Span, t, SeriesQ}, Fields: make([]Expr, len(u.object.Fields))}
	for i, a := range args {
		k := i
		if a.name != nil {
			k = c.fieldOf(t, a.name)
		}
		if k >= len(out.Fields) {
			c.failf(a.value.Where(), codeArgument, "Remove the arguments from here on.", "The type %s has %d fields.", t, len(out.Fields))
		}
		ft := u.object.Fields[k].Type
		if !c.fits(a.value.Type(), ft) {
			c.mismatch(a.value.Where(), a.value.Type(), ft)
		}
		out.Fields[k] = c.cast(a.value, ft)
	}
	for i, f := range u.object.Fields {
		if out.Fields[i] == nil {
			out.Fields[i] = c.fieldDefault(u, i, f)
		}
	}
	return out
}

// fieldDefault returns the default of a field: what is written, na or false.
func (c *checker) fieldDefault(u *userType, i int, f FieldType) Expr {
	d := u.decl.Fields[i]
	if d.Default == nil {
		return c.emptyValue(d.Span, f.Type)
	}
	var e Expr
	c.inside(u.mod, func() { e = c.expr(d.Default) })
	if !c.fits(e.Type(), f.Type) {
		c.mismatch(d.Default.Where(), e.Type(), f.Type)
	}
	return c.cast(e, f.Type)
}

// inside runs a step in the global scope of a module.
func (c *checker) inside(m *module, step func()) {
	mod, sc := c.mod, c.scope
	c.mod, c.scope = m, m.globals
	defer func() { c.mod, c.scope = mod, sc }()
	step()
}

// methodSpace returns the namespace whose functions are methods of a type.
func methodSpace(t *Type) string {
	switch t.Kind {
	case Array:
		return "array."
	case Matrix:
		return "matrix."
	case Map:
		return "map."
	case Line, Label, Box, Table, Linefill, Polyline:
		return t.String() + "."
	case Object:
		if t.Object == pointType().Object {
			return "chart.point."
		}
	default: // has no methods of the language
	}
	return ""
}

// method checks x.name(...) with a checked receiver.
func (c *checker) method(x *syntax.Call, m *syntax.Member, on Expr) Expr {
	args := append([]argument{{nil, on}}, c.arguments(x)...)
	t := on.Type()
	if list := c.methods(m.Name.Name, t); len(list) > 0 {
		return c.callUser(x, list, args)
	}
	if space := methodSpace(t); space != "" {
		if sigs := builtins().functions[space+m.Name.Name]; sigs != nil {
			return c.callBuiltin(x, space+m.Name.Name, sigs, args)
		}
	}
	if t.Kind == Object && m.Name.Name == "copy" && len(args) == 1 {
		return &Copy{Typed{x.Span, t, SeriesQ}, on}
	}
	c.noMethod(m.Name, t)
	return nil
}

func (c *checker) noMethod(name *syntax.Ident, t *Type) {
	var known []string
	if space := methodSpace(t); space != "" {
		for n := range builtins().functions {
			if rest, ok := strings.CutPrefix(n, space); ok {
				known = append(known, rest)
			}
		}
	}
	for n, list := range c.mod.funcs {
		if list[0].decl.Method {
			known = append(known, n)
		}
	}
	c.fail(name.Span, codeName, "A value of type "+t.String()+" has no method \""+name.Name+"\".", c.didYouMean(name.Name, known, "Declare it with \"method\"."))
}

// callBuiltin chooses the overload and checks a call of a built-in.
func (c *checker) callBuiltin(x *syntax.Call, name string, sigs []*Builtin, args []argument) Expr {
	if sigs[0].support == Refused {
		c.failf(x.Fun.Where(), codeUnsupported, "Remove the call, or use prices and volumes that candela has.", "%s is not available: %s.", name, sigs[0].reason)
	}
	types := c.typeArgs(x)
	var worst *refusal
	for _, s := range sigs {
		if s.minVersion > c.version || s.maxVersion > 0 && s.maxVersion < c.version {
			continue
		}
		m, r := c.match(x.Span, s, args, types)
		if r == nil {
			return c.built(x, m, sigs, types)
		}
		if worst == nil || r.score > worst.score {
			worst = r
		}
	}
	c.wrap = worst.wrap
	c.fail(worst.at, worst.code, worst.message, worst.fix)
	return nil
}

// built makes the call of a chosen signature.
func (c *checker) built(x *syntax.Call, m *matched, sigs []*Builtin, types []*Type) Expr {
	sig := m.sig
	if sig.global && (c.fn != c.global || c.fn.depth > 0) {
		c.failf(x.Span, codeScope, "Move it to the left edge; show or hide it by its value: "+sig.Name+"(condition ? value : na).", "%s stands only in the global scope.", sig.Name)
	}
	if sig.prepend != "" {
		m.args = append([]Expr{c.named(x.Span, sig.prepend)}, m.args...)
		sig = sigs[0]
	}
	if sig.form == olderOrder {
		m.args = c.reordered(m, sigs[0])
		sig = sigs[0]
	}
	call := &Call{Typed: Typed{x.Span, sig.result.of(m.vars), sig.resultQ}, Builtin: sig, Args: m.args, Rest: m.rest, Elems: types, Output: -1}
	if !sig.fixed {
		call.Q = max(joinQual(m.args...), joinQual(m.rest...))
	}
	if e := c.foldCall(call); e != nil {
		return e
	}
	c.lengths(call)
	if e := c.special(x, call); e != nil {
		return e
	}
	call.Site = c.site()
	return call
}

// olderOrder is the form of a signature with an older order of the parameters.
const olderOrder = "when"

// reordered puts arguments in the order of the main signature.
func (c *checker) reordered(m *matched, main *Builtin) []Expr {
	args := make([]Expr, len(main.Params))
	for i := range main.Params {
		p := &main.Params[i]
		for k := range m.sig.Params {
			if m.sig.Params[k].Name == p.Name {
				args[i] = m.args[k]
			}
		}
		if args[i] == nil && p.other != "" {
			args[i] = c.fallback(p)
		}
	}
	return args
}

// lengths marks inputs that reach a length.
func (c *checker) lengths(call *Call) {
	if !strings.HasPrefix(call.Builtin.Name, "ta.") && call.Builtin.Name != "math.sum" {
		return
	}
	for i, p := range call.Builtin.Params {
		if p.rule.typ != nil && p.rule.typ.Kind == Int && i < len(call.Args) && call.Args[i] != nil {
			c.markLength(call.Args[i])
		}
	}
}
