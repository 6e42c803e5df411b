package main

import "candela/lib/ta"

// one is a shelf with one script.
type one struct{ def *ta.Def }

func (o one) Script(string) (*ta.Def, error) { return o.def, nil }
func (o one) Inline(string) (*ta.Def, error) { return o.def, nil }
func (o one) Stored() []*ta.Def              { return []*ta.Def{o.def} }
func (o one) Pin(*ta.Def) error              { return nil }

// scriptNames are the keys of scripts in a fixed order.
//
//nolint:gochecknoglobals // a table, never written
var scriptNames = []string{"pine_cross", "pine_oscillator", "pine_steps", "pine_gradient"}

//nolint:gochecknoglobals // a table, never written
var scripts = map[string]string{
	"pine_cross": `//@version=6
indicator("EMA cross", overlay=true)
fast = ta.ema(close, 8)
slow = ta.ema(close, 21)
a = plot(fast, "Fast", color=fast > slow ? color.teal : color.red, linewidth=2)
b = plot(slow, "Slow", color=color.gray)
fill(a, b, color=fast > slow ? color.new(color.teal, 85) : color.new(color.red, 85))
plotshape(ta.crossover(fast, slow), "Up", shape.triangleup, location.belowbar, color.teal, text="up")
plotshape(ta.crossunder(fast, slow), "Down", shape.triangledown, location.abovebar, color.red)
`,
	"pine_oscillator": `//@version=6
indicator("Oscillator")
v = ta.rsi(close, 14) - 50
plot(v, "Value", color=v > 0 ? color.lime : color.orange)
plot(v - ta.sma(v, 5), "Difference", color=color.new(color.blue, 30), style=plot.style_columns)
hline(20, "High", color.red)
hline(-20, "Low", color.green, hline.style_dotted)
`,
	"pine_steps": `//@version=6
indicator("Steps", overlay=true)
h = ta.highest(high, 20)
plot(h, "High", color.purple, 2, plot.style_stepline)
plot(close > open ? low : na, "Lows", color.yellow, 2, plot.style_linebr)
plot(ta.sma(close, 10), "Dots", color.aqua, 2, plot.style_circles)
bgcolor(close > h[1] ? color.new(color.green, 80) : na)
barcolor(close > h[1] ? color.white : na)
`,
	"pine_gradient": `//@version=6
indicator("Gradient")
r = ta.rsi(close, 14)
p = plot(r, "RSI", color.from_gradient(r, 30, 70, color.red, color.green))
m = plot(50, "Middle", color.gray, display=display.none)
fill(p, m, 70, 30, color.new(color.green, 40), color.new(color.red, 40))
`,
}
