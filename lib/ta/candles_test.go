package ta

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"candela/lib/market"
	"candela/lib/ta/calc"
	"candela/lib/ta/candle"
)

// tenths makes bars on ticks of a tenth, with gaps, so that many patterns occur.
func tenths(n int, seed uint64) *market.Bars {
	b := jumpy(n, seed)
	for i := range n {
		for _, x := range []*float64{&b.O[i], &b.H[i], &b.L[i], &b.C[i]} {
			*x = float64(int(*x*10)) / 10
		}
	}
	return b
}

// TestCandles_SecondDerivation raises the signals from the values of package candle,
// with plain loops, and the trend from sums over the whole history.
func TestCandles_SecondDerivation(t *testing.T) {
	t.Parallel()
	b := tenths(1_500, 4)
	for filter, lengths := range map[string][]int{"none": nil, "sma50": {50}, "sma50_200": {50, 200}} {
		s, err := Resolve(request(t, `candles {"patterns":"all","trend_filter":"`+filter+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		got := s.Compute(input(b, market.Hour1)).Signals
		want := plainPatterns(b, lengths)
		if len(want) < 500 || !slices.Equal(got, want) {
			t.Errorf("%s: %d signals, want %d", filter, len(got), len(want))
		}
	}
}

// plainPatterns derives the signals of all patterns.
func plainPatterns(b *market.Bars, lengths []int) []Signal {
	var all []Signal
	state := candle.New(calc.NewSlab())
	for i := range b.Len() {
		state.Step(b.O[i], b.H[i], b.L[i], b.C[i])
		trend := plainTrend(b.C[:i+1], lengths)
		for p := range candle.Count {
			value := state.Value(p)
			label, y, side := p.Name(), b.H[i], -1
			if value > 0 {
				side = 1
			}
			switch {
			case value == 0,
				len(lengths) > 0 && p.Role() == candle.Reversal && trend != -side,
				len(lengths) > 0 && p.Role() == candle.Continuation && trend != side:
				continue
			case p.Plain() != "":
			case value == 200 || value == -200:
				label += "_confirmed"
				fallthrough
			default:
				if label += "_bear"; value > 0 {
					label, y = strings.TrimSuffix(label, "_bear")+"_bull", b.L[i]
				}
			}
			all = append(all, Signal{X: i, Confirmed: i, Y: y, Label: label})
		}
	}
	return all
}

func plainTrend(closes []float64, lengths []int) int {
	up, down, last := true, true, closes[len(closes)-1]
	for _, n := range lengths {
		if len(closes) < n {
			return 0
		}
		mean := 0.0
		for _, c := range closes[len(closes)-n:] {
			mean += c / float64(n)
		}
		const noise = 1e-9
		up, down, last = up && last > mean+noise, down && last < mean-noise, mean
	}
	switch {
	case up:
		return 1
	case down:
		return -1
	}
	return 0
}

func TestCandles_ParameterTakesNamesAndLists(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"common"`: "common", `"ALL"`: "all", `"engulfing"`: "engulfing", `["hammer","engulfing","hammer"]`: "engulfing,hammer",
		`"hammer, engulfing"`: "engulfing,hammer", `["common","hikkake"]`: "common,hikkake", `"CDLDOJI"`: "doji",
		`"three white soldiers"`: "3whitesoldiers",
	} {
		s, err := Resolve(Request{Name: "candles", Params: map[string]json.RawMessage{"patterns": json.RawMessage(text)}})
		if err != nil || s.Values.Text("patterns") != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		`"engulfin"`: "engulfing", `["doji","hamer"]`: "hammer", `[]`: "one or several of", `7`: "one or several of",
		`""`: "one or several of", `[1]`: "one or several of", `null`: "one or several of",
	} {
		_, err := Resolve(Request{Name: "candles", Params: map[string]json.RawMessage{"patterns": json.RawMessage(text)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestCandles_OneStreamServesEveryAlert has all signals in the form that alerts use.
func TestCandles_OneStreamServesEveryAlert(t *testing.T) {
	t.Parallel()
	s, err := ResolveAlert("cdl")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Values.Text("patterns"); got != "all" {
		t.Errorf("alerts see the patterns %q", got)
	}
	if n := len(s.Def.Signals); n != 92 {
		t.Errorf("%d labels, want 92: 27 patterns with two sides, 28 with one, 6 with none, 4 confirmations", n)
	}
	for _, label := range []string{"engulfing_bull", "doji", "hikkake_confirmed_bear", "3whitesoldiers_bull"} {
		if err := CheckSignal(s.Def, label); err != nil {
			t.Error(err)
		}
	}
}
