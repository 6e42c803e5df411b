package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"candela/lib/pine/syntax"
)

// function is a declared function or method with the kinds of arguments it was checked for.
type function struct {
	decl      *syntax.FuncDecl
	mod       *module
	single    bool
	asked     bool // isSingle has been asked
	broken    bool // a single function that failed once
	instances map[string]*Func
}

const maxFuncs = 5000

// methods returns the methods of a name that take a receiver of type t: of the script and
// of what it imports.
func (c *checker) methods(name string, t *Type) []*function {
	var out []*function
	add := func(m *module) {
		for _, f := range m.funcs[name] {
			if f.decl.Method && len(f.decl.Params) > 0 && (m == c.mod || f.decl.Export) {
				var want *Type
				guard(func() { c.inside(m, func() { want = c.typeExpr(f.decl.Params[0].Type) }) })
				if want == nil || c.fits(t, want) || lends(t, want) {
					out = append(out, f)
				}
			}
		}
	}
	add(c.mod)
	for _, m := range c.mod.imports {
		add(m)
	}
	return out
}

// isSingle reports whether a function must be checked for each call on its own: it has an
// input, an output or a request, or calls a function that has.
func (c *checker) isSingle(f *function, path []*function) bool {
	if f.asked {
		return f.single
	}
	f.asked = true
	syntax.Walk(f.decl.Body.Stmts, func(x syntax.Expr) bool {
		call, ok := x.(*syntax.Call)
		if !ok || f.single {
			return !f.single
		}
		name, _, _ := dotted(call.Fun)
		if strings.HasPrefix(name, "request.") || name == "input" || strings.HasPrefix(name, "input.") {
			f.single = true
			return false
		}
		if m, isMember := call.Fun.(*syntax.Member); isMember {
			name = m.Name.Name
		}
		for _, m := range slices.AppendSeq([]*module{f.mod}, maps.Values(f.mod.imports)) {
			for _, callee := range m.funcs[name] {
				f.single = f.single || c.isSingle(callee, append(path, f))
			}
		}
		return !f.single
	})
	return f.single
}

// callUser chooses among functions of one name and checks the call.
func (c *checker) callUser(x *syntax.Call, list []*function, args []argument) Expr {
	var worst *refusal
	for _, f := range list {
		values, r := c.matchUser(x.Span, f, args)
		if r == nil {
			return c.userCall(x, f, values)
		}
		if worst == nil || r.score > worst.score {
			worst = r
		}
	}
	c.wrap = worst.wrap
	c.fail(worst.at, worst.code, worst.message, worst.fix)
	return nil
}

// matchUser puts arguments at the parameters of a user function.
func (c *checker) matchUser(at syntax.Span, f *function, args []argument) ([]Expr, *refusal) {
	params := f.decl.Params
	values := make([]Expr, len(params))
	name := f.decl.Name.Name
	for i, a := range args {
		k := i
		if a.name != nil {
			if k = userParam(params, a.name.Name); k < 0 {
				return nil, &refusal{a.name.Span, codeArgument, fmt.Sprintf("%s has no parameter \"%s\".", name, a.name.Name), "Use a parameter of the function.", i, nil}
			}
		}
		if k >= len(params) {
			return nil, &refusal{a.value.Where(), codeArgument, fmt.Sprintf("%s takes %s.", name, counted(len(params))), "Remove the arguments from here on.", i, nil}
		}
		values[k] = a.value
	}
	for i, p := range params {
		if r := c.userArg(at, f, p, &values[i], i); r != nil {
			return nil, r
		}
	}
	return values, nil
}

func userParam(params []*syntax.Param, name string) int {
	for i, p := range params {
		if p.Name.Name == name {
			return i
		}
	}
	return -1
}

// userArg fits one argument to a parameter, or fills in the default.
func (c *checker) userArg(at syntax.Span, f *function, p *syntax.Param, value *Expr, i int) *refusal {
	if *value == nil {
		if p.Default == nil {
			return &refusal{at, codeArgument, fmt.Sprintf("%s needs the argument \"%s\".", f.decl.Name.Name, p.Name.Name), "Add it.", i, nil}
		}
		c.inside(f.mod, func() { *value = c.expr(p.Default) })
	}
	a := *value
	var t *Type
	c.inside(f.mod, func() { t = c.typeExpr(p.Type) })
	if t == nil {
		t = a.Type()
		if t.Kind == NA {
			t = typeOf(Float)
		}
	}
	if t.Kind == Void || t.Kind == TupleKind || !c.fits(a.Type(), t) && !lends(a.Type(), t) {
		return &refusal{a.Where(), codeType, fmt.Sprintf("The argument \"%s\" of %s is %s; %s is wanted.", p.Name.Name, f.decl.Name.Name, a.Type(), t), "Use a value of that type.", i + 1, wrapFor(a.Where(), a.Type(), t)}
	}
	if p.Type != nil && p.Type.Qualifier != "" && !t.Reference() && t.Kind != String {
		want, _ := cutQualifier(p.Type.Qualifier + " ")
		if a.Qual() > want {
			return &refusal{a.Where(), codeQualifier, fmt.Sprintf("The argument \"%s\" of %s is %s; %s is wanted.", p.Name.Name, f.decl.Name.Name, a.Qual(), want), "Use a value that does not change from bar to bar.", i + 1, nil}
		}
	}
	*value = c.cast(a, t)
	return nil
}

