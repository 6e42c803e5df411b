package convert

import (
	"strings"

	"candela/lib/pine/syntax"
)

// kind is what the converter knows of a value's type.
type kind uint8

const (
	unknown kind = iota
	whole
	number
	truth
	word
	tone
)

// keyword returns the type to write in a declaration.
func (k kind) keyword() string {
	return [...]string{unknown: "float", whole: "float", number: "float", truth: "bool", word: "string", tone: "color"}[k]
}

// kindOf guesses the kind of an expression from how it is written.
func (c *converter) kindOf(x syntax.Expr) kind {
	switch x := x.(type) {
	case *syntax.Paren:
		return c.kindOf(x.X)
	case *syntax.Number:
		if x.Int {
			return whole
		}
		return number
	case *syntax.String:
		return word
	case *syntax.Bool:
		return truth
	case *syntax.Color:
		return tone
	case *syntax.Unary:
		if x.Op == "not" {
			return truth
		}
		return c.kindOf(x.X)
	case *syntax.Binary:
		return c.kindOfBinary(x)
	case *syntax.Cond:
		return either(c.kindOf(x.Then), c.kindOf(x.Else))
	case *syntax.Index:
		return c.kindOf(x.X)
	case *syntax.Ident:
		return c.kindOfName(x.Name)
	case *syntax.Member:
		if strings.HasPrefix(dotted(x), "color.") {
			return tone
		}
	case *syntax.Call:
		return c.kindOfCall(x)
	case *syntax.If:
		return either(c.kindOfBlock(x.Then), c.kindOfBlock(x.Else))
	}
	return unknown
}

func (c *converter) kindOfBlock(b *syntax.Block) kind {
	if b == nil || len(b.Stmts) == 0 {
		return unknown
	}
	switch s := b.Stmts[len(b.Stmts)-1].(type) {
	case *syntax.ExprStmt:
		return c.kindOf(s.X)
	case *syntax.Assign:
		return c.kindOf(s.Value)
	case *syntax.Decl:
		return c.kindOf(s.Value)
	}
	return unknown
}

func (c *converter) kindOfBinary(x *syntax.Binary) kind {
	switch x.Op {
	case "and", "or", "==", "!=", "<", ">", "<=", ">=":
		return truth
	}
	a, b := c.kindOf(x.X), c.kindOf(x.Y)
	if a == whole && b == whole {
		return whole
	}
	if x.Op == "+" && (a == word || b == word) {
		return word
	}
	return number
}

// either is the kind of a value that has one of two.
func either(a, b kind) kind {
	switch {
	case a == unknown || a == b:
		return b
	case b == unknown:
		return a
	case (a == whole || a == number) && (b == whole || b == number):
		return number
	}
	return a
}

func (c *converter) kindOfName(name string) kind {
	if k, ok := c.lookup(name); ok {
		return k
	}
	switch name {
	case "open", "high", "low", "close", "hl2", "hlc3", "ohlc4", "volume", "vwap", "tr", "obv", "accdist":
		return number
	case "bar_index", "n", "time", "year", "month", "dayofmonth", "dayofweek", "hour", "minute":
		return whole
	}
	if strings.HasPrefix(NewName(name), "color.") {
		return tone
	}
	return unknown
}

func (c *converter) kindOfCall(x *syntax.Call) kind {
	name := dotted(x.Fun)
	arg := func(i int) kind {
		if i < len(x.Args) {
			return c.kindOf(x.Args[i].Value)
		}
		return unknown
	}
	switch name {
	case "na", "cross", "crossover", "crossunder", "rising", "falling":
		return truth
	case "nz", "fixnan":
		return either(arg(0), arg(1))
	case "iff":
		return either(arg(1), arg(2))
	case "valuewhen", "security":
		return c.kindOf(c.argument(x, name))
	case "tostring", "input.string":
		return word
	case "color", "color.new", "color.rgb":
		return tone
	case "round", "floor", "ceil", "int", "barssince", "input.integer":
		return whole
	case "input":
		if k := c.inputKind(x); k != unknown {
			return k
		}
		return arg(0)
	}
	if k, ok := c.lookup(name + "()"); ok {
		return k
	}
	if young := NewName(name); strings.HasPrefix(young, "ta.") || strings.HasPrefix(young, "math.") {
		return number
	}
	return unknown
}

// argument returns what valuewhen or security gives.
func (c *converter) argument(x *syntax.Call, name string) syntax.Expr {
	i, of := 2, "expression"
	if name == "valuewhen" {
		i, of = 1, "source"
	}
	for k, a := range x.Args {
		if a.Name == nil && k == i || a.Name != nil && a.Name.Name == of {
			return a.Value
		}
	}
	return nil
}

// inputKind is the kind of an input that names its type.
func (c *converter) inputKind(x *syntax.Call) kind {
	for i, a := range x.Args {
		if a.Name == nil && i == 2 || a.Name != nil && a.Name.Name == "type" {
			switch inputFunction(dotted(a.Value)) {
			case "input.int", "input.time":
				return whole
			case "input.float", "input.price", "input.source":
				return number
			case "input.bool":
				return truth
			case "input.color":
				return tone
			case "":
			default:
				return word
			}
		}
	}
	return unknown
}

// dotted returns the name that an expression is, empty if it is none.
func dotted(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Ident:
		return x.Name
	case *syntax.Member:
		if left := dotted(x.X); left != "" {
			return left + "." + x.Name.Name
		}
	}
	return ""
}
