package oauth_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
	"candela/internal/access/upstream"
	"candela/internal/kit/principal"
	"candela/internal/testkit/fake/oidc"
)

func anyone() []string { return []string{"anyone"} }

// allow approves the client on the consent page of a person who is signed in.
func allow(b *Browser, page Response) Response { return b.Decide(page, "passphrase", "") }

func TestSignIn_GoesUpstreamFirst(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), nil)
	b := s.Browser()
	sent := b.Open(Query(s.Known()))
	Documented(t, sent)
	if to := sent.Location(t).String(); !strings.HasPrefix(to, idp.Issuer()+"/authorize?") || strings.Contains(to, "xyz") || strings.Contains(to, "3118") {
		t.Errorf("sent to %s", to)
	}
	for _, c := range (&http.Response{Header: sent.Header}).Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" {
			t.Errorf("%+v", c)
		}
		if strings.HasPrefix(c.Name, "candela_flow_") && c.MaxAge != 600 {
			t.Errorf("the request is kept for %d s", c.MaxAge)
		}
	}
}

// The checks of a request come before the provider: a wrong one goes nowhere.
func TestSignIn_ChecksTheRequestFirst(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), nil)
	b := s.Browser()
	Documented(t, b.Open(Query(s.Known(), "redirect_uri", "https://evil.example/cb")))
	if r := b.Open(Query(s.Known(), "code_challenge", "")); r.Status != http.StatusBadRequest {
		t.Errorf("without a challenge: %d", r.Status)
	}
	if n := idp.Requests("authorize") + idp.Requests(".well-known/openid-configuration"); n > 0 {
		t.Errorf("the provider was asked %d times", n)
	}
}

func TestSignIn_ShowsWhoYouAre(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), nil)
	b := s.Browser()
	c := s.Known()
	page := b.SignIn(Query(c))
	Documented(t, page)
	for _, want := range []string{"You are <strong>Ann (ann@example.com)</strong>", "Not you?", "A Client", "localhost:3118"} {
		if !strings.Contains(string(page.Body), want) {
			t.Errorf("the page does not say %q: %s", want, page.Body)
		}
	}
	if strings.Contains(string(page.Body), "passphrase") {
		t.Error("the page asks for a passphrase")
	}
	done := allow(b, page)
	token := s.Redeem(TokenForm(c, done.Location(t).Query().Get("code"))).Text(t, "access_token")
	caller, err := s.Server.Authorize(t.Context(), token)
	if want := upstream.OwnerID(idp.Issuer(), "0001"); err != nil || caller.Subject != want {
		t.Errorf("the token is of %q, %v; want %q", caller.Subject, err, want)
	}
	if log := s.Log.String(); strings.Contains(log, "ann@example.com") || strings.Contains(log, "s-ann") {
		t.Errorf("the log names the person: %s", log)
	}
}

// A login lasts twelve hours, and the consent page comes every time.
func TestSignIn_SecondVisitAsksForConsent(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), nil)
	b := s.Browser()
	allow(b, b.SignIn(Query(s.Known())))
	page := b.Open(Query(s.Known()))
	Documented(t, page)
	if idp.Requests("authorize") != 1 || !strings.Contains(string(page.Body), "You are <strong>Ann") {
		t.Errorf("%d visits at the provider; %s", idp.Requests("authorize"), page.Body)
	}
}

// TestSignIn_NoTokenWithoutConsent tries every request short of the approval.
func TestSignIn_NoTokenWithoutConsent(t *testing.T) {
	t.Parallel()
	s, _ := NewSignIn(t, anyone(), nil)
	b, c := s.Browser(), s.Known()
	path := b.Upstream(b.Open(Query(c)))
	back := b.Do(http.MethodGet, path, "", nil)
	if to := back.Location(t); to.Path != "/signin/consent" || to.Query().Get("code") != "" {
		t.Errorf("the sign-in goes on to %s", to)
	}
	page := b.Do(http.MethodGet, back.Location(t).RequestURI(), "", nil)
	for _, path := range []string{path, back.Location(t).RequestURI(), "/authorize?" + Query(c).Encode()} {
		if r := b.Do(http.MethodGet, path, "", nil); strings.Contains(r.Header.Get("Location"), "localhost:3118") {
			t.Errorf("GET %s goes to the client: %s", path, r.Header.Get("Location"))
		}
	}
	Documented(t, b.Decide(page, "decision", "deny"))
	list, err := s.Server.Tokens(t.Context(), upstream.OwnerID("", ""))
	if err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// The confused deputy: a victim is sent through a request that an attacker began.
func TestSignIn_OtherBrowser(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), nil)
	attacker, victim := s.Browser(), s.Browser()
	path := attacker.Upstream(attacker.Open(Query(s.Known())))
	refused := victim.Return(path)
	Documented(t, refused)
	if !strings.Contains(string(refused.Body), "Start again") {
		t.Errorf("%s", refused.Body)
	}
	// With a flow of its own the victim still has not begun this one.
	victim.Open(Query(s.Known()))
	if r := victim.Return(path); r.Status != http.StatusBadRequest {
		t.Errorf("with another flow: %d", r.Status)
	}
	if idp.Requests("token") != 0 {
		t.Error("the code was redeemed")
	}
}

