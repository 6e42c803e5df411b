package convert

import (
	"slices"
	"strings"

	"candela/lib/pine/syntax"
)

// input writes an input as the function of its type.
func (c *converter) input(x *syntax.Call) {
	order := parameters("input")
	function, kindAt := "", -1
	var value syntax.Expr
	fraction := false
	for i, a := range x.Args {
		switch of := paramOf(a, i, order); of {
		case "type":
			function, kindAt = inputFunction(dotted(a.Value)), i
		case "defval":
			value = a.Value
		case "minval", "maxval", "step":
			fraction = fraction || c.kindOf(a.Value) == number
		}
	}
	if kindAt < 0 {
		function = c.inputOf(value, fraction)
	}
	if kindAt >= 0 && function == "" {
		c.arguments(x, "input") // a type that is not known: the checker names it
		return
	}
	if function != "" {
		c.text.replace(x.Fun.Where(), function)
	}
	for i, a := range x.Args {
		of := paramOf(a, i, order)
		if i == kindAt || !takes(function, of) {
			c.removeArgument(x, i)
			continue
		}
		if a.Name == nil && i > 1 {
			c.text.insert(a.From, of+"=")
		}
		if of == "defval" && c.inputDefault(function, a.Value) {
			continue
		}
		c.expr(a.Value)
	}
}

// paramOf is the parameter that an argument is for.
func paramOf(a *syntax.Arg, i int, order []string) string {
	switch {
	case a.Name != nil:
		return a.Name.Name
	case i < len(order):
		return order[i]
	}
	return ""
}

// inputOf returns the function for an input without a type, empty if its default says nothing.
func (c *converter) inputOf(value syntax.Expr, fraction bool) string {
	if id, ok := value.(*syntax.Ident); ok {
		if _, own := c.lookup(id.Name); !own && slices.Contains([]string{"open", "high", "low", "close", "hl2", "hlc3", "ohlc4", "volume"}, id.Name) {
			return "input.source"
		}
	}
	switch c.kindOf(value) {
	case whole:
		if fraction {
			return "input.float"
		}
		return "input.int"
	case number:
		if _, ok := value.(*syntax.Ident); ok {
			return ""
		}
		return "input.float"
	case truth:
		return "input.bool"
	case word:
		return "input.string"
	case tone:
		return "input.color"
	default:
		return ""
	}
}

// takes reports whether an input of version 5 has a parameter.
func takes(function, param string) bool {
	switch param {
	case "minval", "maxval", "step":
		return function == "input.int" || function == "input.float" || function == ""
	case "options":
		return slices.Contains([]string{"", "input.int", "input.float", "input.string", "input.timeframe", "input.session"}, function)
	}
	return true
}

// inputDefault writes a default as its type asks for it, and reports whether it did.
func (c *converter) inputDefault(function string, value syntax.Expr) bool {
	switch v := value.(type) {
	case *syntax.Number:
		if function == "input.bool" {
			c.text.replace(v.Span, map[bool]string{true: "true", false: "false"}[v.Value != 0])
			return true
		}
		if function == "input.int" && !v.Int {
			c.text.replace(v.Span, strings.SplitN(v.Text, ".", 2)[0])
			return true
		}
	case *syntax.Bool:
		if function == "input.int" || function == "input.float" {
			c.text.replace(v.Span, map[bool]string{true: "1", false: "0"}[v.Value])
			return true
		}
	}
	return false
}
