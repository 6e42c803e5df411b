package eval

import (
	"math"

	"candela/lib/pine/check"
	"candela/lib/ta/calc"
)

// kernel computes a call over all bars: one column for each of its values, or nil where it
// has no form with the bits of the stepped one.
type kernel func(h *hoister, call *check.Call) []column

// oneColumn is the result of a function with one value.
func oneColumn(x column) []column {
	if x == nil {
		return nil
	}
	return []column{x}
}

// number returns an argument that is known before the first bar.
func (h *hoister) number(call *check.Call, i int, other float64) (x float64, ok bool) {
	if i >= len(call.Args) || call.Args[i] == nil {
		return other, true
	}
	early(func() { x, ok = h.c.fixed(call.Args[i]) })
	return x, ok
}

// length returns a length that is known before the first bar. A wrong one is not ok: the
// stepped form reports it.
func (h *hoister) length(call *check.Call, i int) (n int, ok bool) {
	x, ok := h.number(call, i, 1)
	return int(x), ok && x >= 1 && x <= maxLength
}

func averageColumn(of func(dst, src []float64, n int)) kernel {
	return func(h *hoister, call *check.Call) []column {
		x := h.column(call.Args[0])
		return oneColumn(h.average(x, call, 1, of))
	}
}

func (h *hoister) average(x column, call *check.Call, i int, of func(dst, src []float64, n int)) column {
	n, ok := h.length(call, i)
	if x == nil || !ok {
		return nil
	}
	out := h.make()
	if out != nil {
		of(out, x, n)
	}
	return out
}

// window runs a windowed kernel on the values of a column from the first that is there on.
// It has no form for values that are missing later.
func (h *hoister) window(x column, outs int, run func(dst []column, src column, slots calc.Slots)) []column {
	if x == nil {
		return nil
	}
	first := 0
	for first < len(x) && x[first] != x[first] {
		first++
	}
	for _, v := range x[first:] {
		if v-v != 0 {
			return nil
		}
	}
	all, rest := make([]column, outs), make([]column, outs)
	for k := range all {
		if all[k] = h.make(); all[k] == nil {
			return nil
		}
		for i := range first {
			all[k][i] = math.NaN()
		}
		rest[k] = all[k][first:]
	}
	run(rest, x[first:], calc.Slots{T: h.slots.T[first:], Step: h.slots.Step})
	return all
}

func (h *hoister) sma(x column, n int) []column {
	return h.window(x, 1, func(dst []column, src column, slots calc.Slots) { calc.SMA(dst[0], src, n, slots) })
}

func smaColumn(h *hoister, call *check.Call) []column {
	n, ok := h.length(call, 1)
	if !ok {
		return nil
	}
	return h.sma(h.column(call.Args[0]), n)
}

func vwmaColumn(h *hoister, call *check.Call) []column {
	x, volume := h.column(call.Args[0]), h.bars.V
	n, ok := h.length(call, 1)
	if !ok {
		return nil
	}
	top := h.sma(h.each(func(i int) float64 { return float64(x[i] * volume[i]) }, x), n)
	bottom := h.sma(volume, n)
	if top == nil || bottom == nil {
		return nil
	}
	return oneColumn(h.each(func(i int) float64 {
		if bottom[0][i] == 0 {
			return math.NaN()
		}
		return top[0][i] / bottom[0][i]
	}))
}

func macdColumns(h *hoister, call *check.Call) []column {
	x := h.column(call.Args[0])
	fast, ok1 := h.length(call, 1)
	slow, ok2 := h.length(call, 2)
	smooth, ok3 := h.length(call, 3)
	if x == nil || !ok1 || !ok2 || !ok3 {
		return nil
	}
	line, signal, hist := h.make(), h.make(), h.make()
	if hist == nil {
		return nil
	}
	calc.MACD(line, signal, hist, x, fast, slow, smooth)
	return []column{line, signal, hist}
}

// deviation is the mean and the deviation over the length in argument 1.
func (h *hoister) deviation(call *check.Call) (both []column, n int) {
	n, ok := h.length(call, 1)
	if !ok {
		return nil, 0
	}
	return h.window(h.column(call.Args[0]), 2, func(dst []column, src column, slots calc.Slots) {
		calc.Deviation(dst[0], dst[1], src, n, slots)
	}), n
}

func bandColumns(h *hoister, call *check.Call) []column {
	both, _ := h.deviation(call)
	width := h.column(call.Args[2])
	if both == nil || width == nil {
		return nil
	}
	mean, dev := both[0], both[1]
	upper := h.each(func(i int) float64 { return mean[i] + float64(dev[i]*width[i]) })
	lower := h.each(func(i int) float64 { return mean[i] - float64(dev[i]*width[i]) })
	if lower == nil {
		return nil
	}
	return []column{mean, upper, lower}
}

func varianceColumn(of func(float64) float64) kernel {
	return func(h *hoister, call *check.Call) []column {
		both, n := h.deviation(call)
		biased, ok := h.number(call, 2, 1)
		if both == nil || !ok {
			return nil
		}
		dev := both[1]
		return oneColumn(h.each(func(i int) float64 { return of(unbias(float64(dev[i]*dev[i]), n, biased != 0)) }))
	}
}

