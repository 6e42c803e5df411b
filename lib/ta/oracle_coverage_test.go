package ta_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"candela/lib/market"
	"candela/lib/ta"
)

// evidence confirms an indicator's numbers: a number of independent libraries, or
// tests that derive it a second time.
type evidence struct {
	oracles int
	tests   []string
}

// required is the evidence needed: two libraries for indicators that libraries have, a
// second derivation for others. An indicator that is not listed needs one oracle file.
func required() map[string]evidence {
	two := evidence{oracles: 2}
	tests := func(names ...string) evidence { return evidence{tests: names} }
	return map[string]evidence{
		"ema_stack": two, "bbands": two, "keltner": two, "donchian": two, "vwap": two, "supertrend": two, "sar": two, "ichimoku": two,
		"macd": two, "rsi": two, "stoch": two, "atr": two, "obv": two, "cci": two, "roc": two, "mfi": two, "williams_r": two,
		"cmf": two, "adx": two, "ad": two, "histvol": two,

		"heikin_ashi": two, "pivot": two, "wavetrend": two, "kalman_volume": two, "rsi_mfi_stoch": two,

		"ma":        tests("TestMovingAverages_SecondDerivation"),
		"ma_cross":  tests("TestAverageSets_SecondDerivation", "TestMACross_SignalsAreTheCrosses"),
		"ma_ribbon": tests("TestAverageSets_SecondDerivation"),
		"envelope":  tests("TestAverageSets_SecondDerivation"),
		"alligator": tests("TestAverageSets_SecondDerivation"),
		"stc":       tests("TestSTC_SecondDerivation"), "rci": tests("TestRCI_SecondDerivation"),
		"parkinson": tests("TestRangeVolatility_SecondDerivation"), "garman_klass": tests("TestRangeVolatility_SecondDerivation"),
		"rogers_satchell": tests("TestRangeVolatility_SecondDerivation"), "yang_zhang": tests("TestRangeVolatility_SecondDerivation"),
		"up_down_volume": tests("TestUpDownVolume_SecondDerivation"), "volume_delta": tests("TestVolumeDelta_SecondDerivation"),
		"hurst": tests("TestHurst_SecondDerivation"), "twap": tests("TestTWAP_SecondDerivation"), "dist_52w": tests("TestDist52w_SecondDerivation"),

		"correlation": tests("TestPaired_SecondDerivation"),
		"beta":        tests("TestPaired_SecondDerivation"),

		"volume_profile": tests("TestVolumeProfile_SecondDerivation"),
		"session_vp":     tests("TestSessionVP_SecondDerivation"),
		"tpo":            tests("TestTPO_SecondDerivation"),
		"naked_poc":      tests("TestNakedPOC_AGapThroughIsATouch"),
		"hvn_lvn":        tests("TestHVNLVN_FindsPlantedNodes"),
		"funding":        tests("TestOracles_OutsideSeries"),
		"oi":             tests("TestOracles_OutsideSeries"),
		"long_short":     tests("TestOracles_OutsideSeries"),
		"fear_greed":     tests("TestOracles_OutsideSeries"),

		"swings":             tests("TestSwings_SecondDerivation", "TestSwings_Skender"),
		"structure":          tests("TestStructure_SecondDerivation"),
		"sweeps":             tests("TestSweeps_SecondDerivation"),
		"fvg":                tests("TestGaps_SecondDerivation"),
		"gaps":               tests("TestGaps_SecondDerivation"),
		"prior_levels":       tests("TestPriorLevels_SecondDerivation"),
		"opening_range":      tests("TestOpeningRange_SecondDerivation"),
		"order_blocks":       tests("TestOrderBlocks_SecondDerivation"),
		"divergence":         tests("TestDivergence_SecondDerivation"),
		"support_resistance": tests("TestSupportResistance_SecondDerivation"),
		"zigzag":             tests("TestZigZag_SecondDerivation", "TestZigZag_Skender"),
		"fractals":           tests("TestFractals_SecondDerivation", "TestFractals_Skender"),
		"trendlines":         tests("TestTrendlines_SecondDerivation"),
		"linreg_channel":     tests("TestLinRegChannel_SecondDerivation", "TestLinRegChannel_Skender"),
		"darvas":             tests("TestDarvas_SecondDerivation"),
		"wvf":                tests("TestVixFix_SecondDerivation"),
		"anchored_vwap":      tests("TestAnchoredVWAP_SecondDerivation"),
		"session_levels":     tests("TestSessionLevels_SecondDerivation"),
		"auto_fib":           tests("TestAutoFib_SecondDerivation"),
		"round_levels":       tests("TestRoundLevels_SecondDerivation"),
	}
}

