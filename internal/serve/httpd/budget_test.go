package httpd_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/kit/bucket"
	"candela/internal/kit/principal"
	"candela/internal/serve/httpd"
	"candela/internal/serve/httpd/httpdtest"
	"candela/internal/serve/mcp"
	"candela/internal/serve/mcp/mcptest"
)

func twoTokens() httpdtest.Tokens {
	tokens := httpdtest.One()
	tokens["other"] = principal.Caller{Subject: "owner", Key: "key-of-other", Scope: principal.Trade}
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
		if r := ask("good", echoCall); r.status != http.StatusTooManyRequests || r.header.Get("Retry-After") != "1" || !strings.Contains(r.body, "4 requests of this token are active") {
			t.Errorf("a fifth call: %+v", r)
		}
		if r := ask("other", echoCall); r.status != http.StatusOK {
			t.Errorf("another token: %+v", r)
		}
		if r := ask("good", pingCall); r.status != http.StatusOK {
			t.Errorf("a ping: %+v", r)
		}
		if r := ask("good", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":10}}`); r.status != http.StatusAccepted {
			t.Errorf("a cancellation: %+v", r)
		}
		synctest.Wait()
		if r := ask("good", echoCall); r.status != http.StatusOK {
			t.Errorf("after one was cancelled: %+v", r)
		}
		for _, conn := range waiting {
			_ = conn.Close()
		}
	})
}

// As many clients of an owner may listen as the plan has. A stream that takes the place of one of the same client is not refused, and one that
// ended makes room.
func TestBudget_StreamsOfAnOwner(t *testing.T) {
	t.Parallel()
	var refused []string
	serving(t, twoTokens(), func(c *httpd.Config) {
		c.Limits.Owner = func(principal.Owner) httpd.OwnerLimits {
			return httpd.OwnerLimits{Plan: "pro", Calls: 10, Streams: 1, Requests: bucket.Rate{Burst: 1000, Every: time.Millisecond}}
		}
		c.Limits.OverPlan = func(plan, limit string) { refused = append(refused, plan+" "+limit) }
	}, func(s *scene) {
		t, p := s.t, s.p
		listen := func(token string) (net.Conn, head) {
			conn := p.dial(t)
			send(t, conn, "GET /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer %s\n\n", token)
			return conn, readHead(t, conn)
		}
		first, r := listen("good")
		if r.status != http.StatusOK {
			t.Fatalf("%+v", r)
		}
		second, r := listen("good") // takes the place of the first
		if r.status != http.StatusOK {
			t.Fatalf("%+v", r)
		}
		third, r := listen("other")
		if text, _ := io.ReadAll(r.body); r.status != http.StatusTooManyRequests || !strings.Contains(string(text), "your plan pro has") {
			t.Errorf("%d %s", r.status, text)
		}
		for _, conn := range []net.Conn{first, second, third} {
			_ = conn.Close()
		}
		synctest.Wait()
		last, r := listen("other")
		if r.status != http.StatusOK {
			t.Errorf("after the others ended: %+v", r)
		}
		_ = last.Close()
		if !slices.Equal(refused, []string{"pro streams"}) {
			t.Error(refused)
		}
	})
}

