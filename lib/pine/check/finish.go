package check

import (
	"slices"

	"candela/lib/pine/syntax"
)

const maxInstances = 20_000

// finish computes what needs the whole program.
func (c *checker) finish() {
	if c.hasErrors() {
		return
	}
	memo := map[*Func]int{}
	n := countCalls(c.global.calls, memo) + c.global.sites
	c.prog.Instances = n
	if n > maxInstances {
		at := syntax.Span{From: syntax.Pos{Line: 1, Column: 1}, To: syntax.Pos{Line: 1, Column: 2}}
		c.note(at, codeCalls, "The tree of calls has more than 20,000 places with state.", "Call functions less often, or move calls out of functions.", Error)
		return
	}
	c.slice()
	c.conditional()
}

// countCalls counts the states of calls, at most a little over the limit.
func countCalls(calls []*Func, memo map[*Func]int) int {
	n := 0
	for _, f := range calls {
		k, ok := memo[f]
		if !ok {
			k = f.sites + countCalls(f.calls, memo)
			memo[f] = k
		}
		if n += k; n > 10*maxInstances {
			return n
		}
	}
	return n
}

// slice finds what each request depends on.
func (c *checker) slice() {
	for _, r := range c.prog.Requests {
		d := c.dependencies(r.Expr)
		r.Slice = d.slice(c.prog.Body)
		walkStmts(r.Stmts, nil, func(v *Var) { d.need[v] = true })
		for _, v := range c.global.vars {
			if d.need[v] {
				r.needs = append(r.needs, v)
			}
		}
		for _, f := range c.prog.Funcs {
			for _, v := range f.Vars {
				if d.need[v] {
					r.needs = append(r.needs, v)
				}
			}
		}
		if symbol, timeframe := r.Call.Args[0], r.Call.Args[1]; symbol.Qual() > SimpleQ || timeframe.Qual() > SimpleQ {
			r.Context = c.dependencies(symbol, timeframe).slice(c.prog.Body)
			c.timeframes(r, timeframe)
			c.symbols(r, symbol)
		}
	}
}

// dependencies are the variables that expressions depend on, and the statements that set
// them. A nil function is the global scope.
type dependencies struct {
	global  *Block
	need    map[*Var]bool
	stmts   map[*Func]map[int]bool
	setters map[*Func]map[*Var][]int
	callees map[*Func]bool // their bodies are looked through
	around  []*Func        // functions around the expressions whose variables are needed, inner ones first
	look    func(Expr)     // sees each expression, if it is set
}

func (c *checker) dependencies(of ...Expr) *dependencies {
	d := &dependencies{
		global: c.prog.Body, need: map[*Var]bool{}, stmts: map[*Func]map[int]bool{}, setters: map[*Func]map[*Var][]int{}, callees: map[*Func]bool{},
	}
	for _, e := range of {
		WalkExpr(e, d.visit, nil)
	}
	return d
}

func (d *dependencies) visit(e Expr) bool {
	if d.look != nil {
		d.look(e)
	}
	switch e := e.(type) {
	case *VarRef:
		d.add(e.Var)
	case *Call:
		if e.Func != nil && !d.callees[e.Func] {
			d.callees[e.Func] = true
			WalkBlock(e.Func.Body, d.visit, nil)
		}
	}
	return true
}

// add needs a variable with all that sets it.
func (d *dependencies) add(v *Var) {
	if d.need[v] {
		return
	}
	d.need[v] = true
	if v.Bound != nil {
		WalkExpr(v.Bound, d.visit, nil)
	}
	if v.Owner != nil && d.callees[v.Owner] {
		return
	}
	body := d.body(v.Owner)
	for _, i := range d.settersOf(v.Owner)[v] {
		if d.stmts[v.Owner] == nil {
			d.stmts[v.Owner] = map[int]bool{}
			if v.Owner != nil {
				d.around = append(d.around, v.Owner)
			}
		}
		if !d.stmts[v.Owner][i] {
			d.stmts[v.Owner][i] = true
			walkStmts(body.Stmts[i:i+1], d.visit, nil)
		}
	}
}

func (d *dependencies) body(f *Func) *Block {
	if f == nil {
		return d.global
	}
	return f.Body
}

// settersOf returns the statements of a body that set each of its variables, by number.
func (d *dependencies) settersOf(f *Func) map[*Var][]int {
	if all, ok := d.setters[f]; ok {
		return all
	}
	all := map[*Var][]int{}
	for i, s := range d.body(f).Stmts {
		walkStmts([]Stmt{s}, nil, func(v *Var) {
			if v.Owner == f {
				all[v] = append(all[v], i)
			}
		})
	}
	d.setters[f] = all
	return all
}

// slice returns the statements in order.
func (d *dependencies) slice(global *Block) Slice {
	chosen := func(f *Func, b *Block) (out []Stmt) {
		for i, s := range b.Stmts {
			if d.stmts[f][i] {
				out = append(out, s)
			}
		}
		return out
	}
	s := Slice{Stmts: chosen(nil, global)}
	for _, f := range slices.Backward(d.around) {
		s.Locals = append(s.Locals, Local{f, chosen(f, f.Body)})
	}
	return s
}
