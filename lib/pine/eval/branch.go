package eval

import (
	"math"

	"candela/lib/pine/check"
)

// none is the value of a structure that gave none.
func (c *compiler) none(t *check.Type) float64 {
	if t != nil && t.Kind == check.Bool && c.version >= 6 {
		return 0
	}
	return math.NaN()
}

// blank sets dst to the value of a structure that gave none.
func (c *compiler) blank(t *check.Type, dst []*float64) stmt {
	values := make([]float64, len(dst))
	for i := range dst {
		member := t
		if t != nil && t.Kind == check.TupleKind && i < len(t.Tuple) {
			member = t.Tuple[i]
		}
		values[i] = c.none(member)
	}
	return func() signal {
		for i, p := range dst {
			*p = values[i]
		}
		return next
	}
}

// blankRequest gives what a request has in what it depends on itself: an empty array for one.
func (c *compiler) blankRequest(t *check.Type, dst []*float64) stmt {
	list := []stmt{c.blank(t, dst)}
	for i, p := range dst {
		member := t
		if t.Kind == check.TupleKind {
			member = t.Tuple[i]
		}
		if member.Kind == check.Array {
			m := c.m
			list = append(list, func() signal {
				*p = m.heap.newArray(member.Elem, nil)
				return next
			})
		}
	}
	return sequence(list)
}

// valued compiles a block that gives the structure's value, or none.
func (c *compiler) valued(b *check.Block, t *check.Type, dst []*float64) stmt {
	run := c.block(b, dst)
	if len(dst) == 0 || b.Value != nil {
		return run
	}
	return sequence([]stmt{c.blank(t, dst), run})
}

func (c *compiler) ifInto(e *check.If, dst []*float64) stmt {
	cond, then := c.cond(e.Cond), c.valued(e.Then, e.T, dst)
	if e.Else == nil {
		if len(dst) == 0 {
			return func() signal {
				if cond() {
					return then()
				}
				return next
			}
		}
		other := c.blank(e.T, dst)
		return func() signal {
			if cond() {
				return then()
			}
			return other()
		}
	}
	other := c.valued(e.Else, e.T, dst)
	return func() signal {
		if cond() {
			return then()
		}
		return other()
	}
}

func (c *compiler) switchInto(e *check.Switch, dst []*float64) stmt {
	var matches []func() bool
	var bodies []stmt
	other := c.blank(e.T, dst)
	subject := func() {}
	var value *float64
	if e.X != nil {
		x := c.num(e.X)
		value = c.m.temp.add(math.NaN())
		subject = func() { *value = x() }
	}
	for _, arm := range e.Cases {
		body := c.valued(arm.Body, e.T, dst)
		if arm.Match == nil {
			other = body
			continue
		}
		match := c.cond
		if e.X != nil {
			match = func(m check.Expr) func() bool {
				same, y := c.equal(e.X.Type()), c.num(m)
				return func() bool { return same(*value, y()) }
			}
		}
		matches, bodies = append(matches, match(arm.Match)), append(bodies, body)
	}
	return func() signal {
		subject()
		for i, match := range matches {
			if match() {
				return bodies[i]()
			}
		}
		return other()
	}
}

func (c *compiler) tupleInto(e *check.Tuple, dst []*float64) stmt {
	values := make([]num, len(e.Elems))
	hold := make([]float64, len(e.Elems))
	for i, x := range e.Elems {
		values[i] = c.num(x)
	}
	return func() signal {
		for i, f := range values {
			hold[i] = f()
		}
		for i, p := range dst {
			*p = hold[i]
		}
		return next
	}
}

func (c *compiler) condInto(e *check.Cond, dst []*float64) stmt {
	cond, then, other := c.cond(e.If), c.into(e.Then, dst), c.into(e.Else, dst)
	return func() signal {
		if cond() {
			return then()
		}
		return other()
	}
}

// tupleHistory is f()[1] of a tuple: each member has its own history.
func (c *compiler) tupleHistory(e *check.History, dst []*float64) stmt {
	members := make([]*float64, len(dst))
	rings := make([]*ring, len(dst))
	for i := range dst {
		members[i] = c.m.temp.add(math.NaN())
		rings[i] = c.newRing(members[i], c.historyLimit(e), e.T.Tuple[i])
	}
	run, offset, at := c.into(e.X, members), c.num(e.Offset), e.From
	return func() signal {
		run()
		k := offset()
		for i, r := range rings {
			r.ran = true
			*dst[i] = c.m.readBack(r, k, at)
		}
		return next
	}
}
