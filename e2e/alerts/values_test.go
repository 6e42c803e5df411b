package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"candela/e2e/build"
	"candela/e2e/tape"
	"candela/internal/alert"
	"candela/internal/id"
	"candela/internal/indicator"
	"candela/internal/ledger"
	"candela/internal/market"
	"candela/internal/mcp"
	"candela/internal/payload"
	"candela/internal/tool"
)

const (
	watched = "S0USDT"
	back    = 45 // minutes
)

// waiting is an alert on a signal.
type waiting struct {
	alert.Alert
	selection *indicator.Selection
}

// leaveAlerts puts an alert on every signal of the catalogue into a store, as if
// they were made a while ago and the program had been down since.
func leaveAlerts(t *testing.T, home string, made time.Time) map[string]waiting {
	t.Helper()
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	store, err := ledger.Open(t.Context(), home, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]waiting{}
	for _, def := range indicator.All() {
		for _, label := range def.Labels() {
			selection, err := indicator.Resolve(indicator.Request{Name: def.Name})
			if err != nil {
				t.Fatal(err)
			}
			a := alert.Alert{
				ID: id.New(made), Owner: "local", Created: made, Interval: market.Minute1,
				Symbol: market.Symbol{Name: watched}, Instrument: market.Symbol{Venue: "binance", Name: watched},
				Condition: alert.Condition{Type: alert.IndicatorSignal, Indicator: def.Name, Signal: label},
			}
			if err := store.PutAlert(t.Context(), mcp.Caller{Subject: "local", Key: "local"}, a); err != nil {
				t.Fatal(err)
			}
			all[a.ID] = waiting{a, selection}
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

// shown is a source whose last bar is one that has just closed.
type shown struct{ bars market.Bars }

func (s shown) Bars(_ context.Context, want tool.BarRequest) (tool.BarSet, error) {
	return tool.BarSet{Symbol: want.Symbol, Bars: s.bars.Tail(want.Bars + want.Warmup), Source: payload.Fetch}, nil
}

// first returns what charts show of an alert, each asked for when a bar had just
// closed: the first bar that confirms the signal, when it closed and its value.
func (w *waiting) first(t *testing.T, bars market.Bars, from int) (closed time.Time, value float64, found bool) {
	t.Helper()
	for n := from; n <= bars.Len(); n++ {
		if closed = time.Unix(bars.T[n-1]+60, 0); !closed.After(w.Created) {
			continue
		}
		q := tool.Question{Symbol: w.Symbol, Interval: w.Interval, Bars: 200, Indicators: []tool.Requested{{Name: w.Condition.Indicator, Selection: w.selection}}}
		chart, err := tool.Compute(t.Context(), shown{bars.Slice(0, n)}, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, signal := range chart.Indicators[0].Result.Signals {
			if signal.Label == w.Condition.Signal && signal.Confirmed == chart.Bars.Len()-1 {
				return closed, signal.Y, true
			}
		}
	}
	return time.Time{}, 0, false
}

// TestValues_AlertAndChartAgreeToTheLastBit sets an alert on every signal there is,
// lets the program find out what it missed, and holds the values that it tells
// against charts: to the last bit those of the chart's own code over the venue's
// bars, and to the digits that charts tell, those that the program draws from the
// window of its engine and those that a program without one reads.
func TestValues_AlertAndChartAgreeToTheLastBit(t *testing.T) {
	t.Parallel()
	venue := newVenue(t)
	home := build.Home(t)
	made := time.Now().Add(-back * time.Minute).UTC().Truncate(time.Millisecond)
	alerts := leaveAlerts(t, home, made)
	n := newNotes()
	trading := start(t, "--mcp", "--trade", "--home", home, "--binance-url", venue)
	c := connectPipes(trading, n.push)
	bars := tape.New(seed).Minutes(watched, time.Now(), 5000)
	bars = bars.Slice(0, bars.Len()-1) // the last one may be running
	for quiet := 0; quiet < 2; quiet++ {
		if n.poll(must(t, c, "get_notifications", `{"wait_seconds":1}`)) > 0 {
			quiet = 0
		}
	}

	compared := 0
	for id, w := range alerts {
		closed, value, found := w.first(t, bars, bars.Len()-back-2)
		told := n.polled[id]
		if len(told) == 0 {
			if found {
				t.Errorf("%s %s did not fire; a chart shows it at %v", w.Condition.Indicator, w.Condition.Signal, closed)
			}
			continue
		}
		var f firing
		if err := json.Unmarshal([]byte(told[0]), &f); err != nil {
			t.Fatal(err)
		}
		switch {
		case !found && f.Triggered.Unix() <= bars.T[bars.Len()-1]+60:
			t.Errorf("no chart shows %s", told[0])
		case found && (!f.Triggered.Equal(closed) || math.Float64bits(f.Value) != math.Float64bits(value)):
			t.Errorf("%s; a chart shows %v at %v", told[0], value, closed)
		case found:
			compared++
		}
	}
	if compared < len(alerts)/3 {
		t.Errorf("%d of %d alerts were compared: too few", compared, len(alerts))
	}
	lines := compareCharts(t, c, connectPipes(start(t, "--mcp", "--home", build.Home(t), "--binance-url", venue), n.push))
	t.Logf("%d of %d signals came, each with the chart's value; %d values of charts from engine and venue are equal", compared, len(alerts), lines)
	trading.term(t)
}

// wire is a chart as the program tells it.
type wire struct {
	Source string `json:"source"`
	Bars   []struct {
		T int64 `json:"t"`
	} `json:"bars"`
	Indicators map[string]struct {
		Lines []struct {
			Values []json.Number `json:"values"` // "" for null
		} `json:"lines"`
	} `json:"indicators"`
}

// compareCharts asks a program with an engine and one without for the same chart and
// returns how many values of closed bars were compared.
func compareCharts(t *testing.T, followed, plain client) (compared int) {
	t.Helper()
	arguments := fmt.Sprintf(`{"symbol":%q,"interval":"1m","bars":100,"format":"series","indicators":["wavetrend","macd","rsi","ema_stack","bbands","supertrend"]}`, watched)
	ask := func(c client) (w wire) {
		if err := json.Unmarshal(must(t, c, "generate_chart", arguments), &w); err != nil {
			t.Fatal(err)
		}
		return w
	}
	var a wire
	for deadline := time.Now().Add(20 * time.Second); ; { // at the turn of a minute no bar runs for a moment
		if a = ask(followed); a.Source == string(payload.Cache) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the chart of a symbol that is followed comes from %q", a.Source)
		}
		time.Sleep(200 * time.Millisecond)
	}
	b := ask(plain)
	if b.Source != string(payload.Fetch) {
		t.Fatalf("without an engine the chart comes from %q", b.Source)
	}
	at := map[int64]int{}
	for i, bar := range b.Bars[:len(b.Bars)-1] {
		at[bar.T] = i
	}
	for name, ind := range a.Indicators {
		for l, line := range ind.Lines {
			for i, bar := range a.Bars[:len(a.Bars)-1] {
				if j, both := at[bar.T]; both {
					compared++
					if x, y := line.Values[i], b.Indicators[name].Lines[l].Values[j]; x != y {
						t.Errorf("%s at %d: %s from the engine, %s from the venue", name, bar.T, x, y)
					}
				}
			}
		}
	}
	return compared
}