// vouched lists the oracles of every indicator that share its seeds.
func vouched(t *testing.T) map[string][]string {
	t.Helper()
	by := make(map[string][]string)
	add := func(name, oracle string) {
		if !slices.Contains(by[name], oracle) {
			by[name] = append(by[name], oracle)
		}
	}
	for _, f := range oracleFiles(t) {
		for _, c := range f.Cases {
			if c.Seed == "same" {
				add(f.Indicator, c.Oracle)
			}
		}
	}
	for _, c := range skenderCases() {
		if c.seed == "" {
			add(c.indicator, "skender")
		}
	}
	return by
}

// needs is what required asks for an indicator.
func needs(name string) evidence {
	if e, listed := required()[name]; listed {
		return e
	}
	return evidence{oracles: 1}
}

// TestOracles_CoverTheCatalogue fails when an indicator has less evidence than it
// should, or when a listed one does not exist.
func TestOracles_CoverTheCatalogue(t *testing.T) {
	t.Parallel()
	by, tests, want := vouched(t), testNames(t), required()
	var rows []string
	for _, d := range ta.All() {
		e := needs(d.Name)
		delete(want, d.Name)
		rows = append(rows, fmt.Sprintf("%-14s %d  %s", d.Name, len(by[d.Name]), strings.Join(slices.Concat(by[d.Name], e.tests), " ")))
		if len(by[d.Name]) < e.oracles {
			t.Errorf("%s has %d independent oracles (%s), want %d", d.Name, len(by[d.Name]), strings.Join(by[d.Name], " "), e.oracles)
		}
		for _, name := range e.tests {
			if !slices.Contains(tests, name) {
				t.Errorf("%s is to be proved by %s, which is not there", d.Name, name)
			}
		}
	}
	for name := range want {
		t.Errorf("%s is required and not in the catalogue", name)
	}
	t.Log("independent oracles that share our seeds\n" + strings.Join(rows, "\n"))
}

// TestOracles_CoverEveryLine fails when no oracle checks a drawn line.
func TestOracles_CoverEveryLine(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, f := range oracleFiles(t) {
		for _, c := range f.Cases {
			for label := range c.Lines {
				seen[f.Indicator+" "+label] = true
			}
		}
	}
	for _, d := range ta.All() {
		if needs(d.Name).oracles == 0 {
			continue
		}
		for _, label := range d.Lines {
			if !seen[d.Name+" "+label] {
				t.Errorf("no oracle has the line %q of %s", label, d.Name)
			}
		}
	}
}

// TestOracles_DocsNameOtherSeeds fails when an oracle is given the wider tolerance
// of another seed and the indicator's documentation does not say so.
func TestOracles_DocsNameOtherSeeds(t *testing.T) {
	t.Parallel()
	names := map[string]string{"talib": "TA-Lib", "tulip": "Tulip", "skender": "Skender", "pandas_ta": "pandas-ta", "ta": "the ta library"}
	check := func(name, oracle string) {
		d, err := ta.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if word, known := names[oracle]; !known || !strings.Contains(d.Truth, word) {
			t.Errorf("%s is compared with %s from bar %d on only; its Truth does not say so: %q", name, oracle, otherSeedAt, d.Truth)
		}
	}
	for _, f := range oracleFiles(t) {
		for _, c := range f.Cases {
			if c.Seed != "same" {
				check(f.Indicator, c.Oracle)
			}
		}
	}
	for _, c := range skenderCases() {
		if c.seed != "" {
			check(c.indicator, "skender")
		}
	}
}

// testNames lists the test functions of this package's files.
func testNames(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if rest, ok := strings.CutPrefix(line, "func Test"); ok {
				name, _, _ := strings.Cut(rest, "(")
				names = append(names, "Test"+name)
			}
		}
	}
	return names
}

