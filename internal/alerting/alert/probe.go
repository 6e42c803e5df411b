package alert

import (
	"iter"
	"slices"
	"time"

	"candela/lib/market"
	"candela/lib/ta"
)

// Probe evaluates a condition over past bars, without an alert. The engine uses it to say
// what is true before an alert is created.
type Probe struct {
	index *Index
	w     *dependents
	node  node
	frame frame // of At
}

// NewProbe returns a probe of the condition of a normalized alert on bars.
func NewProbe(l ta.Library, a *Alert) *Probe { return NewProbeOf(l, nil, a) }

// NewProbeOf is NewProbe with indicators of the library that were resolved before.
func NewProbeOf(l ta.Library, known *Selections, a *Alert) *Probe {
	b := NewIndexOf(l)
	b.shared = known
	w := &dependents{dependency: a.Dependency()}
	b.dependencies[w.dependency] = w
	p := &Probe{index: b, w: w, node: b.compile(w, &a.Condition)}
	for _, g := range w.groups {
		g.active = 1
	}
	return p
}

// Groups yields the indicators that the condition needs.
func (p *Probe) Groups() iter.Seq[Group] {
	return p.index.Groups(p.w.dependency)
}

// Signals reports whether the condition reads the signals of an indicator.
func (p *Probe) Signals(key string) bool { return p.node.signals(key) }

func (n *node) signals(key string) bool {
	if n.kind == IndicatorSignal {
		return n.left.group.key == key
	}
	return slices.ContainsFunc(n.members, func(m node) bool { return m.signals(key) })
}

// SetRow gives the values of an indicator at the bar that closes at a time.
func (p *Probe) SetRow(key string, row Row, closed time.Time) {
	p.index.SetRow(p.w.dependency, key, row, closed)
}

// Bind lets Verdict read the values of indicator i, in the order of Groups, from a row that its
// owner keeps up to date.
func (p *Probe) Bind(i int, row *Row) { p.w.groups[i].row = row }

// ReadsBars reports whether the condition reads anything of bars but what indicators say of them.
// Otherwise Verdict needs no At.
func (p *Probe) ReadsBars() bool {
	return len(p.node.members) > 0 || p.node.left.price > 0 || p.node.right.price > 0
}

// Verdict is what a probe says of a bar.
type Verdict struct {
	Holds   bool // the condition is true
	Rises   bool // it became true, so that a repeating alert would fire
	Value   float64
	Against float64
}

// Evaluate evaluates the condition at a closed bar. It reports false if an indicator has no
// row for it. prev has T zero if there is no bar before.
func (p *Probe) Evaluate(bar, prev market.Bar, closed time.Time) (Verdict, bool) {
	f := &frame{bar: bar, prev: prev, hasPrev: prev.T != 0, stamp: milli(closed), longer: p.frame.longer}
	if !known(p.w.groups, f) {
		return Verdict{}, false
	}
	v := p.node.evaluate(f)
	return Verdict{v.holds, v.rises, v.value, v.against}, true
}

// SetLonger gives the longer bars of the next Verdict or Evaluate.
func (p *Probe) SetLonger(bars []LongerBar) {
	p.frame.longer = p.frame.longer[:0]
	for i := range bars {
		p.frame.longer = append(p.frame.longer, bars[i].frame())
	}
}

// At gives the closed bar of the next Verdict and the one before, which has T zero if there is none.
func (p *Probe) At(bar, prev market.Bar) {
	p.frame.bar, p.frame.prev, p.frame.hasPrev = bar, prev, prev.T != 0
}

// Verdict evaluates the condition at the bar of the rows that were bound.
func (p *Probe) Verdict() Verdict {
	v := p.node.evaluate(&p.frame)
	return Verdict{v.holds, v.rises, v.value, v.against}
}
