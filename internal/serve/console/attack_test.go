package console_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"candela/internal/access/oauth/oauthtest"
	"candela/internal/alerting/alert"
	"candela/internal/serve/console"
	"candela/lib/market"
)

// paths returns the paths of all acts, with an id in them.
func paths() []string {
	all := console.ActPaths()
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], "{id}", "ask1")
	}
	return append(all, "/console/login")
}

// TestAttacks_EveryFormIsRefused sends every form as other sites and programs could.
func TestAttacks_EveryFormIsRefused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	b := s.browser().login()
	const good = "GOOD" // the token of b for the path
	bearer := s.clientToken(t)
	stale := s.browser().login()
	staleTokens := map[string]string{}
	for _, path := range paths() {
		staleTokens[path] = stale.formToken(path)
	}
	kept := maps.Clone(stale.cookies)
	stale.post("/console/logout")
	stale.cookies = kept
	for name, try := range map[string]struct {
		from   *browser
		form   url.Values
		header http.Header
	}{
		"no token":          {b, url.Values{}, nil},
		"wrong token":       {b, url.Values{"token": {"x"}}, nil},
		"token of another":  {s.browser().login(), url.Values{"token": {good}}, nil},
		"foreign origin":    {b, url.Values{"token": {good}}, http.Header{"Origin": {"https://evil.example"}}},
		"null origin":       {b, url.Values{"token": {good}}, http.Header{"Origin": {"null"}}},
		"no origin":         {b, url.Values{"token": {good}}, http.Header{"Origin": nil}},
		"http of the host":  {b, url.Values{"token": {good}}, http.Header{"Origin": {"http://candela.example"}}},
		"cross-site":        {b, url.Values{"token": {good}}, http.Header{"Sec-Fetch-Site": {"cross-site"}}},
		"same-site":         {b, url.Values{"token": {good}}, http.Header{"Sec-Fetch-Site": {"same-site"}}},
		"no cookie":         {s.browser(), url.Values{"token": {good}}, nil},
		"bearer token":      {s.browser(), url.Values{"token": {good}}, http.Header{"Authorization": {"Bearer " + bearer}}},
		"ended session":     {stale, url.Values{"token": {"STALE"}}, nil},
		"token in the path": {b, url.Values{}, http.Header{"X-Csrf-Token": {good}}},
	} {
		s.pass(time.Minute) // or the session has read too often
		for _, path := range paths() {
			form, header := maps.Clone(try.form), maps.Clone(try.header)
			form.Set("passphrase", oauthtest.Passphrase)
			switch form.Get("token") {
			case good:
				form.Set("token", b.formToken(path))
			case "STALE":
				form.Set("token", staleTokens[path])
			}
			if header.Get("X-Csrf-Token") == good {
				header.Set("X-Csrf-Token", b.formToken(path))
			}
			if r := try.from.do(http.MethodPost, path, form, header); r.status != http.StatusForbidden {
				t.Errorf("%s at %s: %d %s", name, path, r.status, r.body)
			}
		}
	}
	if got := append(s.book.done(), s.plays.done()...); len(got) != 0 {
		t.Errorf("done: %v", got)
	}
}

// clientToken returns the token of a client, as the consent page issues it.
func (s *scene) clientToken(t *testing.T) string {
	t.Helper()
	o := &oauthtest.Scene{TB: t, Server: s.logins, Handler: oauthtest.Handler(s.logins), Log: s.log}
	o.Handler = hosted(o.Handler)
	return o.Token()
}

// hosted makes requests look as if they were sent to the base address.
func hosted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "candela.example"
		h.ServeHTTP(w, r)
	})
}

// TestAttacks_GetChangesNothing opens every act and page.
func TestAttacks_GetChangesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	b := s.browser().login()
	for _, path := range paths() {
		s.pass(time.Second)
		good := b.formToken(path)
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete} {
			b.do(method, path+"?token="+good+"&passphrase=x", nil, nil)
		}
	}
	if got := s.book.done(); len(got) != 0 {
		t.Errorf("done: %v", got)
	}
}

