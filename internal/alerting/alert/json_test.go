package alert_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/id"
	"candela/lib/market"
)

func TestFiring_AppendJSON(t *testing.T) {
	t.Parallel()
	const first = "018bcfe5-6800-7000-8000-000000000001"
	above := alert.Firing{Alert: price(alert.PriceAbove, "70000.50"), Value: 70000.51, At: time.Date(2026, 3, 1, 12, 0, 0, 7_999_999, time.FixedZone("", 3600))}
	above.ID = first
	late := alert.Firing{Alert: signal("wavetrend", "cross_up_os"), Value: -53.25, At: start, Late: true}
	late.ID, late.Symbol, late.Note = first, btc, "say \"hi\"\n<b>"
	script := alert.Firing{Alert: signal("mine@0123456789ab", "up"), Value: 1, At: start}
	script.ID, script.Symbol = first, btc
	several := script
	onLine := alert.Condition{Type: alert.Value, Left: alert.Operand{Indicator: "mine@0123456789ab", Line: "P"}, Op: alert.Greater, Right: alert.Operand{Indicator: "mine@ba9876543210", Line: "P"}}
	several.Condition = alert.Condition{Type: alert.All, Members: []alert.Condition{script.Condition, onLine}}
	cases := map[string]struct {
		firing alert.Firing
		want   string
	}{
		"a price": {above, `{"alert_id":"` + first + `","symbol":"BTCUSDT","interval":"","condition":{"type":"price_above","threshold":70000.5},` +
			`"value":70000.51,"triggered_at":"2026-03-01T11:00:00.007Z"}`},
		"a late signal with a note": {late, `{"alert_id":"` + first + `","symbol":"binance:BTCUSDT","interval":"4h",` +
			`"condition":{"type":"indicator_signal","indicator":"wavetrend","signal":"cross_up_os"},` +
			`"value":-53.25,"triggered_at":"2023-11-14T22:13:20.000Z","note":"say \"hi\"\n<b>","late":true}`},
		"a script, without its version": {script, `{"alert_id":"` + first + `","symbol":"binance:BTCUSDT","interval":"4h",` +
			`"condition":{"type":"indicator_signal","indicator":"mine","signal":"up"},"value":1,"triggered_at":"2023-11-14T22:13:20.000Z"}`},
		"scripts among others": {several, `{"alert_id":"` + first + `","symbol":"binance:BTCUSDT","interval":"4h",` +
			`"condition":{"type":"all","conditions":[{"type":"indicator_signal","indicator":"mine","signal":"up"},` +
			`{"type":"value","indicator":"mine","line":"P","op":">","value":{"indicator":"mine","line":"P"}}],` +
			`"describe":"binance:BTCUSDT on 4h: the script mine signals up and \"P\" of the script mine closes above \"P\" of the script mine"},"value":1,"triggered_at":"2023-11-14T22:13:20.000Z"}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := fmt.Sprint(tc.firing.Condition)
			if got := string(tc.firing.AppendJSON([]byte("x"))); got != "x"+tc.want {
				t.Errorf("\n got %s\nwant x%s", got, tc.want)
			}
			if fmt.Sprint(tc.firing.Condition) != before {
				t.Error("the condition is another one afterwards")
			}
		})
	}
}

func TestFiring_AppendJSONAllocatesNothing(t *testing.T) {
	firings := []alert.Firing{
		{Alert: price(alert.PriceBelow, "64123.45"), Value: 64123.44, At: start},
		{Alert: signal("macd", "cross_up"), Value: 1.25, At: start, Late: true},
	}
	firings[0].Note = "a \"note\" with everything: \x00 €\xff"
	buf := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		for i := range firings {
			buf = firings[i].AppendJSON(buf[:0])
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestFiring_AppendJSONWithoutAValue(t *testing.T) {
	t.Parallel()
	for _, value := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		f := alert.Firing{Alert: price(alert.PriceAbove, "1"), Value: value, At: start}
		if got := f.AppendJSON(nil); !json.Valid(got) || !bytes.Contains(got, []byte(`"value":null`)) {
			t.Errorf("%v gives %s", value, got)
		}
	}
}

// record is what encoding/json makes of the same, field by field in the order of
// the interface.
type record struct {
	AlertID     string          `json:"alert_id"`
	Symbol      string          `json:"symbol"`
	Interval    string          `json:"interval"`
	Condition   recordCondition `json:"condition"`
	Value       float64         `json:"value"`
	TriggeredAt string          `json:"triggered_at"`
	Note        string          `json:"note,omitempty"`
	Late        bool            `json:"late,omitempty"`
}

type recordCondition struct {
	Type      string           `json:"type"`
	Threshold *decimal.Decimal `json:"threshold,omitempty"`
	Indicator string           `json:"indicator,omitempty"`
	Signal    string           `json:"signal,omitempty"`
}

func FuzzFiring_AppendJSON(f *testing.F) {
	f.Add("70000.50", 70000.51, int64(1_700_000_000_000), "", uint8(1), uint8(0), false)
	f.Add("1e-30", 5e-324, int64(-1), "\"\\/\b\f\n\r\t\u2028\u2029<>&", uint8(2), uint8(0), true)
	f.Add("-123456789012345678901234567890.5", math.MaxFloat64, int64(253402300799999), "\xff\xed\xa0\x80 \U0001F600", uint8(2), uint8(0), true)
	f.Add("1e25", 1e21, int64(0), "\x00\x7f", uint8(3), uint8(15), false)
	f.Add("0", math.Copysign(0, -1), int64(0), "", uint8(1), uint8(0), false)
	f.Fuzz(func(t *testing.T, threshold string, value float64, at int64, note string, kind, interval uint8, late bool) {
		if len(threshold) > 64 || math.IsNaN(value) || math.IsInf(value, 0) {
			t.Skip("no number")
		}
		d, err := decimal.NewFromString(threshold)
		if err != nil || d.Exponent() > 400 || d.Exponent() < -400 {
			t.Skip("no decimal")
		}
		firing := alert.Firing{
			Alert: alert.Alert{
				ID: id.New(start), Symbol: btc, Interval: append(market.Intervals(), 0)[interval%16],
				Condition: alert.Condition{Type: alert.Type(kind%3) + 1, Threshold: d, Indicator: "wavetrend", Signal: "cross_up"}, Note: note,
			},
			Value: value, At: time.UnixMilli(min(max(at, -62135596800000), 253402300799999)), Late: late,
		}
		got := firing.AppendJSON(nil)
		if bytes.ContainsAny(got, "\n\r") || !utf8.Valid(got) {
			t.Fatalf("not one line of text: %q", got)
		}
		sameRecord(t, &firing, got)
	})
}

// sameRecord compares what AppendJSON wrote with what encoding/json writes: the
// keys in their order, and every value as a decoder reads it.
func sameRecord(t *testing.T, f *alert.Firing, got []byte) {
	t.Helper()
	want := record{
		AlertID: f.ID, Symbol: "binance:BTCUSDT", Condition: recordCondition{Type: f.Condition.Type.String()},
		Value: f.Value, TriggeredAt: f.At.UTC().Format("2006-01-02T15:04:05.000Z"), Note: f.Note, Late: f.Late,
	}
	if f.Interval != 0 {
		want.Interval = f.Interval.String()
	}
	if f.Condition.Type == alert.IndicatorSignal {
		want.Condition.Indicator, want.Condition.Signal = f.Condition.Indicator, f.Condition.Signal
	} else {
		want.Condition.Threshold = &f.Condition.Threshold
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(keys(t, text), keys(t, got)); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff(decode(t, text), decode(t, got)); diff != "" {
		t.Fatal(diff)
	}
	if value := decode(t, got).Value; math.Float64bits(value) != math.Float64bits(f.Value) {
		t.Fatalf("value %v reads back as %v", f.Value, value)
	}
}

func decode(t *testing.T, text []byte) (r record) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if d.More() {
		t.Fatalf("more than one object: %s", text)
	}
	return r
}

// keys returns the keys of an object and of the objects in it, in order.
func keys(t *testing.T, text []byte) []string {
	t.Helper()
	var found []string
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		name, _ := key.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
		if found = append(found, name); value[0] == '{' {
			found = append(found, keys(t, value)...)
		}
	}
	return found
}
