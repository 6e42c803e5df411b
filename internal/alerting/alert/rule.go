package alert

import (
	"fmt"
	"math"
	"slices"

	"candela/lib/market"
	"candela/lib/ta"
)

// rule is a condition on closed bars that several alerts may share. It is evaluated once
// for each bar.
type rule struct {
	key    string // of the condition
	node   node
	longer []market.Interval // than the alert's, on whose bars members are
	tick   bool              // it is evaluated while a bar forms, too
	queue  *queue
	active int // alerts
}

// node is a condition that is ready to be evaluated.
type node struct {
	on          market.Interval // of the bars; 0 for those of the alert
	kind        Type            // Value, IndicatorSignal, NewHigh, NewLow, All or Any
	op          Op
	left, right term
	low, high   float64
	label       string // of a signal of left.group
	members     []node
}

// verdict is what a node says of a frame. A condition rises when it becomes true: events
// each time, comparisons after a bar at which they were false.
type verdict struct {
	holds, rises   bool
	value, against float64
}

// compile returns the node of a checked condition.
func (b *Index) compile(w *dependents, c *Condition) node {
	n := b.compileOn(scope{w, c.Interval}, c)
	n.on = c.Interval
	return n
}

// scope is where a condition finds its indicators: over the bars of the dependency, or over longer ones.
type scope struct {
	*dependents
	on market.Interval
}

func (b *Index) compileOn(w scope, c *Condition) node {
	switch c.Type {
	case PriceAbove, PriceBelow, PriceCrosses: // of the close, as a member
		op := GreaterEqual
		if c.Type == PriceBelow {
			op = LessEqual
		}
		return node{kind: Value, op: op, left: b.termOf(w, &Operand{Price: "close"}), right: term{number: toFloat(c.Threshold)}}
	case IndicatorSignal:
		s, _ := b.selectionOf(c.Indicator, c.Params) // it was found by check
		return node{kind: IndicatorSignal, left: term{group: w.group(s, w.on)}, label: c.Signal}
	case PercentChange:
		return node{kind: Value, op: c.Op, left: b.columnOf(w, "roc", fmt.Sprintf(`{"period":%d}`, c.Bars), "ROC"), right: term{number: toFloat(c.Threshold)}}
	case NewHigh, NewLow:
		line := "DC Upper"
		if c.Type == NewLow {
			line = "DC Lower"
		}
		return node{kind: c.Type, left: b.columnOf(w, "donchian", fmt.Sprintf(`{"period":%d}`, c.Bars), line)}
	case All, Any:
		n := node{kind: c.Type}
		for i := range c.Members {
			n.members = append(n.members, b.compile(w.dependents, &c.Members[i]))
		}
		return n
	default:
		return node{kind: Value, op: c.Op, left: b.termOf(w, &c.Left), right: b.termOf(w, &c.Right), low: toFloat(c.Low), high: toFloat(c.High)}
	}
}

// groups appends the indicators that the node needs, each once.
func (n *node) groups(dst []*indicatorGroup) []*indicatorGroup {
	for _, g := range []*indicatorGroup{n.left.group, n.right.group} {
		known := g == nil
		for _, o := range dst {
			known = known || o == g
		}
		if !known {
			dst = append(dst, g)
		}
	}
	for i := range n.members {
		dst = n.members[i].groups(dst)
	}
	return dst
}

// text returns what the scripts of the node's signals say at the frame, the first that says something.
func (n *node) text() string {
	if n.kind == IndicatorSignal {
		for _, s := range n.left.group.row.Signals {
			if s.Label == n.label {
				return s.Text
			}
		}
	}
	for i := range n.members {
		if text := n.members[i].text(); text != "" {
			return text
		}
	}
	return ""
}

// isAgain reports whether the node is a signal that counts each time while a bar forms.
func (n *node) isAgain() bool {
	return n.kind == IndicatorSignal && slices.ContainsFunc(n.left.group.row.Signals, func(s ta.Signal) bool { return s.Label == n.label && s.Again })
}

