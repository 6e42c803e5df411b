package app

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	fakebinance "candela/internal/testkit/fake/binance"
)

// TestOwners_ForeignEventIDsBringNothing opens the stream of bob from every event that ann saw: it
// goes on as from a number that never was, and brings nothing of ann's.
func TestOwners_ForeignEventIDsBringNothing(t *testing.T) {
	t.Parallel()
	venue := httptest.NewServer(fakebinance.New(fakebinance.Config{Seed: 1}))
	t.Cleanup(venue.Close)
	s := startMany(t, filepath.Join(t.TempDir(), "home"), venue.URL, []string{"ann", "bob"})
	defer s.stop()
	for _, name := range []string{"ann", "bob"} {
		s.call(name, "subscribe_notifications", `{}`)
	}
	for n := range 3 { // the numbers of ann's are odd, those of bob's even
		for _, name := range []string{"ann", "bob"} {
			s.call(name, "set_alert", fmt.Sprintf(`{"symbol":"BTCUSDT","condition":{"price_above":%d},"note":"%s-%d"}`, n+1, name, n))
			s.want(name, "get_notifications", `{"wait_seconds":20}`, fmt.Sprintf("%s-%d", name, n))
		}
	}
	// From its own last event, from those of ann and from one that never was the stream goes on with
	// what comes next.
	var before string
	for _, from := range []string{"6", "1", "3", "5", "99999"} {
		got := firstEvent(t, s.url, "bob", from, func() {
			s.call("ann", "set_alert", `{"symbol":"BTCUSDT","condition":{"price_above":8},"note":"ann-next"}`)
			s.call("bob", "set_alert", fmt.Sprintf(`{"symbol":"BTCUSDT","condition":{"price_above":9},"note":"next-%s"}`, from))
		}, before)
		before = got
		if !strings.Contains(got, "next-"+from) || strings.Contains(got, "ann") {
			t.Errorf("from event %s the stream of bob begins with %s", from, got)
		}
	}
}

// firstEvent opens a stream after an event, lets something happen, and returns what it brings first. What
// the stream before it brought may come once more: its client left before the server knew that it came.
func firstEvent(t *testing.T, url, token, after string, then func(), before string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/sse", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Last-Event-ID", after)
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	then()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && data != before {
			return data
		}
	}
	return "nothing"
}
