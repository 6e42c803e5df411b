package oauth_test

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
)

// earlier returns a client of another run.
func earlier(t *testing.T, metadata string) Client {
	t.Helper()
	return New(t, nil).Register(metadata)
}

const named = `{"client_name":"A Client","redirect_uris":["` + Redirect + `"]}`

func TestAuthorize_RenewedClient(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	page := s.Browser().Open(Query(earlier(t, named)))
	Documented(t, page)
	for _, want := range []string{"<q>A Client</q>", "before the server restarted", "not verified", `type="password"`} {
		if !strings.Contains(string(page.Body), want) {
			t.Errorf("no %q in %s", want, page.Body)
		}
	}
	// Anyone can write such an id, so the page does not present the registration as a fact.
	forged := strings.Repeat("x", 32)
	id := base64.RawURLEncoding.EncodeToString([]byte(`{"n":"A Client","r":["`+Redirect+`"]}`)) + "." + base64.RawURLEncoding.EncodeToString([]byte(forged))
	for _, page := range []Response{page, s.Browser().Open(Query(Client{ID: id}))} {
		if text := string(page.Body); !strings.Contains(text, "It says that it was registered before") || !strings.Contains(text, "cannot verify that") {
			t.Errorf("the page vouches for the client: %s", text)
		}
	}
	if known := s.Browser().Open(Query(s.Known())); strings.Contains(string(known.Body), "restarted or") {
		t.Errorf("a client of this run: %s", known.Body)
	}
}

func TestAuthorize_RenewedClientOfAProgram(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	id := s.Known().ID
	forged := []byte(id)
	if i := len(id) - 3; forged[i] != 'A' { // another letter of the same alphabet
		forged[i] = 'A'
	} else {
		forged[i] = 'B'
	}
	program(t, s, Query(earlier(t, named)))
	program(t, s, Query(Client{ID: string(forged)}))
}

// A client id that nobody sealed is worth no more than a registration.
func TestAuthorize_ClaimRefused(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	claim := func(object string) string { return base64.RawURLEncoding.EncodeToString([]byte(object)) }
	tag := "." + claim(strings.Repeat("x", 32))
	redirect := `{"n":"X","r":["` + Redirect + `"],"m":"none"}`
	for name, id := range map[string]string{
		"no tag":             claim(redirect),
		"short tag":          claim(redirect) + "." + claim("x"),
		"two tags":           claim(redirect) + tag + tag,
		"padding":            claim(redirect) + "=" + tag,
		"no object":          claim(`[]`) + tag,
		"a form":             claim(`{"c":"1","r":"`+Redirect+`"}`) + tag,
		"no redirect":        claim(`{"n":"X","m":"none"}`) + tag,
		"a script":           claim(`{"r":["`+Redirect+`","javascript:alert(1)"]}`) + tag,
		"plain http":         claim(`{"r":["http://a.example/cb"]}`) + tag,
		"another address":    claim(`{"r":["http://localhost/other"]}`) + tag,
		"too many":           claim(`{"r":["`+Redirect+strings.Repeat(`","`+Redirect, 10)+`"]}`) + tag,
		"longer than ever":   claim(`{"x":"`+strings.Repeat("x", 20<<10)+`","r":["`+Redirect+`"]}`) + tag,
		"an id of elsewhere": "0a1b2c3d-0000-4000-8000-000000000000",
	} {
		page := s.Browser().Open(Query(Client{ID: id}))
		if page.Status != http.StatusBadRequest || strings.Contains(string(page.Body), "<form") {
			t.Errorf("%s: %d %s", name, page.Status, page.Body)
		}
		Documented(t, page)
	}
	page := string(s.Browser().Open(Query(Client{ID: claim(`{"n":"<b>\u202eevil</b>","r":["`+Redirect+`"]}`) + tag})).Body)
	if strings.Contains(page, "<b>") || strings.Contains(page, "\u202e") {
		t.Errorf("the name is shown as it was sent: %s", page)
	}
}

func TestAuthorize_RenewedClientGetsNoErrors(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	b := s.Browser()
	b.Decide(b.Open(Query(s.Known()))).Location(t) // and is logged in
	Documented(t, b.Open(Query(earlier(t, named), "response_type", "token")))
}

func TestAuthorize_RenewedClientIsNeverUnasked(t *testing.T) {
	t.Parallel()
	s := New(t, func(c *oauth.Config) { c.AutoApprove = true })
	Documented(t, s.Browser().Open(Query(earlier(t, named))))
}

func TestToken_RenewedClient(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	for _, metadata := range []string{named, strings.Replace(named, "{", `{"token_endpoint_auth_method":"client_secret_post",`, 1)} {
		c := earlier(t, metadata)
		code := s.Code(c)
		Documented(t, s.Redeem(TokenForm(c, code, "client_secret", c.Secret)))
		if again := s.Redeem(TokenForm(c, code)); again.Status != http.StatusBadRequest || again.Text(t, "error") != "invalid_grant" {
			t.Errorf("a replay: %d %s", again.Status, again.Body)
		}
	}
	list, err := s.Server.Tokens(t.Context(), oauth.SoleOwner)
	if clients := slices.DeleteFunc(list, func(t oauth.Token) bool { return t.Grant.Login }); err != nil || len(clients) != 0 {
		t.Errorf("after the replays: %v %v", clients, err)
	}
	c := earlier(t, named)
	code := s.Code(c)
	if r := s.Redeem(TokenForm(c, code, "code_verifier", strings.Repeat("x", 43))); r.Text(t, "error") != "invalid_grant" {
		t.Errorf("with another verifier: %s", r.Body)
	}
	if r := s.Redeem(TokenForm(c, code)); r.Text(t, "error") != "invalid_client" {
		t.Errorf("after that: %s", r.Body)
	}
}

// A client that the owner has not approved learns nothing about a code and cannot end it.
func TestToken_RenewedClientNeedsItsCode(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	known, approved, other := s.Known(), earlier(t, named), earlier(t, named)
	for _, c := range []Client{known, approved} {
		code := s.Code(c)
		for _, wrong := range []string{code, code + "x", ""} {
			Documented(t, s.Redeem(TokenForm(other, wrong)))
		}
		if r := s.Redeem(TokenForm(c, code)); r.Status != http.StatusOK {
			t.Errorf("its own code: %d %s", r.Status, r.Body)
		}
	}
}
