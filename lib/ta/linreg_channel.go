package ta

import (
	"fmt"
	"math"
)

func linregChannel() Def {
	return Def{
		Name: "linreg_channel", Aliases: []string{"lrc"}, Kind: Overlay, Group: GroupTrend,
		Doc: "Linear regression channel; each bar draws it again; the legend has Pearson's R.",
		Formula: "Least squares line through the source of the last `length` bars; bands = line +- std_dev x square root of the sum of squared distances / (length - 1). " +
			"R is the correlation of the source with the line, 0 where either does not move.",
		Truth: "TradingView linear regression channel; second derivation in the tests",
		Params: []Param{
			Int("length", 100, 2, 5000, "bars in the regression").As("period"), Num("std_dev", 2, 0, 100, "deviations to the bands").As("deviation", "mult"),
			priceSource("close"),
		},
		Lines: []string{"LRC", "LRC Upper", "LRC Lower"},
		New: func(v Values) Instance {
			n := v.Int("length")
			label := fmt.Sprintf("LRC(%d, %s)", n, number(v.Num("std_dev")))
			return &whole{
				label: label, history: func(Env) int { return n - 1 },
				compute: func(in Input, r *Result) { computeChannel(in, v, r) },
			}
		},
	}
}

// computeChannel draws the regression of the last bars, if there are enough and none
// lacks its price.
func computeChannel(in Input, v Values, r *Result) {
	n, src := v.Int("length"), sourceOf(v.Text("source"))
	mid, upper, lower := undefined(in), undefined(in), undefined(in)
	r.Lines = []Line{{Label: "LRC", Values: mid}, {Label: "LRC Upper", Values: upper, Style: Band}, {Label: "LRC Lower", Values: lower, Style: Band}}
	from := in.Bars.Len() - n
	if from < 0 {
		return
	}
	prices := make([]float64, n)
	for i := range prices {
		prices[i] = src(in.Bars.At(from + i))
	}
	slope, first, away, correlation := regression(prices)
	if x := first + away; x-x != 0 {
		return
	}
	width := float64(v.Num("std_dev") * away)
	for i := range prices {
		line := first + float64(slope*float64(i))
		mid[from+i], upper[from+i], lower[from+i] = line, line+width, line-width
	}
	r.Fills = []Fill{{Y1: upper, Y2: lower, Style: Channel}}
	r.Label = fmt.Sprintf("LRC(%d, %s, R %.2f)", n, number(v.Num("std_dev")), correlation)
}

// regression returns the least squares line through y, the deviation of y from it and
// the correlation of the two. Distances are taken from the first value, so that nothing
// cancels at high prices.
func regression(y []float64) (slope, first, away, correlation float64) {
	n := float64(len(y))
	middle, mean := (n-1)/2, 0.0
	for _, p := range y {
		mean += (p - y[0]) / n
	}
	var across, rise, square float64 // sums of x², xy and y² around the means
	for i, p := range y {
		dx, dy := float64(i)-middle, p-y[0]-mean
		across += float64(dx * dx)
		rise += float64(dx * dy)
		square += float64(dy * dy)
	}
	slope = rise / across
	first = y[0] + mean - float64(slope*middle)
	rest := 0.0
	for i, p := range y {
		d := p - (first + float64(slope*float64(i)))
		rest += float64(d * d)
	}
	if rise != 0 && square > 0 {
		correlation = math.Abs(rise) / math.Sqrt(float64(across*square))
		if rise < 0 {
			correlation = -correlation
		}
	}
	return slope, first, math.Sqrt(rest / (n - 1)), correlation
}
