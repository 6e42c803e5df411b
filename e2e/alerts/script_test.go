package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"candela/e2e/build"
	"candela/internal/testkit/porttest"
)

// mine is a script with a table, boxes and a longer interval. Its alertcondition holds at
// every close that differs from the open.
const mine = `//@version=6
indicator("Mine", overlay = true)
n = input.int(5, "Length", minval = 1)
average = ta.ema(close, n)
[longer, opened] = request.security(syminfo.tickerid, "5", [close[1], open], lookahead = barmerge.lookahead_on)
plot(average, "Average")
plot(longer, "Longer")
var int moves = 0
if close != open
    moves += 1
    box.new(bar_index - 1, high, bar_index, low)
plot(moves + average - opened, "Mix")
alertcondition(close != open, "Moved!")
var table info = table.new(position.top_right, 2, 1)
if barstate.islast
    table.cell(info, 0, 0, syminfo.tickerid)
    table.cell(info, 1, 0, str.tostring(syminfo.mintick))
`

// scripted is a chart of a script.
type scripted struct {
	Bars []struct {
		T int64       `json:"t"`
		C json.Number `json:"c"`
	} `json:"bars"`
	Indicators map[string]struct {
		Error  json.RawMessage   `json:"error"`
		Shapes []json.RawMessage `json:"shapes"`
		Tables json.RawMessage   `json:"tables"`
		Lines  []struct {
			Label  string        `json:"label"`
			Values []json.Number `json:"values"`
		} `json:"lines"`
		Signals []struct {
			T     int64       `json:"t"`
			Y     json.Number `json:"y"`
			Label string      `json:"label"`
		} `json:"signals"`
	} `json:"indicators"`
}

func chartOf(t *testing.T, c client, symbol, indicators string) (w scripted) {
	t.Helper()
	arguments := fmt.Sprintf(`{"symbol":%q,"interval":"1m","bars":30,"format":"series","indicators":[%s]}`, symbol, indicators)
	answer := must(t, c, "generate_chart", arguments)
	if err := json.Unmarshal(answer, &w); err != nil {
		t.Fatal(err)
	}
	for name, ind := range w.Indicators {
		if ind.Error != nil {
			t.Fatalf("%s ended: %s", name, ind.Error)
		}
	}
	return w
}

// at returns the value of a line at a bar, and the y of a signal there.
func (w *scripted) at(t *testing.T, name, line, signal string, open int64) (value, y json.Number) {
	t.Helper()
	ind := w.Indicators[name]
	for i, bar := range w.Bars {
		for _, l := range ind.Lines {
			if bar.T == open && l.Label == line {
				value = l.Values[i]
			}
		}
	}
	for _, s := range ind.Signals {
		if s.T == open && s.Label == signal {
			y = s.Y
		}
	}
	return value, y
}

// TestScript_IsChartedAndFiresAfterACrash saves a script over HTTP, charts it by its name and sets alerts on its
// signal and on its line. Then the script is changed and the program killed. The alerts fire with
// the values of the version that they were set with, as a chart of it shows them.
func TestScript_IsChartedAndFiresAfterACrash(t *testing.T) {
	t.Parallel()
	venue, home, port := newVenue(t), build.Home(t), porttest.Free(t)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	begin := func() (*program, *visitor) {
		p := start(t, "--serve", "--trade", "--toolsets", "scripts", "--home", home, "--port", port, "--oauth-auto-approve", "--binance-url", venue) //nolint:contextcheck // it ends with the test
		c := enter(ctx, ctx, "http://localhost:"+port)
		if c == nil {
			t.Fatalf("no client is let in: %s", p.stderr)
		}
		return p, c
	}
	p, c := begin()
	source, err := json.Marshal(mine)
	if err != nil {
		t.Fatal(err)
	}
	must(t, c, "save_script", `{"name":"mine","source":`+string(source)+`}`)
	shown := chartOf(t, c, watched, `"mine"`)
	if ind := shown.Indicators["mine"]; len(ind.Shapes) == 0 || !strings.Contains(string(ind.Tables), "BINANCE:"+watched) || strings.Contains(string(ind.Tables), "NaN") {
		t.Errorf("the chart has %d shapes and the table %s", len(ind.Shapes), ind.Tables)
	}
	var signal, line answered
	read := func(into *answered, condition string) {
		t.Helper()
		answer := must(t, c, "set_alert", `{"symbol":"`+watched+`","interval":"1m","condition":`+condition+`}`)
		if err := json.Unmarshal(answer, into); err != nil || into.ID == "" {
			t.Fatalf("%v %s", err, answer)
		}
	}
	read(&signal, `{"indicator_signal":{"indicator":"mine","signal":"moved"}}`)
	read(&line, `{"value":{"indicator":{"name":"mine","n":7},"line":"Mix","op":">","value":-1000000}}`)
	must(t, c, "save_script", `{"name":"mine","source":"//@version=6\nindicator(\"Other\")\nplot(1)\n"}`)
	must(t, c, "delete_script", `{"name":"mine"}`)
	p.kill(t)
	c.close()
	verify(t, home)

	p, c = begin()
	fired := map[string]firing{}
	for len(fired) < 2 {
		if ctx.Err() != nil {
			t.Fatalf("%v fired: %s", fired, p.stderr)
		}
		var all []firing
		if err := json.Unmarshal(must(t, c, "get_notifications", `{"wait_seconds":20}`), &all); err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if _, twice := fired[f.AlertID]; twice {
				t.Errorf("%+v fired twice", f)
			}
			fired[f.AlertID] = f
		}
	}
	both := `{"name":"pine","source":` + string(source) + `},{"name":"pine","source":` + string(source) + `,"n":7}`
	again := chartOf(t, c, watched, both)
	// Until the next bar forms: the chart of the moment of a close may still show the bar as forming, without its signals.
	for again.Bars[len(again.Bars)-1].T*1000 < max(fired[signal.ID].Triggered.UnixMilli(), fired[line.ID].Triggered.UnixMilli()) {
		if !pause(ctx, 200*time.Millisecond) {
			t.Fatal("no bar follows")
		}
		again = chartOf(t, c, watched, both)
	}
	judgeScript(t, &again, fired[signal.ID], fired[line.ID])
	if left := must(t, c, "list_alerts", `{}`); string(left) != "[]" {
		t.Errorf("alerts are left: %s", left)
	}
	c.close()
	p.term(t)
}

// judgeScript compares firings with a chart, to the last bit.
func judgeScript(t *testing.T, w *scripted, signal, line firing) {
	t.Helper()
	for name := range w.Indicators {
		_, y := w.at(t, name, "", "moved", signal.Triggered.Unix()-60)
		if f, err := y.Float64(); err != nil || f != signal.Value {
			t.Errorf("the signal fired with %v, and the chart has %s (%v)", signal.Value, y, err)
		}
	}
	held := false
	var shown []json.Number
	for name := range w.Indicators {
		value, _ := w.at(t, name, "Mix", "", line.Triggered.Unix()-60)
		f, err := value.Float64()
		held = held || err == nil && f == line.Value
		shown = append(shown, value)
	}
	if !held {
		t.Errorf("the line fired with %v, and the charts have %v", line.Value, shown)
	}
}
