package httpd_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"candela/internal/httpd"
	"candela/internal/httpd/httpdtest"
	"candela/internal/mcp"
)

func twoTokens() httpdtest.Tokens {
	tokens := httpdtest.One()
	tokens["other"] = mcp.Caller{Subject: "owner", Key: "key-of-other"}
	return tokens
}

func sendAs(t *testing.T, conn io.Writer, token, body string) {
	t.Helper()
	send(t, conn, "POST /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer %s\nContent-Length: %d\n\n%s", token, len(body), body)
}

// A token has so many calls under way. Others are served meanwhile, and what ends a
// call always gets through.
func TestBudget_CallsUnderWay(t *testing.T) {
	t.Parallel()
	serving(t, twoTokens(), func(c *httpd.Config) { c.Limits.Calls = 4 }, func(s *scene) {
		t, p := s.t, s.p
		var waiting []net.Conn
		for i := range 4 {
			conn := p.dial(t)
			sendAs(t, conn, "good", strings.Replace(waitCall, `"id":5`, fmt.Sprintf(`"id":%d`, 10+i), 1))
			waiting = append(waiting, conn)
			synctest.Wait()
		}
		ask := func(token, body string) httpResponse {
			conn := p.dial(t)
			defer func() { _ = conn.Close() }()
			sendAs(t, conn, token, body)
			r := readHead(t, conn)
			text, _ := io.ReadAll(r.body)
			return httpResponse{r.status, r.header, string(text)}
		}
		const echo = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`
		if r := ask("good", echo); r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") != "1" || !strings.Contains(r.body, "4 of this token are under way") {
			t.Errorf("a fifth call: %+v", r)
		}
		if r := ask("other", echo); r.status != http.StatusOK {
			t.Errorf("another token: %+v", r)
		}
		if r := ask("good", pingCall); r.status != http.StatusOK {
			t.Errorf("a ping: %+v", r)
		}
		if r := ask("good", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":10}}`); r.status != http.StatusAccepted {
			t.Errorf("a cancellation: %+v", r)
		}
		synctest.Wait()
		if r := ask("good", echo); r.status != http.StatusOK {
			t.Errorf("after one was cancelled: %+v", r)
		}
		for _, conn := range waiting {
			_ = conn.Close()
		}
	})
}

type httpResponse struct {
	status int
	header http.Header
	body   string
}

// Answers that nobody reads are bounded, by token and in all.
func TestBudget_UnreadAnswers(t *testing.T) {
	t.Parallel()
	serving(t, twoTokens(), func(c *httpd.Config) { c.Limits.Unread, c.Limits.UnreadAll = 100_000, 150_000 }, func(s *scene) {
		t, p := s.t, s.p
		large := func(n int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"x":%q}}}`, strings.Repeat("x", n))
		}
		ask := func(token string, n int) (net.Conn, func() int) {
			conn := p.dial(t)
			sendAs(t, conn, token, large(n))
			synctest.Wait()
			return conn, func() int { return readHead(t, conn).status }
		}
		unread, read := ask("good", 40_000) // the answer has it twice
		refused, status := ask("good", 20_000)
		if got := status(); got != http.StatusTooManyRequests {
			t.Errorf("more than the token may leave unread: %d", got)
		}
		other, _ := ask("other", 30_000)
		third, status := ask("other", 10_000)
		if got := status(); got != http.StatusServiceUnavailable {
			t.Errorf("more than all may leave unread: %d", got)
		}
		if got := read(); got != http.StatusOK {
			t.Errorf("what was held: %d", got)
		}
		for _, conn := range []net.Conn{unread, refused, other, third} {
			_ = conn.Close()
		}
	})
}
