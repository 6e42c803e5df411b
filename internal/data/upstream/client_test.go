package upstream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"candela/internal/data/upstream"
	"candela/internal/kit/strictjson"
	"candela/internal/testkit/fake"
	"candela/lib/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// venue is a host that answers as its script says and notes when it was asked.
type venue struct {
	mu    sync.Mutex
	asked []time.Time
	reply func(n int, w http.ResponseWriter, r *http.Request)
}

func (v *venue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	v.asked = append(v.asked, time.Now())
	n := len(v.asked)
	v.mu.Unlock()
	v.reply(n, w, r)
}

func (v *venue) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.asked)
}

// within runs fn in virtual time against a venue.
func within(t *testing.T, v *venue, fn func(t *testing.T, h *upstream.Hosts)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := fake.NewNetwork()
		stop := network.Serve("venue.test:80", v)
		defer stop()
		hosts := upstream.NewHosts(network.Dial)
		defer hosts.Close() //nolint:errcheck // it has nothing to report
		fn(t, hosts)
	})
}

func config() upstream.Config {
	return upstream.Config{
		Venue: "there", Base: "http://venue.test", UsedHeader: "X-Used",
		ParseError: func(body []byte) (code, message string) {
			j := strictjson.NewReader(body)
			j.Object(func(key []byte) {
				switch string(key) {
				case "code":
					code = j.Exact()
				case "msg":
					message = j.Text()
				}
			})
			return code, message
		},
	}
}

func ask(t *testing.T, c *upstream.Client) (*upstream.Response, error) {
	t.Helper()
	return c.Do(t.Context(), upstream.Request{Path: "/bars", Query: url.Values{"signature": {"hunter2"}}, Subject: "BTCUSDT"})
}

func TestDo_RepeatsOnlyWhatMayBeRepeated(t *testing.T) {
	t.Parallel()
	failing := func(status int) func(int, http.ResponseWriter, *http.Request) {
		return func(n int, w http.ResponseWriter, _ *http.Request) {
			if n < 3 {
				w.WriteHeader(status)
				return
			}
			_, _ = io.WriteString(w, `[]`)
		}
	}
	hangUp := func(n int, w http.ResponseWriter, _ *http.Request) {
		if n < 3 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `[]`)
	}
	for name, tc := range map[string]struct {
		method string
		reply  func(int, http.ResponseWriter, *http.Request)
		asked  int
		ok     bool
	}{
		"a GET after a fault of the venue's": {"", failing(500), 3, true},
		"a GET after no answer":              {"", hangUp, 3, true},
		"a GET that was wrong":               {"", failing(400), 1, false},
		"a POST after a fault":               {http.MethodPost, failing(500), 1, false},
		"a POST after no answer":             {http.MethodPost, hangUp, 1, false},
		"a DELETE after a fault":             {http.MethodDelete, failing(503), 1, false},
	} {
		v := &venue{reply: tc.reply}
		within(t, v, func(t *testing.T, h *upstream.Hosts) {
			t.Helper()
			begin := time.Now()
			_, err := h.Client(config()).Do(t.Context(), upstream.Request{Method: tc.method, Path: "/x"})
			if (err == nil) != tc.ok || v.count() != tc.asked {
				t.Errorf("%s: asked %d times, %v", name, v.count(), err)
			}
			if took := time.Since(begin); took > 2*time.Second {
				t.Errorf("%s: took %v", name, took)
			}
		})
	}
}