// Code injection: a victim's code is put into the attacker's flow.
func TestSignIn_CodeOfAnotherFlow(t *testing.T) {
	t.Parallel()
	s, _ := NewSignIn(t, anyone(), nil)
	attacker, victim := s.Browser(), s.Browser()
	mine, err := url.Parse(attacker.Upstream(attacker.Open(Query(s.Known()))))
	if err != nil {
		t.Fatal(err)
	}
	stolen, err := url.Parse(victim.Upstream(victim.Open(Query(s.Known()))))
	if err != nil {
		t.Fatal(err)
	}
	q := mine.Query()
	q.Set("code", stolen.Query().Get("code"))
	Documented(t, attacker.Return("/signin/callback?"+q.Encode()))
}

func TestSignIn_CodesSwappedByTheProvider(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), nil)
	other, b := s.Browser(), s.Browser()
	other.Upstream(other.Open(Query(s.Known())))
	idp.Lie(oidc.Lies{SwapCodes: true})
	Documented(t, b.SignIn(Query(s.Known())))
}

func TestSignIn_AnswerOfAnotherIssuer(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), nil)
	idp.Lie(oidc.Lies{IssuerSent: "https://other.example"})
	b := s.Browser()
	Documented(t, b.SignIn(Query(s.Known())))
	// Not even an error of another issuer reaches the client.
	idp.Lie(oidc.Lies{IssuerSent: "https://other.example", Error: "access_denied"})
	if r := b.SignIn(Query(s.Known())); r.Status != http.StatusBadRequest {
		t.Errorf("an error: %d to %s", r.Status, r.Header.Get("Location"))
	}
}

func TestSignIn_TokenNotAcceptable(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), nil)
	for name, lies := range map[string]oidc.Lies{
		"none":             {Algorithm: "none"},
		"HS256":            {Algorithm: "HS256"},
		"another audience": {Claims: func(c map[string]any) { c["aud"] = "other" }},
		"another issuer":   {Claims: func(c map[string]any) { c["iss"] = "https://other.example" }},
		"another key":      {ForeignKey: true},
		"a redirect":       {Redirect: "http://127.0.0.1:1/"},
	} {
		idp.Lie(lies)
		r := s.Browser().SignIn(Query(s.Known()))
		Documented(t, r)
		if r.Header.Get("Retry-After") == "" || !strings.Contains(string(r.Body), "request ") {
			t.Errorf("%s: %v %s", name, r.Header, r.Body)
		}
	}
}

func TestSignIn_ProviderDown(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), nil)
	token := func() string {
		b, c := s.Browser(), s.Known()
		return s.Redeem(TokenForm(c, allow(b, b.SignIn(Query(c))).Location(t).Query().Get("code"))).Text(t, "access_token")
	}()
	down, idpDown := NewSignIn(t, anyone(), nil)
	idpDown.Lie(oidc.Lies{Down: true})
	r := down.Browser().Open(Query(down.Known()))
	Documented(t, r)
	if r.Header.Get("Retry-After") != "10" || !strings.Contains(string(r.Body), "does not answer") || !strings.Contains(string(r.Body), "help@example.com") {
		t.Errorf("%v %s", r.Header, r.Body)
	}
	idp.Lie(oidc.Lies{Down: true})
	if _, err := s.Server.Authorize(t.Context(), token); err != nil {
		t.Errorf("a token ends with the provider: %v", err)
	}
}

func TestSignIn_ClocksDiffer(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), nil)
	idp.Lie(oidc.Lies{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	r := s.Browser().SignIn(Query(s.Known()))
	Documented(t, r)
	if !strings.Contains(string(r.Body), "The clocks differ: it is 20") || strings.Count(string(r.Body), "Z ") == 0 {
		t.Errorf("the page does not name both clocks: %s", r.Body)
	}
}

func TestSignIn_TurnedBack(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), nil)
	for _, code := range []string{"access_denied", "login_required"} {
		idp.Lie(oidc.Lies{Error: code})
		r := s.Browser().SignIn(Query(s.Known()))
		Documented(t, r)
		if to := r.Location(t); to.Host != "localhost:3118" || to.Query().Get("state") != "xyz" {
			t.Errorf("%s goes to %s", code, to)
		}
	}
	idp.Lie(oidc.Lies{Error: "invalid_scope"})
	if r := s.Browser().SignIn(Query(s.Known())); r.Status != http.StatusBadGateway {
		t.Errorf("a mistake of the operator: %d", r.Status)
	}
}

