package chart

import (
	"math"

	"candela/lib/chart/raster"
	"candela/lib/market"
	"candela/lib/ta"
)

// MaxCompared is the number of symbols that a chart is compared with.
const MaxCompared = 4

// Comparison is another symbol, drawn as a line over the price.
type Comparison struct {
	Symbol string
	// Percent is its change in percent since its first number, one for each bar; NaN before.
	Percent []float64
	Stale   bool // its venue does not respond
}

// compared is the memory of the comparisons of a picture: the chart's own symbol, then the
// others.
type compared struct {
	results [1 + MaxCompared]ta.Result
	lines   [MaxCompared]ta.Line
	values  []float64
}

// addCompared adds a result for the change of the chart's own symbol, which has a legend
// and no line, and one for each symbol that it is compared with.
//
// A line starts at the close of the bar with its first number and moves from there by the
// change of its symbol: the scale of the price is also that of percent.
func (l *layout) addCompared() {
	if len(l.spec.Compare) == 0 {
		return
	}
	own := &l.compared.results[0]
	*own = ta.Result{Label: l.spec.Symbol, Overlay: true}
	closes := l.spec.Bars.C
	l.shown = append(l.shown, shown{Result: own, fixed: percent(market.ChangePct(closes[0], closes[l.n-1])), value: newSpan()})
	l.compared.values = l.compared.values[:0]
	for i := range l.spec.Compare {
		c := &l.spec.Compare[i]
		from := len(l.compared.values)
		l.compared.values = appendPrices(l.compared.values, closes, c.Percent)
		line, result := &l.compared.lines[i], &l.compared.results[i+1]
		*line = ta.Line{Label: c.Symbol, Values: l.compared.values[from:len(l.compared.values):len(l.compared.values)]}
		*result = ta.Result{Label: c.Symbol, Overlay: true, Lines: l.compared.lines[i : i+1]}
		text := percent(c.Percent[l.n-1])
		if c.Stale {
			text += " stale"
		}
		l.shown = append(l.shown, shown{Result: result, fixed: text, value: newSpan()})
	}
}

// appendPrices appends the prices at which a percent line stands.
func appendPrices(dst, closes, percent []float64) []float64 {
	base := math.NaN()
	for i, p := range percent {
		if base != base && finite(p) {
			base = closes[i]
		}
		dst = append(dst, float64(base*(1+p/100)))
	}
	return dst
}

// fixedColor is the colour of what stands in place of a value.
func (l *layout) fixedColor(v *shown) raster.Color {
	if len(v.Lines) == 0 {
		return l.theme.text
	}
	return v.ink(0)
}

// writeFixed replaces the price on the pill of a result by what is shown in its place.
func (l *layout) writeFixed(v *shown, pills []Pill) {
	if v.fixed == "" {
		return
	}
	for i := range pills {
		label := &pills[i].Label
		label.Text, label.Width = v.fixed, l.measure(v.fixed, SmallBold, l.s)
	}
}

// percent writes a change with its sign.
func percent(change float64) string {
	text := notation{decimals: 2}.text(change)
	switch {
	case !finite(change):
		return text
	case change >= 0:
		text = "+" + text
	}
	return text + "%"
}