func TestDo_KeepsWhatTheVenueSaid(t *testing.T) {
	t.Parallel()
	page := "<html><body>Please wait</body></html>"
	for name, tc := range map[string]struct {
		status int
		header string
		body   string
		want   upstream.Error
		kind   fault.Kind
		code   string
		retry  bool
	}{
		"its code":            {400, "", `{"code":-1121,"msg":"Invalid symbol."}`, upstream.Error{Reason: upstream.Refused, Code: "-1121", Message: "Invalid symbol."}, fault.Unavailable, "venue_refused", false},
		"words that hide":     {400, "", `{"code":-1,"msg":"no\u001b[2J\r\nmoney \u202e` + strings.Repeat("x", 400) + `"}`, upstream.Error{Reason: upstream.Refused, Code: "-1", Message: "no[2J money " + strings.Repeat("x", 288) + "..."}, fault.Unavailable, "venue_refused", false},
		"a page that hides":   {404, "", "no\x1b[2J \u202esuch thing", upstream.Error{Reason: upstream.Refused, Message: "no[2J such thing"}, fault.Unavailable, "venue_refused", false},
		"plain text":          {404, "", "no such thing", upstream.Error{Reason: upstream.Refused, Message: "no such thing"}, fault.Unavailable, "venue_refused", false},
		"a region":            {451, "", `{"code":0,"msg":"restricted"}`, upstream.Error{Reason: upstream.Refused, Code: "0", Message: "restricted"}, fault.Unavailable, "region_refused", false},
		"a ban":               {418, "172800", `{"code":-1003,"msg":"banned"}`, upstream.Error{Reason: upstream.Throttled, Code: "-1003", Message: "banned", RetryAfter: 48 * time.Hour}, fault.Unavailable, "rate_limited", true},
		"a page with 200":     {200, "", page, upstream.Error{Reason: upstream.Malformed, Message: "the answer is not JSON: " + page}, fault.Unavailable, "bad_answer", true},
		"text with 200":       {200, "", "Too Many Requests", upstream.Error{Reason: upstream.Malformed, Message: "the answer is not JSON: Too Many Requests"}, fault.Unavailable, "bad_answer", true},
		"a redirect":          {302, "", "", upstream.Error{Reason: upstream.Refused}, fault.Unavailable, "venue_refused", false},
		"a fault of its own":  {503, "", "", upstream.Error{Reason: upstream.Refused}, fault.Unavailable, "unavailable", true},
		"more than we read":   {200, "", `["` + strings.Repeat("x", 2000) + `"]`, upstream.Error{Reason: upstream.TooLarge, Message: "the answer has more than 1000 bytes"}, fault.Unavailable, "bad_answer", true},
		"a wrong Retry-After": {429, "soon", "", upstream.Error{Reason: upstream.Throttled, RetryAfter: 10 * time.Second}, fault.Unavailable, "rate_limited", true},
	} {
		v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) {
			if tc.header != "" {
				w.Header().Set("Retry-After", tc.header)
			}
			w.Header().Set("Location", "http://elsewhere.test/")
			w.WriteHeader(tc.status)
			_, _ = io.WriteString(w, tc.body)
		}}
		within(t, v, func(t *testing.T, h *upstream.Hosts) {
			t.Helper()
			c := config()
			c.MaxBytes, c.Attempts = 1000, 1
			_, err := ask(t, h.Client(c))
			got, ok := errors.AsType[*upstream.Error](err)
			if !ok {
				t.Fatalf("%s: %v", name, err)
			}
			tc.want.Venue, tc.want.Subject, tc.want.Status = "there", "BTCUSDT", tc.status
			tc.want.FromVenue = tc.want.Code != ""
			if *got != tc.want {
				t.Errorf("%s: got %+v, want %+v", name, *got, tc.want)
			}
			f := fault.Of(err)
			if f.Kind != tc.kind || f.Code != tc.code || f.Retryable != tc.retry || f.RetryAfter != tc.want.RetryAfter {
				t.Errorf("%s: the fault is %+v", name, f)
			}
			if !strings.Contains(f.Message, "there") || !strings.Contains(f.Message, "BTCUSDT") {
				t.Errorf("%s: %q names not both venue and symbol", name, f.Message)
			}
		})
	}
}

func TestDo_NoAnswerKeepsTheQueryToItself(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]func(int, http.ResponseWriter, *http.Request){
		"hangs up": func(int, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"is cut short": func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `[[1,`)
		},
		"says nothing": func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		v := &venue{reply: reply}
		within(t, v, func(t *testing.T, h *upstream.Hosts) {
			t.Helper()
			_, err := ask(t, h.Client(config()))
			f := fault.Of(err)
			if f == nil || f.Message != "there BTCUSDT: the venue does not answer" || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", name, err)
			}
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: our own deadline passes for the caller's", name)
			}
			if v.count() != 3 {
				t.Errorf("%s: asked %d times", name, v.count())
			}
		})
	}
}

func TestDo_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := h.Client(config()).Do(ctx, upstream.Request{Path: "/x", Subject: "ETH"})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "there ETH: ") {
			t.Errorf("ends with %v", err)
		}
		if _, err = h.Client(config()).Do(ctx, upstream.Request{Path: "/x"}); !errors.Is(err, context.DeadlineExceeded) || v.count() != 1 {
			t.Errorf("a context that ended: asked %d times, %v", v.count(), err)
		}
	})
}

