package convert

import (
	"strings"

	"candela/lib/pine/syntax"
)

// call converts a call and its arguments.
func (c *converter) call(x *syntax.Call) {
	name := dotted(x.Fun)
	if _, own := c.lookup(name + "()"); own || name == "" {
		c.arguments(x, name)
		return
	}
	if c.rewritten(x, name) {
		return
	}
	young := NewName(name)
	switch {
	case name == "color" && c.positional(x, 2):
		young = "color.new"
	case name == "tickerid":
		young = "ticker.new"
	case name == "study":
	case name == "security", name == "request.security":
		c.security(x)
	case !isFunction(young):
		young = ""
	}
	if young != "" {
		c.text.replace(x.Fun.Where(), young)
	}
	c.arguments(x, name)
}

// rewritten converts a call that is more than a name in version 5, and reports whether it did.
func (c *converter) rewritten(x *syntax.Call, name string) bool {
	switch {
	case name == "iff" && c.positional(x, 3):
		c.choice(x)
	case name == "offset" && c.positional(x, 2):
		c.offset(x)
	case name == "rsi" && c.positional(x, 2):
		return c.ratio(x)
	case name == "input":
		c.input(x)
	default:
		return false
	}
	return true
}

// isFunction reports whether a name of version 5 is a function.
func isFunction(young string) bool {
	for _, space := range []string{"ta.", "math.", "str.", "request.", "ticker."} {
		if strings.HasPrefix(young, space) {
			return true
		}
	}
	return false
}

// positional reports whether a call has so many arguments, all without names.
func (c *converter) positional(x *syntax.Call, n int) bool {
	for _, a := range x.Args {
		if a.Name != nil {
			return false
		}
	}
	return len(x.Args) == n
}

// choice writes iff(c, a, b) as (c ? a : b).
func (c *converter) choice(x *syntax.Call) {
	a := x.Args
	c.text.replace(syntax.Span{From: x.From, To: a[0].From}, "((")
	c.text.replace(syntax.Span{From: a[0].To, To: a[1].From}, ") ? (")
	c.text.replace(syntax.Span{From: a[1].To, To: a[2].From}, ") : (")
	c.text.replace(syntax.Span{From: a[2].To, To: x.To}, "))")
	for _, k := range a {
		c.expr(k.Value)
	}
}

// offset writes offset(x, n) as (x)[n].
func (c *converter) offset(x *syntax.Call) {
	a := x.Args
	c.text.replace(syntax.Span{From: x.From, To: a[0].From}, "(")
	c.text.replace(syntax.Span{From: a[0].To, To: a[1].From}, ")[")
	c.text.replace(syntax.Span{From: a[1].To, To: x.To}, "]")
	c.expr(a[0].Value)
	c.expr(a[1].Value)
}

// ratio writes rsi(rise, fall) of two series as its formula.
func (c *converter) ratio(x *syntax.Call) bool {
	a := x.Args
	if c.kindOf(a[1].Value) != number || c.isLength(a[1].Value) {
		return false
	}
	c.text.replace(syntax.Span{From: x.From, To: a[0].From}, "(100 - 100 / (1 + (")
	c.text.replace(syntax.Span{From: a[0].To, To: a[1].From}, ") / (")
	c.text.replace(syntax.Span{From: a[1].To, To: x.To}, ")))")
	c.expr(a[0].Value)
	c.expr(a[1].Value)
	return true
}

// isLength reports whether a number is an input or made of inputs, and so a length.
func (c *converter) isLength(x syntax.Expr) bool {
	id, ok := x.(*syntax.Ident)
	if !ok {
		return false
	}
	_, input := c.lookup(id.Name + "?")
	return input
}

// security writes the true and false of older versions as constants, and what versions 1 and
// 2 take without an argument.
func (c *converter) security(x *syntax.Call) {
	given := false
	for i, a := range x.Args {
		of := ""
		switch {
		case a.Name != nil:
			of = a.Name.Name
		case i == 3:
			of = "gaps"
		case i == 4:
			of = "lookahead"
		}
		given = given || of == "lookahead"
		if of != "gaps" && of != "lookahead" {
			continue
		}
		if state := mergeState(a.Value, of); state != "" {
			c.text.replace(a.Value.Where(), "barmerge."+of+state)
		}
	}
	if n := len(x.Args); !given && c.version < 3 && n > 0 {
		c.text.insert(x.Args[n-1].To, ", lookahead = barmerge.lookahead_on")
	}
}

// mergeState returns _on or _off for what older versions take as a bool, empty where version 5
// takes the same.
func mergeState(x syntax.Expr, of string) string {
	if b, ok := x.(*syntax.Bool); ok {
		if b.Value {
			return "_on"
		}
		return "_off"
	}
	name := dotted(x)
	if !strings.HasPrefix(name, "barmerge.") || strings.HasPrefix(name, "barmerge."+of) {
		return ""
	}
	return name[strings.LastIndexByte(name, '_'):]
}

