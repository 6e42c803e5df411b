package upstream_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/data/upstream"
	"candela/internal/kit/sendby"
	"candela/internal/testkit/fake"
	"candela/lib/fault"
)

// TestDo_SaysWhetherAnythingWasSent holds what a broker relies on: an order of
// which nothing left this machine may be sent again, any other may not.
func TestDo_SaysWhetherAnythingWasSent(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	hang := func(_ int, _ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server sees the client leave only behind its request
		<-r.Context().Done()
	}
	for name, tc := range map[string]struct {
		base     string
		before   func(h *upstream.Hosts)
		deadline time.Duration
		reply    func(int, http.ResponseWriter, *http.Request)
		unsent   bool
	}{
		"nobody listens":             {base: "http://nobody.test", unsent: true},
		"the caller left before":     {deadline: -time.Second, unsent: true},
		"the host wants a pause":     {before: func(h *upstream.Hosts) { h.Client(config()).Pause(time.Hour) }, unsent: true},
		"the caller left in a pause": {before: func(h *upstream.Hosts) { h.Client(config()).Pause(time.Second) }, deadline: 500 * time.Millisecond, unsent: true},
		"the host hangs up":          {reply: func(int, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		"the host does not answer":   {reply: hang},
		"the caller does not wait":   {reply: hang, deadline: time.Second},
		"the host has a fault":       {reply: answer(http.StatusBadGateway, "")},
		"the host refuses":           {reply: answer(http.StatusForbidden, `{"code":1}`)},
		"the answer cannot be used":  {reply: answer(http.StatusOK, "<html>")},
		"the answer is cut in the middle": {reply: func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "{")
		}},
	} {
		v := &venue{reply: tc.reply}
		within(t, v, func(t *testing.T, h *upstream.Hosts) {
			t.Helper()
			c := config()
			if tc.base != "" {
				c.Base = tc.base
			}
			if tc.before != nil {
				tc.before(h)
			}
			ctx := t.Context()
			if tc.deadline != 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, tc.deadline)
				defer cancel()
			}
			_, err := h.Client(c).Do(ctx, upstream.Request{Method: http.MethodPost, Path: "/orders", Body: "{}"})
			if err == nil || errors.Is(err, upstream.ErrNotSent) != tc.unsent {
				t.Errorf("%s: unsent is %v: %v", name, errors.Is(err, upstream.ErrNotSent), err)
			}
			if n := v.count(); tc.unsent != (n == 0) || n > 1 {
				t.Errorf("%s: the host was asked %d times", name, n)
			}
			if tc.deadline != 0 && !errors.Is(err, context.DeadlineExceeded) || tc.deadline == 0 && fault.Of(err) == nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestDo_AChangeThatIsLateDoesNotLeave holds a request up until what allowed it no longer counts: by the
// limiter, as a process that was stopped would be. A question may leave at any time.
func TestDo_AChangeThatIsLateDoesNotLeave(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		c := h.Client(config())
		ctx := sendby.With(t.Context(), time.Now().Add(time.Second))
		if _, err := c.Do(ctx, upstream.Request{Method: http.MethodPost, Path: "/orders", Body: "{}"}); err != nil || v.count() != 1 {
			t.Errorf("in time, asked %d times: %v", v.count(), err)
		}
		c.Pause(2 * time.Second)
		_, err := c.Do(ctx, upstream.Request{Method: http.MethodPost, Path: "/orders", Body: "{}"})
		if !errors.Is(err, upstream.ErrNotSent) || !errors.Is(err, sendby.ErrLate) || !fault.Of(err).Retryable || v.count() != 1 {
			t.Errorf("late, asked %d times: %v", v.count(), err)
		}
		if _, err := c.Do(ctx, upstream.Request{Path: "/orders"}); err != nil {
			t.Errorf("a question: %v", err)
		}
	})
}