func TestAttacks_HeadersOfEveryAnswer(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	in, out := s.browser().login(), s.browser()
	for _, r := range []response{in.get("/console/"), in.get("/console/halt"), in.get("/console/none"), out.get("/console/"), out.get("/console/login"), in.post("/console/halt"), out.do(http.MethodPost, "/console/halt", url.Values{}, nil)} {
		for name, want := range map[string]string{
			"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "",
			"Strict-Transport-Security": "max-age=31536000",
		} {
			if got := r.header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		policy := r.header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("policy %s", policy)
		}
		if strings.Contains(r.body, "<style") || strings.Contains(r.body, " style=") || strings.Contains(r.body, " onclick") || strings.Contains(r.body, "<script>") {
			t.Errorf("inline script or style in %s", r.body)
		}
	}
}

func TestSession_CookieIsStrict(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser()
	page := b.get("/console/login")
	r := b.do(http.MethodPost, "/console/login", url.Values{"token": {token(t, page)}, "passphrase": {oauthtest.Passphrase}}, nil)
	for _, c := range (&http.Response{Header: r.header}).Cookies() {
		if c.Name == "__Host-candela_console" {
			if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 12*3600 {
				t.Errorf("%+v", c)
			}
			if strings.Contains(s.log.String(), c.Value) {
				t.Error("the log has the cookie")
			}
			return
		}
	}
	t.Error("no cookie was set")
}

// A cookie that somebody copied opens nothing in another browser.
func TestSession_StolenCookieOpensNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser().login()
	name := "__Host-candela_console"
	thief := s.browser()
	thief.get("/console/login") // has a browser cookie of its own
	thief.cookies[name] = b.cookies[name]
	elsewhere := s.browser()
	elsewhere.cookies, elsewhere.agent = maps.Clone(b.cookies), "curl/8"
	bare := s.browser()
	bare.cookies[name] = b.cookies[name]
	for what, other := range map[string]*browser{"another browser": thief, "another program with all cookies": elsewhere, "without the browser's cookie": bare} {
		if r := other.get("/console/"); r.status != http.StatusSeeOther {
			t.Errorf("%s: %d", what, r.status)
		}
	}
	if r := b.get("/console/"); r.status != http.StatusOK {
		t.Errorf("the owner: %d", r.status)
	}
}

// A session that was planted in the browser never becomes the owner's.
func TestSession_NotFixed(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser()
	b.get("/console/login")
	b.cookies["__Host-candela_console"] = "planted-by-somebody-else-planted-by-somebody"
	b.login()
	if b.cookies["__Host-candela_console"] == "planted-by-somebody-else-planted-by-somebody" {
		t.Error("the planted session is the owner's")
	}
	before := maps.Clone(b.cookies)
	page := b.get("/console/login?to=/console/orders")
	if page.status != http.StatusSeeOther || page.header.Get("Location") != "/console/orders" {
		t.Errorf("%d %v", page.status, page.header)
	}
	b.post("/console/logout")
	b.cookies = before
	if r := b.get("/console/"); r.status != http.StatusSeeOther {
		t.Errorf("the session outlives the logout: %d", r.status)
	}
}

func TestSession_EndsUnused(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser().login()
	s.pass(2*time.Hour - time.Minute)
	if r := b.get("/console/"); r.status != http.StatusOK {
		t.Errorf("%d within two hours", r.status)
	}
	s.pass(2*time.Hour + time.Minute)
	if r := b.get("/console/"); r.status != http.StatusSeeOther {
		t.Errorf("%d after two hours without use", r.status)
	}
}

// The tokens of the console and of clients are not interchangeable.
func TestSession_IsNoBearerToken(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser().login()
	if caller, err := s.logins.Authorize(t.Context(), b.cookies["__Host-candela_console"]); err == nil {
		t.Errorf("the cookie is a token of %+v", caller)
	}
}

