package tool_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/internal/data/marketdata"
	"candela/internal/data/provider"
	"candela/internal/data/provider/csv"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/store/scripts"
	"candela/internal/testkit/longtest"
	"candela/internal/work/research"
	"candela/lib/chart"
	"candela/lib/pine"
	"candela/lib/ta"
)

// priced writes hourly bars from 2024-01-01 on, as many as fit before a time, whose prices follow
// a seed. With weekdays there are none on weekends.
func priced(t *testing.T, dir, symbol string, seed uint64, before time.Time, weekdays bool) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	var rows strings.Builder
	rows.WriteString("time,open,high,low,close,volume\n")
	price := 100.0
	for at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC); at.Add(time.Hour).Compare(before) <= 0; at = at.Add(time.Hour) {
		open := price
		price *= 1 + (random.Float64()-0.5)/50
		if day := at.Weekday(); weekdays && (day == time.Saturday || day == time.Sunday) {
			continue
		}
		fmt.Fprintf(&rows, "%d,%v,%v,%v,%v,%d\n", at.Unix(), open, max(open, price)+0.5, min(open, price)-0.5, price, 10+random.IntN(90))
	}
	name := filepath.Join(dir, symbol+"_1h.csv")
	if err := os.WriteFile(name+".new", []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

const requesting = `//@version=6
indicator("requesting")
plot(request.security(syminfo.tickerid, "D", close))
plot(array.size(request.security_lower_tf(syminfo.tickerid, "60", close)))
plot(barstate.isrealtime ? 1 : 0)
`

// overFiles returns all tools that need no trading, over the files of a folder.
func overFiles(t *testing.T, dir string) *tool.Registry {
	t.Helper()
	files, err := csv.New(csv.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	data, err := marketdata.New(marketdata.Config{
		Providers: []provider.Provider{files}, Routes: marketdata.Routes{Preferred: []string{"csv"}}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(data.Close)
	shelf := scripts.Open(t.TempDir(), scripts.Unshared, pine.Compile)
	for name, source := range map[string]string{
		"requesting": requesting,
		"beside":     "//@version=6\nindicator(\"beside\")\nplot(request.security(\"CSV:COIN\", \"60\", close))\nplot(ta.ema(close, 200))\n",
	} {
		if _, err := shelf.Save(name, source); err != nil {
			t.Fatal(err)
		}
	}
	library, charts := ta.Library{Scripts: shelf}, tooltest.Charts(data, chart.NewRenderer(), nil)
	asked := research.New(research.Config{Charting: charts, Library: library, Scripts: shelf})
	r, err := tool.New(tool.Config{
		Charting: charts, Research: asked, Log: slog.New(slog.DiscardHandler), Toolsets: []string{tool.ResearchSet, tool.ScriptsSet},
		Scripts: shelf, Library: library,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(asked.Close)
	return r
}

// steady returns an answer without what differs between two calls: when the bars were read, the
// names of the report and the run, and how many runs there were. The bar that is left out is not in a file that ends with the hour before.
func steady(t *testing.T, r *tool.Registry, named [2]string) string {
	t.Helper()
	var answer map[string]any
	text := textOf(call(t, r, named[0], named[1]))
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err, text)
	}
	var clean func(any)
	clean = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range []string{"as_of", "report_id", "run_id", "trials", "cut_bar"} {
				delete(v, name)
			}
			for _, inner := range v {
				clean(inner)
			}
		case []any:
			for _, inner := range v {
				clean(inner)
			}
		}
	}
	clean(answer)
	out, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// differ returns where two texts begin to differ.
func differ(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(0, i-60)
	return fmt.Sprintf("%.200s\nand\n%.200s", a[from:], b[from:])
}

// TestEnd_NothingAfterItIsKnown asks for the past at random times, of files that go on after it
// and of files that end there. The answers are the same: nothing depends on a bar that had not closed.
func TestEnd_NothingAfterItIsKnown(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	priced(t, whole, "COIN", 1, time.Date(2024, 9, 1, 0, 0, 0, 0, time.UTC), false)
	known := overFiles(t, whole)
	random := rand.New(rand.NewPCG(longtest.Seed(), 3))
	names := ta.Names()
	for range longtest.Pick(2, 400) {
		end := time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(random.IntN(60*24*3600)) * time.Second)
		cut := t.TempDir()
		priced(t, cut, "COIN", 1, end, false)
		ended := overFiles(t, cut)
		interval := []string{"1h", "2h", "4h", "8h", "1d", "3d", "1w", "1M"}[random.IntN(8)]
		name := names[random.IntN(len(names))]
		at := end.Format(time.RFC3339)
		for _, c := range [][2]string{
			{"get_indicators", fmt.Sprintf(`{"symbol":"COIN","interval":%q,"indicators":[%q,"requesting","sma(1)"],"end":%q}`, interval, name, at)},
			{"generate_chart", fmt.Sprintf(`{"symbol":"COIN","interval":%q,"indicators":[%q,"sma(1)"],"end":%q,"bars":30,"format":"summary"}`, interval, name, at)},
			{"generate_chart", fmt.Sprintf(`{"symbol":"COIN","interval":%q,"indicators":["requesting",%q],"end":%q,"bars":30,"format":"series"}`, interval, name, at)},
			{"run_backtest", fmt.Sprintf(`{"symbol":"COIN","interval":"1h","bars":500,"to":%q,"long":{"enter":{"value":{"indicator":"rsi","op":"<","value":40}},"max_bars":8}}`, at)},
			{"test_alert", fmt.Sprintf(`{"symbol":"COIN","interval":"1h","bars":500,"to":%q,"condition":{"value":{"indicator":"rsi","op":"<","value":40}}}`, at)},
		} {
			if with, without := steady(t, known, c), steady(t, ended, c); with != without {
				t.Fatalf("%s %s depends on what came after: %s", c[0], c[1], differ(with, without))
			}
		}
	}
}

// TestEnd_InsideABarLeavesItOut holds the bar and its name, in a chart and in a back-test.
func TestEnd_InsideABarLeavesItOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	priced(t, dir, "COIN", 1, time.Date(2024, 9, 1, 0, 0, 0, 0, time.UTC), false)
	r := overFiles(t, dir)
	for interval, want := range map[string][2]string{ // the last bar, and the one that is cut
		"1h": {"2024-07-10T04:00:00Z", "2024-07-10T05:00:00Z"}, "4h": {"2024-07-10T00:00:00Z", "2024-07-10T04:00:00Z"},
		"1d": {"2024-07-09T00:00:00Z", "2024-07-10T00:00:00Z"}, "1w": {"2024-07-01T00:00:00Z", "2024-07-08T00:00:00Z"},
		"1M": {"2024-06-01T00:00:00Z", "2024-07-01T00:00:00Z"},
	} {
		var got struct {
			Closed bool   `json:"last_bar_closed"`
			Cut    string `json:"cut_bar"`
			Price  struct {
				Last struct{ Date string }
			}
		}
		text := textOf(call(t, r, "generate_chart", `{"symbol":"COIN","interval":"`+interval+`","indicators":[],"end":"2024-07-10T05:30:00Z","format":"summary"}`))
		if err := json.Unmarshal([]byte(text), &got); err != nil || !got.Closed || got.Cut != want[1] || got.Price.Last.Date != want[0] {
			t.Errorf("%s: %v %+v, want the last bar %s and the cut one %s\n%.500s", interval, err, got, want[0], want[1], text)
		}
	}
	if text := textOf(call(t, r, "test_alert", `{"symbol":"COIN","interval":"4h","bars":500,"to":"2024-07-10T05:30:00Z","condition":{"value":{"indicator":"rsi","op":"<","value":40}}}`)); !strings.Contains(text, `"cut_bar":"2024-07-10T04:00:00Z"`) || !strings.Contains(text, `"to":"2024-07-10T00:00:00Z"`) {
		t.Errorf("a test of an alert: %.900s", text)
	}
}

// TestFiles_AReplacedFileIsNewAtOnce replaces a file between two calls of every kind.
func TestFiles_AReplacedFileIsNewAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	last := time.Date(2024, 9, 1, 0, 0, 0, 0, time.UTC)
	calls := [][2]string{
		{"get_indicators", `{"symbol":"COIN","interval":"1h","indicators":["sma(1)","requesting"]}`},
		{"get_indicators", `{"symbol":"COIN","interval":"1h","indicators":["sma(1)"],"end":"2024-06-10"}`},
		{"get_indicators", `{"symbol":"COIN","interval":"4h","indicators":["sma(1)"]}`},
		{"get_indicators", `{"symbol":"COIN","interval":"4h","indicators":["sma(1)"],"end":"2024-06-10"}`},
		{"generate_chart", `{"symbol":"COIN","interval":"1d","indicators":["rsi"],"end":"2024-06-10","format":"summary"}`},
		{"run_backtest", `{"symbol":"COIN","interval":"1h","bars":500,"to":"2024-06-10","long":{"enter":{"value":{"indicator":"rsi","op":"<","value":40}},"max_bars":8}}`},
		{"scan_symbols", `{"symbols":["COIN"],"interval":"1h","columns":["rsi"]}`},
	}
	priced(t, dir, "COIN", 1, last, false)
	r := overFiles(t, dir)
	answers := func() (all []string) {
		for _, c := range calls {
			all = append(all, steady(t, r, c))
		}
		return all
	}
	answers()
	priced(t, dir, "COIN", 2, last, false)
	got := answers()
	r = overFiles(t, dir)
	for i, want := range answers() {
		if got[i] != want {
			t.Errorf("%s %s: the old file is seen: %s", calls[i][0], calls[i][1], differ(got[i], want))
		}
	}
}

