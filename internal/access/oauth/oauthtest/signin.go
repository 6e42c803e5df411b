package oauthtest

import (
	"log/slog"
	"net/http"
	"net/url"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/upstream"
	"candela/internal/kit/secret"
	"candela/internal/testkit/fake/oidc"
)

// NewSignIn returns a scene whose owners sign in at a provider, with rules about who may. change
// may alter the configuration.
func NewSignIn(tb testing.TB, rules []string, change func(*oauth.Config)) (*Scene, *oidc.Server) {
	tb.Helper()
	idp := oidc.New(tb)
	return NewWith(tb, oauth.NewMemory(oauth.MaxTokens), nil, func(c *oauth.Config) {
		c.SignIn = SignIn(tb, idp, rules)
		if change != nil {
			change(c)
		}
	}), idp
}

// SignIn returns the configuration of sign-ins at a provider.
func SignIn(tb testing.TB, idp *oidc.Server, rules []string) *oauth.SignIn {
	tb.Helper()
	allow, err := upstream.ParseAllow(rules)
	if err != nil {
		tb.Fatal(err)
	}
	provider, err := upstream.New(upstream.Config{
		Issuer: idp.Issuer(), ClientID: oidc.ClientID, Secret: secret.New(oidc.Secret), Redirect: Base + "/signin/callback",
		Scopes: []string{"openid", "email", "profile", "groups"}, MaxAge: 12 * time.Hour, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return &oauth.SignIn{Provider: provider, Allow: allow, Contact: "Write to help@example.com."}
}

// Upstream follows a redirect to the provider and returns the path at which the browser comes
// back.
func (b *Browser) Upstream(sent Response) string {
	b.s.TB.Helper()
	r, err := http.NewRequestWithContext(b.s.TB.Context(), http.MethodGet, sent.Location(b.s.TB).String(), nil)
	if err != nil {
		b.s.TB.Fatal(err)
	}
	if b.Person != "" {
		r.Header.Set("X-Person", b.Person)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		b.s.TB.Fatal(err)
	}
	_ = response.Body.Close() // empty
	back, err := response.Location()
	if err != nil {
		b.s.TB.Fatalf("the provider answers %d: %v", response.StatusCode, err)
	}
	return back.RequestURI()
}

// Return opens the callback, and the page that follows if the sign-in was good.
func (b *Browser) Return(path string) Response {
	b.s.TB.Helper()
	back := b.Do(http.MethodGet, path, "", nil)
	next, err := url.Parse(back.Header.Get("Location"))
	if err != nil || back.Status != http.StatusSeeOther || next.Path != "/signin/consent" {
		return back
	}
	return b.Do(http.MethodGet, next.RequestURI(), "", nil)
}

// SignIn opens an authorization request, signs in at the provider, and returns the consent page
// or the refusal.
func (b *Browser) SignIn(query url.Values) Response {
	b.s.TB.Helper()
	return b.Return(b.Upstream(b.Open(query)))
}
