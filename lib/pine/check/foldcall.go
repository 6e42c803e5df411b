package check

import (
	"math"
)

// foldCall computes a call of a built-in whose arguments are constants, nil if it stays a
// call.
func (c *checker) foldCall(call *Call) Expr {
	if call.Q != ConstQ {
		return nil
	}
	args := make([]*Const, 0, len(call.Args)+len(call.Rest))
	for _, a := range append(append([]Expr(nil), call.Args...), call.Rest...) {
		k, ok := a.(*Const)
		if !ok && a != nil || ok && k.NA {
			return nil
		}
		if ok {
			args = append(args, k)
		}
	}
	out := &Const{Typed: call.Typed}
	switch name := call.Builtin.Name; {
	case name == "color.new" && len(args) == 2:
		out.Num = withAlpha(args[0].Num, args[1].Num)
	case name == "color.rgb" && len(args) == 4:
		out.Num = withAlpha(byteOf(args[0].Num)*(1<<24)+byteOf(args[1].Num)*(1<<16)+byteOf(args[2].Num)*(1<<8), args[3].Num)
	case name == "timestamp" && call.Builtin.form == "text":
		ms, ok := ParseDate(args[0].Str)
		if !ok {
			c.fail(call.Where(), codeArgument, "timestamp does not know the date \""+args[0].Str+"\".", `Write it as "2024-01-31" or "31 Jan 2024 12:00 +0000".`)
		}
		out.Num = float64(ms)
	case len(args) > 0:
		n, ok := foldMath(call.Builtin, args)
		if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
			return nil
		}
		out.Num = n
	default:
		return nil
	}
	return out
}

func byteOf(n float64) float64 { return math.Round(min(max(n, 0), 255)) }

// withAlpha returns a colour with a transparency from 0 to 100.
func withAlpha(rgba, transp float64) float64 {
	return math.Floor(rgba/256)*256 + math.Round(255*(100-min(max(transp, 0), 100))/100)
}

// foldMath computes a function of numbers, and reports false for another built-in.
func foldMath(b *Builtin, args []*Const) (n float64, ok bool) {
	n = args[0].Num
	if b.form != "" && b.Name == "math.round" {
		return 0, false // to a number of digits
	}
	switch b.Name {
	case "math.max":
		for _, k := range args[1:] {
			n = max(n, k.Num)
		}
		return n, true
	case "math.min":
		for _, k := range args[1:] {
			n = min(n, k.Num)
		}
		return n, true
	}
	of, ok := map[string]func(float64) float64{
		"math.abs": math.Abs, "math.ceil": math.Ceil, "math.floor": math.Floor, "math.round": math.Round, "math.sqrt": math.Sqrt,
	}[b.Name]
	if !ok {
		return 0, false
	}
	return of(n), true
}
