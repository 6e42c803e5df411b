package ta

import (
	"math"

	"candela/lib/ta/calc"
)

// The indicators of this file fit a line through the last prices by least squares.

// fitted returns a step with f of the line's slope per bar, its height at the oldest and
// at the newest bar.
func fitted(f func(slope, oldest, newest float64) float64) func(*calc.Slab, int) func(calc.Slot, float64) float64 {
	return func(m *calc.Slab, n int) func(calc.Slot, float64) float64 {
		line := m.LinReg(n)
		return func(slot calc.Slot, x float64) float64 { return f(line.Step(slot, x)) }
	}
}

func linregSlope() Def {
	return windowed{
		line: "Slope", length: 14, least: 2, source: "close", levels: []HLine{{Y: 0, Style: Zero}},
		next: fitted(func(slope, _, _ float64) float64 { return slope }),
	}.def(Def{
		Name: "linreg_slope", Kind: Panel, Group: GroupTrend,
		Doc:     "Slope of the regression line, price per bar; above zero in a rising market.",
		Formula: "Slope of the least squares line through the last `length` values.",
		Truth:   "TA-Lib LINEARREG_SLOPE",
	})
}

func linregAngle() Def {
	return windowed{
		line: "Angle", length: 14, least: 2, source: "close", levels: []HLine{{Y: 0, Style: Zero}},
		next: fitted(func(slope, _, _ float64) float64 { return calc.Atan(slope) * (180 / math.Pi) }),
	}.def(Def{
		Name: "linreg_angle", Like: "linreg_slope", Kind: Panel, Group: GroupTrend,
		Doc:     "Angle of the regression line, degrees; one unit of price per bar is 45.",
		Formula: "Arctangent of `linreg_slope` in degrees. It depends on the unit of the price.",
		Truth:   "TA-Lib LINEARREG_ANGLE",
	})
}

func linregIntercept() Def {
	return windowed{
		line: "Intercept", length: 14, least: 2, source: "close",
		next: fitted(func(_, oldest, _ float64) float64 { return oldest }),
	}.def(Def{
		Name: "linreg_intercept", Kind: Overlay, Group: GroupTrend,
		Doc:     "Regression line at its oldest bar.",
		Formula: "Height of the least squares line through the last `length` values at the oldest of them.",
		Truth:   "TA-Lib LINEARREG_INTERCEPT",
	})
}

func timeSeriesForecast() Def {
	return windowed{
		line: "TSF", length: 14, least: 2, source: "close",
		next: fitted(func(slope, _, newest float64) float64 { return newest + slope }),
	}.def(Def{
		Name: "tsf", Like: "linreg_intercept", Kind: Overlay, Group: GroupTrend,
		Doc:     "Time series forecast: the regression line one bar ahead.",
		Formula: "Height of the least squares line through the last `length` values, one bar after the newest of them.",
		Truth:   "TA-Lib TSF",
	})
}

func rSquared() Def {
	return windowed{
		line: "RSQ", length: 14, least: 3, source: "close", yRange: &[2]float64{0, 1}, levels: []HLine{{Y: 0.5}},
		next: func(m *calc.Slab, n int) func(calc.Slot, float64) float64 {
			line, spread := m.LinReg(n), m.Deviation(n)
			places := (float64(n)*float64(n) - 1) / 12 // variance of the places of the bars
			return func(slot calc.Slot, x float64) float64 {
				slope, _, _ := line.Step(slot, x)
				mean, dev := spread.Step(slot, x)
				if still(mean, dev) {
					return math.NaN()
				}
				part := slope / dev
				return min(float64(part*part)*places, 1)
			}
		},
	}.def(Def{
		Name: "r_squared", Like: "linreg_slope", Aliases: []string{"r2"}, Kind: Panel, Group: GroupTrend,
		Doc:     "R squared, 0 to 1; how well a straight line fits the price, high in a steady trend.",
		Formula: "Square of the correlation of the last `length` values with their places. No value while all are equal.",
		Truth:   "TradingView R-squared, pandas-ta linreg",
	})
}
