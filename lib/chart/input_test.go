package chart

import (
	"math"
	"math/rand/v2"

	"candela/lib/market"
	"candela/lib/ta"
)

// The bars and results of the test scenes. The indicators are the plainest form
// of their formula: these tests are about pictures.

const start = 1735776000 // 2 January 2025, 00:00 UTC

// walk returns n bars of a random walk around price.
func walk(seed uint64, n int, price float64, every int64) market.Bars {
	rnd := rand.New(rand.NewPCG(seed, 7))
	b := market.MakeBars(n, false)
	c, drift := price, 0.0
	for i := range n {
		if i%25 == 0 {
			drift = (rnd.Float64() - 0.5) * 0.006
		}
		o := c
		c = o * math.Exp(drift+rnd.NormFloat64()*0.011)
		h := max(o, c) * (1 + math.Abs(rnd.NormFloat64())*0.004)
		l := min(o, c) * (1 - math.Abs(rnd.NormFloat64())*0.004)
		v := 700 * math.Exp(rnd.NormFloat64()*0.5)
		b.Append(market.Bar{T: start + int64(i)*every, O: cents(o, price), H: cents(h, price), L: cents(l, price), C: cents(c, price), V: v, TakerBuy: math.NaN()})
		c = cents(c, price)
	}
	return b
}

// cents rounds v to seven digits of price, as a venue's tick size does.
func cents(v, price float64) float64 {
	tick := math.Pow10(6 - int(math.Floor(math.Log10(price))))
	return math.Round(v*tick) / tick
}

func nans(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

func emaOf(src []float64, n int) []float64 {
	out := nans(len(src))
	k, sum, seen := 2/float64(n+1), 0.0, 0
	for i, v := range src {
		if math.IsNaN(v) {
			continue
		}
		seen++
		switch {
		case seen < n:
			sum += v
		case seen == n:
			out[i] = (sum + v) / float64(n)
		default:
			out[i] = out[i-1] + k*(v-out[i-1])
		}
	}
	return out
}

func ema(b market.Bars, lengths ...int) Named {
	r := &ta.Result{Label: "EMA", Overlay: true}
	for _, n := range lengths {
		r.Lines = append(r.Lines, ta.Line{Label: "EMA " + notation{}.text(float64(n)), Values: emaOf(b.C, n)})
	}
	return Named{"ema_stack", r}
}

func bbands(b market.Bars) Named {
	n := len(b.C)
	up, mid, low := nans(n), nans(n), nans(n)
	for i := 19; i < n; i++ {
		sum, sq := 0.0, 0.0
		for _, c := range b.C[i-19 : i+1] {
			sum += c
		}
		mean := sum / 20
		for _, c := range b.C[i-19 : i+1] {
			sq += (c - mean) * (c - mean)
		}
		sd := math.Sqrt(sq / 20)
		up[i], mid[i], low[i] = mean+2*sd, mean, mean-2*sd
	}
	return Named{"bbands", &ta.Result{
		Label: "BB(20, 2)", Overlay: true,
		Lines: []ta.Line{
			{Label: "BB Upper", Values: up, Style: ta.Band},
			{Label: "BB Lower", Values: low, Style: ta.Band},
		},
		Fills: []ta.Fill{{Y1: up, Y2: low}},
	}}
}

func rsi(b market.Bars) Named {
	n := len(b.C)
	out := nans(n)
	gain, loss := 0.0, 0.0
	for i := 1; i < n; i++ {
		d := b.C[i] - b.C[i-1]
		g, l := max(d, 0), max(-d, 0)
		if i <= 14 {
			gain, loss = gain+g/14, loss+l/14
		} else {
			gain, loss = (gain*13+g)/14, (loss*13+l)/14
		}
		if i >= 14 && gain+loss > 0 {
			out[i] = 100 * gain / (gain + loss)
		}
	}
	return Named{"rsi", &ta.Result{
		Label: "RSI(14)", YRange: &[2]float64{0, 100},
		Lines:  []ta.Line{{Label: "RSI", Values: out}},
		HLines: []ta.HLine{{Y: 70, Label: "overbought"}, {Y: 30, Label: "oversold"}},
	}}
}

func macd(b market.Bars) Named {
	n := len(b.C)
	fast, slow := emaOf(b.C, 12), emaOf(b.C, 26)
	line, hist := nans(n), nans(n)
	for i := range line {
		line[i] = fast[i] - slow[i]
	}
	signal := emaOf(line, 9)
	for i := range hist {
		hist[i] = line[i] - signal[i]
	}
	return Named{"macd", &ta.Result{
		Label:  "MACD(12, 26, 9)",
		Hist:   []ta.Hist{{Label: "Histogram", Values: hist}},
		Lines:  []ta.Line{{Label: "MACD", Values: line}, {Label: "Signal", Values: signal}},
		HLines: []ta.HLine{{Y: 0, Style: ta.Zero}},
	}}
}

// profile is a volume profile of the whole range.
func profile(b market.Bars, rows int, left bool) Named {
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range b.C {
		lo, hi = min(lo, b.L[i]), max(hi, b.H[i])
	}
	volume := make([]float64, rows)
	for i := range b.C {
		row := int((b.C[i] - lo) / (hi - lo) * float64(rows))
		volume[min(row, rows-1)] += b.V[i]
	}
	most, poc := 0.0, 0
	for i, v := range volume {
		if v > most {
			most, poc = v, i
		}
	}
	r := &ta.Result{Label: "VPVR(36)", Overlay: true}
	size := (hi - lo) / float64(rows)
	for i, v := range volume {
		style := ta.Outside
		switch {
		case i == poc:
			style = ta.POC
		case i > rows/4 && i < rows*3/4:
			style = ta.ValueArea
		}
		r.HBars = append(r.HBars, ta.HBar{
			Y: lo + (float64(i)+0.5)*size, Height: size, Width: 0.16 * v / most, Left: left, Style: style,
		})
	}
	return Named{"vpvr", r}
}

// crosses is a result of buy and sell signals where two averages cross.
func crosses(b market.Bars) Named {
	fast, slow := emaOf(b.C, 8), emaOf(b.C, 21)
	r := &ta.Result{Label: "Cross(8, 21)", Overlay: true}
	for i := 1; i < len(b.C); i++ {
		switch {
		case fast[i-1] <= slow[i-1] && fast[i] > slow[i]:
			r.Signals = append(r.Signals, ta.Signal{X: i, Confirmed: i, Y: b.L[i], Label: "buy"})
		case fast[i-1] >= slow[i-1] && fast[i] < slow[i]:
			r.Signals = append(r.Signals, ta.Signal{X: i, Confirmed: i, Y: b.H[i], Label: "sell"})
		}
	}
	return Named{"cross", r}
}

// divergent adds two divergences to a panel.
func divergent(n Named) Named {
	v := n.Result.Lines[0].Values
	at := func(x1, x2 int, dashed, bull bool) {
		n.Result.DivLines = append(n.Result.DivLines, ta.DivLine{X1: x1, X2: x2, Y1: v[x1], Y2: v[x2], Dashed: dashed, Bull: bull})
	}
	last := len(v) - 1
	at(last/5, last/3, true, false)
	at(last/2, last*3/4, false, true)
	return n
}

// basic is the scene of the benchmark: four averages, volume, RSI, MACD.
func basic(n int) *Spec {
	b := walk(1, n, 65000, 4*3600)
	return &Spec{
		Bars: b, Symbol: "BTCUSDT", Interval: market.Hour4,
		Results: []Named{ema(b, 8, 21, 50, 200), rsi(b), macd(b)},
	}
}
