package ta

import (
	"fmt"
	"math"

	"candela/lib/ta/calc"
)

// windowed is an indicator with one line, computed from the last bars of one price.
type windowed struct {
	line          string
	length, least int // bars by default and at least
	most          int // bars at most, 5000 if 0
	source        string
	past          int // bars that a value needs before its window
	levels        []HLine
	yRange        *[2]float64

	// next returns the step over n bars.
	next func(m *calc.Slab, n int) func(slot calc.Slot, x float64) float64
}

// longest is the greatest length that indicators take.
const longest = 5000

// lengthFrom is lengthParam of at least some bars.
func lengthFrom(def, least int, doc string) Param {
	p := lengthParam(def, doc)
	p.Min = float64(least)
	return p
}

// def completes the definition d.
func (w windowed) def(d Def) Def {
	bars := lengthFrom(w.length, w.least, "bars in the window")
	if w.most > 0 {
		bars.Max = float64(w.most)
	}
	d.Params, d.Lines = []Param{bars, source(w.source)}, []string{w.line}
	d.New = func(v Values) Instance {
		n, price := v.Int("length"), sourceOf(v.Text("source"))
		first := n - 1 + w.past
		s := single(labelOf(w.line, v, "length"), w.line, first, first+1, func(m *calc.Slab, _ Env) func(*Row) float64 {
			next := w.next(m, n)
			return func(r *Row) float64 { return next(r.Slot, price(r.Bar)) }
		})
		s.levels, s.yRange = w.levels, w.yRange
		return s
	}
	return d
}

// labelOf returns the name with the values of the parameters listed, and the source
// where it is not the default.
func labelOf(name string, v Values, params ...string) string {
	text := ""
	for _, p := range params {
		if text != "" {
			text += ", "
		}
		if x, ok := v.get(p).(float64); ok {
			text += number(x)
			continue
		}
		text += fmt.Sprint(v.get(p))
	}
	if v.has("source") && v.isSet("source") {
		text += ", " + v.Text("source")
	}
	return name + "(" + text + ")"
}

// still reports whether a deviation is nothing but rounding of a level.
func still(level, deviation float64) bool {
	return calc.Difference(math.Abs(level)+deviation, math.Abs(level)) == 0
}

// ratio is a/b, and no value where b is zero.
func ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}

// finite reports whether x is a number: neither missing nor an infinity.
func finite(x float64) bool { return x-x == 0 }
