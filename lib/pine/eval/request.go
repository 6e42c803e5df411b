package eval

import (
	"cmp"
	"math"

	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/syntax"
)

// request is a request.security of a longer interval, another symbol or a shorter interval.
// It builds the longer bars from the chart's, or from bars of the other symbol as they
// close, or takes those of an interval that the chart's does not divide, and runs the expression on them with a machine of
// its own. So it never sees a price that the chart has not had.
type request struct {
	m         *Machine
	child     *Machine
	frame     frame
	gaps      bool
	lookahead bool
	smoothed  smoothed
	at        syntax.Pos
	feed      *feed // bars of another symbol or a shorter interval; nil for the chart's own

	// The bar that is being built lies in cells of the chart's machine, which a try undoes.
	has, open, close                    *float64
	first, high, low, last, volume, buy *float64

	out     []*float64 // the expression's values in the child
	texts   []bool     // values that are strings
	held    []heldCopy // copies of values that are collections or objects; those of other values are empty
	values  []*float64 // in the chart's machine
	latest  []float64  // of the last longer bar that was kept
	strings []string   // of the same
	keptAt  int64      // its open
	kept    bool
}

// security compiles request.security.
func (c *compiler) security(call *check.Call, dst []*float64) stmt {
	if call.Output < 0 || call.Output >= len(c.prog.Requests) {
		c.unsupported(call.Where(), call.Builtin.Name)
	}
	q := c.prog.Requests[call.Output]
	if q == c.request { // what the expression depends on contains the request itself
		return c.blankRequest(call.Type(), dst)
	}
	if c.depth >= maxDepth {
		c.unsupported(call.Where(), "requests within requests within requests")
	}
	symbols, timeframes := c.symbols(q, call), c.timeframes(q, call)
	if len(symbols) > 0 || len(timeframes) > 1 {
		return c.choice(q, call, symbols, timeframes, dst)
	}
	symbol, smooth := c.requestSymbol(q, call)
	f := c.requestFrame(q, call)
	if own := c.m.env.Interval; f.Interval == own && f.Valid() && !q.Lower && !smooth && symbol == "" {
		return c.steady(q, call, c.into(q.Expr, dst))
	}
	r := c.seriesOf(q, call, symbol, smooth, f)
	return c.steady(q, call, func() signal {
		for i, p := range dst {
			*p = *r.values[i]
		}
		return next
	})
}

// seriesOf makes the request of one symbol and timeframe.
func (c *compiler) seriesOf(q *check.Request, call *check.Call, symbol string, smooth bool, f frame) *request {
	own := c.m.env.Interval.Seconds()
	lower := q.Lower || f.seconds() < own
	apart := !lower && own > 0 && f.seconds()%own != 0 && f.seconds() < 604_800 // the chart's bars do not make up its bars
	if apart && !f.Valid() {
		c.unsupported(call.Where(), call.Builtin.Name+" of an interval that candela has no bars of")
	}
	var outside *feed
	if lower || apart || symbol != "" {
		outside = c.outside(q, call, symbol, f, apart)
	}
	r := c.newRequest(q, f, symbol, outside)
	r.smoothed.on = smooth
	return r
}

// newRequest makes the machine of a request.
func (c *compiler) newRequest(q *check.Request, f frame, symbol string, outside *feed) *request {
	parent := c.m
	env := parent.env
	env.Bars = nil
	env.Interval = f.Interval
	if outside != nil {
		env.Calendar = outside.Calendar
	}
	if symbol != "" {
		env.Symbol = symbolOf(symbol)
	}
	env.Limits.TotalSteps = 0
	child := newMachine(c.prog, env, parent.meter)
	child.inner, child.main, child.symbol = true, parent.main, cmp.Or(symbol, parent.symbol)
	child.venue, child.short = parent.venue, parent.short
	r := &request{m: parent, child: child, frame: f, gaps: q.Gaps, lookahead: q.Lookahead, at: q.Call.Where().From, feed: outside}
	types := []*check.Type{q.Expr.Type()}
	if types[0].Kind == check.TupleKind {
		types = types[0].Tuple
	}
	for _, t := range types {
		r.out = append(r.out, child.temp.add(math.NaN()))
		r.values = append(r.values, parent.temp.add(math.NaN()))
		r.texts = append(r.texts, isHandle(t) && !t.Reference())
		r.held = append(r.held, c.holdCopy(child, r.out[len(r.out)-1], t))
	}
	r.latest, r.strings = make([]float64, len(types)), make([]string, len(types))
	for i := range r.latest {
		r.latest[i] = math.NaN()
	}
	for _, p := range []**float64{&r.has, &r.open, &r.close, &r.first, &r.high, &r.low, &r.last, &r.volume, &r.buy} {
		*p = parent.keep.add(0)
	}
	d := c.inner(child, q)
	list := append(d.part(&q.Slice), d.into(q.Expr, r.out))
	child.body = sequence(list)
	d.seal()
	parent.requests = append(parent.requests, r)
	parent.everyBar = append(parent.everyBar, r.step)
	return r
}

