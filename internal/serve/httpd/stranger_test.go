package httpd_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
)

// counting is a body that says how much of it was read.
type counting struct {
	io.Reader
	read int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += n
	return n, err
}

// A caller without a token can make the server hold little: a thousand
// connections with a body of a megabyte each came to 2 GB.
func TestMessage_StrangersBodyIsSmall(t *testing.T) {
	t.Parallel()
	handler := newServer(t, nil).Handler()
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	large := list + strings.Repeat(" ", 1<<20-len(list))
	for name, c := range map[string]struct {
		body, token string
		length      int64 // -1: unknown
		status      int
		most        int // bytes read
	}{
		"a small body is answered":                      {list, "", int64(len(list)), http.StatusOK, 1 << 10},
		"64 KiB are answered":                           {large[:64<<10], "", 64 << 10, http.StatusOK, 64 << 10},
		"a large body wants a token":                    {large, "", 1 << 20, http.StatusUnauthorized, 0},
		"a large body of unknown length wants a token":  {large, "", -1, http.StatusUnauthorized, 192 << 10},
		"a large body with a wrong token is turned off": {large, "wrong", 1 << 20, http.StatusUnauthorized, 0},
		"a body too large for all says so":              {large + " ", "", 1<<20 + 1, http.StatusRequestEntityTooLarge, 0},
		"a large body with a token is answered":         {large, "good", 1 << 20, http.StatusOK, 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := &counting{Reader: strings.NewReader(c.body)}
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", body)
			request.ContentLength = c.length
			if c.token != "" {
				request.Header.Set("Authorization", "Bearer "+c.token)
			}
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request)
			if recorder.Code != c.status || body.read > c.most {
				t.Errorf("status %d, %d bytes read; want %d and at most %d: %.200s", recorder.Code, body.read, c.status, c.most, recorder.Body)
			}
			if challenge := recorder.Header().Get("WWW-Authenticate"); (c.status == http.StatusUnauthorized) != (challenge != "") {
				t.Errorf("challenge %q with status %d", challenge, c.status)
			}
		})
	}
}

// A batch multiplies the answer: 64 tool lists are 1.7 MB for 3 KB asked.
func TestMessage_StrangersBatchIsSmall(t *testing.T) {
	t.Parallel()
	handler := newServer(t, nil).Handler()
	batch := func(n int) string {
		return "[" + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"tools/list"},`, n-1) + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}]`
	}
	for _, c := range []struct {
		calls  int
		token  string
		status int
	}{{4, "", http.StatusOK}, {5, "", http.StatusUnauthorized}, {64, "", http.StatusUnauthorized}, {64, "good", http.StatusOK}} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(batch(c.calls)))
		if c.token != "" {
			request.Header.Set("Authorization", "Bearer "+c.token)
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		if recorder.Code != c.status {
			t.Errorf("%d calls with token %q: status %d, want %d", c.calls, c.token, recorder.Code, c.status)
		}
	}
}

// A second Origin must not hide behind an allowed first one.
func TestAdmit_EveryOriginCounts(t *testing.T) {
	t.Parallel()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	request.Header["Origin"] = []string{"http://localhost:3000", "https://evil.example"}
	recorder := httptest.NewRecorder()
	newServer(t, nil).Handler().ServeHTTP(recorder, request)
	if recorder.Code != http.StatusForbidden {
		t.Errorf("status %d", recorder.Code)
	}
}

// Idle connections, which cost their owner nothing, kept everyone else out for
// the two minutes that an idle one may last.
func TestServe_IdleConnectionsDoNotKeepOthersOut(t *testing.T) {
	t.Parallel()
	serving(t, httpdtest.One(), func(c *httpd.Config) { c.MaxConnections = 8 }, func(s *scene) {
		began := time.Now()
		for i := range 40 {
			conn := s.p.dial(s.t)
			send(s.t, conn, "GET /favicon.svg HTTP/1.1\nHost: localhost\n\n")
			answer := readHead(s.t, conn)
			if _, err := io.Copy(io.Discard, answer.body); err != nil || answer.status != http.StatusOK {
				s.t.Fatalf("connection %d: status %d, %v", i, answer.status, err)
			}
			s.t.Cleanup(func() { _ = conn.Close() })
		}
		if waited := time.Since(began); waited > 0 {
			s.t.Errorf("the last connection waited %s", waited)
		}
	})
}
