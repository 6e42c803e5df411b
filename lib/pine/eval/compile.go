package eval

import (
	"math"

	"candela/lib/pine/check"
	"candela/lib/pine/syntax"
)

// The longest histories.
const (
	maxHistory      = 5_000
	maxPriceHistory = 10_000
)

// compiler turns a checked program into closures over a machine's memory.
type compiler struct {
	m       *Machine
	prog    *check.Program
	version int
	globals *instance
	scope   *instance // of the function that is compiled, or globals
	loops   int       // loops around the place that is compiled
	nodes   int       // expressions compiled so far, those of loops and functions left out
	slabbed int       // numbers of kernels that are counted as held
	count   int       // instances of functions so far
	library *table
	series  map[string]*ring    // history of built-in variables
	vars    map[string]*float64 // values of built-in variables with state
	inputs  []*float64
	texts   map[string]float64
	sealed  bool                      // the script is compiled
	request *check.Request            // whose expression is compiled, nil for the script
	depth   int                       // requests around it
	around  map[*check.Func]*instance // functions around its place whose variables it reads
	hoist   *hoister                  // nil where bars are not known before they run
}

// instance is one written call of a function with the places of its variables, or the
// global scope.
type instance struct {
	fn    *check.Func
	slots []*slot
}

// slot is the place of a variable.
type slot struct {
	p    *float64
	ring *ring    // nil if no history is read
	set  *float64 // of var and varip: whether it was set
	// ahead says that the place is set before the script runs on a bar.
	ahead bool
}

// program compiles the whole script.
func (c *compiler) program() {
	c.begin()
	m := c.m
	m.out = make([]Output, len(c.prog.Plots))
	m.outArgs = make([]map[string]num, len(c.prog.Plots))
	m.conds = make([]bool, len(c.prog.Conditions))
	for i := range m.out {
		m.out[i].clear()
	}
	c.hoist = c.newHoister()
	list := c.statements(c.prog.Body, nil)
	m.body = sequence(list)
	c.seal()
	m.base = int64(c.nodes/nodesAStep + len(m.rings)/8 + len(m.hoisted)/16)
	m.idle = c.hoist != nil && len(list)+len(m.everyBar)+len(m.hoisted)+len(m.rings)+len(m.conds) == 0
}

// begin prepares the machine for a script or for the expression of a request.
func (c *compiler) begin() {
	c.globals = &instance{slots: make([]*slot, len(c.prog.Vars))}
	c.scope = c.globals
	c.m.beginCompile()
	c.series, c.vars, c.texts = map[string]*ring{}, map[string]*float64{}, map[string]float64{}
	c.m.types = &typeTable{}
	c.noteTypes()
	for _, s := range []string{
		"", "bar_index", "price", "none", "style_solid", "style_label_down", "align_center", "family_default", "wrap_none",
	} {
		c.text(s)
	}
	c.makeInputs()
}

// seal ends the compilation: strings made from now on can be swept.
func (c *compiler) seal() {
	c.sealed = true
	c.m.heap.fixed = len(c.m.heap.objects)
}

// noteTypes lists the types of all variables.
func (c *compiler) noteTypes() {
	t := c.m.types
	for _, k := range []check.Kind{check.Int, check.Float, check.Bool, check.String, check.Color, check.Line, check.Label, check.Box, check.Table, check.Linefill, check.Polyline} {
		t.note(&check.Type{Kind: k})
	}
	t.note(check.PointType()) // points are made where no variable has their type
	for _, v := range c.prog.Vars {
		t.note(v.Type)
	}
	for _, f := range c.prog.Funcs {
		t.note(f.Result)
		for _, v := range f.Vars {
			t.note(v.Type)
		}
	}
}

