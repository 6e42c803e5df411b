package payload_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"candela/internal/serve/mcp/mcptest"
	"candela/internal/work/charting/payload"
	"candela/lib/market"
	"candela/lib/ta"
)

// chart is five bars and one indicator with every channel, one with none.
func chart(source payload.Source) *payload.Chart {
	var bars market.Bars
	for i := range 5 {
		x := float64(i)
		bars.Append(market.Bar{T: 1700000000 + 3600*int64(i), O: 100 + x, H: 110 + x, L: 90 + x, C: 105.123456789 + x, V: 1e6 * (x + 1), TakerBuy: math.NaN()})
	}
	nan := math.NaN()
	full := &ta.Result{
		Label: `Full("14")`, YRange: &[2]float64{0, 100},
		Lines:    []ta.Line{{Label: "A", Values: []float64{nan, nan, 1.23456789012, -0.000012345678901, 1e10 / 3}}, {Label: "B", Values: []float64{nan, nan, nan, nan, math.Inf(1)}}},
		Hist:     []ta.Hist{{Label: "H", Values: []float64{nan, -1, 0, 1, 2}}},
		Signals:  []ta.Signal{{X: 1, Confirmed: 3, Y: 5, Label: "buy"}, {X: 4, Confirmed: 4, Y: 6.5, Label: "sell"}},
		HLines:   []ta.HLine{{Y: 70}, {Y: 30, Label: "POC"}},
		Fills:    []ta.Fill{{Y1: []float64{nan, 1, 2, 3, 4}, Y2: []float64{nan, 0, 0, 0, 0}}},
		HBars:    []ta.HBar{{Y: 101, Height: 2, Width: 0.1, Offset: 0.25, Left: true}, {Y: 103, Height: 2, Width: 0.5}},
		DivLines: []ta.DivLine{{X1: 1, X2: 3, Y1: 1, Y2: 2, Dashed: true}},
	}
	c := &payload.Chart{
		Symbol: "BTCUSDT", Interval: market.Hour1, Bars: &bars,
		Indicators: []payload.Indicator{{Key: "full", Result: full}, {Key: "empty", Result: &ta.Result{Label: "Empty", Overlay: true}}},
		Provenance: payload.Provenance{Source: source, Provider: "test", AsOf: time.Unix(1700020000, 0), LastBarClosed: true, WarmupOK: true},
	}
	if source == payload.Sample {
		c.AsOf = time.Time{}
	}
	return c
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for name, got := range map[string][]byte{
		"summary":        payload.AppendSummary(nil, chart(payload.Fetch)),
		"summary_sample": payload.AppendSummary(nil, chart(payload.Sample)),
		"computed":       payload.AppendComputed(nil, chart(payload.Cache)),
		"series":         payload.AppendSeries(nil, chart(payload.Fetch), 1<<20),
		"series_sample":  payload.AppendSeries(nil, chart(payload.Sample), 1<<20),
	} {
		if !json.Valid(got) {
			t.Errorf("%s is not JSON: %s", name, got)
		}
		file := "testdata/" + name + ".json"
		if *mcptest.Update {
			if err := os.WriteFile(file, append(got, '\n'), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got)+"\n" != string(want) {
			t.Errorf("%s\n got %s\nwant %s", name, got, want)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"rsi macd":            "rsi macd",
		"rsi rsi rsi":         "rsi rsi_2 rsi_3",
		"bb bbands bb":        "bb bbands bb_2",
		"RSI rsi":             "RSI rsi",
		"rsi rsi_2 rsi":       "rsi rsi_2 rsi_3",
		"rsi rsi rsi_2 rsi_2": "rsi rsi_3 rsi_2 rsi_2_2",
		"":                    "",
	} {
		if got := payload.Keys(strings.Fields(in)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

// series is the shape of a series as a client reads it.
type series struct {
	Truncated   bool `json:"truncated"`
	BarsOmitted int  `json:"bars_omitted"`
	Bars        []struct{ T *int64 }
	Indicators  map[string]struct {
		Lines     []struct{ Values []*float64 }
		Histogram []struct{ Values []*float64 }
		Fills     []struct{ Y1, Y2 []*float64 }
		Signals   []struct {
			X int
			T *int64
		}
		Divlines []struct {
			X1, X2 int
			T1, T2 *int64
		}
	}
}

func TestSeries_StaysAlignedWhenCut(t *testing.T) {
	t.Parallel()
	whole := len(payload.AppendSeries(nil, chart(payload.Fetch), 1<<20))
	for limit := whole; limit > 0; limit -= 37 {
		text := payload.AppendSeries([]byte("x"), chart(payload.Fetch), limit)[1:]
		var s series
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		n := len(s.Bars)
		if len(text) > limit && n > 1 || n+s.BarsOmitted != 5 || s.Truncated != (n < 5) || n == 0 {
			t.Fatalf("limit %d: %d bytes, %d bars, %d omitted, truncated %v", limit, len(text), n, s.BarsOmitted, s.Truncated)
		}
		full := s.Indicators["full"]
		for _, values := range [][]*float64{full.Lines[0].Values, full.Lines[1].Values, full.Histogram[0].Values, full.Fills[0].Y1, full.Fills[0].Y2} {
			if len(values) != n {
				t.Fatalf("limit %d: %d values for %d bars", limit, len(values), n)
			}
		}
		for _, signal := range full.Signals {
			if *signal.T != *s.Bars[signal.X].T {
				t.Fatalf("limit %d: a signal's time is not its bar's", limit)
			}
		}
		for _, d := range full.Divlines {
			if *d.T1 != *s.Bars[d.X1].T || *d.T2 != *s.Bars[d.X2].T {
				t.Fatalf("limit %d: a segment's time is not its bar's", limit)
			}
		}
	}
}

func TestSeries_CutsComparisonsAndDrawings(t *testing.T) {
	t.Parallel()
	c := chart(payload.Fetch)
	c.Compared = []payload.Compared{{Symbol: "X", Provider: "p", Since: c.Bars.T[1], Values: []float64{math.NaN(), 0, 1, 2, 3}}}
	c.Drawings = []payload.Drawing{{Type: "line", Timed: true, X: 4, T: c.Bars.T[4], Y: 1, Second: true, X2: -1, T2: 5, Y2: 2}}
	whole := len(payload.AppendSeries(nil, c, 1<<20))
	for _, limit := range []int{whole, whole / 2, 1} {
		var s struct {
			Bars    []struct{ T int64 }
			Compare []struct {
				Since  string
				Change float64 `json:"change_pct"`
				Values []*float64
			}
			Drawings []struct {
				X, X2 int
				T, T2 int64
			}
		}
		if err := json.Unmarshal(payload.AppendSeries(nil, c, limit), &s); err != nil {
			t.Fatal(err)
		}
		n := len(s.Bars)
		other, line := s.Compare[0], s.Drawings[0]
		if len(other.Values) != n || *other.Values[n-1] != 3 || other.Change != 3 || other.Since != time.Unix(c.Bars.T[1], 0).UTC().Format(time.RFC3339) {
			t.Errorf("limit %d: %d bars, %+v", limit, n, other)
		}
		if line.X != n-1 || line.X2 != n-6 || s.Bars[line.X].T != line.T || line.T2 != 5 {
			t.Errorf("limit %d: %d bars, %+v", limit, n, line)
		}
	}
}

func TestSummary_IsBounded(t *testing.T) {
	t.Parallel()
	c := chart(payload.Fetch)
	r := c.Indicators[0].Result
	for range 1000 {
		r.Signals = append(r.Signals, ta.Signal{X: 4, Confirmed: 4, Y: 1, Label: "buy"})
		r.HLines = append(r.HLines, ta.HLine{Y: 1})
		r.HBars = append(r.HBars, ta.HBar{Y: 1, Height: 1, Width: 0.2})
		r.DivLines = append(r.DivLines, ta.DivLine{X1: 1, X2: 2})
	}
	text := string(payload.AppendSummary(nil, c))
	if len(text) > 4096 || !strings.Contains(text, `"truncated":true`) || !strings.Contains(text, `"signals_count":1002`) {
		t.Fatalf("%d bytes: %s", len(text), text)
	}
}

// The panel's range comes from its values when the indicator has none of its own.
func TestSummary_RangeOfAPanel(t *testing.T) {
	t.Parallel()
	c := chart(payload.Fetch)
	c.Indicators[0].Result.YRange = nil
	if text := string(payload.AppendSummary(nil, c)); !strings.Contains(text, `"y_range":[-1,3333333333.3333335]`) {
		t.Error(text)
	}
	c.Indicators[0].Result.Lines, c.Indicators[0].Result.Hist = nil, nil
	if text := string(payload.AppendSummary(nil, c)); strings.Contains(text, `y_range`) {
		t.Error(text)
	}
}

// FuzzNumbers holds that a written number reads back as the same float, and has the
// text that encoding/json gives it.
func FuzzNumbers(f *testing.F) {
	for _, seed := range []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 123456789, 99999999.5, 1e-9, 1e-10, 1e20, 1e21, 5e-324, math.MaxFloat64, 0.000123456789, 9.99999999e-5, math.NaN(), math.Inf(-1)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		c := chart(payload.Fetch)
		c.Indicators = []payload.Indicator{{Key: "k", Result: &ta.Result{Overlay: true, Lines: []ta.Line{{Values: []float64{v}}}}}}
		number := between(string(payload.AppendSeries(nil, c, 1<<20)), `"values":[`, "]")
		if math.IsNaN(v) || math.IsInf(v, 0) {
			if number != "null" {
				t.Fatalf("%v became %s", v, number)
			}
			return
		}
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := strconv.ParseFloat(number, 64)
		if err != nil || math.Float64bits(got) != math.Float64bits(v) || number != string(want) {
			t.Fatalf("%v became %s, want %s", v, number, want)
		}
	})
}

func between(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	found, _, _ := strings.Cut(rest, after)
	return found
}

// TestNumbers_AreTheSameInEveryResult holds the digits of prices and values in the
// summary, the series and the result of a computation against each other.
func TestNumbers_AreTheSameInEveryResult(t *testing.T) {
	t.Parallel()
	c := chart(payload.Fetch)
	value := 100 + 1e4/3.
	last := c.Bars.Len() - 1
	c.Bars.O[last], c.Bars.H[last], c.Bars.L[last], c.Bars.C[last] = 51319.810000000005, 51319.8100001, 51319.81, 51319.810000000005
	c.Bars.V[last] = 123456789.123456
	r := c.Indicators[0].Result
	r.Lines[0].Values[last] = value
	r.Signals = []ta.Signal{{X: last, Confirmed: last, Y: value, Label: "buy"}}
	summary, computed := string(payload.AppendSummary(nil, c)), string(payload.AppendComputed(nil, c))
	series := string(payload.AppendSeries(nil, c, 1<<20))
	want := strconv.FormatFloat(value, 'f', -1, 64)
	for name, got := range map[string]string{
		"last value of the summary":   between(summary, `"label":"A","last_value":`, "}"),
		"last value of a computation": between(computed, `"label":"A","last_value":`, "}"),
		"value of the series":         between(series, `-0.000012345678901,`, "]"),
		"signal of the summary":       between(summary, `"y":`, ","),
		"signal of the series":        between(series, `"y":`, ","),
	} {
		if got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if want := `"o":51319.810000000005,"h":51319.8100001,"l":51319.81,"c":51319.810000000005,"v":123456789.123456}`; !strings.Contains(series, want) {
		t.Errorf("want %s in %s", want, series)
	}
	if want := `"open":51319.810000000005,"high":51319.8100001,"low":51319.81,"close":51319.810000000005,"volume":123456789.123456}`; !strings.Contains(summary, want) {
		t.Errorf("want %s in %s", want, summary)
	}
}

// TestSignals_NameTheConfirmingBar looks for both bars of a signal in every
// answer that has signals, and at what is left of a series that was cut.
func TestSignals_NameTheConfirmingBar(t *testing.T) {
	t.Parallel()
	c, sample := chart(payload.Fetch), chart(payload.Sample)
	const late = `{"x":1,"t":1700003600,"confirmed_x":3,"confirmed_t":1700010800,"y":5,"label":"buy"}`
	const unseen = `{"x":1,"t":null,"confirmed_x":3,"confirmed_t":null,"y":5,"label":"buy"}`
	for name, tc := range map[string]struct{ text, want string }{
		"summary":     {string(payload.AppendSummary(nil, c)), late},
		"computation": {string(payload.AppendComputed(nil, c)), late},
		"series":      {string(payload.AppendSeries(nil, c, 1<<20)), late},
		"sample":      {string(payload.AppendSummary(nil, sample)), unseen},
	} {
		if !strings.Contains(tc.text, tc.want) {
			t.Errorf("%s: want %s in %s", name, tc.want, tc.text)
		}
	}
	cut := payload.Tail(c.Indicators[0].Result, 5, 4)
	if got, want := cut.Signals[0], (ta.Signal{X: 0, Confirmed: 2, Y: 5, Label: "buy"}); got != want {
		t.Errorf("cut to four bars the signal is %+v, want %+v", got, want)
	}
}

func BenchmarkSeries(b *testing.B) {
	c := chart(payload.Fetch)
	var bars market.Bars
	r := &ta.Result{Lines: []ta.Line{{Values: make([]float64, 1000)}, {Values: make([]float64, 1000)}}}
	for i := range 1000 {
		x := 100 + math.Sin(float64(i))
		bars.Append(market.Bar{T: int64(i) * 3600, O: x, H: x + 1, L: x - 1, C: x, V: x, TakerBuy: math.NaN()})
		r.Lines[0].Values[i], r.Lines[1].Values[i] = x*math.Pi, x/math.Pi
	}
	c.Bars, c.Indicators = &bars, []payload.Indicator{{Key: "k", Result: r}}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = payload.AppendSeries(dst[:0], c, 1<<20)
	}
	b.SetBytes(int64(len(dst)))
}

// TestTail_KeepsWhatChartsDraw: restarts and the profiles of sessions count from the
// first remaining bar; a session that began earlier keeps its profile.
func TestTail_KeepsWhatChartsDraw(t *testing.T) {
	t.Parallel()
	r := &ta.Result{
		Restarts: []int{10, 20, 30},
		Profiles: []ta.Profile{{From: 0, To: 10}, {From: 10, To: 20}, {From: 20, To: 30}},
	}
	cut := payload.Tail(r, 40, 25)
	if !slices.Equal(cut.Restarts, []int{5, 15}) {
		t.Errorf("restarts at %v", cut.Restarts)
	}
	if len(cut.Profiles) != 2 || cut.Profiles[0].From != 0 || cut.Profiles[0].To != 5 || cut.Profiles[1].From != 5 {
		t.Errorf("profiles %+v", cut.Profiles)
	}
}
