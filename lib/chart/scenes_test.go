package chart

import (
	"maps"
	"math"

	"candela/lib/market"
	"candela/lib/ta"
)

// scenes returns the pictures that goldens are kept of, by name. Each call of a
// function makes its own bars.
func scenes() map[string]func() *Spec {
	all := map[string]func() *Spec{
		"default": func() *Spec { return rich(Dark) }, "light": func() *Spec { return rich(Light) },
		"tiny_price": func() *Spec { return priced(0.0000123009) }, "dust": func() *Spec { return priced(1.23009e-12) },
		"huge": func() *Spec { return priced(1.2e12) }, "log": logarithmic,
		"bars_1": func() *Spec { return few(1) }, "bars_2": func() *Spec { return few(2) }, "flat": flat, "null_line": nullLine,
		"bars_500": func() *Spec { return basic(500) }, "bars_2000": func() *Spec { return basic(2000) },
		"bars_5000": func() *Spec { return basic(5000) }, "panels_6": func() *Spec { return panels(6) },
		"scale_2": func() *Spec { return scaled(2) }, "size_200": small, "size_400": func() *Spec { return sized(400, 300) }, "size_784": func() *Spec { return sized(784, 441) },
		"profiles": profiles, "intraday": intraday, "sample": sample, "levels": levels, "styles": styles,
		"many_overlays": func() *Spec { return overlays(9) }, "sessions": sessions, "negative": negative, "note": noted,
	}
	maps.Copy(all, drawnScenes())
	maps.Copy(all, scriptScenes())
	return all
}

func rich(theme Theme) *Spec {
	s := basic(200)
	b := s.Bars
	s.Theme = theme
	s.Results = []Named{bbands(b), ema(b, 8, 21, 50, 100), profile(b, 36, false), crosses(b), divergent(rsi(b)), macd(b)}
	return s
}

func priced(price float64) *Spec {
	b := walk(3, 150, price, 3600)
	return &Spec{Bars: b, Symbol: "PEPEUSDT", Interval: market.Hour1, Results: []Named{ema(b, 8, 21), macd(b)}}
}

func logarithmic() *Spec {
	b := walk(5, 300, 400, 86400)
	for i := range b.C { // thirty-fold growth
		k := math.Exp(float64(i) / 300 * 3.4)
		b.O[i], b.H[i], b.L[i], b.C[i] = b.O[i]*k, b.H[i]*k, b.L[i]*k, b.C[i]*k
	}
	return &Spec{Bars: b, Symbol: "ETHUSDT", Interval: market.Day1, Log: true, Results: []Named{ema(b, 21, 50), bbands(b)}}
}

func few(n int) *Spec {
	b := walk(2, n, 65000, 4*3600)
	return &Spec{Bars: b, Symbol: "BTCUSDT", Interval: market.Hour4, Results: []Named{ema(b, 8), rsi(b)}, Forming: true}
}

func flat() *Spec {
	b := market.MakeBars(60, false)
	for i := range 60 {
		b.Append(market.Bar{T: start + int64(i)*60, O: 1, H: 1, L: 1, C: 1, V: 0, TakerBuy: math.NaN()})
	}
	return &Spec{Bars: b, Symbol: "USDCUSDT", Interval: market.Minute1, Results: []Named{ema(b, 8), rsi(b), macd(b)}}
}

func nullLine() *Spec {
	b := walk(4, 120, 180, 86400)
	empty := ta.Line{Label: "EMA 200", Values: nans(120)}
	panel := ta.Line{Label: "OI", Values: nans(120)}
	return &Spec{Bars: b, Symbol: "AAPL", Interval: market.Day1, Results: []Named{
		{"ema_stack", &ta.Result{Label: "EMA", Overlay: true, Lines: []ta.Line{empty}}},
		{"oi", &ta.Result{Label: "OI (no data)", Lines: []ta.Line{panel}}},
	}}
}

func panels(n int) *Spec {
	s := basic(200)
	s.Results = s.Results[:1]
	for i := range n {
		if i%2 == 0 {
			s.Results = append(s.Results, rsi(s.Bars))
		} else {
			s.Results = append(s.Results, macd(s.Bars))
		}
	}
	return s
}

func scaled(k int) *Spec {
	s := rich(Dark)
	s.Scale, s.Width, s.Height = k, 960, 540
	return s
}

func small() *Spec {
	s := basic(60)
	s.Width, s.Height = 200, 200
	return s
}