// An unverified email proves nothing: dex calls this person eve.
func TestSignIn_NotAllowed(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, []string{"domain:example.com", "group:traders"}, nil)
	idp.SignIn(oidc.Person{Subject: "0003", Email: "eve@example.com"})
	b := s.Browser()
	r := b.SignIn(Query(s.Known()))
	Documented(t, r)
	body := string(r.Body)
	if !strings.Contains(body, "may not use this server") || strings.Contains(body, "domain") || !strings.Contains(s.Log.String(), "no rule of oidc_allow fits") {
		t.Errorf("%s\n%s", body, s.Log)
	}
	if page := b.Open(Query(s.Known())); page.Status != http.StatusSeeOther {
		t.Errorf("somebody who was refused is logged in: %d", page.Status)
	}
	idp.SignIn(oidc.Ann())
	if r := b.SignIn(Query(s.Known())); r.Status != http.StatusOK {
		t.Errorf("ann: %d", r.Status)
	}
}

// The same email at another subject is another owner.
func TestSignIn_EmailIsNoIdentity(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), nil)
	owners := map[principal.Owner]bool{}
	for _, subject := range []string{"0001", "0002", "owner", "local", "owner/alpaca-live"} {
		ann := oidc.Ann()
		ann.Subject = subject
		idp.SignIn(ann)
		b, c := s.Browser(), s.Known()
		r := allow(b, b.SignIn(Query(c)))
		Documented(t, r)
		token := s.Redeem(TokenForm(c, r.Location(t).Query().Get("code"))).Text(t, "access_token")
		caller, err := s.Server.Authorize(t.Context(), token)
		if err != nil || owners[caller.Subject] || len(caller.Subject) != 26 {
			t.Errorf("%s is %q, %v", subject, caller.Subject, err)
		}
		owners[caller.Subject] = true
	}
}

// suspender is an Owners whose owners are all refused by one error, or all active.
type suspender struct {
	refusal atomic.Value // of error
	seen    atomic.Int32
}

func (o *suspender) Active(context.Context, principal.Owner) error {
	err, _ := o.refusal.Load().(error)
	return err
}

func (o *suspender) SignedIn(ctx context.Context, owner principal.Owner, _ upstream.Identity) (principal.Owner, error) {
	o.seen.Add(1)
	return owner, o.Active(ctx, owner)
}

// TestSignIn_Suspended refuses owners who are suspended or erased, and says which.
func TestSignIn_Suspended(t *testing.T) {
	t.Parallel()
	for word, refusal := range map[string]error{"suspended": oauth.ErrSuspended, "erased": oauth.ErrErased} {
		refusesOwner(t, word, refusal)
	}
}

func refusesOwner(t *testing.T, word string, refusal error) {
	t.Helper()
	owners := &suspender{}
	s, _ := NewSignIn(t, anyone(), func(c *oauth.Config) { c.SignIn.Owners = owners })
	b, c := s.Browser(), s.Known()
	page := b.SignIn(Query(c))
	code := allow(b, page).Location(t).Query().Get("code")
	second := b.Open(Query(c))
	owners.refusal.Store(refusal)
	if r := s.Redeem(TokenForm(c, code)); r.Status != http.StatusBadRequest || r.Text(t, "error") != "invalid_grant" || r.Text(t, "error_description") != "the account is "+word {
		t.Errorf("a code from before: %d %s", r.Status, r.Body)
	}
	for name, r := range map[string]Response{"the page": b.Open(Query(c)), "the form": allow(b, second), "a new sign-in": s.Browser().SignIn(Query(c))} {
		Documented(t, r)
		if !strings.Contains(string(r.Body), "account is "+word) && !strings.Contains(string(r.Body), "account was "+word) {
			t.Errorf("%s: %s", name, r.Body)
		}
	}
	if owners.seen.Load() != 2 {
		t.Errorf("%d sign-ins are recorded", owners.seen.Load())
	}
}