// TestDo_StaysWithinTheWeight sends many requests at once and counts what the
// venue sees in each minute.
func TestDo_StaysWithinTheWeight(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	minutes := map[int64]int{}
	v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		minute := time.Now().Unix() / 60
		minutes[minute] += 2
		w.Header().Set("X-Used", strconv.Itoa(minutes[minute]))
		mu.Unlock()
		_, _ = io.WriteString(w, `[]`)
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		c := config()
		c.Limit = upstream.Limit{Weight: 60, Per: time.Minute, MaxWait: time.Hour}
		client := h.Client(c)
		begin := time.Now()
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				if _, err := client.Do(t.Context(), upstream.Request{Path: "/x", Weight: 2}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for minute, used := range minutes {
			if used > 60 {
				t.Errorf("minute %d used %d of 60", minute, used)
			}
		}
		if took := time.Since(begin); took > 7*time.Minute {
			t.Errorf("200 requests of weight 2 took %v at 60 a minute", took)
		}
	})
}

// TestDo_BelievesTheVenuesCount has someone else at our address use the limit up.
func TestDo_BelievesTheVenuesCount(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Used", "59")
		_, _ = io.WriteString(w, `[]`)
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		// A pause of less than a second is rounded up.
		for per, want := range map[time.Duration]string{time.Minute: "1m0s", 400 * time.Millisecond: "1s"} {
			c := config()
			c.Limit = upstream.Limit{Weight: 60, Per: per, MaxWait: per / 12}
			client := h.Client(c)
			for range 2 {
				if _, err := client.Do(t.Context(), upstream.Request{Weight: 1}); err != nil {
					t.Fatal(err)
				}
			}
			_, err := client.Do(t.Context(), upstream.Request{Weight: 2, Subject: "ETH"})
			if f := fault.Of(err); f == nil || f.RetryAfter != per || !strings.HasSuffix(f.Message, "its limit is used up; try again in "+want) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// TestDo_ACountOfAPeriodThatIsOverDoesNotHoldTheNextOne has an answer cross the
// end of the minute it speaks of.
func TestDo_ACountOfAPeriodThatIsOverDoesNotHoldTheNextOne(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Used", "59")
		w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
		time.Sleep(2 * time.Second)
		_, _ = io.WriteString(w, `[]`)
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		c := config()
		c.Limit = upstream.Limit{Weight: 60, Per: time.Minute, MaxWait: time.Second}
		client := h.Client(c)
		time.Sleep(59 * time.Second)
		for range 2 {
			if _, err := client.Do(t.Context(), upstream.Request{Weight: 5}); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestDo_Spacing(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `[]`) }}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		c := config()
		c.Limit = upstream.Limit{Spacing: time.Second}
		client := h.Client(c)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { _, _ = ask(t, client) })
		}
		wg.Wait()
		for i := range v.asked[1:] {
			if gap := v.asked[i+1].Sub(v.asked[i]); gap < time.Second {
				t.Errorf("requests %d and %d are %v apart", i, i+1, gap)
			}
		}
	})
}

func TestDo_ABrokenHostIsLeftAlone(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	v := &venue{reply: func(_ int, w http.ResponseWriter, _ *http.Request) {
		if broken.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = io.WriteString(w, `[]`)
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		c := config()
		c.Attempts, c.Limit.MaxWait = 1, time.Nanosecond
		client := h.Client(c)
		tryFor := func(d time.Duration) (asked int) {
			before, end := v.count(), time.Now().Add(d)
			for time.Now().Before(end) {
				_, _ = ask(t, client)
				time.Sleep(100 * time.Millisecond)
			}
			return v.count() - before
		}
		// Five failures, then probes after 5, 10, 20, 40 and 60 seconds of rest.
		if n := tryFor(3 * time.Minute); n < 8 || n > 11 {
			t.Errorf("a host that fails was asked %d times in three minutes", n)
		}
		_, err := ask(t, client)
		if f := fault.Of(err); f == nil || !f.Retryable || f.RetryAfter <= 0 || f.RetryAfter > time.Minute {
			t.Errorf("got %v", err)
		}
		broken.Store(false)
		time.Sleep(time.Minute)
		if n := tryFor(10 * time.Second); n != 100 {
			t.Errorf("a host that works again was asked %d times of 100", n)
		}
	})
}

