package main

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReadings_ReadWhatIsPrinted has a line of the output of each kind of part.
func TestReadings_ReadWhatIsPrinted(t *testing.T) {
	t.Parallel()
	const start = "    start_test.go:55: --mcp: median 7.3ms, p95 15.2ms, fastest 7ms of 3; processor time: median 6.9ms, p95 7.1ms; at rest VmRSS 22528 kB, RssAnon 3232 kB\n" +
		"    start_test.go:55: --mcp --trade: median 1.2s, p95 1.9s, fastest 1.1s of 3; processor time: median 1.1s, p95 1.3s; at rest VmRSS 35620 kB, RssAnon 6624 kB\n"
	const besides = "    beside_test.go:179: scan, 2000 alerts each: alone p50 605µs, p90 4.344ms, p99 16.609ms; beside p50 854µs, p90 7.786ms, p99 70.612ms; 1.41, 1.79 and 4.25 times\n"
	const rules = "BenchmarkRules/columns-2 \t 3\t 33423211 ns/op\t  26699893 bars/cpu-s\t  28457598 bars/cpu-s-best\t 0.003745 cpu-s/op\n" +
		"BenchmarkRules/columns-2 \t 3\t 33423211 ns/op\t  26699895 bars/cpu-s\t  28457598 bars/cpu-s-best\t 0.003745 cpu-s/op\n"
	const summaries = "BenchmarkSummary/asked_again-2  \t 600\t 200000 ns/op\t 303232 kept-B/symbol\n" +
		"BenchmarkSummary/asked_again_by_one_owner,_50_symbols-2 \t 600\t 180000 ns/op\t 303232 kept-B/symbol\n" +
		"BenchmarkSummary/asked_again_by_1,000_owners,_50_symbols-2 \t 600\t 144000 ns/op\t 303232 kept-B/symbol\n"
	const kernel = "| MACD 12 26 9 | 3.82    | 25.13      | 24.98      | 4.77      | 4.73      | 22.88    | 0           | 1.7    | true    |\n"
	const picture = "chart 1440x810, 200 bars, candela: processor 6.00 ms, least time 5.80 ms, 92731 bytes\n" +
		"chart 1440x810, 200 bars, chartgen: processor 12.00 ms, least time 9.00 ms, 338539 bytes\n"
	for _, c := range []struct {
		part         part
		figure, from string
		want         float64
	}{
		{starts(), "start.mcp", start, 6.9},
		{starts(), "start.mcp.rss", start, 22},
		{starts(), "start.mcp.trade", start, 1100},
		{allocations(), "alloc.mcp.trade", "    start_test.go:86: --mcp --trade: {Bytes:2731224 Objects:19058 Collections:0}\n", 2.731224},
		{size(), "size", "43032738\n", 43.032738},
		{calls(), "calls.of_bare", "BenchmarkToolCall-2   \t 7\t 433726438 ns/op\t 27851 bare_req/s\t 0.3545 of_bare\t 10415 tool_req/s\n", 0.3545},
		{kept(), "summary.again", summaries, 0.2},
		{kept(), "summary.owners", summaries, 0.8},
		{kept(), "summary.kept50", summaries, 15.1616},
		{backtests(), "backtest.columns", rules, 26.699894},
		{beside(), "beside.p50", besides, 0.605},
		{beside(), "beside.p99", besides, 16.609},
		{beside(), "beside.scan", besides, 4.25},
		{kernels(), "kernel.macd.talib", kernel, 24.98},
		{kernels(), "kernel.macd.tulip", kernel, 4.73},
		{backtestPeers(), "backtest.vectorbt", "vectorbt 0.0412 s, 2,427,184 bars/s\n", 2.427184},
		{pinePeers(), "pine.pinets", "PineTS plain.pine 14.68 us a bar\n", 14.68},
		{besideChartgen("native"), "native.chart200", picture, 0.5},
	} {
		i := slices.IndexFunc(c.part.readings, func(r reading) bool { return r.figure == c.figure })
		if got, err := c.part.readings[i].of(c.from); err != nil || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, %v; want %v", c.figure, got, err, c.want)
		}
	}
	if _, err := calls().readings[0].of("PASS\n"); err == nil {
		t.Error("output without the figure is taken")
	}
}

// TestFill_WritesTheRowsOfThePage holds that the page has each row once, and each row's figures have a part.
func TestFill_WritesTheRowsOfThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(pagePath)))
	if err != nil {
		t.Fatal(err)
	}
	all := report{Figures: map[string]figure{}}
	for _, p := range parts() {
		for _, r := range p.readings {
			if _, twice := all.Figures[r.figure]; twice {
				t.Errorf("two parts measure %s", r.figure)
			}
			all.Figures[r.figure] = figure{Median: 77.7, Least: 70, Most: 80, Unit: r.unit}
		}
	}
	written, err := fill(string(page), &all)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows() {
		if cell, ok := r.write(&all); !ok || !strings.Contains(written, "| "+r.label+" | "+cell+" | ") {
			t.Errorf("%s: %s", r.label, cell)
		}
	}
	if again, err := fill(written, &all); err != nil || again != written {
		t.Errorf("the second time differs, %v", err)
	}
	if same, err := fill(string(page), &report{}); err != nil || same != string(page) {
		t.Errorf("a page without figures changes, %v", err)
	}
	if _, err := fill("no rows", &all); err == nil {
		t.Error("a page without the rows is taken")
	}
}

