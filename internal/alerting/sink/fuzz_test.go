package sink

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"candela/internal/alerting/notify"
	"candela/internal/market"
)

// FuzzNtfy holds that whatever a record says becomes a message that can be sent.
func FuzzNtfy(f *testing.F) {
	f.Add([]byte(record), int64(1769868202))
	f.Add([]byte(`{"alert_id":"a\r\nB: c","condition":{"type":"x"},"triggered_at":"2026-01-31T14:03:22Z","value":1e-400}`), int64(0))
	f.Add([]byte(`{"condition":{"type":"price_above","threshold":-1e9},"value":null,"triggered_at":"0001-01-01T00:00:01Z"}`), int64(-1))
	to, err := NewNtfy("https://a.example/t", newSecret(), false)
	if err != nil {
		f.Fatal(err)
	}
	good := regexp.MustCompile(`^[ -~]*$`)
	f.Fuzz(func(t *testing.T, data []byte, now int64) {
		m := to.compose(&notify.Entry{Seq: 1, Symbol: market.Symbol{Name: "BTCUSDT"}, Data: data}, time.Unix(now, 0))
		if len(m.body) > maxText+3 || utf8.Valid(data) && !utf8.Valid(m.body) {
			t.Errorf("%d bytes of text", len(m.body))
		}
		for name, values := range m.header {
			if len(values) != 1 || !good.MatchString(values[0]) {
				t.Errorf("%s is %q", name, values)
			}
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "5", "-1", "1e9", "99999999999999999999", "Sat, 31 Jan 2026 14:00:40 GMT", "Sat, 31 Jan 0000 14:00:40 GMT"} {
		f.Add(seed, "Sat, 31 Jan 2026 14:00:00 GMT")
	}
	f.Fuzz(func(t *testing.T, text, date string) {
		wait := retryAfter(http.Header{"Retry-After": {text}, "Date": {date}})
		if wait < 0 || wait > longestWait {
			t.Errorf("%q asks for %v", strings.ToValidUTF8(text, "?"), wait)
		}
	})
}
