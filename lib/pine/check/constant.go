package check

import (
	"math"
	"strconv"
	"strings"
)

// tolerance is the absolute difference below which floats compare as equal.
const tolerance = 1e-10

// constant returns the value of a named constant of a table.
func constant(t *Type, name, value string) *Const {
	k := &Const{Typed: Typed{T: t, Q: ConstQ}, Str: name}
	switch {
	case strings.HasPrefix(value, "#"):
		n, _ := strconv.ParseUint(value[1:], 16, 32)
		k.Str, k.Num = "", float64(n<<8|255)
	case strings.HasPrefix(value, `"`):
		k.Str = strings.Trim(value, `"`)
	case value != "":
		k.Num, _ = strconv.ParseFloat(value, 64)
		if t.Kind != Option {
			k.Str = ""
		}
	}
	return k
}

// foldUnary computes an operator of a constant.
func foldUnary(op Op, k *Const, t Typed) Expr {
	out := &Const{Typed: t, NA: k.NA, Num: -k.Num}
	if op == Not {
		out.Num = 1 - k.Num
		if k.NA {
			out.NA, out.Num = false, 1
		}
	}
	return out
}

// foldBinary computes an operator of two constants of one type, nil if it does not know it.
func foldBinary(op Op, x, y *Const, t Typed, version int) Expr {
	if x.T.Kind == String || x.T.Kind == Enum {
		return foldText(op, x, y, t)
	}
	out := &Const{Typed: t}
	if x.NA || y.NA {
		if t.T.Kind != Bool {
			out.NA = true
		}
		return out
	}
	a, b := x.Num, y.Num
	switch op {
	case Add:
		out.Num = a + b
	case Sub:
		out.Num = a - b
	case Mul:
		out.Num = a * b
	case Div:
		out.Num = a / b
		if version < 6 && x.T.Kind == Int {
			out.Num = math.Trunc(out.Num)
		}
	case Mod:
		out.Num = math.Mod(a, b)
	default:
		return foldCompare(op, a, b, x.T.Kind == Float, out)
	}
	if math.IsNaN(out.Num) || math.IsInf(out.Num, 0) {
		out.NA, out.Num = true, 0
	}
	return out
}

func foldCompare(op Op, a, b float64, tolerant bool, out *Const) Expr {
	if tolerant && math.Abs(a-b) <= tolerance {
		a = b
	}
	var yes bool
	switch op {
	case Eq:
		yes = a == b
	case Ne:
		yes = a != b
	case Lt:
		yes = a < b
	case Gt:
		yes = a > b
	case Le:
		yes = a <= b
	case Ge:
		yes = a >= b
	default:
		return nil
	}
	if yes {
		out.Num = 1
	}
	return out
}

func foldText(op Op, x, y *Const, t Typed) Expr {
	out := &Const{Typed: t}
	same := x.Str == y.Str && x.Num == y.Num
	switch op {
	case Add:
		if x.NA || y.NA {
			return nil
		}
		out.Str = x.Str + y.Str
	case Eq, Ne:
		if !x.NA && !y.NA && same == (op == Eq) {
			out.Num = 1
		}
	default:
		return nil
	}
	return out
}
