package ta

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"candela/lib/fault"
	"candela/lib/market"
	"candela/lib/ta/calc"
)

// mean is one kind of moving average with its parameters.
type mean struct {
	kind          string
	n             int
	offset, sigma float64 // of alma
	factor        float64 // of t3
	fast, slow    int     // of kama
}

// meanKinds are the kinds of moving averages, in the order that clients see.
func meanKinds() []string {
	return []string{
		"sma", "ema", "wma", "rma", "hma", "vwma", "dema", "tema", "kama", "zlema", "alma", "t3", "trima", "mcginley", "linreg",
	}
}

// simpleMean is a kind of average with its usual parameters.
func simpleMean(kind string, n int) mean {
	return mean{kind: kind, n: n, offset: 0.85, sigma: 6, factor: 0.7, fast: 2, slow: 30}
}

// meanType is the parameter that chooses a kind of average.
func meanType() Param {
	return Choice("type", "sma", meanKinds(), "kind of moving average")
}

// label names the average, such as "SMA(50)".
func (a *mean) label() string { return fmt.Sprintf("%s(%d)", a.name(), a.n) }

// name is the kind as charts show it.
func (a *mean) name() string {
	switch a.kind {
	case "mcginley":
		return "McGinley"
	case "linreg":
		return "LSMA"
	}
	return strings.ToUpper(a.kind)
}

// warmup returns the index of the first value and the bars to stability.
func (a *mean) warmup() (first, stable int) {
	n := a.n
	switch a.kind {
	case "ema":
		return n - 1, emaStable(n)
	case "rma":
		return n - 1, wilderStable(n)
	case "hma":
		root := hullRoot(n)
		return n + root - 2, n + root - 1
	case "dema":
		return 2 * (n - 1), 2 * emaStable(n)
	case "tema":
		return 3 * (n - 1), 3 * emaStable(n)
	case "t3":
		return 6 * (n - 1), 4 * emaStable(n)
	case "zlema":
		return (n-1)/2 + n - 1, emaStable(n) + n
	case "kama":
		return n, n + 38*(a.slow+1)
	case "mcginley":
		return n - 1, 60*n + 20 // slower than Wilder's while the price is above it
	}
	return n - 1, n
}

// begin reserves the memory of the average and returns its step.
func (a *mean) begin(m *calc.Slab) func(r *Row, x float64) float64 {
	n := a.n
	switch a.kind {
	case "ema", "rma":
		s := a.exponential(m)
		return func(_ *Row, x float64) float64 { return s.Step(x) }
	case "wma":
		s := m.WMA(n)
		return func(r *Row, x float64) float64 { return s.Step(r.Slot, x) }
	case "hma":
		s := m.HMA(n)
		return func(r *Row, x float64) float64 { return s.Step(r.Slot, x) }
	case "vwma":
		s := m.VWMA(n)
		return func(r *Row, x float64) float64 { return s.Step(r.Slot, x, r.Bar.V) }
	case "dema", "tema", "t3":
		s := a.chain(m)
		return func(_ *Row, x float64) float64 { return s.Step(x) }
	case "kama":
		s := m.KAMA(n, a.fast, a.slow)
		return func(r *Row, x float64) float64 { return s.Step(r.Slot, x) }
	case "zlema":
		s := m.ZLEMA(n)
		return func(_ *Row, x float64) float64 { return s.Step(x) }
	case "alma":
		s := m.ALMA(n, a.offset, a.sigma)
		return func(_ *Row, x float64) float64 { return s.Step(x) }
	case "trima":
		s := m.Triangular(n)
		return func(r *Row, x float64) float64 { return s.Step(r.Slot, x) }
	case "mcginley":
		s := m.McGinley(n)
		return func(_ *Row, x float64) float64 { return s.Step(x) }
	case "linreg":
		s := m.LinReg(n)
		return func(r *Row, x float64) float64 {
			_, _, value := s.Step(r.Slot, x)
			return value
		}
	}
	s := m.SMA(n)
	return func(r *Row, x float64) float64 { return s.Step(r.Slot, x) }
}

