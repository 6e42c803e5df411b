package eval

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"candela/lib/market"
	"candela/lib/pine/check"
)

// Frame names bars that a script requests besides those that it runs on.
type Frame struct {
	Symbol   string          // as the script writes it, such as BINANCE:ETHUSDT; empty for the chart's own
	Interval market.Interval // the chart's, a shorter one, or a longer one that the chart's does not divide
}

// Outside holds the bars of a frame in ascending order.
type Outside struct {
	Bars     *market.Bars
	Calendar market.Calendar
	Forming  bool // the last bar has not closed
}

// closed reports whether bar i has closed at a time.
func (o *Outside) closed(i int, interval market.Interval, at int64) bool {
	return (!o.Forming || i < o.Bars.Len()-1) && o.Calendar.CloseOf(interval, o.Bars.T[i]) <= at
}

// feed reads the bars of a frame along with those of the chart.
type feed struct {
	*Outside
	interval market.Interval
	at       *float64 // the next bar; a try undoes it
	lower    bool     // the interval is shorter than the chart's
	array    bool     // all values of a bar are wanted
	types    []*check.Type

	// Values of a shorter interval since the last bar of the chart that was kept. The child
	// keeps a bar once, even if a try has read it before.
	kept int // bars that the child has kept
	rows [][]outsideValue
	// The objects of rows. The heaps of both machines change between the bars.
	store heap
}

// outsideValue is a value of a child; a string is kept as its text, an object as its place in the store.
type outsideValue struct {
	num  float64
	text string
}

// outside returns the feed of a request for another symbol, or for an interval that is shorter or that lies apart.
func (c *compiler) outside(q *check.Request, call *check.Call, symbol string, f frame, apart bool) *feed {
	what := call.Builtin.Name + " of another symbol"
	if symbol == "" {
		what = call.Builtin.Name + " of a shorter interval"
	}
	s := &feed{interval: c.m.finest(), lower: q.Lower || f.seconds() < c.m.env.Interval.Seconds(), array: q.Lower}
	if apart {
		what, s.interval = call.Builtin.Name+" of an interval that the chart's does not divide", f.Interval
	}
	if s.lower {
		s.interval = f.Interval
		if !f.Valid() {
			c.unsupported(call.Where(), call.Builtin.Name+" of an interval that candela has no bars of")
		}
	}
	s.types = []*check.Type{q.Expr.Type()}
	if s.types[0].Kind == check.TupleKind {
		s.types = s.types[0].Tuple
	}
	if c.m.env.Outside == nil {
		c.m.fail(call.Where().From, CodeMissing, "%s cannot be had here: there are only the bars of the chart's own symbol and interval.", what)
	}
	got, err := c.m.env.Outside(Frame{Symbol: cmp.Or(symbol, c.m.symbol), Interval: s.interval})
	switch {
	case err != nil && isTrue(call.Arg("ignore_invalid_symbol")):
		got = nil
	case err != nil:
		c.m.fail(call.Where().From, CodeMissing, "%s: %s", strings.TrimSpace(call.Builtin.Name+" "+symbol), err.Error())
	}
	if s.Outside = got; got == nil {
		s.Outside = &Outside{Bars: new(market.MakeBars(0, false))}
	}
	s.at = c.m.keep.add(0)
	s.store.m = c.m
	return s
}

// finest is the interval of other symbols' bars: the chart's, also within a request of a longer one.
func (m *Machine) finest() market.Interval {
	if n := m.main.Seconds(); n > 0 && m.env.Interval.Seconds()%n == 0 {
		return m.main
	}
	return m.env.Interval
}

func isTrue(e check.Expr) bool {
	k, ok := e.(*check.Const)
	return ok && !k.NA && k.Num != 0
}

// symbolOf returns the symbol that syminfo has in a request.
func symbolOf(name string) Symbol {
	prefix, ticker, found := strings.Cut(name, ":")
	if !found {
		prefix, ticker = "", name
	}
	return Symbol{Ticker: ticker, Prefix: prefix, Tick: math.NaN()}
}

// stepOutside builds bars from those of another symbol, as far as they have closed with the
// bar of the chart.
func (r *request) stepOutside() {
	m, s := r.m, r.feed
	end, fresh := m.ends(), false
	for i := int(*s.at); i < s.Bars.Len() && s.closed(i, s.interval, end); i++ {
		bar := s.Bars.At(i)
		span := r.child.bucket(r.frame, bar.T)
		fresh = r.leave(span) || fresh
		r.merge(bar, span)
		if s.Calendar.CloseOf(s.interval, bar.T) >= span.Close {
			r.finish()
			*r.has, fresh = 0, true
		}
		*s.at++
	}
	if m.tried && !m.confirmed {
		r.mergeForming(end)
	}
	switch {
	case *r.has == 1 && (r.lookahead || m.tried && !m.confirmed):
		r.run(r.child.Try(r.bar(), m.newest, false))
		r.show(r.childValue)
	case r.gaps && !fresh:
		r.show(func(int) float64 { return math.NaN() })
	default:
		r.show(r.latestValue)
	}
}

