package report_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"candela/internal/work/research/report"
	"candela/lib/backtest"
	"candela/lib/backtest/simulate"
	"candela/lib/chart"
	"candela/lib/market"
)

// made returns a report over so many bars with so many trades.
func made(id string, bars, trades int) *report.Report {
	run := &backtest.Run{Config: simulate.Config{Capital: 1000, PointValue: 1}, Bars: &market.Bars{}}
	for i := range bars {
		c := 100 + 10*math.Sin(float64(i)/40)
		run.Bars.Append(market.Bar{T: 1735689600 + int64(i)*3600, O: c, H: c + 1, L: c - 1, C: c, V: 3})
		run.Equity = append(run.Equity, 1000+float64(i%97))
	}
	for i := range trades {
		at := i * (bars - 5) / trades
		t := simulate.Trade{Side: simulate.Long, Quantity: 1, EntryBar: at, ExitBar: at + 3, EntryPrice: run.Bars.C[at], ExitPrice: run.Bars.C[at+3], Ambiguous: i%7 == 0}
		if i%3 == 0 {
			t.Side = simulate.Short
		}
		t.Profit = (t.ExitPrice - t.EntryPrice) * float64(t.Side)
		run.Trades = append(run.Trades, t)
	}
	return &report.Report{
		ID: id, Title: "Back-test of <BTCUSDT>", Answer: []byte(`{}`),
		Sections: []report.Section{{Title: "How far to trust this", Facts: [][2]string{{"Flags", "few trades & more"}}}},
		Tables: []report.Table{{Name: "trades", Columns: []string{"side", "profit"}, Len: trades, Row: func(i int) []any {
			return []any{run.Trades[i].Side.String(), run.Trades[i].Profit}
		}}},
		Curve: &report.Curve{Run: run, Symbol: "BTCUSDT", Interval: market.Hour1, Facts: []string{"net +1 %"}, Warning: "few trades", OutOfSample: bars * 7 / 10},
	}
}

// TestPicture_OfAnyLength draws runs from one bar to more than a picture has columns.
func TestPicture_OfAnyLength(t *testing.T) {
	t.Parallel()
	draw := chart.NewRenderer()
	for _, c := range []struct{ bars, trades int }{{1, 0}, {2, 0}, {100, 9}, {1500, 301}, {5001, 40}, {15000, 700}} {
		for _, theme := range []chart.Theme{chart.Dark, chart.Light} {
			r := made("x", c.bars, c.trades)
			spec := r.Curve.Picture(theme)
			png, err := draw.PNG(spec)
			if err != nil || len(png) < 5000 {
				t.Fatalf("%d bars: %v, %d bytes", c.bars, err, len(png))
			}
			if n := spec.Bars.Len(); n > chart.MaxBars || c.bars <= chart.MaxBars && n != c.bars {
				t.Errorf("%d bars are %d columns", c.bars, n)
			}
			marks := len(spec.Results[0].Result.Drawn.Marks)
			if lines := len(spec.Results[0].Result.Drawn.Shapes); lines != c.trades || (marks == 0) != (c.trades == 0 || c.trades > 300) {
				t.Errorf("%d trades: %d lines, %d marks", c.trades, lines, marks)
			}
		}
	}
}

func TestHTML_StandsAlone(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	if err := made("x", 2000, 600).HTML(&page, []byte("light"), []byte("dark")); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for name, png := range map[string]string{"src": "light", "srcset": "dark"} {
		if want := name + `="data:image/png;base64,` + base64.StdEncoding.EncodeToString([]byte(png)) + `"`; !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	for _, unwanted := range []string{"<script", "http://", "https://", "<BTCUSDT>", " & more"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("the page has %s", unwanted)
		}
	}
	first, picture := strings.Index(text, "How far to trust this"), strings.Index(text, "<picture")
	if first < 0 || picture < first || !strings.Contains(text, "The newest 500 of 600") || !strings.Contains(text, "&lt;BTCUSDT&gt;") || !strings.Contains(text, "Returns by month") {
		t.Errorf("%.3000s", text)
	}
}

func TestTable_CSV(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	table := report.Table{Columns: []string{"why", "profit"}, Len: 2, Row: func(i int) []any { return []any{"a, \"b\"", []float64{1.5, math.NaN()}[i]} }}
	if err := table.CSV(&out); err != nil || out.String() != "why,profit\n\"a, \"\"b\"\"\",1.5\n\"a, \"\"b\"\"\",\n" {
		t.Errorf("%v %q", err, out.String())
	}
}

func TestStore_IsBounded(t *testing.T) {
	t.Parallel()
	now := time.Unix(1735689600, 0)
	s := &report.Store{Now: func() time.Time { return now }}
	s.Put("me", "Claude", made("a", 100, 3))
	if _, ok := s.Get("you", "a"); ok {
		t.Error("another owner reads a report")
	}
	if r, ok := s.Get("me", "a"); !ok || r.ID != "a" {
		t.Error("the owner does not")
	}
	if all := s.List("me"); len(all) != 1 || all[0].By != "Claude" || !all[0].At.Equal(now) || s.List("you") != nil {
		t.Errorf("listed: %+v", all)
	}
	for i := range 200 {
		s.Put("me", "Claude", made(fmt.Sprint("r", i), 15000, 100))
	}
	if n := len(s.List("me")); n < 20 || n > 100 {
		t.Errorf("%d reports are kept", n)
	}
	if _, ok := s.Get("me", "a"); ok {
		t.Error("the oldest is still there")
	}
	if _, ok := s.Get("me", "r199"); !ok {
		t.Error("the newest is gone")
	}
	now = now.Add(61 * time.Minute)
	if all := s.List("me"); all != nil {
		t.Errorf("after an hour: %v", all)
	}
}

func TestCurve_Brief(t *testing.T) {
	t.Parallel()
	r := made("a", 101, 3)
	r.Curve.Run.Net, r.Curve.OutOfSample = 50, 0
	b := r.Curve.Brief()
	if b.Bars != 101 || b.Trades != 3 || b.Net != 5 || len(b.Equity) != 101 || !math.IsNaN(b.OutOfSample) {
		t.Errorf("%+v", b)
	}
	if want := 100 * 96.0 / 1096; b.Drawdown != want { // from 1096 at bar 96 to 1000 at bar 97
		t.Errorf("drawdown %v, want %v", b.Drawdown, want)
	}
	r.Curve.OutOfSample = 51
	if b, want := r.Curve.Brief(), 100*(1003.0/1050-1); math.Abs(b.OutOfSample-want) > 1e-9 {
		t.Errorf("out of sample %v, want %v", b.OutOfSample, want)
	}
}