// userCall makes the call, checking the function for these types if nothing has yet.
func (c *checker) userCall(x *syntax.Call, f *function, values []Expr) Expr {
	for _, b := range c.busy {
		if b == f {
			c.failf(x.Span, codeRecursion, "Write it as a loop.", "The function \"%s\" calls itself.", f.decl.Name.Name)
		}
	}
	if f.broken {
		panic(bail{}) // it has been reported
	}
	key := instanceKey(values)
	fn := f.instances[key]
	if fn == nil || f.single {
		fn = c.instantiate(f, values)
		f.instances[key] = fn
		f.broken = fn.failed && f.single
	}
	if fn.failed {
		panic(bail{})
	}
	c.fn.calls = append(c.fn.calls, fn)
	q := fn.qual
	return &Call{Typed: Typed{x.Span, fn.Result, q}, Func: fn, Args: values, Site: c.site(), Output: -1}
}

// instanceKey names the types and qualifiers of arguments.
func instanceKey(values []Expr) string {
	var b strings.Builder
	for _, v := range values {
		writeKey(&b, v.Type())
		fmt.Fprintf(&b, "%d,", max(v.Qual(), InputQ))
	}
	return b.String()
}

func writeKey(b *strings.Builder, t *Type) {
	fmt.Fprintf(b, "%d%s", t.Kind, t.Name)
	switch {
	case t.Object != nil:
		fmt.Fprintf(b, "%p", t.Object)
	case t.Enum != nil:
		fmt.Fprintf(b, "%p", t.Enum)
	}
	if t.Key != nil {
		writeKey(b, t.Key)
	}
	if t.Elem != nil {
		writeKey(b, t.Elem)
	}
}

// instantiate checks the body of a function for the types of its arguments.
func (c *checker) instantiate(f *function, values []Expr) *Func {
	if c.checked++; c.checked > maxFuncs {
		c.fail(f.decl.Name.Span, codeCalls, "The functions of the script are called in more than 5,000 ways.", "Call them less often.")
	}
	name := f.decl.Name.Name
	if f.mod.name != "" {
		name = f.mod.name + "." + name
	}
	fn := &Func{name: name, at: f.decl.Span, single: f.single}
	mod, sc, frm, loops, naming := c.mod, c.scope, c.fn, c.loops, c.naming
	c.mod, c.fn, c.loops, c.naming = f.mod, &frame{fn: fn}, 0, ""
	c.scope = &scope{parent: f.mod.globals, names: map[string]*symbol{}}
	c.busy = append(c.busy, f)
	ok := guard(func() { c.functionBody(f, fn, values) })
	fn.failed = !ok
	fn.Vars, fn.sites, fn.calls = c.fn.vars, c.fn.sites, c.fn.calls
	c.busy = c.busy[:len(c.busy)-1]
	c.mod, c.scope, c.fn, c.loops, c.naming = mod, sc, frm, loops, naming
	if ok {
		c.prog.Funcs = append(c.prog.Funcs, fn)
	}
	return fn
}

func (c *checker) functionBody(f *function, fn *Func, values []Expr) {
	for i, p := range f.decl.Params {
		v := c.declare(p.Name, values[i].Type(), max(values[i].Qual(), InputQ), syntax.Each)
		if f.single {
			v.Bound = values[i]
			if k, ok := values[i].(*Const); ok && !v.Assigned {
				c.scope.names[p.Name.Name].value = k
			}
		}
		if in := c.inputIn(values[i]); in != nil {
			c.inputOf[v] = in
		}
		fn.Params = append(fn.Params, v)
	}
	fn.Body = c.statements(f.decl.Body.Stmts, returned)
	fn.Result, fn.qual = typeOf(Void), SeriesQ
	if fn.Body.Value != nil {
		if fn.Body.Value.Type().Kind == NA {
			fn.Body.Value = c.cast(fn.Body.Value, typeOf(Float))
		}
		fn.Body.Value = c.namedTuple(fn.Body.Value)
		fn.Result, fn.qual = fn.Body.Value.Type(), fn.Body.Value.Qual()
	}
	if fn.qual < SeriesQ && hasEffect(fn.Body) {
		fn.qual = SeriesQ
	}
}

// hasEffect reports whether a body keeps a state, touches an object or calls something that
// depends on the bar. Such a function is run on bars only, even if its value never changes.
func hasEffect(b *Block) bool {
	found := false
	WalkBlock(b, func(e Expr) bool {
		call, isCall := e.(*Call)
		t := e.Type()
		if t != nil && t.Reference() || isCall && (call.Qual() == SeriesQ || t == nil || t.Kind == Void) {
			found = true
		}
		return !found
	}, func(v *Var) { found = found || v.Mode != syntax.Each })
	return found
}

// namedTuple gives members of a tuple that are na a type.
func (c *checker) namedTuple(e Expr) Expr {
	t := e.Type()
	if t.Kind != TupleKind {
		return e
	}
	out := &Type{Kind: TupleKind}
	for _, m := range t.Tuple {
		if m.Kind == NA {
			m = typeOf(Float)
		}
		out.Tuple = append(out.Tuple, m)
	}
	return c.cast(e, out)
}

// inputIn returns the input that an expression is.
func (c *checker) inputIn(e Expr) *Input {
	switch e := e.(type) {
	case *InputRef:
		return e.Input
	case *VarRef:
		return c.inputOf[e.Var]
	}
	return nil
}