// Of many calls of an owner that are refused at once, no more come back in one second than the owner
// may have at a time, and they come one by one: the fraction of the wait is before the answer.
func TestBudget_RefusedCallsComeBackOneByOne(t *testing.T) {
	t.Parallel()
	most := httpd.OwnerLimits{Plan: "pro", Calls: 4, Requests: bucket.Rate{Burst: 1000, Every: time.Millisecond}}
	serving(t, twoTokens(), func(c *httpd.Config) {
		c.Limits.Owner = func(principal.Owner) httpd.OwnerLimits { return most }
	}, func(s *scene) {
		t, p := s.t, s.p
		var waiting []net.Conn
		for i := range most.Calls {
			conn := p.dial(t)
			sendAs(t, conn, "good", strings.Replace(waitCall, `"id":5`, fmt.Sprintf(`"id":%d`, 10+i), 1))
			waiting = append(waiting, conn)
			synctest.Wait()
		}
		began := time.Now()
		refused := func(body string) (answered, back time.Duration) {
			conn := p.dial(t)
			defer func() { _ = conn.Close() }()
			sendAs(t, conn, "other", body)
			r := readHead(t, conn)
			text, _ := io.ReadAll(r.body)
			seconds, err := strconv.Atoi(r.header.Get("Retry-After"))
			if err != nil || r.status != http.StatusTooManyRequests || !strings.Contains(string(text), "as many as your plan pro has") {
				t.Errorf("%d %v %s", r.status, r.header, text)
			}
			answered = time.Since(began)
			return answered, answered + time.Duration(seconds)*time.Second
		}
		const refusals = 160
		back := make([]time.Duration, refusals)
		var all sync.WaitGroup
		for i := range refusals {
			all.Go(func() {
				var answered time.Duration
				if answered, back[i] = refused(echoCall); answered >= time.Second {
					t.Errorf("answered after %v", answered)
				}
			})
		}
		all.Wait()
		slices.Sort(back)
		for i, at := range back {
			// The first ones come back after a second, the others four a second, the last after 30 seconds.
			want := min(30*time.Second, time.Second+time.Duration(max(0, i-most.Calls+1)*250)*time.Millisecond)
			if at < want || at > want+time.Second {
				t.Errorf("refusal %d comes back after %v, want %v", i, at, want)
			}
		}
		began = time.Now()
		if answered, _ := refused(strings.Replace(echoCall, `"echo"`, `"echo","arguments":{"text":"`+strings.Repeat("x", 5000)+`"}`, 1)); answered != 0 {
			t.Errorf("a large request is held for %v", answered)
		}
		for _, conn := range waiting {
			_ = conn.Close()
		}
	})
}

const echoCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`

type httpResponse struct {
	status int
	header http.Header
	body   string
}

// Answers that nobody reads are bounded, by token and in all. What is refused is not
// carried out; what was carried out is answered.
func TestBudget_UnreadAnswers(t *testing.T) {
	t.Parallel()
	serving(t, twoTokens(), func(c *httpd.Config) { c.Limits.Held, c.Limits.HeldAll = 100_000, 150_000 }, func(s *scene) {
		t, p := s.t, s.p
		large := func(n int) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"x":%q}}}`, strings.Repeat("x", n))
		}
		ask := func(token string, n int) (net.Conn, func() int) {
			conn := p.dial(t)
			sendAs(t, conn, token, large(n))
			synctest.Wait()
			return conn, func() int {
				r := readHead(t, conn)
				_, _ = io.Copy(io.Discard, r.body)
				return r.status
			}
		}
		unread, read := ask("good", 80_000)
		refused, status := ask("good", 10)
		if got := status(); got != http.StatusTooManyRequests {
			t.Errorf("more than the token may leave unread: %d", got)
		}
		other, _ := ask("other", 60_000)
		third, status := ask("other", 10)
		if got := status(); got != http.StatusServiceUnavailable {
			t.Errorf("more than all may leave unread: %d", got)
		}
		if got := read(); got != http.StatusOK {
			t.Errorf("what was held: %d", got)
		}
		// Where all is held for long, the slowest reader goes.
		time.Sleep(time.Second) // so that one of the two is the slower
		again, _ := ask("good", 80_000)
		time.Sleep(3 * time.Second)
		fourth, status := ask("other", 10)
		if got := status(); got != http.StatusServiceUnavailable {
			t.Errorf("more than all may leave unread, again: %d", got)
		}
		synctest.Wait()
		if got, _ := io.ReadAll(other); len(got) > 60_000 {
			t.Error("the slowest reader was not disconnected")
		}
		fifth, status := ask("other", 10)
		if got := status(); got != http.StatusOK {
			t.Errorf("after the slowest was cut: %d", got)
		}
		for _, conn := range []net.Conn{unread, refused, other, third, again, fourth, fifth} {
			_ = conn.Close()
		}
	})
}

