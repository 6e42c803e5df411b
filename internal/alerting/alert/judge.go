package alert

import (
	"math"
	"time"

	"candela/lib/market"
	"candela/lib/ta"
)

// Truth is what a condition is at a bar, where a missing value is no answer. An alert takes it for a no.
type Truth uint8

// The values of a Truth.
const (
	Unknown Truth = iota
	False
	True
)

func truthOf(known, holds bool) Truth {
	switch {
	case !known:
		return Unknown
	case holds:
		return True
	}
	return False
}

// Finding is what a condition is at a bar, and by which values.
type Finding struct {
	Truth          Truth
	Value, Against float64       // NaN for none
	Lacks          *ta.Selection // whose value is missing; nil for none
	Parts          []Finding     // of All and Any, by member
}

// Scene is a closed bar at which a condition is judged.
type Scene struct {
	Bar, Prev market.Bar // Prev has T zero if there is no bar before
	Closed    time.Time
	Seen      int    // bars from which the indicators were computed, with this one
	Env       ta.Env // of the bars

	Longer map[market.Interval]int // Seen of longer bars
}

// Judge says what the condition is at a closed bar, with the longer bars of SetLonger. An indicator without a row for it lacks its value.
func (p *Probe) Judge(s *Scene) Finding {
	f := &frame{bar: s.Bar, prev: s.Prev, hasPrev: s.Prev.T != 0, stamp: milli(s.Closed), longer: p.frame.longer}
	return p.node.find(f, s)
}

func (n *node) find(f *frame, s *Scene) Finding {
	if n.kind == All || n.kind == Any {
		return n.findMembers(f, s)
	}
	if n.on != 0 {
		f = f.longerBars(n.on)
	}
	for _, g := range n.groups(nil) {
		if f == nil || g.stamp != f.stamp {
			return Finding{Value: math.NaN(), Against: math.NaN(), Lacks: g.selection}
		}
	}
	if f == nil || f.bar.T == 0 {
		return Finding{Value: math.NaN(), Against: math.NaN()}
	}
	said := n.judge(f)
	out := Finding{Value: said.value, Against: said.against}
	out.Lacks = n.lacks(f, s)
	out.Truth = truthOf(out.Lacks == nil && n.priced(f), said.holds)
	return out
}

// findMembers joins what the members are: All is false if one is, else unknown if one is; Any the reverse.
func (n *node) findMembers(f *frame, s *Scene) Finding {
	out := Finding{Truth: True, Value: math.NaN(), Against: math.NaN()}
	decides := False
	if n.kind == Any {
		out.Truth, decides = False, True
	}
	for i := range n.members {
		m := n.members[i].find(f, s)
		out.Parts = append(out.Parts, m)
		switch {
		case m.Truth == decides:
			out.Truth = decides
		case m.Truth == Unknown && out.Truth != decides:
			out.Truth = Unknown
		}
		if m.Truth == Unknown && out.Lacks == nil {
			out.Lacks = m.Lacks
		}
	}
	if out.Truth != Unknown {
		out.Lacks = nil
	}
	return out
}

// lacks returns the indicator whose value the node needs and does not have, nil for none.
func (n *node) lacks(f *frame, s *Scene) *ta.Selection {
	if n.kind == IndicatorSignal {
		env, seen := s.Env, s.Seen
		if n.on != 0 {
			env.Interval, seen = n.on, s.Longer[n.on]
		}
		if first, _ := n.left.group.selection.Warmup(env); seen <= first {
			return n.left.group.selection
		}
		return nil
	}
	for _, t := range []*term{&n.left, &n.right} {
		if t.group != nil && (math.IsNaN(t.at(f)) || n.looksBack() && math.IsNaN(t.before(f))) {
			return t.group.selection
		}
	}
	return nil
}

// priced reports whether the prices that the node needs are there.
func (n *node) priced(f *frame) bool {
	for _, t := range []*term{&n.left, &n.right} {
		if t.price > 0 && (math.IsNaN(t.at(f)) || n.looksBack() && math.IsNaN(t.before(f))) {
			return false
		}
	}
	return true
}

// looksBack reports whether the node compares the bar with the one before.
func (n *node) looksBack() bool {
	return n.kind == NewHigh || n.kind == NewLow || n.kind == Value && n.op.Event()
}

// Happens reports whether the condition is about an event at a bar, such as a cross or a signal, or has a member
// that is. A comparison may be true at many bars after another.
func (c *Condition) Happens() bool {
	for i := range c.Members {
		if c.Members[i].Happens() {
			return true
		}
	}
	switch c.Type {
	case IndicatorSignal, NewHigh, NewLow:
		return true
	case Value:
		return c.Op.Event()
	default:
		return false
	}
}

// Texts explains each member of a compound condition, as Describe does the alert.
func (c *Condition) Texts() []string {
	texts := make([]string, len(c.Members))
	for i := range c.Members {
		subject, verb := c.Members[i].phrase(false)
		texts[i] = subject + c.Members[i].on() + " " + verb
	}
	return texts
}
