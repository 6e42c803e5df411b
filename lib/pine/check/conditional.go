package check

import "strings"

// conditional warns about functions that remember bars and that do not run on every bar:
// once for each function.
func (c *checker) conditional() {
	w := &conditionalCalls{warned: map[string]bool{}, warn: func(call *Call) {
		name := call.Builtin.Name
		c.warn(call.Span, codeConditional, name+" remembers only the bars on which it runs, and here it does not run on every bar.",
			"Call it outside of the condition, put its value into a variable, and use the variable here.")
	}}
	w.block(c.prog.Body, false)
	for _, f := range c.prog.Funcs {
		if f.name == "" || !strings.Contains(f.name, ".") { // not those of a library
			w.block(f.Body, false)
		}
	}
}

// conditionalCalls finds calls that run on some bars only.
type conditionalCalls struct {
	warned map[string]bool
	warn   func(*Call)
}

func (w *conditionalCalls) block(b *Block, sometimes bool) {
	if b == nil {
		return
	}
	WalkBlock(b, func(e Expr) bool { return w.expr(e, sometimes) }, nil)
}

// expr looks at an expression and goes on with what runs only sometimes below it. It
// reports whether the rest is to be walked.
func (w *conditionalCalls) expr(e Expr, sometimes bool) bool {
	walk := func(e Expr, sometimes bool) {
		if e != nil {
			WalkExpr(e, func(x Expr) bool { return w.expr(x, sometimes) }, nil)
		}
	}
	switch e := e.(type) {
	case *Call:
		if sometimes && e.Builtin != nil && remembers(e.Builtin.Name) && !w.warned[e.Builtin.Name] {
			w.warned[e.Builtin.Name] = true
			w.warn(e)
		}
		return true
	case *If:
		walk(e.Cond, sometimes)
		inner := sometimes || varies(e.Cond)
		w.block(e.Then, inner)
		w.block(e.Else, inner)
	case *Cond:
		walk(e.If, sometimes)
		inner := sometimes || varies(e.If)
		walk(e.Then, inner)
		walk(e.Else, inner)
	case *Logic:
		walk(e.X, sometimes)
		walk(e.Y, sometimes || !e.Both && varies(e.X))
	case *Switch:
		walk(e.X, sometimes)
		inner := sometimes || varies(e.X)
		for _, k := range e.Cases {
			walk(k.Match, inner)
			inner = inner || varies(k.Match)
			w.block(k.Body, inner)
		}
	default:
		return true
	}
	return false
}

// varies reports whether a condition may differ from bar to bar: one that depends on inputs
// alone runs the same side always.
func varies(e Expr) bool { return e != nil && e.Qual() > SimpleQ }

// remembers reports whether a function's value depends on the bars on which it ran before.
func remembers(name string) bool { return strings.HasPrefix(name, "ta.") || name == "math.sum" }
