package ta

import (
	"math"

	"candela/lib/market"
	"candela/lib/ta/calc"
)

func pivot() Def {
	names := []string{"Pivot", "R1", "S1", "R2", "S2", "R3", "S3", "R4", "S4", "R5", "S5"}
	return Def{
		Name: "pivot", Aliases: []string{"pivot_points"}, Kind: Overlay, Group: GroupLevels,
		Doc: "Pivot points of the previous period; watched by many traders.",
		Formula: "From the previous period's high h, low l, close c (and open o). Traditional: P = (h+l+c)/3, R1 = 2P-l, S1 = 2P-h, R2 = P+(h-l), S2 = P-(h-l), " +
			"R3 = 2P+h-2l, S3 = 2P-(2h-l), R4 = 3P+h-3l, S4 = 3P-(3h-l), R5 = 4P+h-4l, S5 = 4P-(4h-l). Classic: R3, R4 = P+2(h-l), P+3(h-l). " +
			"Fibonacci: P +- 0.382, 0.618, 1 of the range. Woodie: P = (h+l+2 x this period's open)/4. DM: x by close against open, P = x/4. Camarilla: c +- range x 1.1/12, /6, /4, /2. " +
			"Period `auto`: day up to 15m, week for longer intraday bars, month for daily bars, year beyond.",
		Truth: "TradingView pivot points standard",
		Params: []Param{
			Choice("type", "traditional", []string{"traditional", "classic", "fibonacci", "woodie", "dm", "camarilla"}, "which formula").As("kind"),
			Choice("timeframe", "auto", []string{"auto", "day", "week", "month", "year"}, "the period the levels are taken from"),
			Int("levels", 2, 1, 5, "resistances and supports on each side"),
		},
		Lines: names,
		New: func(v Values) Instance {
			kind, levels := v.Text("type"), v.Int("levels")
			return &series{
				label:   "Pivot(" + kind + ")",
				warm:    func(env Env) (int, int) { return pivotWarmup(env, pivotUnit(env, v)) },
				columns: 1 + 2*levels, lines: styled(Steps, names[:1+2*levels]...),
				begin: func(m *calc.Slab, env Env) step {
					before := priorPeriod{pivotUnit(env, v), env.Calendar, m.Cells(priorCells)}
					return func(r *Row) {
						if before.next(r) {
							copy(r.Values, pivotLevels(kind, before.last(), before.open()))
						}
					}
				},
			}
		},
	}
}

// pivotUnit resolves "auto" as TradingView does.
func pivotUnit(env Env, v Values) string {
	if unit := v.Text("timeframe"); unit != "auto" {
		return unit
	}
	return autoUnit(env)
}

// autoUnit returns a period that has some tens of bars or more.
func autoUnit(env Env) string {
	switch {
	case env.Interval <= market.Minute15:
		return "day"
	case env.Interval < market.Day1:
		return "week"
	case env.Interval == market.Day1:
		return "month"
	}
	return "year"
}

// pivotWarmup: levels need the whole period before the bar's own, and so depend on at
// most two periods.
func pivotWarmup(env Env, unit string) (first, stable int) {
	return 1, 2*periodBars(env.Interval, unit) + 1
}

// pivotLevels returns P, R1, S1, R2, S2 ... R5, S5 from the period before and the
// open of the present one; NaN where a kind has no such level.
func pivotLevels(kind string, b market.Bar, open float64) []float64 {
	nan, width := math.NaN(), b.H-b.L
	p := (b.H + b.L + b.C) / 3
	around := func(mid float64, k ...float64) []float64 {
		out := []float64{p}
		for i := range 5 {
			if i >= len(k) {
				out = append(out, nan, nan)
				continue
			}
			out = append(out, mid+float64(k[i]*width), mid-float64(k[i]*width))
		}
		return out
	}
	switch kind {
	case "fibonacci":
		return around(p, 0.382, 0.618, 1)
	case "camarilla":
		return around(b.C, 1.1/12, 1.1/6, 1.1/4, 1.1/2)
	case "dm":
		return demark(b)
	case "woodie":
		p = (b.H + b.L + float64(2*open)) / 4
		r3, s3 := b.H+float64(2*(p-b.L)), b.L-float64(2*(b.H-p))
		return []float64{p, 2*p - b.L, 2*p - b.H, p + width, p - width, r3, s3, r3 + width, s3 - width, nan, nan}
	}
	out := []float64{p, 2*p - b.L, 2*p - b.H, p + width, p - width}
	if kind == "classic" {
		return append(out, p+float64(2*width), p-float64(2*width), p+float64(3*width), p-float64(3*width), nan, nan)
	}
	for k := 2.0; k <= 4; k++ {
		out = append(out, float64(k*p)+(b.H-float64(k*b.L)), float64(k*p)-(float64(k*b.H)-b.L))
	}
	return out
}

// demark weighs the side the period closed on.
func demark(b market.Bar) []float64 {
	x := b.H + b.L + b.C
	switch {
	case b.C < b.O:
		x += b.L
	case b.C > b.O:
		x += b.H
	default:
		x += b.C
	}
	out := []float64{x / 4, x/2 - b.L, x/2 - b.H}
	for len(out) < 11 {
		out = append(out, math.NaN())
	}
	return out
}
