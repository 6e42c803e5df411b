package check

import (
	"slices"
	"strconv"
	"strings"

	"candela/lib/pine/syntax"
)

// special handles built-ins that are more than a call; nil means that the call stays.
func (c *checker) special(x *syntax.Call, call *Call) Expr {
	name := call.Builtin.Name
	switch name {
	case "indicator", "strategy", "library":
		c.declaration(x, call)
	case "int", "float", "bool", "string", "color", "line", "label", "box", "table", "linefill", "polyline":
		return c.explicitCast(call)
	case "plot", "plotshape", "plotchar", "plotarrow", "plotcandle", "plotbar", "hline", "fill", "bgcolor", "barcolor":
		c.output(call)
	case "alertcondition":
		call.Output = len(c.prog.Conditions)
		c.prog.Conditions = append(c.prog.Conditions, &Condition{call.Output, textOf(call.Arg("title")), textOf(call.Arg("message")), call})
	case "alert":
		c.prog.Alerts = append(c.prog.Alerts, call)
	case "request.security", "request.security_lower_tf":
		c.requested(x, call)
	case "max_bars_back":
		c.maxBarsBack(call)
	case "array.sort", "array.sort_indices", "matrix.sort", "array.binary_search", "array.binary_search_leftmost", "array.binary_search_rightmost":
		c.sortField(call)
	default:
		if name == "input" || strings.HasPrefix(name, "input.") {
			return c.input(x, call)
		}
		if strings.HasPrefix(name, "strategy.") && c.prog.Declaration != nil && c.prog.Kind == Indicator {
			c.failf(x.Span, codeDeclaration, "Declare a strategy() instead of an indicator().", "%s works in strategies only.", name)
		}
	}
	return nil
}

// textOf returns a constant string, empty for anything else.
func textOf(e Expr) string {
	if k, ok := e.(*Const); ok && !k.NA {
		return k.Str
	}
	return ""
}

func numberOf(e Expr) (float64, bool) {
	k, ok := e.(*Const)
	if !ok || k.NA {
		return 0, false
	}
	return k.Num, true
}

func (c *checker) declaration(x *syntax.Call, call *Call) {
	p := c.prog
	if c.mod.name != "" {
		return
	}
	if p.Declaration != nil {
		c.fail(x.Span, codeDeclaration, "The script is declared twice.", "Remove one of the declarations.")
	}
	p.Declaration = call
	p.Kind = map[string]ScriptKind{"indicator": Indicator, "strategy": Strategy, "library": Library}[call.Builtin.Name]
	p.Title, p.ShortTitle = textOf(call.Arg("title")), textOf(call.Arg("shorttitle"))
	if n, ok := numberOf(call.Arg("overlay")); ok {
		p.Overlay = n != 0
	}
	for name, to := range map[string]*int{"max_lines_count": &p.MaxLines, "max_labels_count": &p.MaxLabels, "max_boxes_count": &p.MaxBoxes, "max_polylines_count": &p.MaxPolylines} {
		if n, ok := numberOf(call.Arg(name)); ok {
			*to = int(min(max(n, 1), 500))
		}
	}
}

// explicitCast checks int(x), float(x), line(na) and so on.
func (c *checker) explicitCast(call *Call) Expr {
	x, t := call.Args[0], call.Builtin.result.of(nil)
	if x.Type().Same(t) {
		return x
	}
	if k, ok := x.(*Const); ok {
		if t.Kind == Int && !k.NA {
			out := *k
			out.T, out.Num = t, float64(int64(k.Num))
			return &out
		}
		if t.Kind == Bool && k.NA {
			return c.emptyValue(call.Span, t)
		}
		if k.NA || t.Numeric() || t.Kind == Bool && k.T.Numeric() {
			return castConst(k, t)
		}
	}
	if x.Type().Numeric() && (t.Numeric() || t.Kind == Bool) {
		return &Cast{Typed{call.Span, t, x.Qual()}, x}
	}
	c.mismatch(call.Span, x.Type(), t)
	return nil
}

// maxBarsBack notes how far back a variable is read.
func (c *checker) maxBarsBack(call *Call) {
	if r, ok := call.Args[0].(*VarRef); ok {
		if n, ok := numberOf(call.Args[1]); ok {
			r.Var.History = max(r.Var.History, int(min(n, 5000)))
		}
	}
}

const maxPlots = 64

// output lists a plot.
func (c *checker) output(call *Call) {
	p := &Plot{Index: len(c.prog.Plots), Kind: call.Builtin.Name, Title: textOf(call.Arg("title")), Call: call, A: -1, B: -1}
	call.Output = p.Index
	counted := 0
	for _, o := range c.prog.Plots {
		if o.Kind != "hline" && o.Kind != "fill" {
			counted++
		}
	}
	if p.Kind != "hline" && p.Kind != "fill" && counted >= maxPlots {
		c.fail(call.Span, codePlots, "The script has more than 64 plots.", "Remove some.")
	}
	if p.Kind == "fill" {
		p.A, p.B = c.plotOf(call.Args[0]), c.plotOf(call.Args[1])
		if p.A < 0 || p.B < 0 {
			c.fail(call.Span, codeArgument, "fill needs two plots that are known when compiling.", "Give it the variables that hold the plots.")
		}
	}
	if call.T.Kind == PlotRef || call.T.Kind == HLineRef {
		call.Q = ConstQ
	}
	c.prog.Plots = append(c.prog.Plots, p)
}