// mergeForming adds the bar that forms along with the chart's.
func (r *request) mergeForming(end int64) {
	i := int(*r.feed.at)
	if i >= r.feed.Bars.Len() || r.feed.Bars.T[i] >= end {
		return
	}
	bar := r.feed.Bars.At(i)
	span := r.child.bucket(r.frame, bar.T)
	r.leave(span)
	r.merge(bar, span)
}

// leave finishes the bar that is being built if the next one belongs to another, and
// reports whether it did.
func (r *request) leave(next market.Span) bool {
	if *r.has == 0 || int64(*r.open) == next.Open {
		return false
	}
	r.finish()
	*r.has = 0
	return true
}

// stepLower runs the expression on the shorter bars inside the bar of the chart.
func (r *request) stepLower() {
	m, s := r.m, r.feed
	start, end := m.bar.T, m.ends()
	first := int(*s.at)
	base := s.kept - len(s.rows)
	var found [][]outsideValue
	i := first
	for ; i < s.Bars.Len() && s.closed(i, s.interval, end); i++ {
		if i >= s.kept {
			bar := r.smoothed.bar(s.Bars.At(i))
			r.run(r.child.Keep(bar))
			r.smoothed.keep(bar)
			s.rows, s.kept = append(s.rows, r.row()), i+1
		}
		if s.Bars.T[i] >= start {
			found = append(found, s.rows[i-base])
		}
	}
	*s.at = float64(i)
	stored := len(s.store.objects)
	if m.tried && !m.confirmed && i < s.Bars.Len() && s.Bars.T[i] < end {
		r.run(r.child.Try(r.smoothed.bar(s.Bars.At(i)), m.newest, false))
		found = append(found, r.row())
	}
	if !m.tried {
		s.rows, stored = s.rows[:0:0], 0
	}
	r.showLower(found)
	s.store.cut(stored)
}

// row returns the values of the child on its last bar.
func (r *request) row() []outsideValue {
	row := make([]outsideValue, len(r.out))
	for k, p := range r.out {
		row[k].num = *p
		if r.held[k].handle != nil {
			row[k].num = r.feed.store.adopt(&r.child.heap, *p)
		}
		if r.texts[k] && *p == *p {
			row[k].text = r.child.heap.text(*p)
		}
	}
	return row
}

// showLower puts the values of the bars inside in place: all of them, the last one, or with
// lookahead the first.
func (r *request) showLower(found [][]outsideValue) {
	value := func(k int, v outsideValue) float64 {
		if r.held[k].handle != nil {
			return r.m.heap.adopt(&r.feed.store, v.num)
		}
		if r.texts[k] && v.num == v.num {
			return r.m.heap.newText(v.text)
		}
		return v.num
	}
	if r.feed.array {
		for k, p := range r.values {
			list := make([]float64, len(found))
			for i, row := range found {
				list[i] = value(k, row[k])
			}
			r.m.spend(r.at, len(list))
			*p = r.m.heap.newArray(r.feed.types[k], list)
		}
		return
	}
	if len(found) == 0 {
		r.show(r.lastOfShorter)
		return
	}
	row := found[len(found)-1]
	if r.lookahead {
		row = found[0]
	}
	r.show(func(k int) float64 { return value(k, row[k]) })
	for k := range r.held {
		if h := r.held[k].handle; h != nil {
			*h = *r.values[k]
		}
	}
	if !r.m.tried {
		for k := range row {
			r.latest[k], r.strings[k] = row[k].num, row[k].text
		}
	}
}

// lastOfShorter is a value on a bar that has no bars of the shorter interval.
func (r *request) lastOfShorter(i int) float64 {
	switch {
	case r.gaps:
		return math.NaN()
	case r.held[i].handle != nil:
		return *r.held[i].handle
	}
	return r.latestValue(i)
}

// Frames returns the bars that a script requests besides those that it runs on, as far as
// they are known before its first bar.
func Frames(p *check.Program, env Env) []Frame {
	if len(p.Requests) == 0 {
		return nil
	}
	var all []Frame
	env.Account = nil
	env.Outside = func(f Frame) (*Outside, error) {
		if !slices.Contains(all, f) {
			all = append(all, f)
		}
		return nil, nil
	}
	if m, err := New(p, env); err == nil { // what cannot be compiled is an error when it runs
		m.Close()
	}
	return all
}
