package eval

import (
	"math"

	"candela/lib/pine/check"
	"candela/lib/pine/syntax"
)

// tolerance is the absolute difference up to which two floats are equal.
const tolerance = 1e-10

// loopBody compiles the body of a loop, whose calls can run several times a bar, and counts
// its turns.
func (c *compiler) loopBody(b *check.Block, dst []*float64) stmt {
	run, at, turn := c.loopBlock(b, dst)
	m := c.m
	return func() signal {
		if m.left -= turn; m.left < 0 {
			m.pause(at)
		}
		return run()
	}
}

// loopBlock compiles the body of a loop that counts its turns itself. It says where the body
// is and how many steps a turn takes.
func (c *compiler) loopBlock(b *check.Block, dst []*float64) (run stmt, at syntax.Pos, turn int64) {
	c.loops++
	defer func() { c.loops-- }()
	before := c.nodes
	run = c.block(b, dst)
	turn = c.weight(before)
	if len(b.Stmts) > 0 {
		at = b.Stmts[0].Where().From
	} else if b.Value != nil {
		at = b.Value.Where().From
	}
	return run, at, turn
}

func (c *compiler) forInto(e *check.For, dst []*float64) stmt {
	counter := c.slotOf(e.Var)
	from, to := c.num(e.From), c.num(e.To)
	step := func() float64 { return 1 }
	if e.Step != nil {
		step = c.num(e.Step)
	}
	empty := c.blank(e.T, dst)
	block, inside, turn := c.loopBlock(e.Body, dst)
	body := marked(block, counter.ring)
	_, fixed := e.To.(*check.Const)
	m, at, p, every := c.m, e.From.Where().From, counter.p, e.Again && !fixed
	return func() signal {
		empty()
		i, end, by := from(), to(), step()
		if by <= 0 {
			m.fail(at, CodeRuntime, "The step of a for loop must be greater than 0 (got %v).", by)
		}
		if i != i || end != end || by != by {
			return next
		}
		up := i <= end
		for first := true; ; first = false {
			if every && !first {
				end = to()
			}
			if up {
				if !(i <= end+tolerance) {
					return next
				}
			} else if !(i >= end-tolerance) {
				return next
			}
			*p = i
			if m.left -= turn; m.left < 0 {
				m.pause(inside)
			}
			if body() == leave {
				return next
			}
			if up {
				i += by
			} else {
				i -= by
			}
		}
	}
}

func (c *compiler) whileInto(e *check.While, dst []*float64) stmt {
	empty := c.blank(e.T, dst)
	c.loops++
	before := c.nodes
	cond := c.cond(e.Cond)
	turn := c.weight(before)
	c.loops--
	body := c.loopBody(e.Body, dst)
	m, at := c.m, e.From
	return func() signal {
		empty()
		for cond() {
			if m.left -= turn; m.left < 0 {
				m.pause(at)
			}
			if body() == leave {
				break
			}
		}
		return next
	}
}

func (c *compiler) forInInto(e *check.ForIn, dst []*float64) stmt {
	x := c.num(e.X)
	value := c.slotOf(e.Value)
	var index *slot
	if e.Index != nil {
		index = c.slotOf(e.Index)
	}
	empty := c.blank(e.T, dst)
	body := marked(c.loopBody(e.Body, dst), value.ring)
	place := c.m.temp.add(math.NaN())
	if index != nil {
		place = index.p
		body = marked(body, index.ring)
	}
	walk := c.m.overArray
	switch e.X.Type().Kind {
	case check.Map:
		walk = c.m.overMap
		if index == nil { // only the values are named
			place = c.m.temp.add(math.NaN())
		}
	case check.Matrix:
		walk = c.m.overRows
	default: // an array
	}
	at := e.From
	return func() signal {
		empty()
		if handle := x(); handle == handle {
			walk(at, handle, place, value.p, body)
		}
		return next
	}
}

// overArray visits the elements, also those that the body adds.
func (m *Machine) overArray(_ syntax.Pos, handle float64, index, value *float64, body stmt) {
	for i := 0; i < m.heap.length(handle); i++ { //nolint:intrange // the body may change the length
		*index, *value = float64(i), m.heap.elements(handle)[i]
		if body() == leave {
			return
		}
	}
}

func (m *Machine) overMap(at syntax.Pos, handle float64, key, value *float64, body stmt) {
	size := len(m.heap.objects[int(handle)].keys)
	for i := range size {
		o := &m.heap.objects[int(handle)]
		if len(o.keys) != size {
			m.fail(at, CodeRuntime, "A map must not change its size while a loop visits it.")
		}
		*key, *value = o.keys[i], o.n[i]
		if body() == leave {
			return
		}
	}
}

func (m *Machine) overRows(at syntax.Pos, handle float64, index, value *float64, body stmt) {
	for i := 0; i < m.heap.objects[int(handle)].rows; i++ { //nolint:intrange // the body may change the rows
		o := &m.heap.objects[int(handle)]
		row := append([]float64(nil), o.n[i*o.cols:(i+1)*o.cols]...)
		m.spend(at, o.cols)
		*index, *value = float64(i), m.heap.newArray(o.elem, row)
		if body() == leave {
			return
		}
	}
}
