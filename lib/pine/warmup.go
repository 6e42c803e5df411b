package pine

import (
	"math"
	"strings"

	"candela/lib/pine/check"
	"candela/lib/pine/eval"
	"candela/lib/pine/syntax"
	"candela/lib/ta"
)

// Bars to stability: of scripts that may never settle, because a variable lasts from bar to
// bar, and the least of all others.
const (
	stableState = 5000
	stablePlain = 1500
)

// Warmup returns the bars to stability.
func (s *instance) Warmup(ta.Env) (first, stable int) {
	return 0, s.program.stable(s.program.values(s.values))
}

// Stable returns after how many bars the values no longer depend on the first one, as far
// as that is known, with the inputs' defaults.
func (p *Program) Stable() int { return p.stable(nil) }

// Depth returns how many bars a strategy is computed over before it trades, with inputs as [Program.ReadInputs]
// returns them. Unlike Stable it does not ask for the most of every strategy.
func (p *Program) Depth(inputs []eval.Value) int { return p.depth(inputs) }

func (p *Program) stable(inputs []eval.Value) int {
	if p.Kind == check.Strategy {
		return stableState
	}
	return p.depth(inputs)
}

func (p *Program) depth(inputs []eval.Value) int {
	lasting := func(all []*check.Var) bool {
		for _, v := range all {
			if v.Mode != syntax.Each {
				return true
			}
		}
		return false
	}
	if lasting(p.Vars) || len(p.Requests) > 0 {
		return stableState
	}
	for _, f := range p.Funcs {
		if lasting(f.Vars) {
			return stableState
		}
	}
	r := reach{inputs: inputs, sets: map[*check.Var][]check.Expr{}, vars: map[*check.Var]int{}, funcs: map[*check.Func]int{}}
	for _, f := range p.Funcs {
		r.collect(f.Body)
	}
	r.collect(p.Body)
	return min(max(r.block(p.Body), stablePlain), stableState)
}

// reach adds the lengths of built-in functions along the flow of data.
type reach struct {
	inputs []eval.Value
	sets   map[*check.Var][]check.Expr // what each variable is set to
	vars   map[*check.Var]int          // bars that it depends on; -1 while that is computed
	funcs  map[*check.Func]int
}

// collect notes what the variables of a block and of those inside it are set to.
func (r *reach) collect(b *check.Block) {
	r.note(b)
	check.WalkBlock(b, func(e check.Expr) bool {
		switch e := e.(type) {
		case *check.If:
			r.note(e.Then)
			r.note(e.Else)
		case *check.Switch:
			for _, k := range e.Cases {
				r.note(k.Body)
			}
		case *check.For:
			r.note(e.Body)
		case *check.ForIn:
			r.note(e.Body)
		case *check.While:
			r.note(e.Body)
		}
		return true
	}, nil)
}

func (r *reach) note(b *check.Block) {
	if b == nil {
		return
	}
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *check.Declare:
			r.sets[s.Var] = append(r.sets[s.Var], s.Init)
		case *check.Assign:
			r.sets[s.Var] = append(r.sets[s.Var], s.Value)
		case *check.DeclareTuple:
			for _, v := range s.Vars {
				if v != nil {
					r.sets[v] = append(r.sets[v], s.Init)
				}
			}
		}
	}
}

// block returns the most bars that anything in a block depends on.
func (r *reach) block(b *check.Block) int {
	most := 0
	check.WalkBlock(b, func(e check.Expr) bool {
		most = max(most, r.expr(e))
		return false
	}, nil)
	return most
}

// expr returns how many bars an expression depends on.
func (r *reach) expr(e check.Expr) int {
	own := 0
	switch e := e.(type) {
	case *check.VarRef:
		return r.variable(e.Var)
	case *check.BuiltinVar:
		if strings.HasPrefix(e.Name, "ta.") && e.Name != "ta.tr" {
			return stablePlain
		}
	case *check.History:
		own = max(e.Max, 0)
	case *check.Call:
		own = r.call(e)
	}
	inner := 0
	check.WalkExpr(e, func(x check.Expr) bool {
		if x == e {
			return true
		}
		inner = max(inner, r.expr(x))
		return false
	}, nil)
	return min(own+inner, stableState)
}

// variable is what sets it. One that depends on itself may never settle.
func (r *reach) variable(v *check.Var) int {
	switch n, known := r.vars[v]; {
	case n < 0:
		return stableState
	case known:
		return n
	}
	r.vars[v] = -1
	most := 0
	for _, e := range r.sets[v] {
		if own, ok := e.(*check.VarRef); !ok || own.Var != v {
			most = max(most, r.expr(e))
		}
	}
	r.vars[v] = most
	return most
}

// call returns how many bars a call adds to those of its arguments.
func (r *reach) call(c *check.Call) int {
	if c.Func != nil {
		n, known := r.funcs[c.Func]
		if !known {
			n = r.block(c.Func.Body)
			r.funcs[c.Func] = n
		}
		return n
	}
	switch times := c.Builtin.Memory; {
	case math.IsInf(times, 1):
		return stablePlain
	case times > 0:
		return r.lengths(c, times)
	case strings.HasPrefix(c.Builtin.Name, "ta.") || c.Builtin.Name == "math.sum":
		return r.lengths(c, 1)
	}
	return 0
}

// lengths returns the sum of a call's lengths, each so many times. One that is not known
// counts as the least of all.
func (r *reach) lengths(c *check.Call, times float64) int {
	sum := 0.0
	for i, p := range c.Builtin.Params {
		if i >= len(c.Args) || c.Args[i] == nil || !isLength(p.Name) {
			continue
		}
		n, ok := r.number(c.Args[i])
		if !ok {
			return stablePlain
		}
		sum += float64(n*times) + 10
	}
	return int(min(max(sum, 0), stableState))
}

// isLength reports whether a parameter of a function of ta is a number of bars.
func isLength(name string) bool {
	return strings.Contains(name, "len") || strings.Contains(name, "Len") || strings.HasSuffix(name, "bars") || strings.HasSuffix(name, "Period") || name == "adxSmoothing"
}

// number computes a number that is known before the first bar; ok is false for what it does
// not understand.
func (r *reach) number(e check.Expr) (x float64, ok bool) {
	switch e := e.(type) {
	case *check.Const:
		return e.Num, !e.NA
	case *check.InputRef:
		if i := e.Input.Index; i < len(r.inputs) && r.inputs[i].Set {
			return r.inputs[i].Num, true
		}
		return e.Input.Default.Num, !e.Input.Default.NA && e.Input.Kind != "source"
	case *check.Cast:
		return r.number(e.X)
	case *check.VarRef:
		if all := r.sets[e.Var]; len(all) == 1 {
			return r.number(all[0])
		}
		if e.Var.Bound != nil {
			return r.number(e.Var.Bound)
		}
	case *check.Binary:
		a, known := r.number(e.X)
		b, all := r.number(e.Y)
		if !known || !all {
			return 0, false
		}
		switch e.Op {
		case check.Add:
			return a + b, true
		case check.Sub:
			return a - b, true
		case check.Mul:
			return float64(a * b), true
		case check.Div:
			return a / b, b != 0
		default:
		}
	}
	return 0, false
}
