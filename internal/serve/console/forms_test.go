package console_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"candela/internal/access/oauth/oauthtest"
	"candela/internal/access/owner"
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
