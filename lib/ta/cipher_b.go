package ta

import (
	"math"
	"slices"

	"candela/lib/ta/calc"
)

// The fixed figures of Cipher B, from the public definition.
const (
	cipherSecond                                 = 3 // bars of WT2
	cipherTopDiv, cipherBottomDiv                = 45.0, -65.0
	cipherTopDiv2, cipherBottomDiv2              = 15.0, -40.0
	cipherGold                                   = -75.0
	cipherRSI, cipherRSITop, cipherRSIBottom     = 14, 60.0, 30.0
	cipherStoch, cipherSmooth                    = 14, 3
	cipherFlow, cipherFlowScale, cipherFlowShift = 60, 150.0, 2.5
)

// The columns of Cipher B.
const (
	cipherWT1 = iota
	cipherWT2
	cipherRSILine
	cipherK
	cipherD
	cipherArea
	cipherDifference
	cipherZero
	cipherColumns
)

func cipherB() Def {
	return Def{
		Name: "cipher_b", Aliases: []string{"cipher", "cb"}, Kind: Panel, Group: GroupMomentum,
		Doc: "Cipher B: WaveTrend, money flow, RSI and stochastic RSI; dots for entries, divergences and the rare gold buy.",
		Formula: waveFormula + " WT2 = SMA(WT1, 3). Money flow = SMA((c-o)/(h-l) x 150, 60) - 2.5. Stochastic RSI: K = SMA(stochastic of RSI(ln close, 14) over 14, 3), D = SMA(K, 3); no value while the RSI stays within 1e-12 of itself. " +
			"Fractals are tops and bottoms of WT2 with two lower (higher) bars on each side; a divergence compares a fractal beyond the limit (45 / -65, second set 15 / -40) with the previous one beyond it.",
		Truth: "TradingView, after the public definition (VuManChu B)",
		Params: []Param{
			Choice("dot_mode", "public", []string{"public", "strict"}, "which crosses give signals: all, as in the public definition, or only those that RSI and stochastic confirm"),
			Int("wt_channel_length", 9, 1, 1000, "bars of the channel averages"),
			Int("wt_average_length", 12, 1, 1000, "bars of the smoothing"),
			Num("wt_oversold", -53, -1000, 1000, "lower level"),
			Num("wt_overbought", 53, -1000, 1000, "upper level"),
			Bool("show_divergences", true, "find divergences of WT2 and the price"),
			zoneSwitch(),
		},
		Lines: []string{"WT1", "WT2", "RSI", "Stoch K", "Stoch D"},
		Signals: append([]Trigger{
			{"buy", "WT1 goes from at or below WT2 to above it while WT2 is at or below `wt_oversold` (strict: and RSI < 30, K < 20); y is WT2"},
			{"sell", "WT1 goes from at or above WT2 to below it while WT2 is at or above `wt_overbought` (strict: and RSI > 70, K > 80); y is WT2"},
			{"buy_small", "WT1 goes from at or below WT2 to above it while WT2 is above `wt_oversold` (strict: and RSI < 40); y is WT2"},
			{"sell_small", "WT1 goes from at or above WT2 to below it while WT2 is below `wt_overbought` (strict: and RSI > 60); y is WT2"},
			{"rsi_oversold", "RSI comes back from below 30: the bar before was below it, this one is not; y is the RSI"},
			{"rsi_overbought", "RSI comes back from above 60, which is the level here, not 70: the bar before was above it, this one is not; y is the RSI"},
			{"wt_bull_div", "a bottom fractal of WT2 at or below -65 (or -40) is above the previous such one while the price low is below; drawn at the fractal, confirmed 2 bars later"},
			{"wt_bear_div", "a top fractal of WT2 at or above 45 (or 15) is below the previous such one while the price high is above; drawn at the fractal, confirmed 2 bars later"},
			{"any_bull_div", "comes with every wt_bull_div; y is -95"},
			{"any_bear_div", "comes with every wt_bear_div; y is 95"},
			{"gold_buy", "a wt_bull_div at the first limit whose previous fractal was at or below -75 with RSI < 30 there, while WT2 is now above -75 and at least 5 above that fractal; y is WT2"},
		}, enterTriggers("rsi_", "RSI", "60", "30")...),
		Switches: []string{zoneSignals},
		New:      newCipherB,
	}
}

func newCipherB(v Values) Instance {
	channel, average := v.Int("wt_channel_length"), v.Int("wt_average_length")
	top, bottom, strict := v.Num("wt_overbought"), v.Num("wt_oversold"), v.Text("dot_mode") == "strict"
	zones := zoneDetector(v, cipherRSILine, cipherRSIBottom, "rsi_oversold", cipherRSITop, "rsi_overbought", "rsi_")
	s := &series{
		label: "Cipher B(" + number(float64(channel)) + ", " + number(float64(average)) + ")",
		first: min(waveFirst(channel, average), cipherRSI), columns: cipherColumns,
		stable: max(waveStable(channel, average)+cipherSecond, wilderStable(cipherRSI)+cipherStoch+2*cipherSmooth, cipherFlow) + 500,
		begin:  func(m *calc.Slab, _ Env) step { return newCipher(m, channel, average).values },
		batch:  func(in Input, col [][]float64) { cipherBatch(in, col, channel, average) },
		detect: func(r *Row) {
			detectCipher(r, top, bottom, strict)
			zones(r)
		},
		lines:  slices.Concat(solid("WT1", "WT2"), styled(Hidden, "RSI"), styled(Band, "Stoch K", "Stoch D")),
		levels: []HLine{{Y: 60}, {Y: 100}, {Y: -60}, {Y: 0, Style: Zero}}, yRange: &[2]float64{-105, 105},
		byBar:   true,
		present: presentCipher,
	}
	if v.Bool("show_divergences") {
		s.trace = func(m *calc.Slab) step { return newFractals(m).next }
		s.traceAll = func(in Input, col [][]float64, r *Result) { newFractals(calc.NewSlab()).all(in, col, r) }
	}
	return s
}