// slotOf returns the place of a variable of the scope that is compiled.
func (c *compiler) slotOf(v *check.Var) *slot {
	in := c.scope
	if v.Owner == nil {
		in = c.globals
	} else if out := c.around[v.Owner]; out != nil {
		in = out
	}
	for len(in.slots) <= v.Place {
		in.slots = append(in.slots, nil)
	}
	if s := in.slots[v.Place]; s != nil {
		return s
	}
	s := &slot{}
	if v.Mode == syntax.Each {
		s.p = c.m.temp.add(math.NaN())
	} else {
		s.p, s.set = c.m.keep.add(math.NaN()), c.m.keep.add(0)
		if isHandle(v.Type) {
			c.m.heap.roots = append(c.m.heap.roots, s.p)
		} else if v.Mode == syntax.Varip {
			c.m.lasts = append(c.m.lasts, s.p, s.set)
		}
	}
	if v.History > 0 || v.Dynamic {
		s.ring = c.newRing(s.p, historyOf(v), v.Type)
	}
	in.slots[v.Place] = s
	return s
}

// historyOf returns how far back a variable is read.
func historyOf(v *check.Var) int {
	if v.Dynamic {
		return maxHistory
	}
	return v.History
}

func (c *compiler) newRing(now *float64, limit int, t *check.Type) *ring {
	r := newRing(now, limit, c.m.meter)
	r.handles = isHandle(t)
	c.m.rings = append(c.m.rings, r)
	return r
}

// text returns the handle of a constant string.
func (c *compiler) text(s string) float64 {
	if x, ok := c.texts[s]; ok {
		return x
	}
	x := c.m.heap.newText(s)
	if !c.sealed { // made later it may be swept
		c.texts[s] = x
	}
	return x
}

// block compiles a list of statements. The block's value goes to dst, if anything wants it.
func (c *compiler) block(b *check.Block, dst []*float64) stmt {
	return sequence(c.statements(b, dst))
}

func (c *compiler) statements(b *check.Block, dst []*float64) (list []stmt) {
	for _, s := range b.Stmts {
		if c.leavesNothing(s) {
			continue
		}
		if run := c.stmt(s); run != nil {
			list = append(list, run)
		}
	}
	if b.Value != nil {
		list = append(list, c.into(b.Value, dst))
	}
	return list
}

// leavesNothing reports whether a statement is a call of which nothing is left on a bar: the
// declaration of the script.
func (c *compiler) leavesNothing(s check.Stmt) bool {
	do, ok := s.(*check.Do)
	if !ok {
		return false
	}
	call, ok := do.X.(*check.Call)
	return ok && call.Builtin != nil && c.library.functions[call.Builtin.Name].gone
}

func sequence(list []stmt) stmt {
	switch len(list) {
	case 0:
		return func() signal { return next }
	case 1:
		return list[0]
	case 2:
		a, b := list[0], list[1]
		return func() signal {
			if s := a(); s != next {
				return s
			}
			return b()
		}
	}
	return func() signal {
		for _, s := range list {
			if g := s(); g != next {
				return g
			}
		}
		return next
	}
}

// stmt compiles a statement, nil if nothing is left to do for it on a bar.
func (c *compiler) stmt(s check.Stmt) stmt {
	c.m.place = s.Where().From
	c.node()
	switch s := s.(type) {
	case *check.Declare:
		return c.declare(s)
	case *check.DeclareTuple:
		return c.declareTuple(s)
	case *check.Assign:
		return c.assign(s)
	case *check.AssignField:
		return c.assignField(s)
	case *check.Do:
		if call, ok := s.X.(*check.Call); ok && call.Output >= 0 {
			if run, ok := c.plotted(call); ok {
				return run
			}
		}
		return c.into(s.X, nil)
	case *check.Break:
		return func() signal { return leave }
	case *check.Continue:
		return func() signal { return again }
	}
	c.unsupported(s.Where(), "this statement")
	return nil
}

func (c *compiler) declare(s *check.Declare) stmt {
	if c.adopt(s.Var, s.Init, 0) {
		return nil
	}
	to := c.slotOf(s.Var)
	init := c.into(s.Init, []*float64{to.p})
	if s.Var.Qual <= check.SimpleQ && !s.Var.Assigned && simpleType(s.Var.Type) {
		early(func() { init() })
	}
	if to.set != nil {
		set := to.set
		once := init
		init = func() signal {
			if *set == 0 {
				*set = 1
				return once()
			}
			return next
		}
	}
	return marked(init, to.ring)
}