// TestScripts_RequestASymbolWithManyMoreBars charts a symbol with sessions whose script requests one that never closes.
func TestScripts_RequestASymbolWithManyMoreBars(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	last := time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	priced(t, dir, "COIN", 1, last, false)
	priced(t, dir, "STOCK", 2, last, true)
	text := textOf(call(t, overFiles(t, dir), "generate_chart", `{"symbol":"STOCK","interval":"1h","indicators":["beside"],"bars":5000,"format":"summary"}`))
	if strings.Contains(text, `"error"`) || strings.Contains(text, "compare") || !strings.Contains(text, `"last_value":`) || strings.Contains(text, `"last_value":null`) {
		t.Errorf("%.900s", text)
	}
}

// TestSums_CarryTheirAnchor compares a sum in a scan with that of a chart that begins at the bar which the scan names.
func TestSums_CarryTheirAnchor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	priced(t, dir, "COIN", 1, time.Date(2024, 9, 1, 0, 0, 0, 0, time.UTC), false)
	r := overFiles(t, dir)
	var scanned struct {
		Rows []struct {
			Anchor string `json:"anchored_at"`
			Values map[string]float64
		}
	}
	text := textOf(call(t, r, "scan_symbols", `{"symbols":["COIN"],"interval":"1h","columns":["obv"]}`))
	if err := json.Unmarshal([]byte(text), &scanned); err != nil || len(scanned.Rows) != 1 || scanned.Rows[0].Anchor == "" {
		t.Fatalf("%v %s", err, text)
	}
	var charted struct {
		Indicators map[string]struct {
			Anchor string `json:"anchored_at"`
			Lines  []struct {
				Last float64 `json:"last_value"`
			}
		}
	}
	row := scanned.Rows[0]
	text = textOf(call(t, r, "generate_chart", `{"symbol":"COIN","interval":"1h","indicators":["obv"],"start":"`+row.Anchor+`","format":"summary"}`))
	if err := json.Unmarshal([]byte(text), &charted); err != nil {
		t.Fatal(err, text)
	}
	obv := charted.Indicators["obv"]
	if obv.Anchor != row.Anchor || len(obv.Lines) == 0 || obv.Lines[0].Last != row.Values["obv"] {
		t.Errorf("the scan has %v since %s, the chart %+v", row.Values, row.Anchor, obv)
	}
	text = textOf(call(t, r, "test_alert", `{"symbol":"COIN","interval":"1h","bars":500,"condition":{"value":{"indicator":"obv","op":"<","value":0}}}`))
	if !strings.Contains(text, `"anchored_at":"`+row.Anchor+`"`) {
		t.Errorf("a test of an alert does not begin at %s: %.900s", row.Anchor, text)
	}
}

