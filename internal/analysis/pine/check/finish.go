package check

import "candela/internal/analysis/pine/syntax"

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
}

// countCalls counts the states of calls, at most a little over the limit.
func countCalls(calls []*Func, memo map[*Func]int) int {
	n := 0
	for _, f := range calls {
		k, ok := memo[f]
		if !ok {
			k = f.Sites + countCalls(f.calls, memo)
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
	if len(c.prog.Requests) == 0 {
		return
	}
	setters := map[*Var][]int{}
	for i, s := range c.prog.Body.Stmts {
		WalkStmts([]Stmt{s}, func(Expr) bool { return true }, func(v *Var) {
			if v.Owner == nil {
				setters[v] = append(setters[v], i)
			}
		})
	}
	for _, r := range c.prog.Requests {
		c.sliceOne(r, setters)
	}
}

func (c *checker) sliceOne(r *Request, setters map[*Var][]int) {
	need, stmts := map[*Var]bool{}, map[int]bool{}
	funcs := map[*Func]bool{}
	var want func(e Expr) bool
	add := func(v *Var) {
		if need[v] {
			return
		}
		need[v] = true
		if v.Bound != nil {
			WalkExpr(v.Bound, want, nil)
		}
		for _, i := range setters[v] {
			if !stmts[i] {
				stmts[i] = true
				WalkStmts(c.prog.Body.Stmts[i:i+1], want, nil)
			}
		}
		if v.Owner != nil && !funcs[v.Owner] {
			funcs[v.Owner] = true
			WalkBlock(v.Owner.Body, want, nil)
		}
	}
	want = func(e Expr) bool {
		switch e := e.(type) {
		case *VarRef:
			add(e.Var)
		case *Call:
			if e.Func != nil && !funcs[e.Func] {
				funcs[e.Func] = true
				WalkBlock(e.Func.Body, want, nil)
			}
		}
		return true
	}
	WalkExpr(r.Expr, want, nil)
	for i, s := range c.prog.Body.Stmts {
		if stmts[i] {
			r.Stmts = append(r.Stmts, s)
			WalkStmts([]Stmt{s}, nil, func(v *Var) { need[v] = true })
		}
	}
	for _, v := range c.global.vars {
		if need[v] {
			r.Needs = append(r.Needs, v)
		}
	}
	for _, f := range c.prog.Funcs {
		for _, v := range f.Vars {
			if need[v] {
				r.Needs = append(r.Needs, v)
			}
		}
	}
}