// early computes a value that lengths and requests want before the first bar. A failure
// counts when the value is computed on a bar.
func early(run func()) {
	defer func() {
		if e := recover(); e != nil {
			if _, ok := e.(*Error); !ok {
				panic(e)
			}
		}
	}()
	run()
}

// marked notes in the history that its series was set on this bar.
func marked(run stmt, r *ring) stmt {
	if r == nil {
		return run
	}
	return func() signal {
		r.ran = true
		return run()
	}
}

func (c *compiler) declareTuple(s *check.DeclareTuple) stmt {
	dst := make([]*float64, len(s.Vars))
	var rings []*ring
	adopted := 0
	for i, v := range s.Vars {
		if v != nil && c.adopt(v, s.Init, i) {
			adopted++
		}
		if v == nil {
			dst[i] = c.m.temp.add(math.NaN())
			continue
		}
		to := c.slotOf(v)
		dst[i] = to.p
		if to.ring != nil {
			rings = append(rings, to.ring)
		}
	}
	if adopted > 0 && adopted == len(s.Vars) {
		return nil
	}
	run := c.into(s.Init, dst)
	for _, r := range rings {
		run = marked(run, r)
	}
	return run
}

func (c *compiler) assign(s *check.Assign) stmt {
	to := c.slotOf(s.Var)
	return c.into(s.Value, []*float64{to.p})
}

func (c *compiler) assignField(s *check.AssignField) stmt {
	x, value, at, field := c.num(s.X), c.num(s.Value), s.From, s.Field
	h := &c.m.heap
	if s.Op == check.None {
		return func() signal {
			handle, v := x(), value()
			h.change(at, handle, "object").n[field] = v
			return next
		}
	}
	t := s.X.Type().Object.Fields[field].Type
	if t.Kind == check.String {
		return func() signal {
			handle, v := x(), value()
			joined := h.joined(h.get(at, handle, "object").n[field], v)
			h.change(at, handle, "object").n[field] = joined
			return next
		}
	}
	f := arithmetic(s.Op)
	return func() signal {
		handle, v := x(), value()
		o := h.change(at, handle, "object")
		o.n[field] = f(o.n[field], v)
		return next
	}
}

// into compiles an expression whose value goes to dst: one place, several for a tuple, or
// none if only its effect counts.
func (c *compiler) into(e check.Expr, dst []*float64) stmt {
	c.node()
	switch e := e.(type) {
	case *check.If:
		return c.ifInto(e, dst)
	case *check.Switch:
		return c.switchInto(e, dst)
	case *check.For:
		return c.forInto(e, dst)
	case *check.ForIn:
		return c.forInInto(e, dst)
	case *check.While:
		return c.whileInto(e, dst)
	case *check.Tuple:
		return c.tupleInto(e, dst)
	case *check.Cond:
		if len(dst) > 1 {
			return c.condInto(e, dst)
		}
	case *check.Call:
		if e.Func != nil {
			return c.callInto(e, dst)
		}
		if len(dst) > 1 || e.Type() != nil && e.Type().Kind == check.TupleKind {
			return c.tupleCall(e, dst)
		}
	case *check.History:
		if len(dst) > 1 {
			return c.tupleHistory(e, dst)
		}
	case *check.Binary:
		if run := c.binaryInto(e, dst); run != nil {
			return run
		}
	}
	return store(c.num(e), c.address(e), dst)
}

// store runs f and puts its value into dst. from is the place of the value, if it has one.
func store(f num, from *float64, dst []*float64) stmt {
	if len(dst) == 0 {
		return func() signal {
			f()
			return next
		}
	}
	p := dst[0]
	if from != nil {
		return func() signal {
			*p = *from
			return next
		}
	}
	return func() signal {
		*p = f()
		return next
	}
}

// unsupported ends the compilation.
func (c *compiler) unsupported(at syntax.Span, what string) {
	c.m.fail(at.From, CodeMissing, "candela cannot run %s yet.", what)
}
