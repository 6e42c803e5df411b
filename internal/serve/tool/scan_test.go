package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"candela/internal/data/marketdata"
	"candela/internal/serve/mcp"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/work/charting"
	"candela/internal/work/research"
	"candela/lib/chart"
	"candela/lib/fault"
	"candela/lib/market"
)

type scanAnswer struct {
	Complete             bool
	Asked, Done, Matched int
	MoreRows             int `json:"more_rows"`
	NotRead              int `json:"not_read"`
	Condition, Next      string
	Failed, Skipped      []struct{ Symbol, Why string }
	FailedBy             map[string]int `json:"failed_by_reason"`
	Rows                 []struct {
		Symbol string
		Values map[string]float64
		Short  bool `json:"short_history"`
	}
}

// waves serves a sine for each symbol, shifted by the number in its name. Some symbols fail
// in ways of their own.
type waves struct {
	wait func(ctx context.Context, name string) error
}

func (w waves) Bars(ctx context.Context, want marketdata.Request) (marketdata.BarSet, error) {
	name := want.Symbol.Name
	set := marketdata.BarSet{Symbol: want.Symbol, Instrument: want.Symbol, Provider: "waves", AsOf: time.Unix(1735689600, 0)}
	if w.wait != nil {
		if err := w.wait(ctx, name); err != nil {
			return set, err
		}
	}
	n := want.Bars + want.Warmup
	switch {
	case strings.HasPrefix(name, "NONE"):
		return set, fault.New(fault.NotFound, "unknown_symbol", "there is no %s", name)
	case strings.HasPrefix(name, "BUSY"):
		return set, fault.New(fault.Unavailable, "rate_limited", "the limit is used up").Retry(3 * time.Second)
	case strings.HasPrefix(name, "DOWN"):
		return set, fault.Unreachable(nil, 0, "no answer")
	case strings.HasPrefix(name, "FILE"):
		return set, fault.New(fault.Unavailable, "bad_file", "csv: FILE1_4h.csv line 3: wrong number of fields")
	case strings.HasPrefix(name, "NEW"):
		n = 20
	}
	var shift int
	_, _ = fmt.Sscanf(name, "S%d", &shift)
	for i := range n {
		at := 1735689600 - int64(n-i)*4*3600
		c := 100 + 10*math.Sin(float64(i-n+shift)/9)
		set.Bars.Append(market.Bar{T: at, O: c, H: c + 1, L: c - 1, C: c, V: 5})
	}
	return set, nil
}

func scanning(t *testing.T, source charting.BarSource) *tool.Registry {
	t.Helper()
	r, _ := researching(t, source)
	return r
}

// researching is scanning with the research behind it.
func researching(t *testing.T, source charting.BarSource) (*tool.Registry, *research.Research) {
	t.Helper()
	charts := tooltest.Charts(source, chart.NewRenderer(), nil)
	asked := research.New(research.Config{Charting: charts})
	r, err := tool.New(tool.Config{Charting: charts, Research: asked, Log: slog.New(slog.DiscardHandler), Toolsets: []string{tool.ResearchSet}})
	if err != nil {
		t.Fatal(err)
	}
	return r, asked
}

func scanned(ctx context.Context, t *testing.T, r *tool.Registry, arguments string) (scanAnswer, string) {
	t.Helper()
	result, err := r.Call(ctx, caller(), "scan_symbols", json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	var a scanAnswer
	text := string(result.Content[0].Text)
	if err := json.Unmarshal([]byte(text), &a); err != nil && !result.IsError {
		t.Fatal(err)
	}
	return a, text
}

func symbolList(names ...string) string {
	text, _ := json.Marshal(names)
	return string(text)
}

func numbered(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("S%d", i))
	}
	return names
}

