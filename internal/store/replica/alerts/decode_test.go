package alerts

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/conn"
	"candela/lib/market"
)

func recordOf(tb testing.TB, state string, change func(*alertRecord)) []byte {
	tb.Helper()
	a := alert.Alert{
		ID: "01980000-0000-7000-8000-000000000001", Owner: "ann", Symbol: market.Symbol{Name: "BTCUSDT"}, Instrument: market.Symbol{Venue: "binance", Name: "BTCUSDT"},
		Condition: alert.Condition{Type: alert.PriceAbove, Threshold: decimal.RequireFromString("70000.50")}, Created: time.Now(), Note: "a note",
	}
	stored, err := newAlertData(a)
	if err != nil {
		tb.Fatal(err)
	}
	r := alertRecord{State: state, Alert: stored, Set: conn.NewChangeInfo("name", time.Now(), principal.Caller{Key: "key", Client: "client"})}
	if state == fired {
		r.End = conn.NewChangeInfo("end", time.Now(), principal.Caller{})
		f := alert.Firing{Alert: a, Value: 70001.25, At: time.Now()}
		r.Data = f.AppendJSON(nil)
	}
	if change != nil {
		change(&r)
	}
	data, err := r.encode()
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestDecodeRecord_ReadsWhatJSONReads holds the fast reader against encoding/json: equal where it
// reads something, and silent about anything else.
func TestDecodeRecord_ReadsWhatJSONReads(t *testing.T) {
	t.Parallel()
	interval, err := market.ParseInterval("4h")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data []byte
		fast bool
	}{
		"active": {recordOf(t, active, nil), true},
		"fired":  {recordOf(t, fired, nil), true},
		"signal": {recordOf(t, active, func(r *alertRecord) {
			r.Alert.Type, r.Alert.Threshold, r.Alert.Indicator, r.Alert.Signal, r.Alert.Interval = "indicator_signal", decimal.Decimal{}, "rsi", "rsi_oversold", interval
			r.Alert.Expires, r.Alert.Since = time.Now().UTC().Truncate(time.Second), time.Now().UTC().Truncate(time.Second)
		}), true},
		"data with quotes": {recordOf(t, fired, func(r *alertRecord) { r.Data = json.RawMessage(`{"note":"a \"}\\","x":{"y":[1,"}"]}}`) }), true},
		"a note in Greek":  {recordOf(t, active, func(r *alertRecord) { r.Alert.Note = "ξύπνα" }), false},
		"a quoted note":    {recordOf(t, active, func(r *alertRecord) { r.Alert.Note = `"now"` }), false},
		"a rule":           {recordOf(t, activeRule, func(r *alertRecord) { r.Alert.Rule = json.RawMessage(`{"a":1}`) }), false},
		"with blanks":      {[]byte(`{ "state":"active" }`), false},
		"nothing":          {[]byte(`{}`), true},
		"cut off":          {[]byte(`{"state":"active"`), false},
		"an unknown key":   {[]byte(`{"later":1}`), false},
		"more after it":    {[]byte(`{"state":"active"}{}`), false},
	} {
		got, fast := readRecord(c.data)
		if fast != c.fast {
			t.Errorf("%s: read %v: %s", name, fast, c.data)
		}
		var want alertRecord
		failed := json.Unmarshal(c.data, &want)
		if fast && (failed != nil || !reflect.DeepEqual(got, want)) {
			t.Errorf("%s: %+v\nwant %+v, %v", name, got, want, failed)
		}
		brief, err := newBriefReader().decode(c.data)
		if want.Set, want.End, want.Fire, want.Data = brief.Set, brief.End, brief.Fire, brief.Data; failed == nil && (err != nil || !reflect.DeepEqual(brief, want)) {
			t.Errorf("%s in brief: %+v, %v", name, brief, err)
		}
		if _, err := decodeRecord(c.data); (err == nil) != (failed == nil) {
			t.Errorf("%s: %v, want %v", name, err, failed)
		}
	}
}

// FuzzDecodeRecord cuts and joins records: the fast reader never differs from encoding/json.
func FuzzDecodeRecord(f *testing.F) {
	f.Add(recordOf(f, active, nil))
	f.Add(recordOf(f, fired, nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, fast := readRecord(data)
		if !fast {
			return
		}
		var want alertRecord
		if err := json.Unmarshal(data, &want); err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", data, got, want)
		}
	})
}

func BenchmarkDecodeRecord(b *testing.B) {
	data := recordOf(b, fired, nil)
	b.Run("fast", func(b *testing.B) {
		for b.Loop() {
			if _, ok := readRecord(data); !ok {
				b.Fatal("not read")
			}
		}
	})
	brief := newBriefReader()
	b.Run("brief", func(b *testing.B) {
		for b.Loop() {
			if _, err := brief.decode(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			var r alertRecord
			if err := json.Unmarshal(data, &r); err != nil {
				b.Fatal(err)
			}
		}
	})
}
