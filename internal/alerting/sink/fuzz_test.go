package sink

import (
	"net/http"
	"strings"
	"testing"
)

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
