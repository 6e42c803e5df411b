package pine

import (
	"math"

	"candela/lib/market"
	"candela/lib/pine/check"
	"candela/lib/pine/eval"
	"candela/lib/ta"
	"candela/lib/ta/calc"
)

// batch collects what a script gives on each bar.
type batch struct {
	*instance
	in      ta.Input
	machine *eval.Machine
	ran     int // bars that ran
	n       int
	first   int // the first bar shown

	values  [][4][]float64 // by plot and part
	colors  [][4][]ta.Tone // by plot and part
	given   [][4]bool      // colours that the script sets
	signals []ta.Signal
	alerts  []ta.AlertText

	numbers []numberColumn // what is copied at each bar
	tinted  []toneColumn
}

// numberColumn and toneColumn are columns with the place of their value at a bar.
type numberColumn struct {
	from *float64
	to   []float64
}

type toneColumn struct {
	from *float64
	to   []ta.Tone
}

// wire lists what is copied at each bar. A constant colour is the same at all of them.
func (b *batch) wire() {
	out := b.machine.Outputs()
	for p, plot := range b.program.Plots {
		parts, tones := shapeOf(plot.Kind)
		for k := range b.values[p] {
			if k < parts && b.machine.Column(p) == nil {
				b.values[p][k] = nans(b.n)
				b.numbers = append(b.numbers, numberColumn{&out[p].Values[k], b.values[p][k]})
			}
			to := b.colors[p][k]
			if to == nil {
				continue
			}
			if _, fixed := plot.Call.Arg(tones[k]).(*check.Const); fixed {
				tone := toneOf(out[p].Colors[k])
				for i := range to {
					to[i] = tone
				}
				continue
			}
			b.tinted = append(b.tinted, toneColumn{&out[p].Colors[k], to})
		}
	}
}

// mostAlerts is how many texts of alert() a result has.
const mostAlerts = 16

func newBatch(s *instance, in ta.Input) *batch {
	n := in.Bars.Len()
	b := &batch{instance: s, in: in, n: n}
	if in.Shown > 0 {
		b.first = max(0, n-in.Shown)
	}
	plots := s.program.Plots
	b.values, b.colors, b.given = make([][4][]float64, len(plots)), make([][4][]ta.Tone, len(plots)), make([][4]bool, len(plots))
	for i, p := range plots {
		_, tones := shapeOf(p.Kind)
		for k, name := range tones {
			b.given[i][k] = p.Call.Arg(name) != nil
			b.colors[i][k] = make([]ta.Tone, n)
		}
	}
	return b
}

// complete gives every plot its values: those that were computed ahead, as far as the script
// ran, and none where it did not.
func (b *batch) complete() {
	for p, plot := range b.program.Plots {
		var ahead []float64
		if b.machine != nil {
			ahead = b.machine.Column(p)
		}
		parts, _ := shapeOf(plot.Kind)
		for k := range parts {
			switch {
			case b.values[p][k] != nil:
			case len(ahead) > 0 && b.ran == b.n:
				b.values[p][k] = ahead
			default:
				b.values[p][k] = nans(b.n)
				copy(b.values[p][k][:b.ran], ahead)
			}
		}
	}
}

// shapeOf returns how many values a plot has, and the names of its colours.
func shapeOf(kind string) (parts int, tones []string) {
	switch kind {
	case "plot", "hline":
		return 1, []string{"color"}
	case "plotshape", "plotchar":
		return 1, []string{"color", "textcolor"}
	case "plotarrow":
		return 1, []string{"colorup", "colordown"}
	case "plotcandle":
		return 4, []string{"color", "wickcolor", "bordercolor"}
	case "plotbar":
		return 4, []string{"color"}
	case "fill":
		return 2, []string{"color", "top_color", "bottom_color"}
	}
	return 0, []string{"color"}
}

func nans(n int) []float64 {
	all := make([]float64, n)
	for i := range all {
		all[i] = math.NaN()
	}
	return all
}

// toneOf returns a colour of the engine; na is none.
func toneOf(x float64) ta.Tone {
	if !(x >= 0 && x <= math.MaxUint32) {
		return 0
	}
	return ta.Tone(x)
}

// record keeps the outputs of bar i.
func (b *batch) record(i int, bar market.Bar) {
	for k := range b.numbers {
		b.numbers[k].to[i] = *b.numbers[k].from
	}
	for k := range b.tinted {
		b.tinted[k].to[i] = toneOf(*b.tinted[k].from)
	}
	if i < b.first {
		return
	}
	if len(b.program.signals) > 0 && (!b.in.Forming || !ended(b.in.Bars, i)) {
		b.program.raise(b.machine, moment{i, &bar, false}, func(label, text string) {
			b.signals = append(b.signals, ta.Signal{X: i, Confirmed: i, Y: calc.Decimal(bar.C), Label: label, Text: text})
		})
	}
	for _, a := range b.machine.Alerts() {
		b.alerts = append(b.alerts, ta.AlertText{X: i, Text: a.Message})
	}
	if extra := len(b.alerts) - mostAlerts; extra > 0 {
		b.alerts = b.alerts[extra:]
	}
}

// arg returns an argument of a plot as a number.
func (b *batch) arg(plot int, name string, fallback float64) float64 {
	if b.ran == 0 {
		return fallback
	}
	if x, _, ok := b.machine.Arg(plot, name); ok && x == x {
		return x
	}
	return fallback
}

// word returns an argument of a plot as a text.
func (b *batch) word(plot int, name string) string {
	if b.ran == 0 {
		return ""
	}
	_, text, _ := b.machine.Arg(plot, name)
	return text
}
