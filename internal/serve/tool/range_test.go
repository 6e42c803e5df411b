package tool_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
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
	"candela/lib/chart"
)

// dated returns the chart tools over 400 days of hourly bars from 2024-01-01 on.
func dated(t *testing.T) *tool.Registry {
	t.Helper()
	dir := t.TempDir()
	var rows strings.Builder
	rows.WriteString("time,open,high,low,close,volume\n")
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 400 * 24 {
		price := 100 + float64(i%37)/7
		fmt.Fprintf(&rows, "%d,%v,%v,%v,%v,%d\n", at.Unix(), price, price+1, price-1, price+0.25, 10+i%5)
		at = at.Add(time.Hour)
	}
	if err := os.WriteFile(filepath.Join(dir, "DEMO_1h.csv"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
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
	registry, err := tool.New(tool.Config{Charting: tooltest.Charts(data, chart.NewRenderer(), nil), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

func TestRange_SelectsBarsByTime(t *testing.T) {
	t.Parallel()
	registry := dated(t)
	for arguments, want := range map[string][3]any{ // bars, first, last
		`"start":"2024-03-01","end":"2024-03-02"`:                          {48, "2024-03-01T00:00:00Z", "2024-03-02T23:00:00Z"},
		`"start":"2024-03-01T06:00:00Z","end":"2024-03-01T09:30:00Z"`:      {3, "2024-03-01T06:00:00Z", "2024-03-01T08:00:00Z"},
		`"start":"2024-03-01T06:00:00+02:00","end":"2024-03-01T09:00:00Z"`: {5, "2024-03-01T04:00:00Z", "2024-03-01T08:00:00Z"},
		`"end":"2024-02-01"`:                                                {200, "2024-01-24T16:00:00Z", "2024-02-01T23:00:00Z"},
		`"end":"2024-02-01","bars":24`:                                      {24, "2024-02-01T00:00:00Z", "2024-02-01T23:00:00Z"},
		`"start":"2024-01-01","end":"2024-06-01","bars":10`:                 {10, "2024-06-01T14:00:00Z", "2024-06-01T23:00:00Z"},
		`"start":"2025-02-01"`:                                              {72, "2025-02-01T00:00:00Z", "2025-02-03T23:00:00Z"},
		`"start":"2024-01-01","interval":"1d"`:                              {400, "2024-01-01T00:00:00Z", "2025-02-03T00:00:00Z"},
		`"start":"2023-12-30","end":"2024-01-01","indicators":["bbands"]`:   {24, "2024-01-01T00:00:00Z", "2024-01-01T23:00:00Z"},
		`"start":"2024-01-05","end":"2999-01-01","interval":"1w","bars":50`: {50, "2024-02-26T00:00:00Z", "2025-02-03T00:00:00Z"},
	} {
		interval := `"interval":"1h",`
		if strings.Contains(arguments, "interval") {
			interval = ""
		}
		result := call(t, registry, "generate_chart", `{"symbol":"DEMO",`+interval+arguments+`,"format":"series"}`)
		var got struct {
			Bars []struct{ T int64 }
			T    []int64 `json:"times"`
		}
		text := result.Content[0].Text
		if err := json.Unmarshal(text, &got); err != nil || result.IsError {
			t.Errorf("%s: %v %.300s", arguments, err, text)
			continue
		}
		first, last := got.Bars[0].T, got.Bars[len(got.Bars)-1].T
		if said := [3]any{len(got.Bars), time.Unix(first, 0).UTC().Format(time.RFC3339), time.Unix(last, 0).UTC().Format(time.RFC3339)}; said != want {
			t.Errorf("%s: %v, want %v", arguments, said, want)
		}
	}
}

// TestRange_SameValuesAsWithoutOne compares values of a chart that ends in the past with
// those of the same bars in a longer chart, digit by digit.
func TestRange_SameValuesAsWithoutOne(t *testing.T) {
	t.Parallel()
	registry := dated(t)
	const indicators = `"indicators":["ema_stack","rsi","macd","bbands","supertrend","cipher_b"]`
	read := func(arguments string) map[int64]string {
		var chart struct {
			Bars       []struct{ T int64 }
			Indicators map[string]struct {
				Lines []struct{ Values []json.RawMessage }
			}
		}
		if err := json.Unmarshal(call(t, registry, "generate_chart", `{"symbol":"DEMO","interval":"1h","format":"series",`+indicators+arguments+`}`).Content[0].Text, &chart); err != nil {
			t.Fatal(err)
		}
		values := map[int64]string{}
		for i, bar := range chart.Bars {
			for _, name := range []string{"ema_stack", "rsi", "macd", "bbands", "supertrend", "cipher_b"} {
				for _, line := range chart.Indicators[name].Lines {
					values[bar.T] += " " + string(line.Values[i])
				}
			}
		}
		return values
	}
	whole, part := read(`,"start":"2024-09-15","end":"2024-10-12"`), read(`,"start":"2024-10-01","end":"2024-10-10"`)
	if len(part) != 240 {
		t.Fatalf("%d bars", len(part))
	}
	for at, values := range part {
		if whole[at] != values {
			t.Fatalf("at %d:%s, in the longer chart%s", at, values, whole[at])
		}
	}
}

func TestRange_Refusals(t *testing.T) {
	t.Parallel()
	registry := dated(t)
	for arguments, want := range map[string]string{
		`{"start":"2024-01-01"}`:                                                    "sample data has no dates",
		`{"symbol":"DEMO","start":"2024-02-01","end":"2024-01-01"}`:                 "a time up to end, 2024-01-01T23:59:59Z",
		`{"symbol":"DEMO","start":"01.02.2024"}`:                                    "a date such as 2026-01-31",
		`{"symbol":"DEMO","start":17040}`:                                           "a date such as 2026-01-31",
		`{"symbol":"DEMO","start":"1969-12-31"}`:                                    "after 1970",
		`{"symbol":"DEMO","interval":"1h","start":"2024-01-01"}`:                    "more than 5000 1h bars lie between start and end",
		`{"symbol":"DEMO","interval":"1h","start":"2025-03-01"}`:                    "the newest before it is of 2025-02-03T23:00:00Z",
		`{"symbol":"DEMO","interval":"1h","end":"2023-12-31"}`:                      "no 1h bars of DEMO before 2024-01-01T00:00:00Z",
		`{"symbol":"DEMO","interval":"1h","start":"2023-01-01","end":"2023-02-01"}`: "no 1h bars of DEMO before 2023-02-02T00:00:00Z",
	} {
		result := call(t, registry, "generate_chart", arguments)
		if text := string(result.Content[0].Text); !result.IsError || !strings.Contains(text, want) {
			t.Errorf("%s: %.300s, want %q", arguments, text, want)
		}
	}
}
