package upstream_test

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/upstream"
	"candela/lib/fault"
)

// TestDo_ALimitOfOneKindPausesNobody has a host refuse one kind of request for an
// hour: others go on.
func TestDo_ALimitOfOneKindPausesNobody(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = io.WriteString(w, `{"code":7}`)
			return
		}
		_, _ = io.WriteString(w, "{}")
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		c := config()
		c.ParseError = func([]byte) (code, message string) { return "7", "" }
		c.IsEndpointLimit = func(code string) bool { return code == "7" }
		client := h.Client(c)
		_, err := client.Do(t.Context(), upstream.Request{Method: http.MethodPost, Path: "/orders"})
		if e, ok := errors.AsType[*upstream.Error](err); !ok || e.RetryAfter != time.Hour || e.Code != "7" {
			t.Errorf("%v", err)
		}
		start := time.Now()
		if _, err := client.Do(t.Context(), upstream.Request{Path: "/p"}); err != nil || time.Since(start) != 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

// TestDo_APauseHoldsForTheWholeProcess pauses one client of a host,
// and every other client of it wait too.
func TestDo_APauseHoldsForTheWholeProcess(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, `{}`)
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := ask(t, h.Client(config())); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if v.count() != 51 {
			t.Errorf("asked %d times", v.count())
		}
		for i, at := range v.asked[1:] {
			if wait := at.Sub(v.asked[0]); wait < 7*time.Second {
				t.Errorf("request %d came %v after the refusal", i+2, wait)
			}
		}
	})
}

// TestDo_RequestsRefusedTogetherAreOneRefusal has a host refuse a round of requests
// without saying for how long, and then another: the pause doubles with each round,
// and not with each request.
func TestDo_RequestsRefusedTogetherAreOneRefusal(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Second) // so that they are under way together
		w.WriteHeader(http.StatusTooManyRequests)
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		for _, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() {
					_, err := h.Client(config()).Do(t.Context(), upstream.Request{Method: http.MethodPost, Path: "/orders"})
					if e, ok := errors.AsType[*upstream.Error](err); !ok || e.Reason != upstream.Throttled || e.RetryAfter != want {
						t.Errorf("%v, want a pause of %v", err, want)
					}
				})
			}
			wg.Wait()
			time.Sleep(want)
		}
		if v.count() != 18 {
			t.Errorf("asked %d times", v.count())
		}
	})
}

// TestDo_AShorterPauseDoesNotEndALongerOne has a host refuse two requests that are
// under way together: for 60 s, and a second later for 5 s. Who is refused last
// gets the time left of the first pause.
func TestDo_AShorterPauseDoesNotEndALongerOne(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(_ int, w http.ResponseWriter, r *http.Request) {
		after, wait := "60", time.Second
		if r.URL.Path == "/short" {
			after, wait = "5", 2*time.Second
		}
		time.Sleep(wait)
		w.Header().Set("Retry-After", after)
		w.WriteHeader(http.StatusTooManyRequests)
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		var wg sync.WaitGroup
		for path, want := range map[string]time.Duration{"/long": 60 * time.Second, "/short": 59 * time.Second} {
			wg.Go(func() {
				_, err := h.Client(config()).Do(t.Context(), upstream.Request{Method: http.MethodPost, Path: path})
				if e, ok := errors.AsType[*upstream.Error](err); !ok || e.Reason != upstream.Throttled || e.RetryAfter != want {
					t.Errorf("%s: %v, want a pause of %v", path, err, want)
				}
			})
		}
		wg.Wait()
		_, err := ask(t, h.Client(config()))
		if e, ok := errors.AsType[*upstream.Error](err); !ok || e.Reason != upstream.LocalLimit || e.RetryAfter != 59*time.Second {
			t.Errorf("then: %v", err)
		}
	})
}

func TestDo_ALongBanIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusTeapot)
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		_, _ = ask(t, h.Client(config()))
		time.Sleep(20 * time.Second)
		begin := time.Now()
		_, err := ask(t, h.Client(config()))
		if f := fault.Of(err); f == nil || f.RetryAfter != 100*time.Second || f.Code != "rate_limited" || time.Since(begin) != 0 {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
		if v.count() != 1 {
			t.Errorf("a host that banned us was asked %d times", v.count())
		}
	})
}
