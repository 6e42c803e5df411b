package report_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"candela/internal/work/research/report"
	"candela/lib/backtest/simulate"
	"candela/lib/chart"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		report.Grouped(1234567.891, 2):      "1,234,567.89",
		report.Grouped(-1234, 0):            "-1,234",
		report.Grouped(-0.001, 2):           "0.00",
		report.Grouped(999.999, 2):          "1,000.00",
		report.Grouped(math.NaN(), 2):       "none",
		report.Money(-340.998):              "-341.00",
		report.Money(0.00012345):            "0.000123",
		report.Money(0):                     "0.00",
		report.Percent(17.2316):             "17.23 %",
		report.Percent(math.Inf(1)):         "none",
		report.Count(1, "trade", "trades"):  "1 trade",
		report.Count(1111, "bar", "bars"):   "1,111 bars",
		report.Count(0, "winner", "losers"): "0 losers",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestHTML_Tables holds that a column has the same decimals in all rows, units in its name, and that
// only lists of events begin with the newest.
func TestHTML_Tables(t *testing.T) {
	t.Parallel()
	r := &report.Report{Title: "x", Tables: []report.Table{
		{Name: "trades", Columns: []string{"in", "entry", "quantity", "profit", "best_pct"}, Len: 2, Row: func(i int) []any {
			return []any{"2021-05-12T03:00:00Z", []float64{57198.8, 57026}[i], []float64{0.449827, 0.49412}[i], []float64{-1569.946, 0}[i], []float64{-2.618, 0.5}[i]}
		}},
		{Name: "rows", Columns: []string{"symbol", "drawdown"}, Len: 2, Row: func(i int) []any { return []any{[]string{"first", "second"}[i], 3.14159} }},
	}}
	var page bytes.Buffer
	if err := r.HTML(&page, nil, nil); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, want := range []string{
		"in, UTC", "best, %", "drawdown, %", "2021-05-12 03:00", ">57,198.80<", ">57,026.00<", ">0.449827<", ">0.494120<",
		"<td class=\"n down\">\u22121,569.95<", `<td class="n">0.00<`, "<td class=\"n down\">\u22122.62<", `<td class="n up">0.50<`, `<td class="n">3.14<`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Index(text, "57,026.00") > strings.Index(text, "57,198.80") || strings.Index(text, "first") > strings.Index(text, "second") {
		t.Errorf("the rows are out of order: %s", text)
	}
}

// TestHTML_RowsOfSymbols holds that each symbol of a scan has the digits of its own prices.
func TestHTML_RowsOfSymbols(t *testing.T) {
	t.Parallel()
	closes := []float64{53047.82, 19.2137, 0.0000123456}
	r := &report.Report{Title: "x", Tables: []report.Table{{Name: "rows", Columns: []string{"symbol", "close"}, Len: 3, Row: func(i int) []any {
		return []any{[]string{"BTCUSDT", "ETHUSDT", "PEPEUSDT"}[i], closes[i]}
	}}}}
	var page bytes.Buffer
	if err := r.HTML(&page, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">53,047.82<", ">19.2137<", ">0.0000123456<"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// TestPicture_ShowsEveryTrade holds that a position that is shorter than a column is drawn, that many
// trades stand out from the bars, and that a run without trades has no empty panels.
func TestPicture_ShowsEveryTrade(t *testing.T) {
	t.Parallel()
	r := made("x", 15000, 400)
	r.Curve.Run.Trades = append(r.Curve.Run.Trades, simulate.Trade{Side: simulate.Short, Quantity: 7, EntryBar: 9001, ExitBar: 9001})
	spec := r.Curve.Picture(chart.Dark)
	lowest, held := 0.0, 0
	for _, x := range spec.Results[4].Result.Lines[0].Values {
		if lowest = min(lowest, x); x != 0 {
			held++
		}
	}
	if lowest != -7 || held < 401 {
		t.Errorf("the position goes down to %v and is held at %d columns", lowest, held)
	}
	if drawn := spec.Results[0].Result.Drawn; len(drawn.Tints) != 1 || !drawn.Tints[0].Bars || !strings.HasPrefix(spec.Results[0].Result.Label, "401 trades") {
		t.Errorf("%+v %s", drawn.Tints, spec.Results[0].Result.Label)
	}
	empty := made("y", 500, 0).Curve.Picture(chart.Light)
	if len(empty.Results) != 2 || len(empty.Shares) != 1 || empty.Results[0].Result.Label != "No trades" {
		t.Errorf("%d panels, %v", len(empty.Results), empty.Shares)
	}
}
