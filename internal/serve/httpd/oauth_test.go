package httpd_test

import (
	"fmt"
	"html"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/serve/httpd"
	"candela/internal/serve/mcp/mcptest"
)

// open returns a whole server with a real authorization server behind it.
func open(tb testing.TB) *oauthtest.Scene {
	tb.Helper()
	s := oauthtest.New(tb, nil)
	server, err := httpd.New(mcptest.Server(tb, mcptest.Toolbox{}), s.Server, httpd.Config{
		BaseURL: oauthtest.Base, Name: "candela", Version: "test", OAuth: s.Server, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	s.Handler = server.Handler()
	return s
}

const (
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`
	ping        = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
)

// call posts to /mcp, with a token unless it is "".
func call(s *oauthtest.Scene, path, token, body string) oauthtest.Response {
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return s.Do(http.MethodPost, path, "application/json", body, header)
}

func TestResource_InitializedNotification401(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := call(s, "/mcp", "", initialized)
	oauthtest.Documented(t, r)
	want := `Bearer resource_metadata="` + oauthtest.Base + `/.well-known/oauth-protected-resource/mcp"`
	if got := r.Header.Get("WWW-Authenticate"); got != want {
		t.Errorf("WWW-Authenticate is %s", got)
	}
	if r := call(s, "/mcp", s.Token(), initialized); r.Status != http.StatusAccepted {
		t.Errorf("with a token: %d %s", r.Status, r.Body)
	}
}

func TestResource_ErrorOnlyWhenPresented(t *testing.T) {
	t.Parallel()
	s := open(t)
	without, with := call(s, "/mcp", "", ping), call(s, "/mcp", "wrong", ping)
	oauthtest.Documented(t, without)
	oauthtest.Documented(t, with)
	oauthtest.Documented(t, call(s, "/mcp", "wrong", initialize))
	if strings.Contains(without.Header.Get("WWW-Authenticate"), "error") {
		t.Error("an error without a token")
	}
	if !strings.Contains(with.Header.Get("WWW-Authenticate"), `error="invalid_token"`) {
		t.Error("no error with a wrong token")
	}
	if r := call(s, "/mcp", "", initialize); r.Status != http.StatusOK {
		t.Errorf("initialize without a token: %d", r.Status)
	}
}

func TestResource_PerPathMetadata(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, path := range []string{"", "/mcp", "/sse", "/message"} {
		r := s.Do(http.MethodGet, "/.well-known/oauth-protected-resource"+path, "", "", nil)
		oauthtest.Documented(t, r)
		body := r.JSON(t)
		if body["resource"] != oauthtest.Base+path || fmt.Sprint(body["authorization_servers"]) != "["+oauthtest.Base+"]" {
			t.Errorf("%s: %s", path, r.Body)
		}
	}
	for _, path := range []string{"/", "/mcp", "/message"} { // what the challenge names is there
		challenge := call(s, path, "", ping).Header.Get("WWW-Authenticate")
		named := regexp.MustCompile(`resource_metadata="([^"]+)"`).FindStringSubmatch(challenge)[1]
		oauthtest.Documented(t, s.Do(http.MethodGet, strings.TrimPrefix(named, oauthtest.Base), "", "", nil))
	}
}

func TestResource_OpenIDConfig404(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, path := range []string{
		"openid-configuration", "openid-configuration/mcp", "oauth-authorization-server/mcp", "oauth-protected-resource/other", "oauth-protected-resource/", "",
	} {
		r := s.Do(http.MethodGet, "/.well-known/"+path, "", "", nil)
		oauthtest.Documented(t, r)
		if r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v", path, r.Header)
		}
	}
}

func TestResource_QueryTokenIgnored(t *testing.T) {
	t.Parallel()
	s := open(t)
	token := s.Token()
	r := call(s, "/mcp?access_token="+token, "", ping)
	oauthtest.Documented(t, r)
	if strings.Contains(r.Header.Get("WWW-Authenticate"), "error") {
		t.Error("the token in the query was looked at")
	}
}

func TestResource_ExpiredEvicted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		token := s.Token()
		time.Sleep(7*24*time.Hour - time.Second)
		if r := call(s, "/mcp", token, ping); r.Status != http.StatusOK {
			t.Errorf("within 7 days: %d", r.Status)
		}
		time.Sleep(time.Second)
		oauthtest.Documented(t, call(s, "/mcp", token, ping))
		if list, err := s.Server.Tokens(t.Context(), oauth.SoleOwner); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
	})
}