// exponential is the state of an average of the kinds ema and rma.
func (a *mean) exponential(m *calc.Slab) calc.EMAState {
	if a.kind == "rma" {
		return m.RMA(a.n)
	}
	return m.EMA(a.n)
}

// chain is the state of an average made of EMAs of EMAs.
func (a *mean) chain(m *calc.Slab) calc.ChainState {
	switch a.kind {
	case "dema":
		return m.DEMA(a.n)
	case "tema":
		return m.TEMA(a.n)
	}
	return m.T3(a.n, a.factor)
}

// batch fills dst for the kinds that have a kernel, and reports whether this one has.
func (a *mean) batch(dst, src []float64, slots calc.Slots) bool {
	switch a.kind {
	case "sma":
		calc.SMA(dst, src, a.n, slots)
	case "ema":
		calc.EMA(dst, src, a.n)
	default:
		return false
	}
	return true
}

// hullRoot is the length of the last average of a Hull average.
func hullRoot(n int) int {
	root := 1
	for (root+1)*(root+1) <= n {
		root++
	}
	return root
}

// length is the parameter of indicators with one length.
func length(def int) Param {
	return Int("length", def, 1, 5000, "bars in the average").As("period")
}

func ma() Def {
	return Def{
		Name: "ma", Aliases: []string{"moving_average"}, Kind: Overlay, Group: GroupTrend,
		Doc: "A moving average of any type, length and source; the close crosses it when the trend turns.",
		Formula: "sma, wma (weights 1 to n) and vwma (weights by volume) are means of the last `length` values. ema has the factor 2/(n+1), rma 1/n, both seeded with the mean of the first n values. " +
			"hma = WMA(2 WMA(n/2) - WMA(n), root of n), halves and roots rounded down. dema = 2 E1 - E2 and tema = 3 E1 - 3 E2 + E3, where E2 is the EMA of the EMA E1. " +
			"t3 = c1 E6 + c2 E5 + c3 E4 + c4 E3 with Tillson's factors of `factor`. zlema = EMA(2 x - x of (n-1)/2 bars ago). trima is a mean of means. linreg is the end of the regression line. " +
			"kama moves by the square of (fast - slow) x efficiency + slow, seeded with the value before its first. alma weights by a bell curve around `offset` of width n/`sigma`. " +
			"mcginley moves by (x - MD) / (n (x/MD)^4), never past x, seeded with the mean of the first n values.",
		Truth: "TradingView ta.sma, ta.ema, ta.wma, ta.rma, ta.hma, ta.vwma, ta.alma, ta.linreg and its built-in indicators; TA-Lib SMA, EMA, WMA, RMA, HMA, VWMA, DEMA, TEMA, KAMA, ZLEMA, T3, TRIMA, LINEARREG",
		Params: []Param{
			meanType(), length(9), source("close"),
			Num("offset", 0.85, 0, 1, "top of the weights of alma, 1 at the newest bar"),
			Num("sigma", 6, 0.1, 100, "narrowness of the weights of alma"),
			Num("factor", 0.7, 0, 1, "volume factor of t3"),
			Int("fast", 2, 1, 5000, "bars of the fastest average of kama"),
			Int("slow", 30, 1, 5000, "bars of the slowest average of kama"),
			Bool(crossSignals, false, "also signal where the close crosses the average"),
		},
		Signals: []Trigger{
			{"cross_up", "the close goes from at or below the average to above it; y is the close; on charts only with `" + crossSignals + "`"},
			{"cross_down", "the close goes from at or above the average to below it; y is the close; on charts only with `" + crossSignals + "`"},
		},
		Switches: []string{crossSignals}, Members: meanMembers(), Check: checkMean,
		New: func(v Values) Instance {
			s := average(mean{
				kind: v.Text("type"), n: v.Int("length"), offset: v.Num("offset"), sigma: v.Num("sigma"),
				factor: v.Num("factor"), fast: v.Int("fast"), slow: v.Int("slow"),
			}, v.Text("source"))
			s.label = sourced(v, s.label)
			if !v.Bool(crossSignals) {
				s.detect = nil
			}
			return s
		},
	}
}

