package alpaca_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"candela/internal/testkit/fake/alpaca"
)

// remote is a fake in another process, or as good as one.
type remote struct {
	t   *testing.T
	url string
}

// ask makes a request and returns the status and the body, 0 for no answer.
func (r remote) ask(method, path, body string) (int, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Apca-Api-Key-Id", alpaca.KeyID)
	req.Header.Set("Apca-Api-Secret-Key", alpaca.Secret)
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, ""
	}
	return resp.StatusCode, string(data)
}

// TestControl drives a fake over TCP, as a test of another process does.
func TestControl(t *testing.T) {
	t.Parallel()
	sunday := time.Date(2025, time.July, 13, 12, 0, 0, 0, time.UTC)
	web := httptest.NewServer(alpaca.New(alpaca.Config{Now: func() time.Time { return sunday }}))
	t.Cleanup(web.Close)
	r := remote{t, web.URL}
	buy := func(id, kind string) string {
		return `{"symbol":"AAPL","qty":"2","side":"buy","type":"` + kind + `","time_in_force":"day","client_order_id":"` + id + `"}`
	}
	limit := func(id string) string {
		return strings.Replace(buy(id, "limit"), `"qty"`, `"limit_price":"90","qty"`, 1)
	}
	for i, step := range []struct {
		method, path, body string
		status             int
		contains           string
	}{
		{"GET", "/fake/truth", "", 200, `"cash":"100000","orders":null`},
		{"GET", "/fake/wipe", "", 405, ""},
		{"POST", "/fake/nothing", "", 400, "called so"},
		{"POST", "/v2/orders", buy("a", "market"), 200, `"status":"accepted"`}, // it is Sunday
		{"POST", "/fake/hours?always=true", "", 200, ""},
		{"POST", "/fake/pin?symbol=AAPL&price=100", "", 200, ""},
		{"GET", "/fake/truth", "", 200, `"Status":"filled"`},
		{"POST", "/fake/pin?symbol=NOSUCH&price=100", "", 400, "listed"},
		{"POST", "/v2/orders", limit("b"), 200, `"status":"pending_new"`},
		{"POST", "/fake/trade?id=b&quantity=1", "", 200, ""},
		{"POST", "/fake/trade?id=c&quantity=1", "", 400, "open order"},
		{"GET", "/v2/positions/AAPL", "", 200, `"qty":"3"`},
		{"POST", "/fake/fault?name=reset,+done", "", 200, ""},
		{"POST", "/v2/orders", limit("c"), 0, ""},
		{"GET", "/v2/orders:by_client_order_id?client_order_id=c", "", 200, `"status":"new"`},
		{"POST", "/fake/fault?name=outage", "", 200, ""},
		{"POST", "/v2/orders", limit("d"), 503, "blocked"},
		{"GET", "/v2/orders:by_client_order_id?client_order_id=d", "", 404, "order not found"},
		{"POST", "/fake/fault?name=nosuch", "", 400, "a name of"},
		{"POST", "/fake/fault?name=hang", "", 200, ""},
		{"POST", "/fake/clear", "", 200, ""},
		{"POST", "/fake/mood?name=odd+status", "", 200, ""},
		{"GET", "/v2/orders", "", 200, "under_consideration"},
		{"POST", "/fake/mood?name=nosuch", "", 400, "a name of"},
		{"POST", "/fake/clear", "", 200, ""},
		{"DELETE", "/v2/orders", "", 207, `"status":200`},
		{"POST", "/fake/pin?symbol=AAPL&price=0", "", 200, ""},
		{"POST", "/fake/drop", "", 200, ""},
		{"POST", "/fake/wipe", "", 200, ""},
		{"GET", "/fake/truth", "", 200, `"cash":"100000","orders":null`},
	} {
		if status, body := r.ask(step.method, step.path, step.body); status != step.status || !strings.Contains(body, step.contains) {
			t.Fatalf("step %d, %s %s: %d %s", i, step.method, step.path, status, body)
		}
	}
	var truth alpaca.Truth
	if _, body := r.ask("GET", "/fake/truth", ""); json.Unmarshal([]byte(body), &truth) != nil || truth.Cash.IntPart() != 100_000 {
		t.Errorf("%+v", truth)
	}
}