func presentCipher(r *Result, col [][]float64) {
	r.Hist = []Hist{{Label: "Money Flow", Values: col[cipherArea], Style: Signed}}
	r.Fills = []Fill{
		{Y1: col[cipherWT1], Y2: col[cipherWT2], Style: Cloud},
		{Y1: col[cipherDifference], Y2: col[cipherZero], Style: Area},
		{Y1: col[cipherK], Y2: col[cipherD], Style: Cloud},
	}
}

// detectCipher raises the crosses of the two waves.
func detectCipher(r *Row, top, bottom float64, strict bool) {
	y, rsi, k := r.Values[cipherWT2], r.Values[cipherRSILine], r.Values[cipherK]
	switch {
	case r.CrossedUp(cipherWT1, cipherWT2) && !above(y, bottom):
		if !strict || below(rsi, 30) && below(k, 20) {
			r.Signal("buy", y)
		}
	case r.CrossedUp(cipherWT1, cipherWT2):
		if !strict || below(rsi, 40) {
			r.Signal("buy_small", y)
		}
	case r.CrossedDown(cipherWT1, cipherWT2) && !below(y, top):
		if !strict || above(rsi, 70) && above(k, 80) {
			r.Signal("sell", y)
		}
	case r.CrossedDown(cipherWT1, cipherWT2):
		if !strict || above(rsi, 60) {
			r.Signal("sell_small", y)
		}
	}
}

// cipher computes the lines.
type cipher struct {
	wave        *wave
	rsi, logRSI calc.RSIState
	high, low   calc.ExtremeState
	k, d, flow  calc.SMAState
}

func newCipher(m *calc.Slab, channel, average int) *cipher {
	return &cipher{
		wave: newWave(m, channel, average, cipherSecond),
		rsi:  m.RSI(cipherRSI), logRSI: m.RSI(cipherRSI),
		high: m.Max(cipherStoch), low: m.Min(cipherStoch),
		k: m.SMA(cipherSmooth), d: m.SMA(cipherSmooth), flow: m.SMA(cipherFlow),
	}
}

func (c *cipher) values(r *Row) {
	wt1, wt2 := c.wave.next(r)
	r.Values[cipherWT1], r.Values[cipherWT2] = wt1, wt2
	r.Values[cipherRSILine] = c.rsi.Step(r.Bar.C)
	c.windows(r, c.logRSI.Step(calc.Log(r.Bar.C)))
}

// windows computes the values that depend on a few bars alone, from the waves and the
// RSI x of the logarithm.
func (c *cipher) windows(r *Row, x float64) {
	b, d := r.Bar, r.Values[cipherWT1]-r.Values[cipherWT2]
	r.Values[cipherDifference], r.Values[cipherZero] = d, 0*d
	high, low := c.high.Step(x), c.low.Step(x)
	raw := math.NaN()
	if span := calc.Difference(high, low); span != 0 { // the last bits of the RSI of an unchanged price still move
		raw = 100 * (x - low) / span
	}
	k := c.k.Step(r.Slot, raw)
	r.Values[cipherK], r.Values[cipherD] = k, c.d.Step(r.Slot, k)
	body := 0.0
	if b.H != b.L {
		body = (b.C - b.O) / (b.H - b.L) * cipherFlowScale
	}
	r.Values[cipherArea] = c.flow.Step(r.Slot, body) - cipherFlowShift
}

// cipherLead is how many bars before the first one shown its windows begin. A window of
// n bars is settled after 2n.
const cipherLead = 3 * cipherFlow

// cipherBatch fills the columns with kernels where values depend on all bars before, and
// those of windows from the bars shown on.
func cipherBatch(in Input, col [][]float64, channel, average int) {
	b := in.Bars
	waveBatch(in, col[cipherWT1], col[cipherWT2], channel, average, cipherSecond)
	calc.RSI(col[cipherRSILine], b.C, cipherRSI)
	logs, logRSI := in.Memory.take(b.Len()), in.Memory.take(b.Len())
	for i, price := range b.C {
		logs[i] = calc.Log(price)
	}
	calc.RSI(logRSI, logs, cipherRSI)
	c, row := newCipher(calc.NewSlab(), channel, average), newRow(cipherColumns)
	for i := max(0, in.first()-cipherLead); i < b.Len(); i++ {
		row.begin(i, b.At(i))
		row.Slot = slotOf(in.Interval, b.T[i])
		row.Values[cipherWT1], row.Values[cipherWT2] = col[cipherWT1][i], col[cipherWT2][i]
		c.windows(&row, logRSI[i])
		for k := cipherK; k < cipherColumns; k++ {
			col[k][i] = row.Values[k]
		}
	}
}
