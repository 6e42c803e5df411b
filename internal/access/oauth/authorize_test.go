package oauth_test

import (
	"bytes"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
)

// asks registers these URIs, asks with each of the others and demands the
// documented answer.
func asks(t *testing.T, registered []string, asked ...string) {
	t.Helper()
	t.Parallel()
	s := New(t, nil)
	c := s.Register(uris(registered...))
	for _, redirect := range asked {
		r := program(t, s, Query(c, "redirect_uri", redirect))
		if r.Header.Get("Location") != "" {
			t.Errorf("%s: the browser is sent to %s", redirect, r.Header.Get("Location"))
		}
	}
}

func TestAuthorize_LoopbackPortIgnored(t *testing.T) {
	asks(t, []string{"http://localhost:3118/callback", "http://127.0.0.1/", "http://[::1]:1/x?a=b"},
		"http://localhost:3118/callback", "http://localhost:59999/callback", "http://localhost/callback",
		"http://127.0.0.1:33418/", "http://[::1]:2/x?a=b", "http://[::1]/x?a=b")
}

func TestAuthorize_LoopbackPathStrict(t *testing.T) {
	asks(t, []string{"http://localhost:3118/callback"},
		"http://localhost:3118/", "http://localhost:3118/callback/", "http://localhost:3118/callback/../x", "http://localhost:3118/callback?x=1",
		"http://localhost:3118/Callback", "http://localhost:3118/callbac%6b", "http://localhost:3118/callback#x")
}

func TestAuthorize_LoopbackHostStrict(t *testing.T) {
	asks(t, []string{"http://localhost:3118/callback"},
		"http://127.0.0.1:3118/callback", "http://[::1]:3118/callback", "http://localhost.:3118/callback", "http://127.0.0.2:3118/callback",
		"https://localhost:3118/callback", "http://localhost:3118@a.example/callback", "http://localhost:x/callback", "http://localhost:3118:1/callback", "http://localhost:123456/callback")
}

func TestAuthorize_HTTPSPortStrict(t *testing.T) {
	asks(t, []string{"https://a.example/cb", "https://b.example:8443/cb"},
		"https://a.example:443/cb", "https://a.example:8443/cb", "https://b.example/cb", "https://b.example:8444/cb", "http://a.example/cb")
}

func TestAuthorize_HTTPSSuffix(t *testing.T) {
	asks(t, []string{"https://a.example/cb"},
		"https://a.example.b.example/cb", "https://xa.example/cb", "https://a.example/cb2", "https://a.example/cb/x", "https://a.example/cb?x", "https://a.example/c", "https://a.example")
}

func TestAuthorize_HostCase(t *testing.T) {
	asks(t, []string{"https://a.example/cb", "http://localhost/cb"}, "https://A.example/cb", "HTTPS://a.example/cb", "http://LOCALHOST:1/cb", "HTTP://localhost/cb")
}

func TestAuthorize_BackslashTrick(t *testing.T) {
	asks(t, []string{"https://a.example/cb", "http://localhost/cb"},
		`https://b.example\@a.example/cb`, `https://a.example\.b.example/cb`, `http://localhost\@b.example/cb`, `http://localhost:1\cb`, "https://a.example/cb\r\nX: y", "https://a.example/\tcb")
}

func TestAuthorize_RedirectAbsentSeveral(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	program(t, s, Query(s.Register(uris("https://a.example/cb", "https://b.example/cb")), "redirect_uri", ""))
}

func TestAuthorize_RedirectAbsentSingle(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	program(t, s, Query(s.Known(), "redirect_uri", ""))
}

// sentBack asks with each change of a good request, in a browser in which the owner is
// logged in, and demands that the documented error reaches the client with its state.
// Any other browser is sent nowhere.
func sentBack(t *testing.T, changes ...[]string) {
	t.Helper()
	t.Parallel()
	s := New(t, nil)
	c, b := s.Known(), s.Browser()
	b.Decide(b.Open(Query(c)))
	for _, pairs := range changes {
		r := b.Open(Query(c, pairs...))
		Documented(t, r)
		if to := r.Location(t); !strings.HasPrefix(to.String(), Redirect+"?") || to.Query().Get("state") != "xyz" || to.Query().Get("code") != "" {
			t.Errorf("%v: sent to %s", pairs, to)
		}
		if r := s.Browser().Open(Query(c, pairs...)); r.Status != http.StatusBadRequest || r.Header.Get("Location") != "" {
			t.Errorf("%v: without the owner's login %d to %s", pairs, r.Status, r.Header.Get("Location"))
		}
	}
}

func TestAuthorize_NoResponseType(t *testing.T) { sentBack(t, []string{"response_type", ""}) }

func TestAuthorize_ResponseTypeToken(t *testing.T) {
	sentBack(t, []string{"response_type", "token"}, []string{"response_type", "code token"}, []string{"response_type", "CODE"})
}

func TestAuthorize_Plain(t *testing.T) {
	sentBack(t, []string{"code_challenge_method", "plain"}, []string{"code_challenge_method", "s256"})
}

func TestAuthorize_NoMethod(t *testing.T)    { sentBack(t, []string{"code_challenge_method", ""}) }
func TestAuthorize_NoChallenge(t *testing.T) { sentBack(t, []string{"code_challenge", ""}) }

func TestAuthorize_ShortChallenge(t *testing.T) {
	good := Challenge(Verifier)
	sentBack(t, []string{"code_challenge", good[:42]}, []string{"code_challenge", good + "A"}, []string{"code_challenge", good + "="},
		[]string{"code_challenge", "+" + good[1:]}, []string{"code_challenge", good[:42] + "N"})
}