// TestLonger_AnIntervalThatHasEndedIsMarked has a file of days that ends a week before that of hours.
func TestLonger_AnIntervalThatHasEndedIsMarked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	last := time.Date(2024, 9, 1, 0, 0, 0, 0, time.UTC)
	priced(t, dir, "COIN", 1, last, false)
	var days strings.Builder
	days.WriteString("time,open,high,low,close,volume\n")
	for day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC); day.Before(last.AddDate(0, 0, -7)); day = day.AddDate(0, 0, 1) {
		fmt.Fprintf(&days, "%s,100,102,99,101,5\n", day.Format(time.DateOnly))
	}
	if err := os.WriteFile(filepath.Join(dir, "COIN_1d.csv"), []byte(days.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r := overFiles(t, dir)
	const ask = `{"symbol":"COIN","interval":"1h","indicators":[{"name":"sma","length":5,"interval":"1d"}]%s}`
	if text := textOf(call(t, r, "get_indicators", fmt.Sprintf(ask, ""))); !strings.Contains(text, `"data_until":"2024-08-25T00:00:00Z"`) {
		t.Errorf("it is not marked: %s", text)
	}
	if text := textOf(call(t, r, "get_indicators", fmt.Sprintf(ask, `,"end":"2024-08-25T12:00:00Z"`))); strings.Contains(text, "data_until") {
		t.Errorf("it is marked while it goes on: %s", text)
	}
}