func TestLogin_GuessesAreLimited(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser()
	last := 0
	for range 7 {
		form := url.Values{"token": {token(t, b.get("/console/login"))}, "passphrase": {"wrong"}}
		last = b.do(http.MethodPost, "/console/login", form, nil).status
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the seventh guess: %d", last)
	}
}

// A login leads back to the console only.
func TestLogin_LeadsNowhereElse(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"https://evil.example/", "//evil.example/console/", "/console/../evil", `/\evil.example`, "javascript:alert(1)", "/consolex", "/mcp"} {
		b := newScene(t).browser()
		form := url.Values{"token": {token(t, b.get("/console/login"))}, "passphrase": {oauthtest.Passphrase}, "to": {to}}
		r := b.do(http.MethodPost, "/console/login", form, nil)
		u, err := url.Parse(r.header.Get("Location"))
		if err != nil || u.Host != "" || u.Scheme != "" || !strings.HasPrefix(r.header.Get("Location"), "/console/") {
			t.Errorf("%q leads to %q", to, r.header.Get("Location"))
		}
	}
}

// A link in a message comes from another site, without the strict cookie.
func TestGuard_LinkFromAMessage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	r := s.browser().do(http.MethodGet, "/console/approvals/ask1", nil, http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}})
	if r.status != http.StatusOK || !strings.Contains(r.body, `http-equiv="refresh"`) || !strings.Contains(r.body, "/console/approvals/ask1") {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := s.browser().get("/console/approvals/ask1"); r.status != http.StatusSeeOther || r.header.Get("Location") != "/console/login?to=%2Fconsole%2Fapprovals%2Fask1" {
		t.Errorf("%d %v", r.status, r.header)
	}
}

// TestAttacks_TextOfOthers puts script into every text that an agent or a venue writes.
func TestAttacks_TextOfOthers(t *testing.T) {
	t.Parallel()
	const evil = `"><img src=x onerror=alert(1)>{{.}}</script><script>alert(1)</script>` + "\u202e"
	s := newScene(t)
	s.book.fill()
	for i := range s.book.orders {
		o := &s.book.orders[i]
		o.Client, o.Reason, o.Broker, o.Note = evil, evil, evil, evil
		o.Symbol = market.Symbol{Venue: "x", Name: evil}
		o.Denial.Rule, o.Approval.By = evil, evil
	}
	s.book.held[0].Symbol.Name = evil
	s.book.alerts = []alert.Alert{{ID: "al1", Symbol: market.Symbol{Name: evil}, Note: evil, Condition: alert.Condition{Type: alert.PriceAbove, Threshold: dec("1")}}}
	if _, err := s.book.Halt(t.Context(), evil, evil); err != nil {
		t.Fatal(err)
	}
	b := s.browser().login()
	for _, path := range []string{"/console/", "/console/orders?since=all", "/console/orders/o1", "/console/orders/den1", "/console/approvals", "/console/approvals/ask1", "/console/approvals/ask1/allow", "/console/alerts", "/console/alerts/al1", "/console/alerts/al1/cancel", "/console/resume", "/console/orders/o1/cancel", "/console/alerts/new?symbol=" + url.QueryEscape(evil), "/console/none" + url.PathEscape(evil)} {
		r := b.get(path)
		if strings.Contains(r.body, "<img src=x") || strings.Contains(r.body, "<script>") {
			t.Errorf("%s: %s", path, r.body)
		}
	}
}

// TestAttacks_PolicyAndKeysStay lists everything that can be done.
func TestAttacks_PolicyAndKeysStay(t *testing.T) {
	t.Parallel()
	for _, path := range console.ActPaths() {
		for _, word := range []string{"policy", "key", "broker", "live", "passphrase"} {
			if strings.Contains(path, word) {
				t.Errorf("%s changes what only the files may", path)
			}
		}
	}
}