// TestDo_DoesNotSendAPostAgainOnAnotherConnection closes kept connections under
// requests: net/http repeats what it believes to be harmless, which an order is
// not.
func TestDo_DoesNotSendAPostAgainOnAnotherConnection(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		synctest.Test(t, func(t *testing.T) {
			v := &venue{reply: func(n int, w http.ResponseWriter, _ *http.Request) {
				if n == 2 {
					conn, _, err := http.NewResponseController(w).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					_ = conn.Close() // without a byte of an answer
					return
				}
				_, _ = io.WriteString(w, "{}")
			}}
			network, dialed := fake.NewNetwork(), 0
			defer network.Serve("venue.test:80", v)()
			hosts := upstream.NewHosts(func(ctx context.Context, n, address string) (net.Conn, error) {
				dialed++
				return network.Dial(ctx, n, address)
			})
			defer hosts.Close() //nolint:errcheck // it has nothing to report
			c := hosts.Client(config())
			request := upstream.Request{Method: method, Path: "/orders", Body: "{}"}
			if _, err := c.Do(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			_, err := c.Do(t.Context(), request)
			if err == nil || errors.Is(err, upstream.ErrNotSent) || v.count() != 2 || dialed != 1 {
				t.Errorf("%s: asked %d times over %d connections: %v", method, v.count(), dialed, err)
			}
		})
	}
}

// TestDo_ALateQueryIsMadeForEachAttempt holds that what is signed with the time is
// not signed before the request has had its turn.
func TestDo_ALateQueryIsMadeForEachAttempt(t *testing.T) {
	t.Parallel()
	var queries []string
	v := &venue{reply: func(n int, w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		if n == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, "{}")
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		c := h.Client(config())
		c.Pause(5 * time.Second)
		start := time.Now()
		late := func() string { return "z=1&a=" + strconv.Itoa(int(time.Since(start)/time.Second)) }
		if _, err := c.Do(t.Context(), upstream.Request{Path: "/p", Query: url.Values{"q": {"1"}}, QueryFunc: late}); err != nil {
			t.Fatal(err)
		}
		if len(queries) != 2 || queries[0] != "z=1&a=5" || !strings.HasPrefix(queries[1], "z=1&a=") {
			t.Errorf("asked with %q", queries)
		}
	})
}

// TestDo_OnlyReadsUseHTTP2 holds that an order cannot be repeated by net/http, which
// repeats what it sent over HTTP/2 when the stream is reset as a protocol error.
func TestDo_OnlyReadsUseHTTP2(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 2)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Method + " " + r.Proto
		_, _ = io.WriteString(w, "{}")
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	hosts := upstream.NewHosts(nil)
	defer hosts.Close() //nolint:errcheck // it has nothing to report
	upstream.Trust(hosts, server.URL, server.Client())
	c := hosts.Client(upstream.Config{Venue: "v", Base: server.URL})
	for method, want := range map[string]string{http.MethodGet: "GET HTTP/2.0", http.MethodPost: "POST HTTP/1.1", http.MethodDelete: "DELETE HTTP/1.1"} {
		if _, err := c.Do(t.Context(), upstream.Request{Method: method, Path: "/"}); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestDo_AConnectionThatWasClosedIdleHasCarriedNothing cuts the network between
// two orders: the second finds a connection that is closed, and then none.
func TestDo_AConnectionThatWasClosedIdleHasCarriedNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }}
		network := fake.NewNetwork()
		defer network.Serve("venue.test:80", v)()
		hosts := upstream.NewHosts(network.Dial)
		defer hosts.Close() //nolint:errcheck // it has nothing to report
		c := hosts.Client(config())
		for range 20 {
			network.SetDown(false)
			time.Sleep(time.Minute) // the breaker forgives
			if _, err := c.Do(t.Context(), upstream.Request{Method: http.MethodPost, Path: "/orders"}); err != nil {
				t.Fatal(err)
			}
			network.SetDown(true)
			_, err := c.Do(t.Context(), upstream.Request{Method: http.MethodPost, Path: "/orders"})
			if !errors.Is(err, upstream.ErrNotSent) {
				t.Fatalf("with the network down: %v", err)
			}
		}
		if v.count() != 20 {
			t.Errorf("asked %d times", v.count())
		}
	})
}
