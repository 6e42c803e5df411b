package alert

import (
	"math"

	"candela/internal/analysis/indicator"
	"candela/internal/market"
)

// Columns are the rows of an indicator at many bars.
type Columns struct {
	Values, Prev [][]float64       // by column, then by bar
	Signals      map[string][]bool // by label, then by bar
}

// Verdicts says of each bar whether a condition holds and whether it rises there.
type Verdicts struct{ Holds, Rises []bool }

// Over evaluates the condition at all bars at once, with the verdicts of Evaluate at each. rows
// returns the columns of an indicator by its key.
func (p *Probe) Over(bars *market.Bars, rows func(key string) *Columns) Verdicts {
	c := &columnFrame{bars: bars, n: bars.Len(), rows: map[*indicatorGroup]*Columns{}}
	for _, g := range p.w.groups {
		c.rows[g] = rows(g.key)
	}
	return c.evaluate(&p.node)
}

// columnFrame is a frame of many bars.
type columnFrame struct {
	bars *market.Bars
	n    int
	rows map[*indicatorGroup]*Columns
}

// series is a value at each bar: a column, or the same number at all.
type series struct {
	values []float64 // nil for a number
	number float64
}

func (s *series) at(i int) float64 {
	if s.values == nil {
		return s.number
	}
	return s.values[i]
}

// of returns a term at each bar and at the bar before each.
func (c *columnFrame) of(t *term) (at, before series) {
	switch {
	case t.group != nil:
		rows := c.rows[t.group]
		return c.column(rows.Values, t.column), c.column(rows.Prev, t.column)
	case t.price > 0:
		values := c.prices(t.price)
		prev := make([]float64, c.n)
		copy(prev[min(1, c.n):], values)
		if c.n > 0 {
			prev[0] = math.NaN()
		}
		return series{values: values}, series{values: prev}
	}
	return series{number: t.number}, series{number: t.number}
}

func (c *columnFrame) column(columns [][]float64, i int) series {
	if i >= len(columns) {
		return series{number: math.NaN()}
	}
	return series{values: columns[i][:c.n]}
}

// prices returns a price of each bar by its number.
func (c *columnFrame) prices(n int) []float64 {
	switch name := Prices()[n-1]; name {
	case "open":
		return c.bars.O
	case "high":
		return c.bars.H
	case "low":
		return c.bars.L
	case "close":
		return c.bars.C
	case "volume":
		return c.bars.V
	default:
		price, out := indicator.Price(name), make([]float64, c.n)
		for i := range out {
			out[i] = price(c.bars.At(i))
		}
		return out
	}
}

func (c *columnFrame) evaluate(n *node) Verdicts {
	switch n.kind {
	case IndicatorSignal:
		came := c.rows[n.left.group].Signals[n.label]
		if came == nil {
			came = make([]bool, c.n)
		}
		return Verdicts{came[:c.n], came[:c.n]}
	case NewHigh, NewLow:
		now, before := c.of(&n.left)
		came := make([]bool, c.n)
		for i := range came {
			came[i] = n.kind == NewHigh && now.at(i) > before.at(i) || n.kind == NewLow && now.at(i) < before.at(i)
		}
		return Verdicts{came, came}
	case All, Any:
		return c.members(n)
	default:
		return c.compare(n)
	}
}

func (c *columnFrame) compare(n *node) Verdicts {
	left, wasLeft := c.of(&n.left)
	right, wasRight := c.of(&n.right)
	v := Verdicts{Holds: make([]bool, c.n), Rises: make([]bool, c.n)}
	if fast(n.op, left.values, right, v.Holds) && fast(n.op, wasLeft.values, wasRight, v.Rises) {
		for i, held := range v.Rises {
			v.Rises[i] = v.Holds[i] && !held
		}
		return v
	}
	one := node{kind: Value, op: n.op, low: n.low, high: n.high}
	for i := range c.n {
		was := verdictOf(&one, left.at(i), right.at(i), wasLeft.at(i), wasRight.at(i))
		v.Holds[i], v.Rises[i] = was.holds, was.rises
	}
	return v
}

// fast compares a column with a column or a number. It reports false for what it does not know.
func fast(op Op, left []float64, right series, to []bool) bool {
	if left == nil {
		return false
	}
	left = left[:len(to)]
	if right.values == nil {
		return fastNumber(op, left, right.number, to)
	}
	other := right.values[:len(to)]
	switch op {
	case Less:
		for i, x := range left {
			to[i] = x < other[i]
		}
	case LessEqual:
		for i, x := range left {
			to[i] = x <= other[i]
		}
	case Greater:
		for i, x := range left {
			to[i] = x > other[i]
		}
	case GreaterEqual:
		for i, x := range left {
			to[i] = x >= other[i]
		}
	default:
		return false
	}
	return true
}

func fastNumber(op Op, left []float64, y float64, to []bool) bool {
	switch op {
	case Less:
		for i, x := range left {
			to[i] = x < y
		}
	case LessEqual:
		for i, x := range left {
			to[i] = x <= y
		}
	case Greater:
		for i, x := range left {
			to[i] = x > y
		}
	case GreaterEqual:
		for i, x := range left {
			to[i] = x >= y
		}
	default:
		return false
	}
	return true
}

// members is all or any of the members, as in [node.all] and [node.any].
func (c *columnFrame) members(n *node) Verdicts {
	v := Verdicts{Holds: make([]bool, c.n), Rises: make([]bool, c.n)}
	event, held := make([]bool, c.n), make([]bool, c.n)
	for i := range v.Holds {
		v.Holds[i] = n.kind == All
	}
	for k := range n.members {
		member := &n.members[k]
		m := c.evaluate(member)
		if n.kind == All {
			for i := range v.Holds {
				v.Holds[i] = v.Holds[i] && m.Holds[i]
				v.Rises[i] = v.Rises[i] || m.Rises[i]
			}
			continue
		}
		comes := member.kind != Value || member.op.Event()
		var was []bool
		if !comes {
			was = c.held(member)
		}
		for i := range v.Holds {
			v.Holds[i] = v.Holds[i] || m.Holds[i]
			if comes {
				event[i] = event[i] || m.Holds[i]
				continue
			}
			v.Rises[i] = v.Rises[i] || m.Rises[i]
			held[i] = held[i] || was[i]
		}
	}
	for i := range v.Rises {
		if n.kind == All {
			v.Rises[i] = v.Rises[i] && v.Holds[i]
		} else {
			v.Rises[i] = event[i] || v.Rises[i] && !held[i]
		}
	}
	return v
}

// held reports at which bars a comparison was true at the bar before.
func (c *columnFrame) held(n *node) []bool {
	_, left := c.of(&n.left)
	_, right := c.of(&n.right)
	out := make([]bool, c.n)
	if fast(n.op, left.values, right, out) {
		return out
	}
	was := node{kind: Value, op: n.op}
	for i := range out {
		out[i] = verdictOf(&was, left.at(i), right.at(i), left.at(i), right.at(i)).holds
	}
	return out
}