// Login CSRF: the page names who you are, and a form of one person is not another's approval.
func TestSignIn_FormOfAnotherPerson(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), nil)
	b, c := s.Browser(), s.Known()
	asAnn := b.SignIn(Query(c))
	out := b.Decide(asAnn, "decision", "logout")
	if idp.Asked().Get("prompt") != "" || !strings.Contains(out.Location(t).String(), "prompt=select_account") {
		t.Errorf("another account is not asked for: %s", out.Location(t))
	}
	bob := oidc.Person{Subject: "0002", Name: "Bob"}
	idp.SignIn(bob)
	if page := b.Return(b.Upstream(out)); !strings.Contains(string(page.Body), "You are <strong>Bob</strong>") {
		t.Errorf("%s", page.Body)
	}
	// A provider that names the same person again is asked for a sign-in.
	page := b.Return(b.Upstream(b.Decide(b.Open(Query(c)), "decision", "logout")))
	if to := b.Decide(page, "decision", "logout").Location(t); to.Query().Get("prompt") != "login" {
		t.Errorf("the second time: %s", to)
	}
	b.Return(b.Upstream(b.Open(Query(c))))
	again := allow(b, asAnn)
	Documented(t, again)
	if !strings.Contains(string(again.Body), "You are <strong>Bob</strong>") {
		t.Errorf("ann's page approves: %s", again.Body)
	}
	if r := allow(b, again); r.Location(t).Query().Get("code") == "" {
		t.Error("the page that names bob does not approve")
	}
}

// Some providers do not know prompt=select_account, and do not say so before.
func TestSignIn_ProviderWithoutAccountPage(t *testing.T) {
	t.Parallel()
	s, idp := NewSignIn(t, anyone(), nil)
	idp.Lie(oidc.Lies{NoAccounts: true})
	b := s.Browser()
	refused := b.Return(b.Upstream(b.Decide(b.SignIn(Query(s.Known())), "decision", "logout")))
	Documented(t, refused)
	if to := refused.Location(t); to.Query().Get("prompt") != "login" {
		t.Errorf("sent to %s", to)
	}
	if page := b.Return(b.Upstream(refused)); !strings.Contains(string(page.Body), "You are <strong>Ann") {
		t.Errorf("%s", page.Body)
	}
}

// The longest request fits into the cookie, and a browser keeps two.
func TestSignIn_LongestState(t *testing.T) {
	t.Parallel()
	s, _ := NewSignIn(t, anyone(), func(c *oauth.Config) { c.BaseURL = "https://candela.example" })
	raw := make([]byte, 1536)
	_, _ = rand.Read(raw)
	redirect := "https://client.example/" + strings.Repeat("cb", 244)
	c := s.Register(`{"client_name":"` + strings.Repeat("N", 80) + `","redirect_uris":["` + redirect + `"]}`)
	b := s.Browser()
	var sent Response
	for range 4 {
		sent = b.Open(Query(c, "redirect_uri", redirect, "state", base64.RawURLEncoding.EncodeToString(raw)))
		Documented(t, sent)
	}
	flows := 0
	for name, value := range b.Cookies() {
		if len(name)+len(value) > 4096 {
			t.Errorf("%s has %d bytes", name, len(name)+len(value))
		}
		if strings.Contains(name, "candela_flow_") {
			flows++
		}
	}
	if flows != 2 {
		t.Errorf("the browser keeps %d flows", flows)
	}
}

func TestSignIn_FlowChanged(t *testing.T) {
	t.Parallel()
	s, _ := NewSignIn(t, anyone(), nil)
	b := s.Browser()
	path := b.Upstream(b.Open(Query(s.Known())))
	for name := range b.Cookies() {
		if strings.Contains(name, "candela_flow_") {
			b.SetCookie(name, b.Cookies()[name][1:])
		}
	}
	Documented(t, b.Return(path))
}

// Nobody has a passphrase here, whatever a form says.
func TestSignIn_NoPassphrase(t *testing.T) {
	t.Parallel()
	s, _ := NewSignIn(t, anyone(), func(c *oauth.Config) { c.Pass = func(string) bool { return true } })
	b := s.Browser()
	page := b.SignIn(Query(s.Known()))
	for name := range b.Cookies() {
		if strings.Contains(name, "login") {
			b.SetCookie(name, "")
		}
	}
	r := b.Decide(page)
	Documented(t, r)
	if !strings.Contains(r.Header.Get("Location"), "/idp/authorize") {
		t.Errorf("%d %s", r.Status, r.Header.Get("Location"))
	}
	if _, err := s.Server.Identify(nil, "x"); err == nil {
		t.Error("the console takes a passphrase")
	}
}

func TestSignIn_CallbackIsLimited(t *testing.T) {
	t.Parallel()
	s, _ := NewSignIn(t, anyone(), func(c *oauth.Config) { c.Limits.SignIn = oauth.Rate{Burst: 2, Every: time.Hour} })
	b := s.Browser()
	for range 2 {
		b.Return("/signin/callback?state=x")
	}
	Documented(t, b.SignIn(Query(s.Known())))
}
