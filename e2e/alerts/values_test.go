package alerts

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"candela/e2e/build"
	"candela/e2e/tape"
	"candela/internal/access/oauth"
	"candela/internal/alerting/alert"
	"candela/internal/kit/id"
	"candela/internal/kit/principal"
	"candela/internal/kit/strictjson"
	"candela/internal/store/ledger"
	"candela/internal/work/charting/payload"
	"candela/lib/market"
	"candela/lib/ta"
)

const (
	watched = "S0USDT"
	back    = 45 // minutes
)

// leaveAlerts puts an alert on every signal of the catalogue into a store, as if
// they were made a while ago and the program had been down since.
func leaveAlerts(t *testing.T, home string, made time.Time) map[string]alert.Condition {
	t.Helper()
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	store, err := ledger.Open(t.Context(), home, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]alert.Condition{}
	for _, def := range ta.All() {
		for _, label := range def.Labels() {
			a := alert.Alert{
				ID: id.New(made), Owner: oauth.SoleOwner, Created: made, Interval: market.Minute1,
				Symbol: market.Symbol{Name: watched}, Instrument: market.Symbol{Venue: "binance", Name: watched},
				Condition: alert.Condition{Type: alert.IndicatorSignal, Indicator: def.Name, Signal: label},
			}
			if err := store.PutAlert(t.Context(), principal.Caller{Subject: oauth.SoleOwner, Key: "local"}, a); err != nil {
				t.Fatal(err)
			}
			all[a.ID] = a.Condition
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestValues_AlertAndChartAgreeToTheLastBit sets an alert on every signal there is,
// lets the program find out what it missed, and compares the values that it reports
// with charts: to the last bit those of the chart's own code over the venue's
// bars, and to the digits of charts, those that the program draws from the
// window of its engine and those that a program without one reads.
func TestValues_AlertAndChartAgreeToTheLastBit(t *testing.T) {
	t.Parallel()
	venue := newVenue(t)
	home := build.Home(t)
	made := time.Now().Add(-back * time.Minute).UTC().Truncate(time.Millisecond)
	alerts := leaveAlerts(t, home, made)
	n := newNotes()
	trading := start(t, "--mcp", "--trade", "--home", home, "--binance-url", venue)
	pipes := connectPipes(trading, n.push)
	tp, end := tape.New(seed), time.Now() // all up to here was missed
	first := func(c alert.Condition) (closed time.Time, value float64, found bool) {
		return tp.First(tape.Signal{Symbol: watched, Indicator: c.Indicator, Label: c.Signal}, made, end)
	}
	due := map[string]bool{}
	for id, c := range alerts {
		if _, _, found := first(c); found {
			due[id] = true
		}
	}
	// Until all due alerts were delivered, or for as long as a slow machine may take; then
	// until nothing comes that is not.
	patience := time.Now().Add(2 * time.Minute)
	for quiet := 0; quiet < 2; quiet++ {
		got := n.poll(must(t, pipes, "get_notifications", `{"wait_seconds":1}`))
		if got > 0 || !n.polledAll(due) && time.Now().Before(patience) {
			quiet = 0
		}
	}

	compared := 0
	for id, c := range alerts {
		closed, value, found := first(c)
		records := n.polled[id]
		if len(records) == 0 {
			if found {
				t.Errorf("%s %s did not fire; a chart shows it at %v", c.Indicator, c.Signal, closed)
			}
			continue
		}
		var f firing
		if err := json.Unmarshal([]byte(records[0]), &f); err != nil {
			t.Fatal(err)
		}
		switch {
		case !found && !f.Triggered.After(end):
			t.Errorf("no chart shows %s", records[0])
		case found && (!f.Triggered.Equal(closed) || math.Float64bits(f.Value) != math.Float64bits(value)):
			t.Errorf("%s; a chart shows %v at %v", records[0], value, closed)
		case found && !strings.Contains(records[0], `"value":`+string(strictjson.AppendFloat(nil, value))+`,`):
			t.Errorf("%s; a chart writes %s", records[0], strictjson.AppendFloat(nil, value))
		case found:
			compared++
		}
	}
	if compared < len(alerts)/3 {
		t.Errorf("%d of %d alerts were compared: too few", compared, len(alerts))
	}
	lines := compareCharts(t, pipes, connectPipes(start(t, "--mcp", "--home", build.Home(t), "--binance-url", venue), n.push))
	t.Logf("%d of %d signals came, each with the chart's value; %d values of charts from engine and venue are equal", compared, len(alerts), lines)
	trading.term(t)
}

// wire is a chart as the program returns it.
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
	for deadline := time.Now().Add(time.Minute); ; { // at the turn of a minute no bar runs for a moment
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