// evaluate says whether the condition is true at the frame. A value that is missing makes
// it false. On longer bars it is what the newest of them said when it closed, and rises there alone.
func (n *node) evaluate(f *frame) verdict {
	if n.on == 0 {
		return n.judge(f)
	}
	if f = f.longerBars(n.on); f == nil || f.bar.T == 0 {
		return verdict{value: math.NaN(), against: math.NaN()}
	}
	v := n.judge(f)
	v.rises = v.rises && !f.stale
	return v
}

func (n *node) judge(f *frame) verdict {
	switch n.kind {
	case IndicatorSignal:
		for _, s := range n.left.group.row.Signals {
			if s.Label == n.label {
				return verdict{true, true, s.Y, math.NaN()}
			}
		}
		return verdict{value: math.NaN(), against: math.NaN()}
	case NewHigh, NewLow:
		return n.extreme(f)
	case All:
		return n.all(f)
	case Any:
		return n.any(f)
	default:
		return n.compare(f)
	}
}

// extreme says whether the highest high of n bars rose, or the lowest low fell: only a new
// one moves it in that direction.
func (n *node) extreme(f *frame) verdict {
	now, before := n.left.at(f), n.left.before(f)
	came := now > before
	if n.kind == NewLow {
		came = now < before
	}
	return verdict{came, came, now, before}
}

func (n *node) compare(f *frame) verdict {
	return verdictOf(n, n.left.at(f), n.right.at(f), n.left.before(f), n.right.before(f))
}

// verdictOf compares the values of a bar, given those of the bar before.
func verdictOf(n *node, left, right, wasLeft, wasRight float64) verdict {
	v := verdict{value: left, against: right}
	if n.op.Ranged() {
		v.against = math.NaN()
	}
	switch n.op {
	case Less:
		v.holds, v.rises = left < right, !(wasLeft < wasRight)
	case LessEqual:
		v.holds, v.rises = left <= right, !(wasLeft <= wasRight)
	case Greater:
		v.holds, v.rises = left > right, !(wasLeft > wasRight)
	case GreaterEqual:
		v.holds, v.rises = left >= right, !(wasLeft >= wasRight)
	case CrossesAbove:
		v.holds, v.rises = wasLeft <= wasRight && left > right, true
	case CrossesBelow:
		v.holds, v.rises = wasLeft >= wasRight && left < right, true
	case Enters:
		v.holds, v.rises = n.outside(wasLeft) && n.inside(left), true
	case Leaves:
		v.holds, v.rises = n.inside(wasLeft) && n.outside(left), true
	}
	v.rises = v.rises && v.holds
	return v
}

func (n *node) inside(x float64) bool  { return x >= n.low && x <= n.high }
func (n *node) outside(x float64) bool { return x < n.low || x > n.high }

// all is true if every member is. It rises with any of them.
func (n *node) all(f *frame) verdict {
	v := verdict{holds: true, value: f.bar.C, against: math.NaN()}
	for i := range n.members {
		m := n.members[i].evaluate(f)
		v.holds = v.holds && m.holds
		v.rises = v.rises || m.rises
	}
	v.rises = v.rises && v.holds
	return v
}

// any is true if one member is. It rises with an event, and with a comparison if none was
// true at the bar before.
func (n *node) any(f *frame) verdict {
	v := verdict{value: f.bar.C, against: math.NaN()}
	event, held := false, false
	for i := range n.members {
		m, member := n.members[i].evaluate(f), &n.members[i]
		v.holds = v.holds || m.holds
		if member.kind != Value || member.op.Event() {
			event = event || m.rises
			continue
		}
		v.rises = v.rises || m.rises
		held = held || member.held(f)
	}
	v.rises = event || v.rises && !held
	return v
}

// held reports whether a comparison was true at the bar before.
func (n *node) held(f *frame) bool {
	if n.on != 0 {
		if f = f.longerBars(n.on); f == nil || f.bar.T == 0 {
			return false
		}
		if f.stale {
			return n.compare(f).holds
		}
	}
	was := node{kind: Value, op: n.op, left: term{number: n.left.before(f)}, right: term{number: n.right.before(f)}}
	return was.compare(f).holds
}