// sized is a picture with more in it than its size is made for.
func sized(width, height int) *Spec {
	s := rich(Dark)
	s.Results = []Named{ema(s.Bars, 8, 21, 50, 100), bbands(s.Bars), rsi(s.Bars), macd(s.Bars)}
	s.Width, s.Height = width, height
	return s
}

// profiles has two profiles on one side and one on the other.
func profiles() *Spec {
	s := basic(160)
	s.Theme = Light
	s.Results = []Named{profile(s.Bars, 24, true), profile(s.Bars, 40, true), profile(s.Bars, 30, false), far(s.Bars)}
	return s
}

// intraday has sessions: breaks, an average that restarts and a profile of each.
func intraday() *Spec {
	b := walk(12, 280, 65000, 900)
	r := &ta.Result{Label: "VWAP Bands(2, session)", Overlay: true}
	upper, mean, lower := nans(280), nans(280), nans(280)
	for i := range 280 {
		from := i / 96 * 96
		if i == from && i > 0 {
			r.Restarts = append(r.Restarts, i)
		}
		sum := 0.0
		for _, c := range b.C[from : i+1] {
			sum += c
		}
		mean[i] = sum / float64(i-from+1)
		upper[i], lower[i] = mean[i]*(1+0.0008*float64(i-from)), mean[i]*(1-0.0008*float64(i-from))
	}
	r.Lines = []ta.Line{
		{Label: "VWAP Upper", Values: upper, Style: ta.Band},
		{Label: "VWAP", Values: mean},
		{Label: "VWAP Lower", Values: lower, Style: ta.Band},
	}
	r.Fills = []ta.Fill{{Y1: upper, Y2: lower}}
	p := &ta.Result{Label: "SVP(24)", Overlay: true}
	for from := 0; from < 280; from += 96 {
		to := min(from+96, 280)
		rows := profile(b.Slice(from, to), 24, true).Result.HBars
		for i := range rows {
			rows[i].Width /= 0.16
		}
		p.Profiles = append(p.Profiles, ta.Profile{From: from, To: to, Bars: rows})
	}
	return &Spec{Bars: b, Symbol: "BTCUSDT", Interval: market.Minute15, Results: []Named{{"vwap_bands", r}, {"session_vp", p}}}
}

func sample() *Spec {
	s := basic(120)
	s.Sample, s.Symbol = true, ""
	return s
}

func levels() *Spec {
	s := basic(160)
	last := s.Bars.C[159]
	s.Levels = []Level{
		{EntryLevel, last * 0.97, "Long 0.5", false},
		{OrderLevel, last * 1.06, "Sell 0.25", true},
		{OrderLevel, last * 0.965, "Buy 0.5", false},
		{AlertLevel, last * 1.08, "Alert", false},
		{AlertLevel, last * 2, "Alert", false},
	}
	s.Trades = []Trade{
		{120, s.Bars.L[120], false},
		{140, s.Bars.C[140], false},
		{150, s.Bars.H[150], true},
		{-1, last, false},
		{160, last, false},
		{10, math.NaN(), false}, // nowhere
	}
	s.Forming = true
	return s
}

