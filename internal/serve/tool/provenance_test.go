package tool_test

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"candela/internal/data/marketdata"
	"candela/internal/serve/tool"
	"candela/internal/serve/tool/tooltest"
	"candela/internal/work/charting"
	"candela/internal/work/charting/payload"
	"candela/lib/chart"
	"candela/lib/market"
	"candela/lib/ta"
)

// TestGenerateChart_APictureSaysWhereItsBarsAreFrom looks for the facts about a
// picture beside its one image.
func TestGenerateChart_APictureSaysWhereItsBarsAreFrom(t *testing.T) {
	t.Parallel()
	type about struct {
		Symbol, Source, Provider string
		Stale                    *bool
		AsOf                     *time.Time `json:"as_of"`
		Bars                     int
		First, Last              struct {
			Date  string
			Close float64
		}
	}
	stale := given{marketdata.BarSet{Symbol: market.Symbol{Name: "OLD"}, Provider: "test", Stale: true, AsOf: time.Unix(1700000000, 0)}}
	for i := range int64(50) {
		stale.set.Bars.Append(market.Bar{T: 1700000000 + i*3600, O: 1, H: 2, L: 0.5, C: 1.5, V: 10})
	}
	old, err := tool.New(tool.Config{Charting: tooltest.Charts(stale, chart.NewRenderer(), nil), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	registry := tooltest.Registry(t, nil)
	for name, tc := range map[string]struct {
		registry  *tool.Registry
		arguments string
		source    string
		stale     bool
	}{
		"sample": {registry, `{"bars":20}`, "sample", false},
		"real":   {registry, `{"symbol":"BTCUSDT","bars":20}`, "fetched", false},
		"stale":  {old, `{"symbol":"OLD","interval":"1h","bars":20}`, "fetched", true},
	} {
		result := call(t, tc.registry, "generate_chart", tc.arguments)
		if len(result.Content) != 1 || result.Content[0].MIME != "image/png" {
			t.Fatalf("%s: %d items", name, len(result.Content))
		}
		var got about
		if err := json.Unmarshal(result.Content[0].Meta, &got); err != nil {
			t.Fatal(name, err)
		}
		if got.Source != tc.source || got.Stale == nil || *got.Stale != tc.stale || got.Provider == "" || (got.AsOf == nil) != (name == "sample") {
			t.Errorf("%s: %s", name, result.Content[0].Meta)
		}
		if got.Bars != 20 || got.First.Date == "" || got.Last.Date <= got.First.Date || got.Last.Close == 0 || name == "stale" && got.Last.Close != 1.5 {
			t.Errorf("%s: which bars, and the last close: %s", name, result.Content[0].Meta)
		}
	}
}

// TestCompute_SumsBeginAtTheFirstBarShown holds that a sum does not depend on bars
// that the answer does not have, and that the answer says where it begins.
func TestCompute_SumsBeginAtTheFirstBarShown(t *testing.T) {
	t.Parallel()
	var bars market.Bars
	for i := range int64(3000) {
		x := 100 + float64(i*i%17)
		bars.Append(market.Bar{T: 1700006400 + i*3600, O: x, H: x + 2, L: x - 1, C: x + 1, V: float64(1 + i%5)})
	}
	question := charting.Request{Interval: market.Hour1, Bars: 100}
	for _, name := range []string{"obv", "ad"} {
		selection, err := ta.Resolve(ta.Request{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		question.Indicators = append(question.Indicators, charting.NamedIndicator{Name: name, Selection: selection})
	}
	var first []string
	for _, history := range []int{100, 500, 3000} {
		set := marketdata.BarSet{Symbol: market.Symbol{Name: "X"}, Bars: bars.Tail(history), Provider: "test"}
		shown, err := charting.Compute(t.Context(), given{set}, question)
		if err != nil {
			t.Fatal(err)
		}
		text := string(payload.AppendSeries(nil, shown, 1<<20))
		at := `"anchored_at":"` + time.Unix(shown.Bars.T[0], 0).UTC().Format(time.RFC3339) + `"`
		if strings.Count(text, at) != 2 || !shown.WarmupOK {
			t.Errorf("with %d bars: want %s twice in %s", history, at, text)
		}
		if first = append(first, text); text != first[0] {
			t.Errorf("with %d bars the answer differs from that with 100", history)
		}
	}
}

// TestSeries_ACutOneSaysWhichResultsComeFromTheWhole asks for more bars than fit.
func TestSeries_ACutOneSaysWhichResultsComeFromTheWhole(t *testing.T) {
	t.Parallel()
	result := call(t, tooltest.Registry(t, nil), "generate_chart", `{"symbol":"BTCUSDT","interval":"1h","bars":5000,"format":"series","indicators":["volume_profile","macd","obv","bb"]}`)
	var got struct {
		Truncated   bool
		BarsOmitted int `json:"bars_omitted"`
		Indicators  map[string]struct {
			Covers int `json:"covers_omitted_bars"`
		}
	}
	if err := json.Unmarshal(result.Content[0].Text, &got); err != nil {
		t.Fatal(err)
	}
	if !got.Truncated || got.BarsOmitted == 0 {
		t.Fatal("nothing was left out")
	}
	for name, want := range map[string]int{"volume_profile": got.BarsOmitted, "obv": got.BarsOmitted, "macd": 0, "bb": 0} {
		if got.Indicators[name].Covers != want {
			t.Errorf("%s covers %d omitted bars, want %d", name, got.Indicators[name].Covers, want)
		}
	}
}