func TestResource_RevokedToken(t *testing.T) {
	t.Parallel()
	s := open(t)
	token := s.Token()
	list, err := s.Server.Tokens(t.Context(), oauth.SoleOwner)
	if err != nil || len(list) != 2 || list[0].Grant.Login { // the other is the owner's browser
		t.Fatalf("%v, %v", list, err)
	}
	if err := s.Server.Revoke(t.Context(), oauth.SoleOwner, list[0].ID); err != nil {
		t.Fatal(err)
	}
	oauthtest.Documented(t, call(s, "/mcp", token, ping))
}

func TestResource_PreflightNoAuth(t *testing.T) {
	t.Parallel()
	s := open(t)
	origin := http.Header{"Origin": {"https://page.example"}, "Access-Control-Request-Method": {"POST"}}
	for _, path := range []string{"/mcp", "/register", "/token", "/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource/mcp"} {
		r := s.Do(http.MethodOptions, path, "", "", origin)
		oauthtest.Documented(t, r)
		if r.Header.Get("Access-Control-Allow-Origin") != "*" || r.Header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %v", path, r.Header)
		}
		for _, name := range []string{"Authorization", "Content-Type", "Accept", "Mcp-Protocol-Version", "Mcp-Session-Id", "Last-Event-ID", "Mcp-Method", "Mcp-Name"} {
			if !strings.Contains(r.Header.Get("Access-Control-Allow-Headers"), name) {
				t.Errorf("%s does not allow %s", path, name)
			}
		}
	}
	for _, path := range []string{"/authorize", "/consent"} {
		for _, method := range []string{http.MethodOptions, http.MethodGet, http.MethodPost} {
			if r := s.Do(method, path, "", "", origin); r.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s may be read by other origins", method, path)
			}
		}
	}
}

func TestResource_ExposeHeaders(t *testing.T) {
	t.Parallel()
	s := open(t)
	r := s.Do(http.MethodPost, "/mcp", "application/json", ping, http.Header{"Origin": {"http://localhost:6274"}})
	oauthtest.Documented(t, r)
	for _, name := range []string{"WWW-Authenticate", "Mcp-Session-Id", "Mcp-Protocol-Version", "Retry-After"} {
		if !strings.Contains(r.Header.Get("Access-Control-Expose-Headers"), name) {
			t.Errorf("%s is not exposed", name)
		}
	}
}

func TestResource_BadOrigin403(t *testing.T) {
	t.Parallel()
	s := open(t)
	token := s.Token()
	for _, origin := range []string{"https://page.example", "null", "http://localhost.page.example"} {
		oauthtest.Documented(t, s.Do(http.MethodPost, "/mcp", "application/json", ping,
			http.Header{"Origin": {origin}, "Authorization": {"Bearer " + token}}))
	}
}

func TestResource_ReboundHost403(t *testing.T) {
	t.Parallel()
	s := open(t)
	for path, method := range map[string]string{"/authorize": http.MethodGet, "/register": http.MethodPost, "/consent": http.MethodPost, "/token": http.MethodPost} {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://page.example:9315"+path, strings.NewReader("{}"))
		w := httptest.NewRecorder()
		s.Handler.ServeHTTP(w, r)
		oauthtest.Documented(t, oauthtest.Response{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()})
	}
}

func TestResource_SSESurvivesReadTimeout(t *testing.T) {
	s := oauthtest.New(t, nil)
	token := s.Token()
	serving(t, s.Server, func(c *httpd.Config) { c.OAuth, c.ReadTimeout = s.Server, 2*time.Second }, func(sc *scene) {
		conn := sc.p.dial(sc.t)
		defer func(conn net.Conn) { _ = conn.Close() }(conn)
		send(sc.t, conn, "GET /mcp HTTP/1.1\nHost: localhost\nAuthorization: Bearer %s\n\n", token)
		head := readHead(sc.t, conn)
		oauthtest.Documented(t, oauthtest.Response{Status: head.status, Header: head.header})
		readFrame(sc.t, head.body)
		for range 3 { // keep-alives, each 15 s apart
			readFrame(sc.t, head.body)
		}
	})
}

