package check

import (
	"slices"
	"strings"
)

// timeframes finds what the timeframe of a request may be when it changes: the texts among
// what it depends on, and if there are none or one, those of the whole script.
func (c *checker) timeframes(r *Request, timeframe Expr) {
	if timeframe.Qual() <= SimpleQ {
		return
	}
	r.Timeframes, r.Varies = c.texts(timeframe, func(Expr) bool { return true })
	if len(r.Timeframes) > 1 {
		return
	}
	all := func(e Expr) bool {
		if isText(e) {
			r.Timeframes = append(r.Timeframes, e)
		}
		return true
	}
	walkStmts(c.prog.Body.Stmts, all, nil)
	for _, f := range c.prog.Funcs {
		WalkBlock(f.Body, all, nil)
	}
}

// symbols finds what the symbol of a request may be when it changes. Texts that are only
// compared or shown are none of them.
func (c *checker) symbols(r *Request, symbol Expr) {
	if symbol.Qual() <= SimpleQ {
		return
	}
	shown := map[Expr]bool{}
	r.Symbols, r.SymbolVaries = c.texts(symbol, func(e Expr) bool {
		for _, x := range shows(e) {
			shown[x] = true
		}
		return !shown[e]
	})
}

// shows returns the operands of a comparison, and the arguments of a function that hands none on.
func shows(e Expr) []Expr {
	switch e := e.(type) {
	case *Binary:
		if e.Op >= Eq && e.Op <= Ge {
			return []Expr{e.X, e.Y}
		}
	case *Call:
		if e.Builtin == nil || slices.Contains([]string{"str.split", "str.trim", "str.upper", "nz", "fixnan"}, e.Builtin.Name) {
			return nil
		}
		if space, _, _ := strings.Cut(e.Builtin.Name, "."); !slices.Contains([]string{"array", "map", "matrix", "input", "ticker"}, space) {
			return append(slices.Clone(e.Args), e.Rest...)
		}
	}
	return nil
}

// texts returns the texts among what an expression depends on that are wanted, and whether it varies.
func (c *checker) texts(of Expr, wanted func(Expr) bool) (found []Expr, varies bool) {
	d := c.dependencies()
	d.look = func(e Expr) {
		if wanted(e) && isText(e) {
			found = append(found, e)
		}
		varies = varies || mayChange(e)
	}
	WalkExpr(of, d.visit, nil)
	return found, varies
}

// isText reports whether an expression is a text that is known before the first bar.
func isText(e Expr) bool {
	switch e := e.(type) {
	case *Const:
		return e.T.Kind == String && !e.NA
	case *InputRef:
		return e.T.Kind == String
	case *BuiltinVar:
		return slices.Contains([]string{"timeframe.period", "timeframe.main_period", "syminfo.tickerid"}, e.Name)
	}
	return false
}

// mayChange reports whether a value changes from bar to bar or from turn to turn.
func mayChange(e Expr) bool {
	switch e := e.(type) {
	case *For, *ForIn, *While:
		return true
	case *BuiltinVar:
		return e.Qual() == SeriesQ && !strings.HasPrefix(e.Name, "barstate.")
	case *Call:
		return e.Builtin != nil && slices.Contains([]string{"time", "time_close", "timeframe.change", "math.random"}, e.Builtin.Name)
	}
	return false
}
