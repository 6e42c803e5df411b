package console_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/access/usage"
	"candela/internal/kit/principal"
)

// crowd is the clients of a scene.
type crowd struct {
	*book
	tokens []oauth.Token
}

func (c *crowd) Tokens(context.Context, principal.Owner) ([]oauth.Token, error) { return c.tokens, nil }

func (c *crowd) Used(string) usage.Use {
	return usage.Use{Last: noon().Add(-12 * time.Second), Tool: "get_positions", Today: map[string]usage.Count{"place_order": {Calls: 11, Failed: 2}, "set_alert": {Calls: 2}}}
}

func (c *crowd) Ended() []usage.Ended {
	return []usage.Ended{{Client: usage.Client{Name: "<b>old</b>", Target: "http://localhost:14417", Scope: "trade"}, At: noon(), Reason: usage.Revoked}}
}

func (c *crowd) Revoke(_ context.Context, _ principal.Owner, id string) error {
	c.did("revoke " + id)
	return nil
}

func (c *crowd) RevokeAll(context.Context) (int, error) {
	c.did("revoke all")
	return 1, nil
}

func (c *crowd) Rescopes() bool        { return true }
func (c *crowd) Most() principal.Scope { return principal.Trade }

func (c *crowd) Rescope(_ context.Context, _ principal.Owner, id string, scope principal.Scope) error {
	c.did("rescope " + id + " " + scope.String())
	return nil
}

func newCrowd(b *book) *crowd {
	return &crowd{b, []oauth.Token{
		{ID: "c1", Key: "9f3c21d0aaaa", Issued: noon().Add(-time.Hour), Expires: noon().Add(113 * time.Hour), Grant: oauth.Grant{ClientName: "<script>alert(1)</script>", Target: "https://claude.ai", Scope: "read"}},
		{ID: "l1", Key: "41b07e9aaaaa", Grant: oauth.Grant{Login: true, ClientName: "console"}},
	}}
}

func TestClients_AreShown(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser().login()
	page := b.get("/console/clients")
	for _, want := range []string{"&lt;script&gt;", "claude.ai", ">Read<", "12 s ago", "get_positions", "9 orders, 2 orders denied, 2 alerts", "4 d 17 h", "9f3c21d0<", "this browser", "Revoked by you", "&lt;b&gt;old"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("no %q in %s", want, page.body)
		}
	}
	if strings.Contains(page.body, "<script>alert") || strings.Contains(page.body, "41b07e9a") {
		t.Error("a name is not escaped, or a login is listed as a client")
	}
	if one := b.get("/console/clients/c1"); one.status != http.StatusOK || !strings.Contains(one.body, "/console/clients/c1/widen/trade") || !strings.Contains(one.body, "/console/clients/c1/narrow/charts") {
		t.Errorf("%d %s", one.status, one.body)
	}
	for _, id := range []string{"l1", "none"} {
		if one := b.get("/console/clients/" + id); one.status != http.StatusNotFound {
			t.Errorf("%s: %d", id, one.status)
		}
	}
}

func TestClients_Acts(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	b := s.browser().login()
	for _, path := range []string{"/console/clients/c1/revoke", "/console/clients/c1/narrow/charts"} {
		if r := b.post(path); r.status != http.StatusSeeOther {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	if r := b.post("/console/clients/c1/narrow/trade"); r.status != http.StatusConflict {
		t.Errorf("widened without the passphrase: %d", r.status)
	}
	for _, path := range []string{"/console/clients/c1/widen/trade", "/console/clients/revoke-all", "/console/browsers/end-others"} {
		if r := b.post(path); r.status == http.StatusSeeOther {
			t.Errorf("%s without the passphrase", path)
		}
		if r := b.post(path, "passphrase", oauthtest.Passphrase); r.status != http.StatusSeeOther {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	if got := strings.Join(s.book.done(), ", "); got != "revoke c1, rescope c1 charts, rescope c1 trade, revoke all" {
		t.Error(got)
	}
	other := s.browser().login()
	if r := other.do(http.MethodPost, "/console/clients/c1/revoke", url.Values{"token": {b.formToken("/console/clients/c1/revoke")}}, nil); r.status != http.StatusForbidden {
		t.Errorf("a form of another session: %d", r.status)
	}
	if r := b.post("/console/browsers/end-others", "passphrase", oauthtest.Passphrase); r.status != http.StatusSeeOther {
		t.Fatalf("%d", r.status)
	}
	if r := other.get("/console/"); r.status != http.StatusSeeOther {
		t.Errorf("the other browser is still logged in: %d", r.status)
	}
}

func TestApprovals_SayWhereTheAccessWent(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.book.fill()
	if page := s.browser().login().get("/console/approvals"); !strings.Contains(page.body, `<span class="muted">· claude.ai</span>`) {
		t.Error(page.body)
	}
}