func TestRow_NamesWhatMissesItsBar(t *testing.T) {
	t.Parallel()
	r := row{"a", "{fast+} and {slow}", []bar{{"fast", true, 9}, {"slow", false, 0.6}}}
	for want, figures := range map[string]map[string]figure{
		"8.20 ms [7-9.50] and 0.70":           {"fast": {Median: 8.2, Least: 7, Most: 9.5, Unit: "ms"}, "slow": {Median: 0.7}},
		"**12.3 ms [7-1500]** and **0.51**":   {"fast": {Median: 12.34, Least: 7, Most: 1500.2, Unit: "ms"}, "slow": {Median: 0.51}},
		"{fast+} and {slow} are not measured": nil,
	} {
		if got, ok := r.write(&report{Figures: figures}); ok != (figures != nil) || ok && got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestReport_NamesWhatDiffers(t *testing.T) {
	t.Parallel()
	last := report{Measured: "2026-01-02", Commit: "abc", Machine: "1 x old", Figures: map[string]figure{
		"same": {Median: 1, Least: 0.9, Most: 1.1}, "within": {Median: 1, Least: 0.5, Most: 2}, "slower": {Median: 1, Least: 0.9, Most: 1.1}, "gone": {Median: 3, Least: 3, Most: 3},
	}}
	now := report{Machine: "1 x old", Figures: map[string]figure{
		"same": {Median: 1.05, Least: 1, Most: 1.1}, "within": {Median: 1.9, Least: 1.8, Most: 2}, "slower": {Median: 1.2, Least: 1.15, Most: 1.3}, "new": {Median: 7},
	}}
	var said []string
	now.differences(&last, func(line string) { said = append(said, line) })
	if want := []string{"slower was 1 [0.90-1.10], is 1.20 [1.15-1.30]"}; !slices.Equal(said, want) {
		t.Errorf("%q", said)
	}
	now.addFrom(&last)
	if f := now.Figures["gone"]; f.Measured != "2026-01-02" || f.Commit != "abc" || now.Figures["new"].Measured != "" || len(now.Figures) != 5 {
		t.Errorf("%+v", now.Figures)
	}
	path := filepath.Join(t.TempDir(), "figures.json")
	var read report
	if err := read.read(path); err != nil || read.Figures != nil {
		t.Errorf("%+v, %v", read, err)
	}
	if err := now.write(path); err != nil {
		t.Fatal(err)
	}
	if err := read.read(path); err != nil || len(read.Figures) != 5 {
		t.Errorf("%+v, %v", read, err)
	}
}

// TestMeasure_IsHonest holds that what is missing and what fails is named, that nothing is tried twice, and that
// parts take turns.
func TestMeasure_IsHonest(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	one := func(name, line string, once bool) part {
		return part{name: name, once: once, commands: []string{"echo " + name + " >>" + log, line}, readings: []reading{text(name, `^is (\d+)`, 1, "")}}
	}
	absent := one("absent", "echo is 1", false)
	absent.needs = []string{"bash", "$CANDELA_NO_SUCH_PEER"}
	got, err := measure(t.Context(), []part{one("a", "echo is 1", false), one("b", "exit 1", false), absent, one("c", "echo is 4", true), one("d", "echo other", false)}, 3)
	if err == nil || !strings.Contains(err.Error(), "b: exit 1") {
		t.Errorf("%v", err)
	}
	if want := []missing{{"b", "failed"}, {"absent", "$CANDELA_NO_SUCH_PEER is missing"}, {"d", "failed"}}; !slices.Equal(got.Missing, want) {
		t.Errorf("%v", got.Missing)
	}
	if len(got.Figures) != 2 || got.Figures["a"].Rounds != 3 || got.Figures["c"].Rounds != 1 || got.Figures["c"].Median != 4 {
		t.Errorf("%v", got.Figures)
	}
	data, err := os.ReadFile(log)
	if order := regexp.MustCompile(`\s`).ReplaceAllString(string(data), ""); err != nil || order != "abcdaa" {
		t.Errorf("%s, %v", order, err)
	}
	if _, err := choose("start,none"); err == nil || !strings.Contains(err.Error(), `"none"`) {
		t.Errorf("%v", err)
	}
	if some, err := choose("size,start"); err != nil || len(some) != 2 || some[0].name != "size" {
		t.Errorf("%v", err)
	}
}
