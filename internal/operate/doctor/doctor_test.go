package doctor

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve answers with a handler and returns a Server that asks it.
func serve(t *testing.T, h http.HandlerFunc) *Server {
	t.Helper()
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	s := newServer(web.URL, web.URL, time.Minute, time.Minute)
	t.Cleanup(s.Close)
	return s
}

func expect(t *testing.T, f Finding, status Status, what, fix string) {
	t.Helper()
	if f.Status != status || !strings.Contains(f.What, what) || !strings.Contains(f.Fix, fix) {
		t.Errorf("%+v", f)
	}
}

func TestAddress_Redirect(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://www.example.com/", http.StatusMovedPermanently)
	})
	f, reached := s.Address(t.Context(), time.Now())
	expect(t, f, Problem, "redirects to \"https://www.example.com/", "use the address that it leads to")
	if reached {
		t.Error("reached")
	}
}

func TestAddress_NobodyThere(t *testing.T) {
	t.Parallel()
	s := newServer("http://127.0.0.1:1", "", time.Second, time.Second)
	f, _ := s.Address(t.Context(), time.Now())
	expect(t, f, Problem, "does not answer: ", "start the proxy, open its port, or correct --base-url")
}

func TestAddress_CertificateEndsSoon(t *testing.T) {
	t.Parallel()
	var address string
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"name":"candela","mcp_endpoint":"%s/mcp"}`, address)
	}))
	defer web.Close()
	address = web.URL
	s := newServer(web.URL, "", time.Second, time.Second)
	s.client.Transport = web.Client().Transport
	f, reached := s.Address(t.Context(), web.Certificate().NotAfter.Add(-24*time.Hour))
	expect(t, f, Warning, "its certificate ends on", "renew")
	if !reached {
		t.Error("not reached")
	}
	f, _ = s.Address(t.Context(), web.Certificate().NotAfter.Add(-240*24*time.Hour))
	expect(t, f, OK, "certificate good until", "")
}

// A proxy may pass the first bytes on and then lose patience, or bring nothing more.
func TestStream_NoHeartbeat(t *testing.T) {
	t.Parallel()
	first := func(w http.ResponseWriter) {
		fmt.Fprint(w, ": connected\n\n")
		_ = http.NewResponseController(w).Flush()
	}
	closes := serve(t, func(w http.ResponseWriter, _ *http.Request) { first(w) })
	expect(t, closes.Stream(t.Context(), "t"), Problem, "no heartbeat: the connection was closed after ", "proxy_read_timeout")
	silent := serve(t, func(w http.ResponseWriter, r *http.Request) {
		first(w)
		<-r.Context().Done()
	})
	silent.Heartbeat = time.Second // all of which is waited for
	found := silent.Stream(t.Context(), "t")
	expect(t, found, Problem, "no heartbeat: nothing came in time after ", "proxy_read_timeout")
	_, waited, _ := strings.Cut(found.What, "in time after ")
	if d, err := time.ParseDuration(waited); err != nil || d < time.Second {
		t.Errorf("it waited %q for a heartbeat, which may take a second", waited)
	}
	refuses := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	expect(t, refuses.Stream(t.Context(), "t"), Problem, "HTTP 401", "log")
}

func TestRoundTrip_SaysWhereItEnds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer    func(base string, w http.ResponseWriter, r *http.Request)
		what, fix string
	}{
		"a page in place of the metadata": {func(_ string, w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "metadata: HTTP 200, and not what candela answers", "/.well-known/"},
		"another issuer": {func(_ string, w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"issuer":"http://localhost:9315"}`)
		}, `the issuer is "http://localhost:9315"`, "--base-url http://127.0.0.1:"},
		"too many registrations": {func(base string, w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				w.WriteHeader(http.StatusTooManyRequests)
			}
			fmt.Fprintf(w, `{"issuer":%[1]q,"registration_endpoint":"%[2]s/register"}`, base, base)
		}, "registration: too many requests (HTTP 429)", "--trusted-proxies"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *Server
			s = serve(t, func(w http.ResponseWriter, r *http.Request) { tt.answer(s.BaseURL, w, r) })
			f, token := s.RoundTrip(t.Context(), "secret")
			expect(t, f, Problem, tt.what, tt.fix)
			if token != "" {
				t.Error("a token from nowhere")
			}
		})
	}
}

// A slow answer leaves open when the time in it was true, and digits that nobody
// measured are not shown.
func TestReading_ShowsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]reading{
		"1.3s behind":  {skew: 1337 * time.Millisecond, coarse: 20 * time.Millisecond},
		"1.3s ahead":   {skew: -1337 * time.Millisecond, coarse: 2 * time.Second}, // seconds would be too few
		"9s behind":    {skew: 9080 * time.Millisecond, coarse: 100 * time.Millisecond},
		"1m30s behind": {skew: 91900 * time.Millisecond, coarse: 2 * time.Second},
		"1h0m0s ahead": {skew: -time.Hour - 400*time.Millisecond, coarse: 500 * time.Millisecond},
	} {
		if got := r.direction(); got != want {
			t.Errorf("%v give or take %v is written as %s, want %s", r.skew, r.coarse, got, want)
		}
	}
}

// Where a server publishes no time of its own, the Date of HTTP counts, which is exact
// to a second.
func TestClock_Date(t *testing.T) {
	t.Parallel()
	ask := func(skew time.Duration) Finding {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", time.Now().Add(skew).UTC().Format(http.TimeFormat))
		})
		return Clock(t.Context(), s.client, []TimeSource{{Name: "x", URL: s.BaseURL}})
	}
	expect(t, ask(0), OK, "of x (Date)", "")
	expect(t, ask(-time.Hour), Problem, "ahead by x (Date)", "synchronize")
	expect(t, ask(time.Hour), Problem, "behind by x (Date)", "synchronize")
	expect(t, Clock(t.Context(), &http.Client{}, nil), Warning, "no venue returned the time", "timedatectl")
}