// crossSignals is the switch for signals where the close crosses an average. It is off on
// charts, where several averages would cover the candles with them.
const crossSignals = "cross_signals"

// meanExtras are the parameters that belong to one kind of average each.
func meanExtras() map[string]string {
	return map[string]string{"offset": "alma", "sigma": "alma", "factor": "t3", "fast": "kama", "slow": "kama"}
}

// checkMean refuses parameters that the chosen kind does not have.
func checkMean(v Values) error {
	extras := meanExtras()
	for _, name := range slices.Sorted(maps.Keys(extras)) {
		if kind := extras[name]; v.isSet(name) && v.Text("type") != kind {
			return fault.Field(name, fmt.Sprint(v.get(name)), "left out: only type "+kind+" has it")
		}
	}
	return nil
}

// meanMembers are the averages that have a name of their own, with TradingView's lengths.
func meanMembers() []Member {
	type kind struct {
		name    string
		n       int
		doc     string
		aliases []string
	}
	kinds := []kind{
		{"sma", 9, "Simple moving average.", nil},
		{"ema", 9, "Exponential moving average.", nil},
		{"wma", 9, "Weighted moving average.", nil},
		{"rma", 7, "Smoothed moving average of Wilder's RSI.", []string{"smma", "wilders"}},
		{"hma", 9, "Hull moving average.", []string{"hull"}},
		{"vwma", 20, "Volume-weighted moving average.", nil},
		{"dema", 9, "Double exponential moving average.", nil},
		{"tema", 9, "Triple exponential moving average.", nil},
		{"kama", 10, "Kaufman adaptive moving average.", nil},
		{"zlema", 21, "Zero-lag exponential moving average.", nil},
		{"alma", 9, "Arnaud Legoux moving average.", nil},
		{"t3", 5, "Tillson T3 average.", nil},
		{"trima", 9, "Triangular moving average.", nil},
		{"mcginley", 14, "McGinley dynamic.", nil},
		{"linreg", 25, "Least squares moving average.", []string{"lsma"}},
	}
	members := make([]Member, len(kinds))
	for i, k := range kinds {
		shape := simpleMean(k.name, k.n)
		members[i] = Member{
			Name: k.name, Aliases: k.aliases, Doc: k.doc, Lines: []string{shape.name()},
			Fixed: map[string]any{"type": k.name}, Defaults: map[string]any{"length": k.n},
		}
		for name, kind := range meanExtras() {
			if kind != k.name {
				members[i].Omit = append(members[i].Omit, name)
			}
		}
	}
	return members
}

// average is the instance of one moving average. Its second column is the close, which
// crosses it.
func average(a mean, from string) *series {
	const value, closing = 0, 1
	first, stable := a.warmup()
	s := &series{
		label: a.label(), first: first, stable: stable, columns: 2, lines: solid(a.name()),
		begin: func(m *calc.Slab, _ Env) step {
			next, price := a.begin(m), sourceOf(from)
			return func(r *Row) { r.Values[value], r.Values[closing] = next(r, price(r.Bar)), r.Bar.C }
		},
		detect: func(r *Row) { r.crosses(closing, value) },
	}
	if a.kind == "ema" || a.kind == "rma" {
		s.passing = func(m *calc.Slab, _ Env) (step, func(*market.Bars)) {
			state, price := a.exponential(m), sourceOf(from)
			next := func(r *Row) { r.Values[value], r.Values[closing] = state.Step(price(r.Bar)), r.Bar.C }
			if from == "close" { // the most usual by far
				next = func(r *Row) { r.Values[value], r.Values[closing] = state.Step(r.Bar.C), r.Bar.C }
			}
			return next, func(b *market.Bars) {
				in := Input{Bars: b}
				state.Pass(in.prices(from))
			}
		}
	}
	if a.kind == "sma" || a.kind == "ema" {
		s.batch = func(in Input, col [][]float64) {
			a.batch(col[value], in.prices(from), in.slots())
			copy(col[closing], in.Bars.C)
		}
	}
	return s
}
