package eval_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"candela/lib/market"
)

// calledLibrary is a script that plots each value of a call of the library TradingView/ta.
func calledLibrary(library, call string, values int) string {
	names := make([]string, values)
	var plots strings.Builder
	for i := range names {
		names[i] = "v" + strconv.Itoa(i)
		shown := names[i]
		if strings.HasPrefix(call, "williamsFractal") || strings.HasPrefix(call, "vStop") && i == 1 {
			shown += " ? 1 : 0"
		}
		plots.WriteString("plot(" + shown + ")\n")
	}
	to := "[" + strings.Join(names, ", ") + "]"
	if values == 1 {
		to = names[0]
	}
	return "//@version=6\nindicator(\"t\")\nimport " + library + " as L\n" + to + " = L." + call + "\n" + plots.String()
}

// publishedRow returns the values of a script on some bars, as the record has them.
func publishedRow(t *testing.T, source string, bars []market.Bar) []float64 {
	t.Helper()
	m := compile(t, source, hourly())
	var row []float64
	for i, b := range bars {
		if err := m.Keep(b); err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		if i == 30 || i == 120 || i == len(bars)-1 {
			for _, o := range m.Outputs() {
				row = append(row, o.Values[0])
			}
		}
	}
	return row
}

// TestLibrary_AsPublished compares the library that candela has in the place of TradingView/ta with the published one: the
// record has what its source, version 12 of 2025-12-06, gives over the same bars when it is imported under another name.
func TestLibrary_AsPublished(t *testing.T) {
	t.Parallel()
	record, err := os.ReadFile("testdata/published_ta.txt")
	if err != nil {
		t.Fatal(err)
	}
	bars := walk(800, 8)
	calls := 0
	for line := range strings.Lines(string(record)) {
		call, rest, found := strings.Cut(strings.TrimSpace(line), "\t")
		if !found {
			continue
		}
		want := wanted(t, rest)
		calls++
		got := publishedRow(t, calledLibrary("TradingView/ta/12", call, len(want)/3), bars)
		for i := range want {
			if !agree(got[i], want[i]) {
				t.Errorf("%s, value %d: got %s, want %s", call, i, fmt.Sprint(got), rest)
				break
			}
		}
	}
	if calls < 60 {
		t.Errorf("the record has %d calls", calls)
	}
}
