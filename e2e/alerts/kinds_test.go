package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candela/e2e/build"
	"candela/internal/alerting/alert"
	"candela/internal/testkit/porttest"
)

// kind is an alert that a user sets and that a wave of prices makes due.
type kind struct {
	condition string
	more      string // arguments beside the condition
	holds     func(value float64) bool
}

// kinds returns an alert of each kind. The price is a sine around 100 from 90 to 110 with
// a period of 40 minutes.
func kinds() map[string]kind {
	const minute, repeat = `,"interval":"1m"`, `,"repeat":true,"max_fires":2`
	always := func(float64) bool { return true }
	return map[string]kind{
		"price_above":      {`{"price_above":105}`, ``, func(v float64) bool { return v >= 105 }},
		"price_below":      {`{"price_below":95}`, ``, func(v float64) bool { return v <= 95 }},
		"price_crosses":    {`{"price_crosses":100.5}`, ``, always},
		"value":            {`{"value":{"indicator":{"name":"rsi","length":14},"op":"<","value":30}}`, minute, func(v float64) bool { return v < 30 }},
		"value of a price": {`{"value":{"price":"close","op":"crosses_above","value":{"indicator":"sma200"}}}`, minute, func(v float64) bool { return v > 99 && v < 103 }},
		"value of lines":   {`{"value":{"indicator":"macd","line":"MACD","op":"crosses_below","value":{"indicator":"macd","line":"Signal"}}}`, minute, always},
		"value in a range": {`{"value":{"indicator":"rsi","op":"enters","value":[40,60]}}`, minute, func(v float64) bool { return v >= 40 && v <= 60 }},
		"value on ticks":   {`{"value":{"indicator":"rsi","op":">","value":70}}`, minute + `,"on":"tick"`, func(v float64) bool { return v > 70 }},
		"indicator_signal": {`{"indicator_signal":{"indicator":{"name":"rsi","length":7},"signal":"rsi_oversold_enter"}}`, minute, func(v float64) bool { return v < 30 }},
		"percent_change":   {`{"percent_change":{"bars":5,"op":">=","value":3}}`, minute, func(v float64) bool { return v >= 3 }},
		"new_high":         {`{"new_high":{"bars":10}}`, minute, func(v float64) bool { return v > 90 }},
		"new_low":          {`{"new_low":{"bars":10}}`, minute, func(v float64) bool { return v < 110 }},
		"all":              {`{"all":[{"value":{"indicator":"rsi","op":"<","value":40}},{"percent_change":{"bars":3,"op":"<","value":-1}}]}`, minute, always},
		"any":              {`{"any":[{"price_below":91},{"new_high":{"bars":15}}]}`, minute, always},
		"two intervals":    {`{"all":[{"value":{"indicator":"rsi","op":"<","value":45}},{"new_low":{"bars":2},"interval":"5m"}]}`, minute, always},
		"three intervals":  {`{"any":[{"price_below":91},{"value":{"indicator":"rsi","op":">","value":55},"interval":"5m"},{"new_high":{"bars":2},"interval":"15m"}]}`, minute + repeat, always},
		"a repeat":         {`{"value":{"indicator":"rsi","op":">","value":65}}`, minute + repeat, func(v float64) bool { return v > 65 }},
		"a signal again":   {`{"indicator_signal":{"indicator":"macd","signal":"cross_up"}}`, minute + repeat, always},
	}
}

// writeWave writes the minutes of the wave as a CSV file.
func writeWave(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var rows strings.Builder
	rows.WriteString("time,open,high,low,close,volume\n")
	at := func(i int) float64 { return math.Round(10000+1000*math.Sin(2*math.Pi*float64(i)/40)) / 100 }
	for i := range 30_000 {
		o, c := at(i), at(i+1)
		fmt.Fprintf(&rows, "%d,%g,%g,%g,%g,%d\n", waveStart.Unix()+int64(i)*60, o, max(o, c), min(o, c), c, 10+i%7)
	}
	if err := os.WriteFile(filepath.Join(dir, "WAVEUSDT_1m.csv"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// waveStart is when the wave begins. It is played from a day later on.
var waveStart = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// TestKinds_EachFiresInAReplay sets an alert of each kind, as a user does, and receives
// what a replay makes of it, over both transports.
func TestKinds_EachFiresInAReplay(t *testing.T) {
	t.Parallel()
	played := []string{"--csv-dir", writeWave(t), "--replay-from", waveStart.AddDate(0, 0, 1).Format(time.RFC3339), "--replay-speed", "1200"}
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		p := start(t, append(played, "--mcp", "--trade", "--home", build.Home(t))...)
		c := connectPipes(p, func(json.RawMessage) {})
		setAndReceive(t, c)
		p.term(t)
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		port := porttest.Free(t)
		p := start(t, append(played, "--serve", "--trade", "--home", build.Home(t), "--port", port, "--oauth-auto-approve")...)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		c := enter(ctx, ctx, "http://localhost:"+port)
		if c == nil {
			t.Fatalf("no client is let in: %s", p.stderr)
		}
		setAndReceive(t, c)
		c.close()
		p.term(t)
	})
}

// answered is an alert as set_alert returns it.
type answered struct {
	ID       string `json:"alert_id"`
	Describe string `json:"describe"`
	Now      *struct {
		True *bool `json:"true"`
	} `json:"now"`
	MaxFires int `json:"max_fires"`
}

// received is an item of get_notifications.
type received struct {
	ID        string `json:"alert_id"`
	Condition struct {
		Type     string `json:"type"`
		Describe string `json:"describe"`
	} `json:"condition"`
	Value *float64 `json:"value"`
	Fire  int      `json:"fire"`
}

// setAndReceive sets all kinds and waits until each has fired as often as it may.
func setAndReceive(t *testing.T, c client) {
	t.Helper()
	set, names := map[string]answered{}, map[string]string{}
	for name, k := range kinds() {
		var a answered
		result := must(t, c, "set_alert", `{"symbol":"WAVEUSDT","condition":`+k.condition+k.more+`}`)
		if err := json.Unmarshal(result, &a); err != nil || a.Describe == "" || a.Now == nil {
			t.Fatalf("%s: %v %s", name, err, result)
		}
		set[a.ID], names[a.ID] = a, name
	}
	fires := map[string]int{}
	for until := time.Now().Add(4 * time.Minute); len(set) > 0; {
		if time.Now().After(until) {
			t.Fatalf("%d kinds did not fire: %v", len(set), set)
		}
		var fired []received
		if err := json.Unmarshal(must(t, c, "get_notifications", `{"wait_seconds":20}`), &fired); err != nil {
			t.Fatal(err)
		}
		for _, f := range fired {
			name, a := names[f.ID], set[f.ID]
			k := kinds()[name]
			fires[f.ID]++
			switch {
			case a.ID == "":
				t.Errorf("%s fired again: %+v", name, f)
			case !strings.Contains(k.condition, `{"`+f.Condition.Type+`":`) || f.Value == nil || !k.holds(*f.Value) || f.Fire != fires[f.ID]*min(1, a.MaxFires):
				t.Errorf("%s fired as %+v", name, f)
			case f.Condition.Type != alert.PriceAbove.String() && f.Condition.Type != alert.PriceBelow.String() && f.Condition.Describe != a.Describe:
				t.Errorf("%s is described as %q, and was as %q", name, f.Condition.Describe, a.Describe)
			}
			if fires[f.ID] == max(1, a.MaxFires) {
				delete(set, f.ID)
			}
		}
	}
	if left := must(t, c, "list_alerts", `{}`); string(left) != "[]" {
		t.Errorf("alerts are left: %s", left)
	}
}