func TestScanSymbols_SaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	r := scanning(t, waves{})
	names := append(numbered(60), "NONE1", "BUSY1", "DOWN1", "FILE1", "NEW1")
	a, text := scanned(t.Context(), t, r, `{"symbols":`+symbolList(names...)+`,"condition":{"value":{"indicator":"rsi","op":"<","value":50}},"columns":["rsi","close"],"order":"asc","limit":10}`)
	if a.Complete || a.Asked != 65 || a.Done != 61 || len(a.Failed) != 4 || a.Matched == 0 || a.Matched == 61 || len(a.Rows) != 10 || a.MoreRows != a.Matched-10 {
		t.Fatalf("%s", text)
	}
	want := map[string]string{"NONE1": "not_found", "BUSY1": "rate_limited", "DOWN1": "venue_down", "FILE1": "bad_file"}
	for _, f := range a.Failed {
		if want[f.Symbol] != f.Why {
			t.Errorf("%s failed as %s", f.Symbol, f.Why)
		}
	}
	if !strings.Contains(text, "FILE1_4h.csv line 3") {
		t.Errorf("it does not say what is wrong with the file: %s", text)
	}
	for i := 1; i < len(a.Rows); i++ {
		if a.Rows[i-1].Values["rsi"] > a.Rows[i].Values["rsi"] {
			t.Errorf("row %d is out of order: %s", i, text)
		}
	}
	if len(text) > 8000 {
		t.Errorf("%d bytes", len(text))
	}
	if strings.Contains(a.Condition, "S0") {
		t.Errorf("the condition is about one symbol: %s", a.Condition)
	}
	// A symbol with too few bars is not ranked before one with enough.
	b, text := scanned(t.Context(), t, r, `{"symbols":["NEW1","S1","S2"],"columns":["rsi"]}`)
	if !b.Complete || len(b.Rows) != 3 || b.Rows[2].Symbol != "NEW1" || !b.Rows[2].Short {
		t.Errorf("%s", text)
	}
}

// TestScanSymbols_DoesNotDependOnTiming holds that the answer is the same in whatever order
// the reads end.
func TestScanSymbols_DoesNotDependOnTiming(t *testing.T) {
	t.Parallel()
	arguments := `{"symbols":` + symbolList(append(numbered(30), "NONE1", "DOWN1")...) + `,"condition":{"indicator_signal":{"indicator":"macd","signal":"cross_up"}},"within_bars":20,"columns":["close"]}`
	_, quick := scanned(t.Context(), t, scanning(t, waves{}), arguments)
	_, slow := scanned(t.Context(), t, scanning(t, waves{wait: func(_ context.Context, name string) error {
		time.Sleep(time.Duration(len(name)*7%5) * time.Millisecond)
		return nil
	}}), arguments)
	if quick != slow {
		t.Errorf("%s\n%s", quick, slow)
	}
}

func TestScanSymbols_IsCancelled(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancelCause(t.Context())
	cancel := func() { end(errors.New("by the client")) }
	reads := make(chan string, 1000)
	r := scanning(t, waves{wait: func(ctx context.Context, name string) error {
		reads <- name
		if len(reads) < 100 {
			return nil
		}
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}})
	_, text := scanned(ctx, t, r, `{"symbols":`+symbolList(numbered(500)...)+`,"columns":["rsi"]}`)
	if !strings.Contains(text, `"cancelled"`) || len(reads) > 120 {
		t.Errorf("%d reads, %s", len(reads), text)
	}
}

func TestScanSymbols_ReportsProgress(t *testing.T) {
	t.Parallel()
	var said []int
	ctx := mcp.WithProgress(t.Context(), func(done, total int, _ string) {
		if total != 40 {
			t.Errorf("of %d", total)
		}
		said = append(said, done)
	})
	_, _ = scanned(ctx, t, scanning(t, waves{}), `{"symbols":`+symbolList(numbered(40)...)+`,"columns":["rsi"]}`)
	if len(said) == 0 || said[0] != 1 {
		t.Errorf("%v", said)
	}
}

func TestScanSymbols_Refusals(t *testing.T) {
	t.Parallel()
	r := scanning(t, waves{})
	for arguments, want := range map[string]string{
		`{"symbols":[],"columns":["rsi"]}`:                                   "1 to 500",
		`{"symbols":["S1","S1"],"columns":["rsi"]}`:                          "each symbol once",
		`{"symbols":["S1"]}`:                                                 "condition",
		`{"symbols":["S1"],"columns":["rsl"]}`:                               "rsi",
		`{"symbols":["S1"],"columns":["bbands"]}`:                            "BB Upper",
		`{"symbols":["S1"],"columns":["rsi"],"rank_by":"close"}`:             "rsi",
		`{"symbols":["S1"],"condition":{"price_above":3}}`:                   "closed bars",
		`{"symbols":["S1"],"columns":["rsi","rsi"]}`:                         "each value once",
		`{"symbols":["S1"],"columns":["a","b","c","d","e","f","g"]}`:         "list_indicators",
		`{"symbols":` + symbolList(numbered(501)...) + `,"columns":["rsi"]}`: "500",
	} {
		if _, text := scanned(t.Context(), t, r, arguments); !strings.Contains(text, want) || !strings.Contains(text, `"code"`) {
			t.Errorf("%.80s: %s", arguments, text)
		}
	}
}