func TestBudget_RequestsPerSecond(t *testing.T) {
	t.Parallel()
	rate := bucket.Rate{Burst: 3, Every: time.Second}
	serving(t, twoTokens(), func(c *httpd.Config) { c.Limits.Requests = rate }, func(s *scene) {
		t, p := s.t, s.p
		conn := p.dial(t)
		ask := func(token string) int {
			sendAs(t, conn, token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`)
			r := readHead(t, conn)
			_, _ = io.Copy(io.Discard, r.body)
			return r.status
		}
		for i, want := range []int{200, 200, 200, 429} {
			if got := ask("good"); got != want {
				t.Errorf("request %d: %d, want %d", i, got, want)
			}
		}
		if got := ask("other"); got != 200 {
			t.Errorf("another token: %d", got)
		}
		time.Sleep(time.Second)
		if got := ask("good"); got != 200 {
			t.Errorf("a second later: %d", got)
		}
		_ = conn.Close()
	})
}

// Requests without a token are bounded by address, those with one are not.
func TestBudget_StrangersPerAddress(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c *httpd.Config) { c.Limits.Strangers = bucket.Rate{Burst: 2, Every: time.Hour} })
	ask := func(address, token string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, base+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		r.RemoteAddr = address
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w.Code
	}
	for i, tc := range []struct {
		address, token string
		want           int
	}{
		{"192.0.2.7:1", "", 200},
		{"192.0.2.7:2", "bad", 401},
		{"192.0.2.7:3", "", 429},
		{"192.0.2.7:4", "bad", 429},
		{"192.0.2.7:5", "good", 200},
		{"192.0.2.8:1", "", 200},
		{"127.0.0.1:1", "", 200},
		{"127.0.0.1:1", "", 200},
		{"127.0.0.1:1", "", 200},
	} {
		if got := ask(tc.address, tc.token); got != tc.want {
			t.Errorf("%d: %+v: %d", i, tc, got)
		}
	}
}

// wordy has a list of tools that does not fit into a connection's buffer.
type wordy struct{ mcptest.Toolbox }

func (w wordy) Tools() []mcp.Tool {
	tools := w.Toolbox.Tools()
	tools[0].Description = strings.Repeat("For tests. ", 5000)
	return tools
}

// Clients without a token do not use up what tokens may hold.
func TestBudget_StrangersUnread(t *testing.T) {
	t.Parallel()
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	servingOver(t, func(*testing.T) mcp.ToolSet { return wordy{} }, twoTokens(), func(c *httpd.Config) { c.Limits.HeldAll, c.Limits.HeldOpen = 1000, 100 }, func(s *scene) {
		t, p := s.t, s.p
		ask := func(token, body string) (net.Conn, func() int) {
			conn := p.dial(t)
			authorization := ""
			if token != "" {
				authorization = "Authorization: Bearer " + token + "\n"
			}
			send(t, conn, "POST /mcp HTTP/1.1\nHost: localhost\n%sContent-Length: %d\n\n%s", authorization, len(body), body)
			synctest.Wait()
			return conn, func() int { return readHead(t, conn).status }
		}
		unread, _ := ask("", list)
		stranger, status := ask("", list)
		if got := status(); got != http.StatusServiceUnavailable {
			t.Errorf("another stranger: %d", got)
		}
		owner, status := ask("good", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`)
		if got := status(); got != http.StatusOK {
			t.Errorf("a token: %d", got)
		}
		for _, conn := range []net.Conn{unread, stranger, owner} {
			_ = conn.Close()
		}
	})
}

// A large body counts once.
func TestBudget_LargeBodiesCountOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c *httpd.Config) { c.Limits.Requests = bucket.Rate{Burst: 3, Every: time.Hour} })
	large := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"x":"` + strings.Repeat("x", 100_000) + `"}}}`
	for i, want := range []int{200, 200, 200, 429} {
		response := post(t, s.Handler(), "/mcp", []byte(large))
		_ = response.Body.Close()
		if got := response.StatusCode; got != want {
			t.Errorf("request %d: %d, want %d", i, got, want)
		}
	}
}
