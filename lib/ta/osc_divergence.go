package ta

import (
	"fmt"
	"math"

	"candela/lib/ta/calc"
)

// comparison is how the values of an oscillator are compared.
type comparison uint8

// The comparisons.
const (
	bounded  comparison = iota // to nine decimals
	inPrices                   // to about 1e-12 of the close
	asIs                       // sums, which stay the same to the bit where nothing is added
)

// oscillator is an indicator of the catalogue whose first column can diverge.
type oscillator struct {
	def     func() Def
	compare comparison
}

// diverging are the oscillators that divergences are looked for in.
func diverging() []oscillator {
	return []oscillator{
		{rsi, bounded},
		{macd, inPrices},
		{obv, asIs},
		{stoch, bounded},
		{cci, bounded},
		{mfi, bounded},
		{williamsR, bounded},
		{cmf, bounded},
		{roc, bounded},
		{waveTrend, bounded},
		{ad, asIs},
		{ao, inPrices},
		{momentum, inPrices},
		{cmo, bounded},
		{tsi, bounded},
	}
}

func oscDivergence() Def {
	names := make([]string, len(diverging()))
	for i, o := range diverging() {
		names[i] = o.def().Name
	}
	return Def{
		Name: "divergence", Aliases: []string{"div"}, Kind: Panel, Group: GroupMomentum,
		Doc: "Divergences of price and an oscillator; regular ones warn of a turn, hidden ones suggest that the trend goes on.",
		Formula: "Pivots of the oscillator's first line (with its default parameters): `left` bars before and `right` bars after are lower or higher; 6 to 61 bars apart. " +
			"Bullish: a higher low of the oscillator at a lower low of the price; bearish: a lower high at a higher high. Hidden bullish: a lower low at a higher low of the price; hidden bearish: a higher high at a lower high. " +
			"Drawn at the pivot, confirmed `right` bars later.",
		Truth: "TradingView divergence indicator; second derivation in the tests",
		Params: []Param{
			Choice("osc", "rsi", names, "the oscillator").As("oscillator", "indicator"),
			Int("left", 5, 1, 100, "bars before a pivot"), Int("right", 5, 1, 100, "bars after it"),
			Bool("hidden", false, "also signal hidden divergences"),
		},
		Lines: []string{"Osc"}, Switches: []string{"hidden"},
		Signals: []Trigger{
			{"bull_div", "a pivot low of the oscillator above the one before, at a lower low of the price; y is the oscillator"},
			{"bear_div", "a pivot high of the oscillator below the one before, at a higher high of the price; y is the oscillator"},
			{"hidden_bull_div", "a pivot low of the oscillator below the one before, at a higher low of the price; on charts with `hidden`"},
			{"hidden_bear_div", "a pivot high of the oscillator above the one before, at a lower high of the price; on charts with `hidden`"},
		},
		New: newOscDivergence,
	}
}

func newOscDivergence(v Values) Instance {
	chosen, compare := rsi(), bounded
	for _, o := range diverging() {
		if d := o.def(); d.Name == v.Text("osc") {
			chosen, compare = d, o.compare
		}
	}
	values, err := chosen.values(nil)
	inner, ok := chosen.New(values).(*series)
	if err != nil || !ok {
		panic("indicator: " + chosen.Name + " does not stream") // a test makes all
	}
	left, right := v.Int("left"), v.Int("right")
	return &series{
		label: fmt.Sprintf("Divergence(%s, %d, %d)", inner.label, left, right), sum: inner.sum,
		warm: func(env Env) (int, int) {
			first, stable := inner.Warmup(env)
			return first, stable + farthest + left + right
		},
		columns: 1, lines: solid("Osc"), levels: inner.levels, yRange: inner.yRange,
		begin: func(m *calc.Slab, env Env) step {
			values, d := inner.inside(m, env), divergenceAt(m, left, right)
			d.bull, d.bear, d.solid = "bull_div", "bear_div", true
			if v.Bool("hidden") {
				d.hiddenBull, d.hiddenBear = "hidden_bull_div", "hidden_bear_div"
			}
			return func(r *Row) {
				x := values(r)[0]
				r.Values[0] = x
				switch compare {
				case bounded:
					d.next(r, x)
				case inPrices:
					d.compare(r, rounded(x, r.Bar.C))
				case asIs:
					d.compare(r, x)
				}
			}
		},
	}
}

// rounded rounds x to a multiple of 2^-40 of the power of two at the price.
func rounded(x, price float64) float64 {
	_, e := math.Frexp(price)
	unit := math.Ldexp(1, e-40)
	if y := math.Round(x/unit) * unit; y-y == 0 {
		return y
	}
	return x
}

// inside returns a function that computes the rows of s within another indicator, whose
// slab has its memory.
func (s *series) inside(m *calc.Slab, env Env) func(*Row) []float64 {
	past, next, row := m.Cells(s.columns), s.begin(m, env), newRow(s.columns)
	return func(r *Row) []float64 {
		row.begin(r.Index, r.Bar)
		row.Slot = r.Slot
		setAll(row.Prev, math.NaN())
		if r.Index > 0 {
			copy(row.Prev, past.Mem())
		}
		next(&row)
		copy(past.Mem(), row.Values)
		return row.Values
	}
}
