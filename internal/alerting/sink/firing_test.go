package sink

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"candela/internal/alerting/alert"
	"candela/internal/alerting/notify"
	"candela/lib/market"
)

func TestFiring_Text(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 31, 14, 3, 22, 0, time.UTC)
	price := func(kind alert.Type, threshold string) alert.Condition {
		return alert.Condition{Type: kind, Threshold: decimal.RequireFromString(threshold)}
	}
	for want, f := range map[string]alert.Firing{
		"BTCUSDT above 65,000: 65,012.4 at 14:03:22 UTC":       {Alert: alert.Alert{Condition: price(alert.PriceAbove, "65000")}, Value: 65012.4, At: at},
		"BTCUSDT below 0.00001234: 0.0000123 at 14:03:22 UTC":  {Alert: alert.Alert{Condition: price(alert.PriceBelow, "0.00001234")}, Value: 0.0000123, At: at},
		"BTCUSDT above 1,234,567.5: 1,234,568 at 14:03:22 UTC": {Alert: alert.Alert{Condition: price(alert.PriceAbove, "1234567.50")}, Value: 1234568, At: at},
		"BTCUSDT above -37.63: -1,000 at 14:03:22 UTC":         {Alert: alert.Alert{Condition: price(alert.PriceAbove, "-37.63")}, Value: -1000, At: at},
		"BTCUSDT 4h rsi oversold_cross: 30.12345679 at 14:03:22 UTC": {
			Alert: alert.Alert{Interval: market.Hour4, Condition: alert.Condition{Type: alert.IndicatorSignal, Indicator: "rsi", Signal: "oversold_cross"}},
			Value: 30.123456789012345, At: at,
		},
		"BTCUSDT 4h mine over: 5 at 14:03:22 UTC\nits words\nmy note": {
			Alert: alert.Alert{Interval: market.Hour4, Note: "my note", Condition: alert.Condition{Type: alert.IndicatorSignal, Indicator: "mine", Signal: "over"}},
			Value: 5, At: at, Text: "its words",
		},
		"BTCUSDT above 100: 101 at 2026-01-30 14:03:22 UTC (found late)\nfirst line\nsecond": {
			Alert: alert.Alert{Condition: price(alert.PriceAbove, "100"), Note: "first line\nsecond"}, Value: 101, At: at.AddDate(0, 0, -1), Late: true,
		},
	} {
		f.ID, f.Symbol = "0197", market.Symbol{Name: "BTCUSDT"}
		read := ParseFiring(&notify.Entry{Data: f.AppendJSON(nil)})
		if got := read.Text(at); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestFiring_TextOfWhatIsNoFiring(t *testing.T) {
	t.Parallel()
	for _, data := range []string{`{"notice":"the feed is silent"}`, `not JSON`, `{"condition":{"type":"price_above"}}`} {
		f := ParseFiring(&notify.Entry{Data: []byte(data)})
		if got := f.Text(time.Now()); got != data {
			t.Errorf("%q", got)
		}
	}
	long := alert.Firing{Alert: alert.Alert{
		Symbol: market.Symbol{Name: "BTCUSDT"}, Condition: alert.Condition{Type: alert.PriceAbove},
		Note: strings.Repeat("\u00e9", 5000),
	}, At: time.Now()}
	f := ParseFiring(&notify.Entry{Data: long.AppendJSON(nil)})
	if got := f.Text(time.Now()); len(got) > MaxText+3 || !utf8.ValidString(got) || !strings.HasSuffix(got, "...") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestReadable(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 1: "1", 999: "999", 1000: "1,000", -1234567.891: "-1,234,567.891", 65012.399999999994: "65,012.4",
		12345678901234: "12,345,678,901,234", 1e30: "1e+30", 1e-20: "1e-20", 0.1: "0.1",
	} {
		if got := readable(v); got != want {
			t.Errorf("%v reads %q, want %q", v, got, want)
		}
	}
	for in, want := range map[string]string{"1e-7": "1e-7", "-1E9": "-1E9", "100": "100", "1000000": "1,000,000", "-1000.50": "-1,000.50"} {
		if got := group(in); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

// TestFiring_TextOfAnOrderEvent has the line that people get of an order event.
func TestFiring_TextOfAnOrderEvent(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"event":"order_filled","seq":8,"symbol":"BTCUSDT","side":"sell","filled_quantity":"0.1","avg_fill_price":"45230.1","role":"stop_loss","realized_pnl":"-98.12","mode":"live","at":"2026-11-17T18:02:11.120Z"}`: "Order filled: sell 0.1 BTCUSDT at 45230.1 (stop_loss), profit -98.12. live account, 2026-11-17T18:02:11.120Z",
		`{"event":"position_unprotected","seq":9,"symbol":"BTCUSDT","reason":"the venue refused the stop","mode":"paper","at":"2026-11-17T18:02:11.120Z"}`:                                                              "Position without its stop: BTCUSDT. paper account, 2026-11-17T18:02:11.120Z\nthe venue refused the stop",
		`not JSON`: "not JSON",
	} {
		f := ParseFiring(&notify.Entry{Kind: notify.Order, Data: []byte(data)})
		if got := f.Text(time.Now()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