// step takes a bar of the chart.
func (r *request) step() {
	switch {
	case r.feed != nil && r.feed.lower:
		r.stepLower()
		return
	case r.feed != nil:
		r.stepOutside()
		return
	}
	m := r.m
	span := m.bucket(r.frame, m.bar.T)
	r.leave(span) // its last bar is missing
	r.merge(m.bar, span)
	ends := m.ends() >= span.Close
	switch {
	case !m.tried && ends:
		r.finish()
		r.show(r.latestValue)
	case !m.tried && !r.lookahead, m.tried && m.confirmed && !ends && !r.lookahead:
		if r.gaps {
			r.show(func(int) float64 { return math.NaN() })
		} else {
			r.show(r.latestValue)
		}
	default:
		r.run(r.child.Try(r.bar(), m.newest, ends && m.confirmed))
		r.show(r.childValue)
	}
}

// merge adds a bar to the one that is being built.
func (r *request) merge(b market.Bar, span market.Span) {
	if *r.has == 0 {
		*r.has, *r.open, *r.close = 1, float64(span.Open), float64(span.Close)
		*r.first, *r.high, *r.low, *r.volume, *r.buy = b.O, b.H, b.L, 0, 0
	}
	*r.high, *r.low, *r.last = max(*r.high, b.H), min(*r.low, b.L), b.C
	*r.volume += b.V
	*r.buy += b.TakerBuy
}

func (r *request) bar() market.Bar {
	return r.smoothed.bar(market.Bar{T: int64(*r.open), O: *r.first, H: *r.high, L: *r.low, C: *r.last, V: *r.volume, TakerBuy: *r.buy})
}

// finish keeps the longer bar, once.
func (r *request) finish() {
	bar := r.bar()
	if r.kept && bar.T <= r.keptAt {
		return
	}
	r.run(r.child.Keep(bar))
	r.smoothed.keep(bar)
	r.kept, r.keptAt = true, bar.T
	for i, p := range r.out {
		r.latest[i] = *p
		if r.texts[i] {
			r.strings[i] = r.child.heap.text(*p)
		}
	}
}

// run hands on an error of the child and counts its steps.
func (r *request) run(err error) {
	r.m.left -= r.child.Steps()
	if err == nil {
		return
	}
	if e, ok := err.(*Error); ok { //nolint:errorlint // made by the child itself
		panic(e)
	}
	panic(&Error{Code: CodeRuntime, Message: err.Error(), Bar: r.m.index, Time: r.m.bar.T})
}

func (r *request) show(value func(i int) float64) {
	for i, p := range r.values {
		*p = value(i)
	}
}

func (r *request) latestValue(i int) float64 {
	if h := &r.held[i]; h.handle != nil {
		return r.latestCopy(h, r.latest[i])
	}
	if r.texts[i] && r.latest[i] == r.latest[i] {
		return r.m.heap.newText(r.strings[i])
	}
	return r.latest[i]
}

func (r *request) childValue(i int) float64 {
	v := *r.out[i]
	if r.held[i].handle != nil {
		return r.m.heap.adopt(&r.child.heap, v)
	}
	if r.texts[i] && v == v {
		return r.m.heap.newText(r.child.heap.text(v))
	}
	return v
}