// styles draws every style of every channel.
func styles() *Spec {
	b := walk(9, 160, 320, 3600)
	n := b.Len()
	shift := func(k float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = b.C[i] * (1 + k*math.Sin(float64(i)/12))
		}
		return v
	}
	wave := func(period, size float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = size * math.Sin(float64(i)/period)
		}
		return v
	}
	step, state := nans(n), nans(n)
	for i := range step {
		step[i] = b.C[i/24*24]
		state[i] = float64(i/13%3 - 1)
	}
	a, c := emaOf(b.C, 9), emaOf(b.C, 26)
	ha := heikin(b)
	over := &ta.Result{
		Label: "Styles", Overlay: true,
		Lines: []ta.Line{
			{Label: "Trend", Values: shift(0.03), Style: ta.Trend},
			{Label: "SAR", Values: shift(-0.02), Style: ta.Dots},
			{Label: "Pivot", Values: step, Style: ta.Steps},
		},
		Fills:  []ta.Fill{{Y1: a, Y2: c, Style: ta.Cloud}},
		HLines: []ta.HLine{{Y: b.C[40], Label: "POC", Style: ta.Primary}, {Y: b.C[80], Label: "VAH", Style: ta.Secondary}},
		Signals: []ta.Signal{
			{X: 20, Y: b.C[20], Label: "flip_up"},
			{X: 20, Y: b.C[20], Label: "gold_buy"},
			{X: 60, Y: b.C[60], Label: "flip_down"},
			{X: 61, Y: b.C[61], Label: "sell"},
			{X: 90, Y: b.C[90], Label: "cross_up"},
		},
	}
	panel := &ta.Result{
		Label: "WaveTrend(9, 12)", YRange: &[2]float64{-105, 105},
		Lines: []ta.Line{{Label: "WT1", Values: wave(7, 80)}, {Label: "WT2", Values: wave(7.5, 70)}},
		Hist:  []ta.Hist{{Label: "state", Values: state, Base: -105, Style: ta.State}},
		Fills: []ta.Fill{{Y1: wave(7, 80), Y2: wave(7.5, 70), Style: ta.Area}},
		HLines: []ta.HLine{
			{Y: 60}, {Y: 100}, {Y: -60}, {Y: 0, Style: ta.Zero},
		},
		Signals: []ta.Signal{
			{X: 30, Y: -60, Label: "buy"},
			{X: 55, Y: 60, Label: "sell"},
			{X: 75, Y: -20, Label: "cross_up_os"},
			{X: 100, Y: 40, Label: "rsi_overbought"},
			{X: 140, Y: -90, Label: "buy_oversold"},
		},
	}
	bars := &ta.Result{
		Label:  "KVF(70)",
		Hist:   []ta.Hist{{Label: "a", Values: wave(9, 1.4), Style: ta.Signed}, {Label: "b", Values: wave(11, 0.6), Style: ta.Plain}},
		Fills:  []ta.Fill{{Y1: constant(n, 2), Y2: constant(n, 0.6), Style: ta.Zone}, {Y1: constant(n, -0.6), Y2: constant(n, -2), Style: ta.Zone}},
		HLines: []ta.HLine{{Y: 0, Style: ta.Zero}},
	}
	return &Spec{Bars: b, Symbol: "SOLUSDT", Interval: market.Hour1, Results: []Named{
		{"heikin_ashi", ha}, {"styles", over}, {"wavetrend", panel}, {"kvf", bars}, profile(b, 24, true),
	}}
}

func constant(n int, c float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = c
	}
	return v
}

func heikin(b market.Bars) *ta.Result {
	n := b.Len()
	o, h, l, c := nans(n), nans(n), nans(n), nans(n)
	for i := range n {
		c[i] = (b.O[i] + b.H[i] + b.L[i] + b.C[i]) / 4
		o[i] = (b.O[i] + b.C[i]) / 2
		if i > 0 {
			o[i] = (o[i-1] + c[i-1]) / 2
		}
		h[i], l[i] = max(b.H[i], o[i], c[i]), min(b.L[i], o[i], c[i])
	}
	return &ta.Result{Label: "HA", Overlay: true, Lines: []ta.Line{
		{Label: "HA Open", Values: o, Style: ta.CandleOpen},
		{Label: "HA High", Values: h, Style: ta.CandleHigh},
		{Label: "HA Low", Values: l, Style: ta.CandleLow},
		{Label: "HA Close", Values: c, Style: ta.CandleClose},
	}}
}

func overlays(n int) *Spec {
	s := basic(150)
	s.Results = nil
	for i := range n {
		s.Results = append(s.Results, ema(s.Bars, 5+7*i))
		s.Results[i].Result.Label = "EMA(" + notation{}.text(float64(5+7*i)) + ")"
	}
	return s
}

// sessions is a stock market: seven bars a day, no weekends.
func sessions() *Spec {
	b := walk(6, 210, 190, 3600)
	day, k := int64(0), 0
	for i := range b.T {
		for weekday := (day + 4) % 7; weekday == 0 || weekday == 6; weekday = (day + 4) % 7 {
			day++
		}
		b.T[i] = 1735776000/86400*86400 + day*86400 + 14*3600 + 1800 + int64(k)*3600
		if k++; k == 7 {
			k, day = 0, day+1
		}
	}
	return &Spec{Bars: b, Symbol: "AAPL", Interval: market.Hour1, Results: []Named{ema(b, 21)}}
}

// negative is a spread that trades on both sides of zero.
func negative() *Spec {
	b := walk(8, 150, 60, 86400)
	for i := range b.C {
		b.O[i], b.H[i], b.L[i], b.C[i] = b.O[i]-60, b.H[i]-60, b.L[i]-60, b.C[i]-60
	}
	return &Spec{Bars: b, Symbol: "CL1-CL2", Interval: market.Day1, Log: true, Results: []Named{ema(b, 21)}}
}

func noted() *Spec {
	s := basic(100)
	s.Note, s.Sample, s.Symbol = "stale 12m", true, "DEMO"
	s.Width, s.Height = 640, 360
	return s
}