func TestAuthorize_ForeignResource(t *testing.T) {
	sentBack(t, []string{"resource", "https://b.example/mcp"}, []string{"resource", Base + ".b.example/mcp"}, []string{"resource", Base + "/other"},
		[]string{"resource", Base + "/mcp/x"}, []string{"resource", Base + "//"}, []string{"resource", Base + "@b.example/"})
}

func TestAuthorize_ResourceTrailingSlash(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	for _, resources := range [][]string{
		{Base}, {Base + "/"}, {Base + "/mcp"}, {Base + "/mcp/"}, {Base + "/sse"}, {Base + "/message"}, {Base, Base + "/mcp"},
	} {
		query := Query(c)
		query["resource"] = resources
		program(t, s, query)
	}
}

func TestAuthorize_UnknownClientJSON(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	program(t, s, Query(Client{}))
	program(t, s, Query(Client{ID: "nobody"}))
}

// link returns the address that the page offers, "" when it offers none.
func link(page Response) string {
	found := regexp.MustCompile(`<a [^>]*href="([^"]*)"`).FindSubmatch(page.Body)
	if found == nil {
		return ""
	}
	return html.UnescapeString(string(found[1]))
}

func TestAuthorize_UnknownClientHTMLLink(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	page := s.Browser().Open(Query(Client{ID: "of a former run"}))
	Documented(t, page)
	to, err := url.Parse(link(page))
	if err != nil || !strings.HasPrefix(to.String(), Redirect+"?") {
		t.Fatalf("the link is %q", link(page))
	}
	q := to.Query()
	if q.Get("state") != "xyz" || q.Get("code") == "" || q.Get("iss") != Base {
		t.Errorf("the link has %v", q)
	}
}

func TestAuthorize_NoLinkForArbitraryHTTPS(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	for _, redirect := range []string{"https://b.example/cb", "javascript:alert(1)", "http://localhost.b.example/", "cursor://x", "http://localhost\\@b.example/", "com.example:/x", ""} {
		page := s.Browser().Open(Query(Client{ID: "of a former run"}, "redirect_uri", redirect))
		Documented(t, page)
		if got := link(page); got != "" {
			t.Errorf("%q gets the link %q", redirect, got)
		}
	}
}

func TestAuthorize_ForgedClientID(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	id := s.Known().ID
	data, tag, _ := strings.Cut(id, ".")
	flip := func(text string, i int) string {
		b := []byte(text)
		b[i] ^= 1
		return string(b)
	}
	for _, forged := range []string{
		flip(id, 0), data, data + ".", "." + tag, data + "." + tag[:42], id + ".", id + "A", id + "\n",
	} {
		program(t, s, Query(Client{ID: forged}))
	}
}

func TestAuthorize_RepeatedParam(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	for _, name := range []string{"client_id", "redirect_uri", "state", "code_challenge", "scope"} {
		query := Query(c, "scope", "x")
		query[name] = append(query[name], query.Get(name))
		program(t, s, query)
	}
}

func TestAuthorize_Malformed(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	for _, query := range []string{"client_id=%zz", "client_id=a;b=c"} {
		Documented(t, s.Do(http.MethodGet, "/authorize?"+query, "", "", nil))
	}
}

func TestAuthorize_LongState(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	program(t, s, Query(s.Known(), "state", strings.Repeat("s", 2<<10+1)))
}

func TestAuthorize_StateEncoded(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	for _, state := range []string{
		"a b&c=d#e?f+g%20", "\r\nX-Injected: 1", `"><script>`, "日本語", "\x00\xff", strings.Repeat("\x01", 2<<10), strings.Repeat("<", 2<<10),
	} {
		b := s.Browser()
		r := b.Decide(b.Open(Query(c, "state", state)))
		Documented(t, r)
		if got := r.Location(t).Query().Get("state"); got != state {
			t.Errorf("state %q comes back as %q", state, got)
		}
		if raw := r.Header.Get("Location"); strings.ContainsAny(raw, "\r\n \"<>+") {
			t.Errorf("Location is %q", raw)
		}
	}
	b := s.Browser()
	if got := b.Decide(b.Open(Query(c, "state", ""))).Location(t).Query(); got.Has("state") {
		t.Errorf("a state that was not sent comes back: %v", got)
	}
}

func TestAuthorize_IssOnSuccessAndError(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c, b := s.Known(), s.Browser()
	page := b.Open(Query(c))
	ok, denied := b.Decide(page), b.Decide(page, "decision", "deny")
	Documented(t, ok)
	wrong := b.Open(Query(c, "response_type", "token"))
	for _, r := range []Response{ok, denied, wrong} {
		if got := r.Location(t).Query().Get("iss"); got != Base {
			t.Errorf("iss is %q in %s", got, r.Location(t))
		}
	}
}

func TestAuthorize_UnknownScopesIgnored(t *testing.T) {
	t.Parallel()
	s := New(t, trading(oauth.PaperTrading))
	r := program(t, s, Query(s.Known(), "scope", "openid email profile", "prompt", "consent", "audience", "x"))
	if bytes.Contains(r.Body, []byte("openid")) {
		t.Error("the page speaks of a scope that does not exist")
	}
	if got := offered(r); !slices.Equal(got, []string{"charts", "read", "trade"}) {
		t.Errorf("offered are %v", got)
	}
}

func TestAuthorize_RedirectQueryKept(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c, b := s.Register(uris("https://a.example/cb?tenant=1")), s.Browser()
	r := b.Decide(b.Open(Query(c, "redirect_uri", "https://a.example/cb?tenant=1")))
	Documented(t, r)
	if q := r.Location(t).Query(); q.Get("tenant") != "1" || q.Get("code") == "" || q.Get("state") != "xyz" {
		t.Errorf("sent to %s", r.Location(t))
	}
}
