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
	d := c.dependencies()
	d.look = func(e Expr) {
		if isText(e) {
			r.Timeframes = append(r.Timeframes, e)
		}
		r.Varies = r.Varies || mayChange(e)
	}
	WalkExpr(timeframe, d.visit, nil)
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

// isText reports whether an expression is a text that is known before the first bar.
func isText(e Expr) bool {
	switch e := e.(type) {
	case *Const:
		return e.T.Kind == String && !e.NA
	case *InputRef:
		return e.T.Kind == String
	case *BuiltinVar:
		return e.Name == "timeframe.period" || e.Name == "timeframe.main_period"
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