// plotOf returns the index of a plot that an expression names, -1 if it is not known.
func (c *checker) plotOf(e Expr) int {
	switch e := e.(type) {
	case *Call:
		return e.Output
	case *VarRef:
		if n, ok := c.plotVars[e.Var]; ok {
			return n
		}
	}
	return -1
}

// maxRequests is what the largest plan of TradingView allows.
const maxRequests = 64

// requested lists a request of another context.
func (c *checker) requested(x *syntax.Call, call *Call) {
	r := &Request{index: len(c.prog.Requests), Call: call, Lower: call.Builtin.Name == "request.security_lower_tf", Expr: call.Args[2]}
	call.Output = r.index
	r.Symbol, r.SymbolKnown = contextText(call.Args[0], "syminfo.tickerid", "syminfo.ticker")
	r.Timeframe, r.TimeframeKnown = contextText(call.Args[1], "timeframe.period", "timeframe.main_period")
	r.Gaps = textOf(call.Arg("gaps")) == "gaps_on"
	r.Lookahead = textOf(call.Arg("lookahead")) == "lookahead_on"
	if r.Lookahead && !readsPast(r.Expr) {
		c.prog.Redraws |= RedrawFuture
		c.warn(x.Span, codeRedraws, "lookahead_on without [1] shows values before they are known; candela shows the bar as built so far.", "Request the expression with [1], or use lookahead_off.")
	}
	t := r.Expr.Type()
	if r.Lower && t.Kind == TupleKind {
		call.T = &Type{Kind: TupleKind}
		for _, m := range t.Tuple {
			call.T.Tuple = append(call.T.Tuple, &Type{Kind: Array, Elem: m})
		}
	}
	if c.prog.Requests = append(c.prog.Requests, r); len(c.prog.Requests) > maxRequests {
		c.fail(x.Span, codeRequests, "The script has more than 64 requests.", "Request several values at once, as a tuple.")
	}
}

// contextText returns a symbol or timeframe that is known when compiling.
func contextText(e Expr, own ...string) (string, bool) {
	switch e := e.(type) {
	case *Const:
		return e.Str, !e.NA
	case *BuiltinVar:
		return "", slices.Contains(own, e.Name)
	}
	return "", false
}

// readsPast reports whether an expression is a past value.
func readsPast(e Expr) bool {
	switch e := e.(type) {
	case *History:
		return e.Max != 0
	case *Tuple:
		for _, m := range e.Elems {
			if !readsPast(m) {
				return false
			}
		}
		return true
	}
	return false
}

// input lists an input and returns the value that stands for it.
func (c *checker) input(x *syntax.Call, call *Call) Expr {
	kind := strings.TrimPrefix(call.Builtin.Name, "input.")
	def := call.Args[0]
	if kind == "input" {
		kind = inputKind(def)
	}
	in := &Input{Index: len(c.prog.Inputs), at: x.Span, Kind: kind, Type: def.Type(), Title: textOf(call.Arg("title")), Tooltip: textOf(call.Arg("tooltip"))}
	if call.Builtin.result.typ != nil {
		in.Type = call.Builtin.result.typ
	}
	in.Name = c.inputName()
	q := InputQ
	if kind == "source" {
		in.Type, q = typeOf(Float), SeriesQ
		in.DefaultSource = "close"
		if v, ok := def.(*BuiltinVar); ok {
			in.DefaultSource = v.Name
		}
	} else {
		k, ok := c.cast(def, in.Type).(*Const)
		if !ok {
			c.fail(def.Where(), codeQualifier, "The default of an input must be a literal.", "Write the value itself.")
		}
		in.Default = *k
	}
	c.inputBounds(in, call)
	c.prog.Inputs = append(c.prog.Inputs, in)
	return &InputRef{Typed{x.Span, in.Type, q}, in}
}

// inputKind returns the kind of an input() without one.
func inputKind(def Expr) string {
	switch def.Type().Kind {
	case Int:
		if def.Qual() == ConstQ {
			return "int"
		}
	case Float:
		if def.Qual() == ConstQ {
			return "float"
		}
	case Bool:
		return "bool"
	case Color:
		return "color"
	case String:
		return "string"
	case Enum:
		return "enum"
	default: // a series of the language
	}
	return "source"
}

// inputName returns the name of the variable that is being declared, made unique.
func (c *checker) inputName() string {
	base := c.naming
	if base == "" {
		base = "input_" + strconv.Itoa(len(c.prog.Inputs)+1)
	}
	name := base
	for n := 2; ; n++ {
		taken := false
		for _, in := range c.prog.Inputs {
			taken = taken || in.Name == name
		}
		if !taken {
			return name
		}
		name = base + "_" + strconv.Itoa(n)
	}
}

func (c *checker) inputBounds(in *Input, call *Call) {
	for name, to := range map[string]**float64{"minval": &in.Min, "maxval": &in.Max} {
		if n, ok := numberOf(call.Arg(name)); ok {
			*to = new(n)
		}
	}
	if in.Kind == "enum" && in.Type.Kind == Enum {
		for i, title := range in.Type.Enum.Titles {
			in.Options = append(in.Options, Const{Typed: Typed{T: in.Type}, Num: float64(i), Str: title})
		}
	}
	t, ok := call.Arg("options").(*Tuple)
	if !ok {
		return
	}
	in.Options = nil
	for _, e := range t.Elems {
		k, ok := e.(*Const)
		if !ok || !c.fits(k.T, in.Type) {
			c.fail(e.Where(), codeArgument, "An option of an input must be a literal of its type.", "Write the value itself.")
		}
		in.Options = append(in.Options, *castConst(k, in.Type))
	}
}
