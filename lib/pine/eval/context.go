package eval

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"candela/lib/market"
	"candela/lib/pine/check"
)

// maxDepth is how deep requests may stand in what other requests depend on.
const maxDepth = 4

// inner returns a compiler for the machine of a request.
func (c *compiler) inner(child *Machine, q *check.Request) *compiler {
	d := &compiler{m: child, prog: c.prog, version: c.version, request: q, depth: c.depth + 1, library: c.library}
	d.begin()
	return d
}

// part compiles the statements that a request depends on: those of the global scope, and
// those of functions around it with the arguments that they have there.
func (c *compiler) part(s *check.Slice) []stmt {
	var list []stmt
	for _, x := range s.Stmts {
		list = append(list, c.stmt(x))
	}
	for _, l := range s.Locals {
		in := &instance{fn: l.Func, slots: make([]*slot, len(l.Func.Vars))}
		var args []stmt
		for _, v := range l.Func.Params {
			if v.Bound == nil {
				continue
			}
			arg := c.num(v.Bound)
			outer := c.scope
			c.scope = in
			to := c.slotOf(v)
			c.scope = outer
			args = append(args, marked(store(arg, nil, []*float64{to.p}), to.ring))
			if v.Bound.Qual() <= check.SimpleQ && simpleType(v.Bound.Type()) {
				early(func() { *to.p = arg() })
			}
		}
		list = append(list, args...)
		if c.around == nil {
			c.around = map[*check.Func]*instance{}
		}
		c.around[l.Func], c.scope = in, in
		for _, x := range l.Stmts {
			list = append(list, c.stmt(x))
		}
	}
	return list
}

// requestFrame reads the timeframe of a request.
func (c *compiler) requestFrame(q *check.Request, call *check.Call) frame {
	text := q.Timeframe
	if !q.TimeframeKnown {
		text = c.contextText(q, call, "timeframe")
	}
	return c.m.interval(text)
}

// requestSymbol reads the symbol of a request, empty for the chart's own, and whether it
// wants Heikin-Ashi bars.
func (c *compiler) requestSymbol(q *check.Request, call *check.Call) (symbol string, smooth bool) {
	if q.SymbolKnown && q.Symbol == "" {
		return "", false
	}
	name := q.Symbol
	if !q.SymbolKnown {
		name = c.contextText(q, call, "symbol")
	}
	return c.ownSymbol(name)
}

// ownSymbol returns a symbol as the script writes it, empty for the chart's own, and whether
// it wants Heikin-Ashi bars.
func (c *compiler) ownSymbol(name string) (symbol string, smooth bool) {
	name, smooth = strings.CutPrefix(name, heikinAshi)
	name = cmp.Or(c.m.short[name], name)
	if s := &c.m.env.Symbol; name == s.Ticker || name == s.id() {
		name = ""
	}
	return name, smooth
}

// contextText returns a symbol or timeframe. One that may change from bar to bar is
// computed as on a first bar without prices: mostly it depends on inputs and the chart only.
func (c *compiler) contextText(q *check.Request, call *check.Call, name string) string {
	arg := call.Arg(name)
	if arg == nil {
		return ""
	}
	if arg.Qual() <= check.SimpleQ {
		return c.m.heap.text(c.num(arg)())
	}
	text, ok := c.firstText(q, arg)
	if most := map[string]int{"symbol": maxSymbols, "timeframe": maxTimeframes}[name]; !ok {
		c.m.fail(call.Where().From, CodeMissing, "The %s of %s is computed, and nothing that the script writes can be it. Write the %ss that it takes as constants or inputs, at most %d.", name, call.Builtin.Name, name, most)
	}
	return text
}

// firstText computes a string with a machine of its own.
func (c *compiler) firstText(q *check.Request, arg check.Expr) (text string, ok bool) {
	env := c.m.env
	env.Outside, env.Bars = nil, nil
	scratch := newMachine(c.prog, env, c.m.meter)
	scratch.inner, scratch.main, scratch.symbol = true, c.m.main, c.m.symbol
	scratch.venue, scratch.short = c.m.venue, c.m.short
	defer func() {
		if _, failed := recover().(*Error); failed {
			ok = false
		}
	}()
	d := c.inner(scratch, q)
	value := []*float64{scratch.temp.add(math.NaN())}
	list := append(d.part(&q.Context), d.into(arg, value))
	scratch.body = sequence(list)
	d.seal()
	none := math.NaN()
	if scratch.Keep(market.Bar{O: none, H: none, L: none, C: none, V: none, TakerBuy: none}) != nil || *value[0] != *value[0] {
		return "", false
	}
	return scratch.heap.text(*value[0]), true
}

// steady checks before a statement that the symbol and the timeframe of a request are still
// those that it was made with.
func (c *compiler) steady(q *check.Request, call *check.Call, run stmt) stmt {
	for _, name := range []string{"symbol", "timeframe"} {
		arg := call.Arg(name)
		if arg == nil || arg.Qual() <= check.SimpleQ {
			continue
		}
		was, now, after := c.contextText(q, call, name), c.num(arg), run
		among := fmt.Sprintf(", or at most %d timeframes and %d symbols that the script writes as constants or inputs", maxTimeframes, maxSymbols)
		run = func() signal {
			if x := now(); x == x && c.m.heap.text(x) != was {
				c.m.fail(call.Where().From, CodeMissing, "The %s of %s changes from %q to %q. candela reads one for each request%s; write one request for each.", name, call.Builtin.Name, was, c.m.heap.text(x), among)
			}
			return after()
		}
	}
	return run
}