// TestDo_ACallerThatLeavesIsNoFault holds that impatient callers do not open the
// breaker, and that one who leaves a probe does not keep it closed to others.
func TestDo_ACallerThatLeavesIsNoFault(t *testing.T) {
	t.Parallel()
	var slow atomic.Bool
	slow.Store(true)
	v := &venue{reply: func(_ int, w http.ResponseWriter, r *http.Request) {
		if slow.Load() {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, `[]`)
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		client := h.Client(config())
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := client.Do(ctx, upstream.Request{})
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		slow.Store(false)
		if _, err := ask(t, client); err != nil {
			t.Error(err)
		}
	})
}

func TestHosts_OneLimiterPerHost(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(_ int, w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/slow") {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, `[]`)
	}}
	synctest.Test(t, func(t *testing.T) {
		network := fake.NewNetwork()
		defer network.Serve("a.test:80", v)()
		defer network.Serve("b.test:80", v)()
		hosts := upstream.NewHosts(network.Dial)
		defer hosts.Close() //nolint:errcheck // it has nothing to report
		at := func(base string) *upstream.Client { return hosts.Client(upstream.Config{Venue: "x", Base: base}) }
		_, _ = at("http://a.test/slow").Do(t.Context(), upstream.Request{})
		if _, err := at("http://a.test").Do(t.Context(), upstream.Request{Path: "/"}); err == nil {
			t.Error("another client of the host did not wait")
		}
		if _, err := at("http://b.test").Do(t.Context(), upstream.Request{Path: "/"}); err != nil {
			t.Errorf("another host was held back: %v", err)
		}
	})
}

func TestResponse_At(t *testing.T) {
	t.Parallel()
	v := &venue{reply: func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			w.Header().Set("Date", "Tue, 15 Nov 1994 08:12:31 GMT")
		} else {
			w.Header()["Date"] = nil
		}
		_, _ = fmt.Fprint(w, `[]`)
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		want, err := ask(t, h.Client(config()))
		if err != nil || want.At.Unix() != 784887151 {
			t.Errorf("the venue's clock: %v, %v", want, err)
		}
		if mute, err := ask(t, h.Client(config())); err != nil || !mute.At.Equal(time.Now()) {
			t.Errorf("no clock: %v, %v", mute, err)
		}
	})
}

// TestHosts_ReportClockSkew has a venue whose clock is wrong for a while: that is reported once,
// and so is its end.
func TestHosts_ReportClockSkew(t *testing.T) {
	t.Parallel()
	off := []time.Duration{0, 5 * time.Second, time.Minute, 2 * time.Minute, 0, -time.Hour, -time.Second}
	v := &venue{reply: func(n int, w http.ResponseWriter, _ *http.Request) {
		if n > len(off) { // an old answer, out of a cache
			w.Header().Set("Age", "3600")
			n = 6
		}
		w.Header().Set("Date", time.Now().Add(off[n-1]).UTC().Format(http.TimeFormat))
		_, _ = fmt.Fprint(w, `[]`)
	}}
	within(t, v, func(t *testing.T, h *upstream.Hosts) {
		t.Helper()
		var want []time.Duration
		h.OnClockSkew = func(_ string, skew time.Duration) { want = append(want, skew.Round(time.Minute)) }
		c := h.Client(config())
		for range len(off) + 1 {
			if _, err := ask(t, c); err != nil {
				t.Fatal(err)
			}
		}
		if want := []time.Duration{time.Minute, 0, -time.Hour, 0}; !slices.Equal(want, want) {
			t.Errorf("reported %v, want %v", want, want)
		}
	})
}

func TestResolveURL(t *testing.T) {
	t.Parallel()
	const rest, stream = "https://public.test", "wss://stream.test"
	for _, tc := range []struct{ address, base, public, want string }{
		{"", "", rest, rest},
		{"", "", stream, stream},
		{"", "http://127.0.0.1:1", rest, "http://127.0.0.1:1"},
		{"", "http://127.0.0.1:1", stream, "ws://127.0.0.1:1"},
		{"", "https://gateway.test/x", stream, "wss://gateway.test/x"},
		{"wss://other.test", "https://gateway.test", stream, "wss://other.test"},
	} {
		if got := upstream.ResolveURL(tc.address, tc.base, tc.public); got != tc.want {
			t.Errorf("%+v: got %s", tc, got)
		}
	}
}