func TestRestart_EphemeralInvalidates(t *testing.T) {
	t.Parallel()
	before, after := open(t), open(t)
	client, token := before.Known(), before.Token()
	if r := call(after, "/mcp", token, ping); r.Status != http.StatusUnauthorized {
		t.Errorf("a token of the former run: %d", r.Status)
	}
	oauthtest.Documented(t, after.Redeem(oauthtest.TokenForm(client, "x")))
	if r := after.Do(http.MethodGet, "/authorize?"+oauthtest.Query(client).Encode(), "", "", nil); r.Status != http.StatusBadRequest {
		t.Errorf("a client of the former run: %d", r.Status)
	}
}

// TestRestart_ApprovalRenews does what a client with a stored registration does after a
// restart: its token and its code requests are refused, until the owner approves.
func TestRestart_ApprovalRenews(t *testing.T) {
	t.Parallel()
	before, after := open(t), open(t)
	client := before.Known()
	answer := after.Redeem(oauthtest.TokenForm(client, after.Code(client)))
	oauthtest.Documented(t, answer)
	if r := call(after, "/mcp", answer.Text(t, "access_token"), ping); r.Status != http.StatusOK {
		t.Errorf("with the token: %d %s", r.Status, r.Body)
	}
	if r := after.Redeem(oauthtest.TokenForm(client, "x")); r.Text(t, "error") != "invalid_client" {
		t.Errorf("the registration outlives the approval: %s", r.Body)
	}
}

// TestRestart_ReturnLinkHeals does what a client does whose id says nothing about it:
// the browser page, the link, the token request, and then a new registration.
func TestRestart_ReturnLinkHeals(t *testing.T) {
	t.Parallel()
	after, client := open(t), oauthtest.Client{ID: "of a former run"}
	page := after.Browser().Open(oauthtest.Query(client))
	found := regexp.MustCompile(`<a [^>]*href="([^"]*)"`).FindSubmatch(page.Body)
	if page.Status != http.StatusBadRequest || found == nil {
		t.Fatalf("no link on %d %s", page.Status, page.Body)
	}
	back, err := url.Parse(html.UnescapeString(string(found[1])))
	if err != nil || back.Query().Get("state") != "xyz" || back.Query().Get("iss") != oauthtest.Base {
		t.Fatalf("%v, %v", back, err)
	}
	oauthtest.Documented(t, after.Redeem(oauthtest.TokenForm(client, back.Query().Get("code"))))
	if r := call(after, "/mcp", after.Token(), ping); r.Status != http.StatusOK {
		t.Errorf("after registering again: %d", r.Status)
	}
}

func TestClientAddress(t *testing.T) {
	t.Parallel()
	address := httpd.ClientAddress([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")})
	for _, tc := range []struct{ peer, forwarded, want string }{
		{"192.0.2.1:5", "", "192.0.2.1"},
		{"192.0.2.1:5", "198.51.100.1", "192.0.2.1"}, // not a proxy: its word counts for nothing
		{"10.0.0.1:5", "", "10.0.0.1"},
		{"10.0.0.1:5", "198.51.100.1", "198.51.100.1"},
		{"10.0.0.1:5", "203.0.113.9, 198.51.100.1", "198.51.100.1"}, // the left one was sent by the client
		{"10.0.0.1:5", "203.0.113.9, 198.51.100.1, 10.0.0.2", "198.51.100.1"},
		{"10.0.0.1:5", "garbage", "10.0.0.1"},
		{"10.0.0.1:5", "198.51.100.1, garbage", "10.0.0.1"},
		{"10.0.0.1:5", "198.51.100.1:443", "198.51.100.1"},
		{"[2001:db8::1]:5", "[2001:db9::7]:443", "2001:db9::7"},
		{"[::ffff:10.0.0.1]:5", "::ffff:198.51.100.1", "198.51.100.1"},
		{"@", "198.51.100.1", "invalid IP"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = tc.peer
		if tc.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tc.forwarded)
		}
		if got := address(r).String(); got != tc.want {
			t.Errorf("%s forwarded for %q is %s, want %s", tc.peer, tc.forwarded, got, tc.want)
		}
	}
}