// arguments converts the arguments of a call: their values, the names of parameters, and
// those that stand at another place in version 5.
func (c *converter) arguments(x *syntax.Call, name string) {
	order := parameters(name)
	if _, own := c.lookup(name + "()"); own {
		order = nil
	}
	faded := c.transparency(x, name, order)
	for i, a := range x.Args {
		of := ""
		switch {
		case a.Name != nil:
			of = a.Name.Name
			if young := newParameter(name, of); young != "" {
				c.text.replace(a.Name.Span, young)
				of = young
			}
		case i < len(order):
			of = order[i]
		}
		if of == "transp" && faded != nil || of == "linktoseries" {
			c.removeArgument(x, i)
			continue
		}
		if a.Name == nil && i < len(order) && moved(name, i) {
			c.text.insert(a.From, of+"=")
		}
		c.argumentValue(x, name, of, i)
	}
}

// argumentValue converts the value of one argument.
func (c *converter) argumentValue(x *syntax.Call, name, of string, i int) {
	a := x.Args[i]
	id, isName := a.Value.(*syntax.Ident)
	if of == "" && (name == "plot" && i == 4 || name == "hline" && i == 3) {
		of = "style"
	}
	if n, isNumber := a.Value.(*syntax.Number); isNumber && of == "style" && name == "plot" && n.Value >= 0 && int(n.Value) < len(plotStyles()) {
		c.text.replace(n.Span, "plot.style_"+plotStyles()[int(n.Value)])
		return
	}
	if isName && (of == "style" || of == "linestyle") {
		if style := styleOf(name, id.Name); style != "" {
			c.text.replace(id.Span, style)
			return
		}
	}
	switch {
	case of == "direction" && (name == "strategy.entry" || name == "strategy.order"):
		c.direction(a.Value)
	case of == "when", i == 1 && name == "strategy.close":
		c.operand(a.Value)
	default:
		c.expr(a.Value)
	}
}

// operand converts a part of a condition. The sides of orders are bools in older versions.
func (c *converter) operand(x syntax.Expr) {
	switch dotted(x) {
	case "strategy.long":
		c.text.replace(x.Where(), "true")
	case "strategy.short":
		c.text.replace(x.Where(), "false")
	default:
		c.expr(x)
	}
}

// direction writes a bool as a side.
func (c *converter) direction(x syntax.Expr) {
	b, isBool := x.(*syntax.Bool)
	n, isNumber := x.(*syntax.Number)
	switch {
	case isBool && b.Value, isNumber && n.Value != 0:
		c.text.replace(x.Where(), "strategy.long")
	case isBool, isNumber:
		c.text.replace(x.Where(), "strategy.short")
	case c.kindOf(x) == truth:
		c.text.insert(x.Where().From, "(")
		c.expr(x)
		c.text.insert(x.Where().To, ") ? strategy.long : strategy.short")
	default:
		c.expr(x)
	}
}

// moved reports whether the place of a positional argument means another parameter in
// version 5.
func moved(name string, i int) bool {
	from := map[string]int{
		"study": 6, "plot": 5, "plotshape": 5, "plotchar": 5, "plotarrow": 4, "bgcolor": 1, "fill": 3, "strategy.entry": 8, "strategy.order": 8, "strategy.exit": 13,
	}
	first, ok := from[name]
	return ok && i >= first
}

// transparency joins transp with the colour and returns it, nil if there is none.
func (c *converter) transparency(x *syntax.Call, name string, order []string) *syntax.Arg {
	if name != "bgcolor" && name != "fill" && !strings.HasPrefix(name, "plot") || order == nil {
		return nil
	}
	var tone, transp *syntax.Arg
	for i, a := range x.Args {
		of := ""
		if a.Name != nil {
			of = a.Name.Name
		} else if i < len(order) {
			of = order[i]
		}
		switch of {
		case "color":
			tone = a
		case "transp":
			transp = a
		}
	}
	degree := ""
	switch {
	case transp != nil:
		degree = c.text.of(transp.Value.Where())
		if id, ok := transp.Value.(*syntax.Ident); ok {
			degree = id.Name
		}
	case name == "bgcolor" || name == "fill":
		degree = "90" // what versions up to 4 take without the argument
	}
	if tone == nil || degree == "" || strings.Contains(c.text.of(tone.Value.Where()), "color.new(") && transp == nil || isNA(tone.Value) {
		return transp
	}
	c.text.insert(tone.Value.Where().From, "color.new(")
	c.text.insert(tone.Value.Where().To, ", "+degree+")")
	return transp
}

// removeArgument takes an argument out, with the comma before or after it.
func (c *converter) removeArgument(x *syntax.Call, i int) {
	switch {
	case i > 0:
		c.text.remove(x.Args[i-1].To, x.Args[i].To)
	case len(x.Args) > 1:
		c.text.remove(x.Args[0].From, x.Args[1].From)
	default:
		c.text.remove(x.Args[0].From, x.Args[0].To)
	}
}
