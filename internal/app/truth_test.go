package app

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"candela/internal/testkit/longtest"
	"candela/lib/ta/calc"
)

// followed are indicators of one line that a chart, a scan and an alert know.
func followed() []string {
	return []string{"rsi", "sma", "wma", "hma", "cci", "mfi"}
}

// replaceBars writes hourly bars that end with the hour before now, in place of those that were there.
func replaceBars(t *testing.T, dir string, seed uint64, count int) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 7))
	var rows strings.Builder
	rows.WriteString("time,open,high,low,close,volume\n")
	price, end := 100.0, time.Now().Truncate(time.Hour)
	for i := count; i > 0; i-- {
		open := price
		price *= 1 + (random.Float64()-0.5)/50
		fmt.Fprintf(&rows, "%d,%v,%v,%v,%v,%d\n", end.Add(-time.Duration(i)*time.Hour).Unix(), open, max(open, price)+0.5, min(open, price)-0.5, price, 10+random.IntN(90))
	}
	name := filepath.Join(dir, "COIN_1h.csv")
	if err := os.WriteFile(name+".new", []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// TestTruth_ScanAndPreviewFollowTheFile replaces a file of bars between calls, and sets an alert on it each time. What the
// alert says of this moment and what a scan shows are the values that an agent reads of the same bar.
func TestTruth_ScanAndPreviewFollowTheFile(t *testing.T) {
	t.Parallel()
	dir, random := t.TempDir(), rand.New(rand.NewPCG(longtest.Seed(), 11))
	replaceBars(t, dir, 1, 2000)
	w := openWindow(t, filepath.Join(t.TempDir(), "home"), "--csv-dir", dir, "--toolsets", "research")
	defer w.close()
	names, err := json.Marshal(followed())
	if err != nil {
		t.Fatal(err)
	}
	w.result("set_alert", `{"symbol":"csv:COIN","interval":"1h","condition":{"value":{"indicator":"rsi","op":"<","value":1}}}`) // the engine keeps the bars for it
	for round := range longtest.Pick(4, 150) {
		if random.IntN(4) > 0 {
			replaceBars(t, dir, random.Uint64(), 600+random.IntN(2400))
		}
		name := followed()[random.IntN(len(followed()))]
		var read struct {
			Last       struct{ Bar time.Time }
			Indicators map[string]struct {
				Lines []struct {
					Value float64 `json:"last_value"`
				}
			}
		}
		var scan struct {
			Rows []struct {
				Time   time.Time
				Values map[string]float64
			}
		}
		var set struct {
			ID  string `json:"alert_id"`
			Now struct {
				Value float64
				At    time.Time
			}
		}
		var said []string
		for _, c := range []struct {
			tool, arguments string
			answer          any
		}{
			{"set_alert", fmt.Sprintf(`{"symbol":"csv:COIN","interval":"1h","condition":{"value":{"indicator":%q,"op":"<","value":50}}}`, name), &set},
			{"scan_symbols", fmt.Sprintf(`{"symbols":["csv:COIN"],"interval":"1h","columns":%s}`, names), &scan},
			{"get_indicators", fmt.Sprintf(`{"symbol":"csv:COIN","interval":"1h","indicators":%s}`, names), &read},
		} {
			text := w.result(c.tool, c.arguments)
			if said = append(said, text); json.Unmarshal([]byte(text), c.answer) != nil {
				t.Fatalf("%s %s: %s", c.tool, c.arguments, text)
			}
		}
		if len(scan.Rows) != 1 || set.ID == "" || len(read.Indicators) != len(followed()) {
			t.Fatalf("round %d: %s", round, strings.Join(said, "\n"))
		}
		if closed := read.Last.Bar.Add(time.Hour); !set.Now.At.Equal(closed) || !scan.Rows[0].Time.Equal(read.Last.Bar) {
			t.Errorf("round %d: the bar of %s, in the scan %s, in the alert %s", round, closed, scan.Rows[0].Time, set.Now.At)
		}
		if want := calc.Decimal(read.Indicators[name].Lines[0].Value); set.Now.Value != want { // the digits of an alert
			t.Errorf("round %d: %s is %v, and the alert says %v", round, name, want, set.Now.Value)
		}
		for _, each := range followed() {
			want := strconv.FormatFloat(read.Indicators[each].Lines[0].Value, 'g', 6, 64) // the digits of a scan
			if got := strconv.FormatFloat(scan.Rows[0].Values[each], 'g', 6, 64); got != want {
				t.Errorf("round %d: %s is %s, and the scan says %s", round, each, want, got)
			}
		}
		w.result("cancel_alert", `{"alert_id":"`+set.ID+`"}`)
	}
}
