package console_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"candela/internal/access/oauth/oauthtest"
	"candela/internal/access/owner"
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// formToken returns the token of the form that the browser's session has for a path.
func (b *browser) formToken(path string) string {
	b.s.tb.Helper()
	r := httptest.NewRequestWithContext(b.s.tb.Context(), http.MethodGet, base+path, nil)
	r.Header.Set("User-Agent", b.agent)
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	in, err := owner.New(b.s.logins, b.s.clock).Of(r)
	if err != nil {
		b.s.tb.Fatal(err)
	}
	return in.FormToken(path)
}

// TestForms_CarryOutOneAct sends the form of one order, and of every other act, to each path.
func TestForms_CarryOutOneAct(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	b := s.browser().login()
	shown := token(t, response{body: formsOf(b.get("/console/orders/o1/cancel"))["/console/orders/o1/cancel"]})
	all := paths()
	all = append(all[:len(all)-1], "/console/orders/o2/cancel") // the login has a token of its own
	for _, path := range all {
		for _, of := range append(all, "", "/", "/console", path+"/", "/console/orders/o1/cancel") {
			if of == path {
				continue
			}
			s.pass(time.Second)
			form := url.Values{"token": {b.formToken(of)}, "passphrase": {oauthtest.Passphrase}}
			if r := b.do(http.MethodPost, path, form, nil); r.status != http.StatusForbidden || !strings.Contains(r.body, "Nothing was done") {
				t.Errorf("the form of %q at %s: %d %s", of, path, r.status, r.body)
			}
		}
	}
	if got := s.book.done(); len(got) != 0 {
		t.Errorf("done: %v", got)
	}
	if r := b.do(http.MethodPost, "/console/orders/o1/cancel", url.Values{"token": {shown}}, nil); r.status != http.StatusSeeOther {
		t.Errorf("at its own path: %d %s", r.status, r.body)
	}
}

// formsOf returns the forms of a page that are posted, by their path.
func formsOf(page response) map[string]string {
	all := map[string]string{}
	for _, m := range regexp.MustCompile(`(?s)<form[^>]* method="post" action="([^"]+)"[^>]*>.*?</form>`).FindAllStringSubmatch(strings.ReplaceAll(page.body, "<form ", "<form  "), -1) {
		all[m[1]] = m[0]
	}
	return all
}

// TestForms_HaveTheTokenOfTheirPath opens every page and every form.
func TestForms_HaveTheTokenOfTheirPath(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	b := s.browser().login()
	seen := map[string]bool{}
	for _, path := range append(paths(), "/console/", "/console/more", "/console/settings", "/console/activity", "/console/orders/o1/cancel") {
		s.pass(time.Second)
		for action, form := range formsOf(b.get(path)) {
			seen[action] = true
			if got := token(t, response{body: form}); got != b.formToken(action) {
				t.Errorf("the form of %s on %s has another token", action, path)
			}
		}
	}
	for _, path := range []string{"/console/halt", "/console/logout", "/console/look", "/console/orders/o1/cancel", "/console/approvals/ask1/allow", "/console/settings/test", "/console/activity/verify"} {
		if !seen[path] {
			t.Errorf("no form of %s among %v", path, seen)
		}
	}
}

// TestForms_AreConfirmedFirst sends forms to a console that has not heard that the session was ended elsewhere, or
// whose servers do not answer. What halts, and what concerns the browser alone, is done nevertheless.
func TestForms_AreConfirmedFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says   error
		status int
		text   string
	}{
		"ended elsewhere": {fault.New(fault.Unauthorized, "invalid_token", "The login has ended."), http.StatusForbidden, "the session has ended"},
		"no answer":       {errors.New("no servers"), http.StatusServiceUnavailable, "could not be confirmed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.book.fill()
			b := s.browser().login()
			var asked principal.Caller
			s.confirm = func(by principal.Caller) error { asked = by; return c.says }
			if r := b.post("/console/orders/o1/cancel"); r.status != c.status || !strings.Contains(r.body, c.text) {
				t.Errorf("a cancel: %d %s", r.status, r.body)
			}
			if len(asked.Key) != 64 || asked.Subject == "" {
				t.Errorf("asked about %+v, want the session", asked)
			}
			asked = principal.Caller{}
			for _, path := range []string{"/console/halt", "/console/look", "/console/logout"} {
				if r := b.post(path); r.status != http.StatusSeeOther || asked.Key != "" {
					t.Errorf("%s: %d %s, asked about %+v", path, r.status, r.body, asked)
				}
			}
		})
	}
}