// TestOracles_OutsideSeries checks the indicators that draw what they are given:
// the series is its own oracle.
func TestOracles_OutsideSeries(t *testing.T) {
	t.Parallel()
	given := []float64{math.NaN(), 0.25, 0.5, 0.125}
	scaled := func(k, shift float64) []float64 {
		out := make([]float64, len(given))
		for i, x := range given {
			out[i] = shift + k*x
		}
		return out
	}
	cases := map[string]struct {
		series market.SeriesName
		lines  map[string][]float64
		hist   []float64
	}{
		"funding":    {market.FundingRate, nil, scaled(100, 0)},
		"oi":         {market.OpenInterest, map[string][]float64{"OI": given}, nil},
		"long_short": {market.LongAccounts, map[string][]float64{"Long": given, "Short": scaled(-1, 1)}, nil},
		"fear_greed": {market.FearGreed, map[string][]float64{"F&G": given}, nil},
	}
	set := oracleBars()["ordinary"]
	bars := set.bars().Slice(0, len(given))
	for name, tc := range cases {
		chosen, err := ta.Resolve(ta.Request{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		in := ta.Input{Env: ta.Env{Interval: market.Hour1}, Bars: &bars}
		if r := chosen.Compute(in); len(r.Lines)+len(r.Hist) != 0 || !strings.Contains(r.Label, "no data") {
			t.Errorf("%s without its series: %+v", name, r)
		}
		in.Series = map[market.SeriesName][]float64{tc.series: given}
		r := chosen.Compute(in)
		c := oracleCase{Oracle: "itself", Seed: "same", Step: 1, Lines: map[string]oracleSeries{}, Hist: map[string]oracleSeries{}}
		for label, want := range tc.lines {
			c.Lines[label] = oracleSeries{First: 1, Values: want[1:]}
		}
		if tc.hist != nil {
			c.Hist["0"] = oracleSeries{First: 1, Values: tc.hist[1:]}
		}
		problems, _ := c.check(r)
		for _, p := range problems {
			t.Errorf("%s: %s", name, p)
		}
	}
}

// TestOracles_DetectErrors checks the comparison itself: each kind of error
// must be reported.
func TestOracles_DetectErrors(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	good := []float64{nan, nan, 1, 2, nan, 4}
	theirs := oracleSeries{First: 2, Values: numbers{1, 2, nan, 4}}
	cases := map[string]struct {
		values  []float64
		signals []ta.Signal
		ok      bool
	}{
		"equal":                       {good, []ta.Signal{{X: 3, Label: "buy"}}, true},
		"one part in 1e11":            {[]float64{nan, nan, 1, 2 + 2e-11, nan, 4}, []ta.Signal{{X: 3, Label: "buy"}}, true},
		"one part in 1e9":             {[]float64{nan, nan, 1, 2 + 2e-9, nan, 4}, []ta.Signal{{X: 3, Label: "buy"}}, false},
		"a value too early":           {[]float64{nan, 1, 1, 2, nan, 4}, []ta.Signal{{X: 3, Label: "buy"}}, false},
		"a value too late":            {[]float64{nan, nan, nan, 2, nan, 4}, []ta.Signal{{X: 3, Label: "buy"}}, false},
		"a value where there is none": {[]float64{nan, nan, 1, 2, 3, 4}, []ta.Signal{{X: 3, Label: "buy"}}, false},
		"none where there is a value": {[]float64{nan, nan, 1, nan, nan, 4}, []ta.Signal{{X: 3, Label: "buy"}}, false},
		"too few bars":                {good[:5], []ta.Signal{{X: 3, Label: "buy"}}, false},
		"a signal missing":            {good, nil, false},
		"a signal elsewhere":          {good, []ta.Signal{{X: 4, Label: "buy"}}, false},
	}
	for name, tc := range cases {
		c := oracleCase{Seed: "same", Step: 1, Lines: map[string]oracleSeries{"A": theirs}, Signals: map[string][]int{"buy": {3}}}
		r := &ta.Result{Lines: []ta.Line{{Label: "A", Values: tc.values}}, Signals: tc.signals}
		if problems, _ := c.check(r); (len(problems) == 0) != tc.ok {
			t.Errorf("%s: %q", name, problems)
		}
		if problems, _ := c.check(&ta.Result{Signals: tc.signals}); len(problems) == 0 {
			t.Error("a missing line is not reported")
		}
	}
}
