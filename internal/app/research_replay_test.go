package app

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/data/provider"
	"candela/internal/data/provider/csv"
	"candela/internal/work/research/replay"
	"candela/lib/market"
	"candela/lib/ta"
)

// walkStart is when the prices of the replay begin. They are played from some days later on.
var walkStart = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// writeWalk writes minutes of a random walk as a CSV file.
func writeWalk(t *testing.T, minutes int) (dir string) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 7))
	var rows strings.Builder
	rows.WriteString("time,open,high,low,close,volume\n")
	price := 100.0
	for i := range minutes {
		open := price
		price = math.Round((price+random.NormFloat64()*0.3+0.01*(100-price))*100) / 100
		high, low := max(open, price)+math.Round(10*random.Float64())/100, min(open, price)-math.Round(10*random.Float64())/100
		fmt.Fprintf(&rows, "%d,%g,%g,%g,%g,%d\n", walkStart.Unix()+int64(i)*60, open, math.Round(high*100)/100, math.Round(low*100)/100, price, 10+i%7)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "WALKUSDT_1m.csv"), []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fire is a firing: when its bar closed, and the bits of its value.
type fire struct {
	closed time.Time // on the clock of the wall for an alert, of the bars for a rule
	value  uint64
}

// TestResearch_SignalsAreThoseOfAlerts lets alerts fire in a replay through the whole program
// and holds them against the rules of a back-test over the same bars: the same firings in the
// same order, none more and none less, with values equal in every bit.
func TestResearch_SignalsAreThoseOfAlerts(t *testing.T) {
	t.Parallel()
	const minutes, speed = 12_000, 3000
	dir := writeWalk(t, minutes)
	start := walkStart.AddDate(0, 0, 5)
	receiver := httptest.NewServer(http.NotFoundHandler())
	defer receiver.Close()
	c := openConsole(t, "--home", filepath.Join(t.TempDir(), "home"), "--csv-dir", dir, "--replay-from", start.Format(time.RFC3339), "--replay-speed", strconv.Itoa(speed), "--webhook-url", receiver.URL)
	conditions := map[string]alert.Condition{
		`{"new_high":{"bars":30}}`: {Type: alert.NewHigh, Bars: 30},

		`{"indicator_signal":{"indicator":"macd","signal":"cross_up"}}`:                  {Type: alert.IndicatorSignal, Indicator: "macd", Signal: "cross_up"},
		`{"value":{"indicator":"rsi","op":"<","value":40}}`:                              {Type: alert.Value, Left: alert.Operand{Indicator: "rsi"}, Op: alert.Less, Right: alert.Operand{Number: fixed(40)}},
		`{"value":{"price":"close","op":"crosses_above","value":{"indicator":"sma20"}}}`: {Type: alert.Value, Left: alert.Operand{Price: "close"}, Op: alert.CrossesAbove, Right: alert.Operand{Indicator: "sma20"}},
		`{"value":{"indicator":"macd","line":"Histogram","op":">","value":0.02}}`:        {Type: alert.Value, Left: alert.Operand{Indicator: "macd", Line: "Histogram"}, Op: alert.Greater, Right: alert.Operand{Number: fixed(0.02)}},
	}
	got, named := map[string][]fire{}, map[string]string{}
	for text := range conditions {
		answer := c.call("set_alert", `{"symbol":"WALKUSDT","interval":"1m","repeat":true,"condition":`+text+`}`)
		_, id, ok := strings.Cut(answer, `"alert_id":"`)
		if !ok {
			t.Fatal(answer)
		}
		named[id[:36]] = text
	}
	const enough = 8
	for until := time.Now().Add(4 * time.Minute); !eachHas(got, len(conditions), enough); {
		if time.Now().After(until) {
			t.Fatalf("too few firings: %v", got)
		}
		for _, f := range fired(t, c.call("get_notifications", `{"wait_seconds":5}`)) {
			got[named[f.ID]] = append(got[named[f.ID]], fire{f.At, math.Float64bits(*f.Value)})
		}
	}
	c.close()
	bars := walkBars(t, dir, minutes)
	all := 0
	for text, condition := range conditions {
		want := expected(t, condition, bars, start)
		got[text] = got[text][1:] // an alert that is set while its condition holds fires at once, where a rule does not begin
		first := 0
		for first < len(want) && !sameValues(want[first:], got[text][:3]) { // prices repeat, three in a row do not
			first++
		}
		if first+len(got[text]) > len(want) {
			t.Errorf("%s: the back-test has not the first of %d firings, %v", text, len(got[text]), math.Float64frombits(got[text][0].value))
			continue
		}
		for i, f := range got[text] {
			if w := want[first+i]; f.value != w.value {
				t.Errorf("%s, firing %d: alert with %v, back-test with %v", text, i, math.Float64frombits(f.value), math.Float64frombits(w.value))
			}
		}
		all += len(got[text])
	}
	t.Logf("%d firings of %d alerts equal the signals of rules", all, len(conditions))
}

func fixed(x float64) decimal.Decimal { return decimal.NewFromFloat(x) }

// sameValues reports whether the values of all begin with those of some.
func sameValues(all, some []fire) bool {
	return len(all) >= len(some) && slices.EqualFunc(all[:len(some)], some, func(x, y fire) bool { return x.value == y.value })
}

func eachHas(got map[string][]fire, kinds, n int) bool {
	if len(got) < kinds {
		return false
	}
	for _, f := range got {
		if len(f) < n {
			return false
		}
	}
	return true
}

type firedJSON struct {
	ID    string    `json:"alert_id"`
	At    time.Time `json:"triggered_at"`
	Value *float64  `json:"value"`
}

// fired reads the notifications of an answer.
func fired(t *testing.T, answer string) (all []firedJSON) {
	t.Helper()
	_, list, _ := strings.Cut(answer, `"text":"`)
	end := strings.LastIndex(list, `]"`)
	if end < 0 {
		t.Fatal(answer)
	}
	if err := json.Unmarshal([]byte(list[:end+1]), &all); err != nil {
		t.Fatalf("%v: %s", err, list)
	}
	return all
}

func walkBars(t *testing.T, dir string, n int) *market.Bars {
	t.Helper()
	files, err := csv.New(csv.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	page, err := provider.Read(context.WithoutCancel(t.Context()), files, provider.BarQuery{Symbol: market.Symbol{Name: "WALKUSDT"}, Interval: market.Minute1}, n)
	if err != nil || page.Bars.Len() != n {
		t.Fatal(err, page.Bars.Len())
	}
	return &page.Bars
}

// expected returns the signals of a rule from a time on, as a back-test sees them.
func expected(t *testing.T, c alert.Condition, bars *market.Bars, from time.Time) (out []fire) {
	t.Helper()
	a := alert.Alert{Interval: market.Minute1, Condition: c}
	if err := a.Normalize(ta.Library{}); err != nil {
		t.Fatal(err)
	}
	rule := replay.New(ta.Library{}, a, replay.Where{})
	for i := bars.Search(from.Unix()); i < bars.Len(); i++ {
		seen := bars.Slice(0, i+1)
		v := rule.Last(&seen)
		if !v.Rises {
			continue
		}
		if c.Type == alert.IndicatorSignal { // whose values have at most 15 digits in a notification
			v.Value, _ = strconv.ParseFloat(strconv.FormatFloat(v.Value, 'g', 15, 64), 64)
		}
		out = append(out, fire{time.Unix(bars.T[i]+60, 0), math.Float64bits(v.Value)})
	}
	return out
}
