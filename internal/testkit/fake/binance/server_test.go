package binance_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"candela/internal/testkit/fake/binance"
)

// TestServer_CountsWeightRefusesAndBans goes over the limit and on, as a client
// that honours nothing would.
func TestServer_CountsWeightRefusesAndBans(t *testing.T) {
	t.Parallel()
	now := time.Unix(1717200000, 0)
	s := binance.New(binance.Config{Now: func() time.Time { return now }, Limit: 100})
	ask := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v3/klines?symbol=BTCUSDT&interval=1h&limit=1", nil))
		return w
	}
	statuses := map[int]int{}
	for n := 1; n <= 70; n++ {
		resp := ask()
		statuses[resp.Code]++
		if used := resp.Header().Get("X-Mbx-Used-Weight-1m"); used != strconv.Itoa(2*n) {
			t.Fatalf("request %d: the weight is %s", n, used)
		}
		if retry := resp.Header().Get("Retry-After"); (resp.Code != http.StatusOK) != (retry != "") {
			t.Fatalf("request %d: status %d, Retry-After %q", n, resp.Code, retry)
		}
	}
	if statuses[http.StatusOK] != 50 || statuses[http.StatusTooManyRequests] != 10 || statuses[http.StatusTeapot] != 10 {
		t.Errorf("statuses %v", statuses)
	}
	now = now.Add(time.Minute)
	if resp := ask(); resp.Code != http.StatusTeapot {
		t.Errorf("a ban outlives the minute: %d", resp.Code)
	}
	now = now.Add(2 * time.Minute)
	if resp := ask(); resp.Code != http.StatusOK || s.PeakWeight() != 140 {
		t.Errorf("after the ban: %d, the peak is %d", resp.Code, s.PeakWeight())
	}
}

// TestServer_CountsEachAddress has clients in three places, of which each is notified of
// its own share.
func TestServer_CountsEachAddress(t *testing.T) {
	t.Parallel()
	s := binance.New(binance.Config{Now: func() time.Time { return time.Unix(1717200000, 0) }, Limit: 100, Addresses: 3})
	for n := 1; n <= 151; n++ {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v3/klines?symbol=BTCUSDT&interval=1h&limit=1", nil))
		if used := w.Header().Get("X-Mbx-Used-Weight-1m"); used != strconv.Itoa(2*n/3) || w.Code != http.StatusOK {
			t.Fatalf("request %d: status %d, the weight is %s", n, w.Code, used)
		}
	}
}