// trueRange is the true range of each bar.
func (h *hoister) trueRange(first bool) column {
	b := h.bars
	return h.each(func(i int) float64 {
		if i == 0 || b.C[i-1] != b.C[i-1] {
			if first {
				return b.H[i] - b.L[i]
			}
			return math.NaN()
		}
		return max(b.H[i]-b.L[i], math.Abs(b.H[i]-b.C[i-1]), math.Abs(b.L[i]-b.C[i-1]))
	})
}

func atrColumn(h *hoister, call *check.Call) []column {
	return oneColumn(h.average(h.trueRange(true), call, 0, calc.RMA))
}

func rangeColumn(h *hoister, call *check.Call) []column {
	first, ok := h.number(call, 0, 0)
	if !ok {
		return nil
	}
	return oneColumn(h.trueRange(first != 0))
}

func rsiColumn(h *hoister, call *check.Call) []column {
	x, last := h.column(call.Args[0]), math.NaN()
	moved := h.each(func(i int) float64 { // from the last value that was there
		d := x[i] - last
		if x[i] == x[i] {
			last = x[i]
		}
		return d
	}, x)
	rise := h.average(h.each(func(i int) float64 { return max(moved[i], 0) }, moved), call, 1, calc.RMA)
	fall := h.average(h.each(func(i int) float64 { return max(-moved[i], 0) }, moved), call, 1, calc.RMA)
	return oneColumn(h.each(func(i int) float64 {
		switch d := moved[i]; {
		case d != d:
			return d
		case fall[i] == 0:
			return 100
		case rise[i] == 0:
			return 0
		}
		return 100 - 100/(1+rise[i]/fall[i])
	}, rise, fall))
}

// extremeColumn is the highest of the last values, or with sign -1 the lowest.
func extremeColumn(sign float64) kernel {
	return func(h *hoister, call *check.Call) []column {
		x := h.column(call.Args[0])
		n, ok := h.length(call, 1)
		if x == nil || !ok {
			return nil
		}
		best := -1 // where the best value of the window is
		return oneColumn(h.each(func(i int) float64 {
			switch v := float64(x[i] * sign); {
			case best >= 0 && best <= i-n:
				h.c.m.owe(h.c.m.place, n/readAStep)
				best = bestOf(x[:i+1], n, sign)
			case v != v:
			case best < 0 || v > float64(x[best]*sign):
				best = i
			}
			if i+1 < n || x[i] != x[i] || best < 0 {
				return math.NaN()
			}
			return x[best]
		}))
	}
}

// bestOf finds the oldest of the best of the last n values, -1 if all are missing.
func bestOf(x []float64, n int, sign float64) int {
	best := -1
	for k := len(x) - n; k < len(x); k++ {
		if v := float64(x[k] * sign); v == v && (best < 0 || v > float64(x[best]*sign)) {
			best = k
		}
	}
	return best
}

// changeColumn is ta.change and ta.mom.
func changeColumn(h *hoister, call *check.Call) []column {
	x, old := h.pair(call)
	return oneColumn(h.each(func(i int) float64 { return x[i] - old[i] }, old))
}

func rateColumn(h *hoister, call *check.Call) []column {
	x, old := h.pair(call)
	return oneColumn(h.each(func(i int) float64 { return 100 * (x[i] - old[i]) / old[i] }, old))
}

// pair is the first argument and its value so many bars before as the second says.
func (h *hoister) pair(call *check.Call) (x, old column) {
	n, ok := h.length(call, 1)
	if x = h.column(call.Args[0]); !ok {
		return nil, nil
	}
	return x, h.back(x, n)
}

func cumColumn(h *hoister, call *check.Call) []column {
	x, sum := h.column(call.Args[0]), 0.0
	return oneColumn(h.each(func(i int) float64 {
		if x[i] != x[i] {
			return x[i]
		}
		sum += x[i]
		return sum
	}, x))
}

func crossColumn(step crossStep) kernel {
	return func(h *hoister, call *check.Call) []column {
		x, y := h.column(call.Args[0]), h.column(call.Args[1])
		if x == nil || y == nil {
			return nil
		}
		out, side := h.make(), math.NaN()
		for i := range out {
			if step(&side, x[i], y[i]) {
				out[i] = 1
			}
		}
		return oneColumn(out)
	}
}

func nzColumn(h *hoister, call *check.Call) []column {
	x := h.column(call.Args[0])
	other := h.each(func(int) float64 { return 0 }, x)
	if len(call.Args) > 1 && call.Args[1] != nil {
		other = h.column(call.Args[1])
	}
	return oneColumn(h.each(func(i int) float64 {
		if x[i] == x[i] {
			return x[i]
		}
		return other[i]
	}, x, other))
}

func absColumn(h *hoister, call *check.Call) []column {
	x := h.column(call.Args[0])
	return oneColumn(h.each(func(i int) float64 { return math.Abs(x[i]) }, x))
}

// extremumColumn is math.max or math.min of two values.
func extremumColumn(better func(a, b float64) bool) kernel {
	return func(h *hoister, call *check.Call) []column {
		var args []column
		for _, a := range append(append([]check.Expr(nil), call.Args...), call.Rest...) {
			if a != nil {
				args = append(args, h.column(a))
			}
		}
		if len(args) != 2 {
			return nil
		}
		return oneColumn(h.each(func(i int) float64 {
			a, b := args[0][i], args[1][i]
			if b != b || better(b, a) {
				return b
			}
			return a
		}, args...))
	}
}
