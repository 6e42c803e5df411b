package upstream_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/internal/access/upstream"
	"candela/internal/kit/secret"
	"candela/internal/testkit/fake/oidc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scene is a provider and this server as its client. The clock of the client can be moved.
type scene struct {
	t        *testing.T
	idp      *oidc.Server
	provider *upstream.Provider
	ahead    atomic.Int64 // of the client's clock
}

func newScene(t *testing.T, change func(*upstream.Config)) *scene {
	t.Helper()
	s := &scene{t: t, idp: oidc.New(t)}
	cfg := upstream.Config{
		Issuer: s.idp.Issuer(), ClientID: oidc.ClientID, Secret: secret.New(oidc.Secret), Redirect: "http://127.0.0.1:9315/signin/callback",
		Scopes: []string{"openid", "email"}, MaxAge: 12 * time.Hour, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) },
	}
	if change != nil {
		change(&cfg)
	}
	provider, err := upstream.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.provider = provider
	return s
}

func flow(name string) upstream.Flow {
	return upstream.Flow{State: name, Nonce: "nonce of " + name, Verifier: strings.Repeat("v", 43) + name}
}

// visit sends a browser to the provider and returns what it brings back.
func (s *scene) visit(f upstream.Flow) url.Values {
	s.t.Helper()
	address, err := s.provider.URL(s.t.Context(), f, "")
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = response.Body.Close()
	to, err := response.Location()
	if err != nil {
		s.t.Fatalf("%d: %v", response.StatusCode, err)
	}
	return to.Query()
}

// signIn goes through a whole sign-in.
func (s *scene) signIn(name string) (upstream.Identity, error) {
	s.t.Helper()
	q := s.visit(flow(name))
	return s.provider.Exchange(s.t.Context(), upstream.Answer{Code: q.Get("code"), Issuer: q.Get("iss")}, flow(name))
}

func TestSignIn_ReturnsThePerson(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	who, err := s.signIn("a")
	if err != nil {
		t.Fatal(err)
	}
	if who.Subject != "0001" || who.Issuer != s.idp.Issuer() || who.Session != "s-ann" || who.Email != "ann@example.com" || !who.Verified || who.Name != "Ann" {
		t.Errorf("%+v", who)
	}
	asked := s.idp.Asked()
	if asked.Get("max_age") != "43200" || asked.Get("scope") != "openid email" || asked.Get("prompt") != "" || strings.Contains(asked.Encode(), flow("a").Verifier) {
		t.Errorf("asked with %v", asked)
	}
	if !s.provider.Up() {
		t.Error("a provider that answers counts as down")
	}
}

func TestURL_AsksForAnotherAccount(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	address, err := s.provider.URL(t.Context(), flow("a"), upstream.PromptAccount)
	if err != nil || !strings.Contains(address, "prompt=select_account") {
		t.Errorf("%s, %v", address, err)
	}
	// Where the provider announces what it knows, nothing else is asked for.
	s = newScene(t, nil)
	s.idp.Lie(oidc.Lies{Discovery: func(d map[string]any) { d["prompt_values_supported"] = []string{"none", "login", "consent"} }})
	if address, err = s.provider.URL(t.Context(), flow("a"), upstream.PromptAccount); err != nil || !strings.Contains(address, "prompt=login") {
		t.Errorf("%s, %v", address, err)
	}
}

// TestSignIn_Attacks goes through the lies of a provider, or of who stands between.
func TestSignIn_Attacks(t *testing.T) {
	t.Parallel()
	claim := func(name string, value any) oidc.Lies {
		return oidc.Lies{Claims: func(c map[string]any) {
			if value == nil {
				delete(c, name)
			} else {
				c[name] = value
			}
		}}
	}
	old := time.Now().Add(-13 * time.Hour).Unix()
	for name, tc := range map[string]struct {
		lies oidc.Lies
		want error
	}{
		"no signature":              {oidc.Lies{Algorithm: "none"}, upstream.ErrRefused},
		"public key as a secret":    {oidc.Lies{Algorithm: "HS256"}, upstream.ErrRefused},
		"a key of somebody else":    {oidc.Lies{ForeignKey: true}, upstream.ErrRefused},
		"another issuer":            {claim("iss", "https://other.example"), upstream.ErrRefused},
		"another audience":          {claim("aud", "other"), upstream.ErrRefused},
		"two audiences, no azp":     {claim("aud", []string{oidc.ClientID, "other"}), upstream.ErrRefused},
		"another authorized party":  {claim("azp", "other"), upstream.ErrRefused},
		"another nonce":             {claim("nonce", "other"), upstream.ErrStartAgain},
		"no nonce":                  {claim("nonce", nil), upstream.ErrStartAgain},
		"no subject":                {claim("sub", nil), upstream.ErrRefused},
		"a subject of 513 bytes":    {claim("sub", strings.Repeat("x", 513)), upstream.ErrRefused},
		"no expiry":                 {claim("exp", nil), upstream.ErrRefused},
		"a sign-in of 13 hours":     {claim("auth_time", old), upstream.ErrStartAgain},
		"codes of two flows":        {oidc.Lies{SwapCodes: true}, upstream.ErrStartAgain},
		"answer of another issuer":  {oidc.Lies{IssuerSent: "https://other.example"}, upstream.ErrStartAgain},
		"answer without its issuer": {oidc.Lies{IssuerSent: "-"}, upstream.ErrStartAgain},
		"a redirect":                {oidc.Lies{Redirect: "http://127.0.0.1:1/token"}, upstream.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, nil)
			s.visit(flow("other")) // whose code may be swapped in
			s.idp.Lie(tc.lies)
			if who, err := s.signIn("a"); !errors.Is(err, tc.want) {
				t.Errorf("%+v, %v; want %v", who, err, tc.want)
			}
		})
	}
}

func TestSignIn_Algorithms(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.idp.UseRSA()
	for algorithm, ok := range map[string]bool{"ES256": true, "EdDSA": true, "RS256": true, "PS256": true, "RS512": false} {
		s.idp.Lie(oidc.Lies{Algorithm: algorithm})
		if _, err := s.signIn(algorithm); (err == nil) != ok {
			t.Errorf("%s: %v", algorithm, err)
		}
	}
	s.idp.Lie(oidc.Lies{NoKeyID: true})
	if _, err := s.signIn("no key id"); err != nil {
		t.Errorf("a token that names no key: %v", err)
	}
}

// A code is good for one exchange, and for the flow that it was issued in.
func TestExchange_CodeOfAnotherFlow(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	mine := s.visit(flow("mine"))
	answer := upstream.Answer{Code: mine.Get("code"), Issuer: mine.Get("iss")}
	if _, err := s.provider.Exchange(t.Context(), answer, flow("other")); !errors.Is(err, upstream.ErrStartAgain) {
		t.Errorf("in another flow: %v", err)
	}
	if _, err := s.provider.Exchange(t.Context(), answer, flow("mine")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.provider.Exchange(t.Context(), answer, flow("mine")); !errors.Is(err, upstream.ErrStartAgain) {
		t.Errorf("twice: %v", err)
	}
}

func TestSubject_OfAnotherClaim(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(c *upstream.Config) { c.Subject = "oid" })
	if _, err := s.signIn("a"); !errors.Is(err, upstream.ErrRefused) {
		t.Errorf("without the claim: %v", err)
	}
	ann := oidc.Ann()
	ann.Claims = map[string]any{"oid": "object-1"}
	s.idp.SignIn(ann)
	if who, err := s.signIn("b"); err != nil || who.Subject != "object-1" || who.Sub != "0001" {
		t.Errorf("%+v, %v", who, err)
	}
}

func TestClock_GraceAndSkew(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	// An ID token lasts 5 minutes, and a minute more is allowed for.
	for ahead, ok := range map[time.Duration]bool{
		0: true, 5*time.Minute + 30*time.Second: true, 6*time.Minute + 30*time.Second: false,
		-4*time.Minute - 30*time.Second: true, -5*time.Minute - 30*time.Second: false,
	} {
		s.ahead.Store(int64(ahead))
		_, err := s.signIn("a" + ahead.String())
		if (err == nil) != ok {
			t.Errorf("%s ahead: %v", ahead, err)
		}
		if skew, is := errors.AsType[*upstream.SkewError](err); !ok && (!is || skew.Here.Sub(skew.There).Round(10*time.Second) != ahead) {
			t.Errorf("%s ahead: %v", ahead, err)
		}
	}
}

func TestKeys_FollowsNewOnesOnceInTenSeconds(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	if _, err := s.signIn("a"); err != nil {
		t.Fatal(err)
	}
	s.idp.Rotate()
	s.ahead.Store(int64(11 * time.Second))
	if _, err := s.signIn("b"); err != nil {
		t.Errorf("after the provider changed its keys: %v", err)
	}
	s.idp.Rotate()
	for range 5 {
		if _, err := s.signIn("c"); !errors.Is(err, upstream.ErrRefused) {
			t.Errorf("within ten seconds: %v", err)
		}
	}
	if n := s.idp.Requests("keys"); n != 2 {
		t.Errorf("keys were asked for %d times", n)
	}
	s.ahead.Store(int64(22 * time.Second))
	if _, err := s.signIn("d"); err != nil {
		t.Errorf("ten seconds later: %v", err)
	}
}

// TestKeys_OfOddKinds leaves out what cannot verify, and fails on what is no set of keys.
func TestKeys_OfOddKinds(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]error{
		`{"keys":[{"kty":"oct","k":"c2VjcmV0"},{"kty":"new"}]}`: upstream.ErrRefused,
		`not json`: upstream.ErrUnavailable,
	} {
		s := newScene(t, nil)
		s.idp.Lie(oidc.Lies{Keys: []byte(body)})
		if _, err := s.signIn("a"); !errors.Is(err, want) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestDiscovery_Refused(t *testing.T) {
	t.Parallel()
	document := func(name, value string) oidc.Lies {
		return oidc.Lies{Discovery: func(d map[string]any) { d[name] = value }}
	}
	for name, lies := range map[string]oidc.Lies{
		"another issuer":                document("issuer", "https://other.example"),
		"token endpoint in the clear":   document("token_endpoint", "http://idp.example/token"),
		"keys in a file":                document("jwks_uri", "file:///etc/passwd"),
		"authorization without a place": document("authorization_endpoint", ""),
		"authorization of a script":     document("authorization_endpoint", "javascript:alert(1)"),
		"longer than 1 MiB":             {Long: true},
		"down":                          {Down: true},
	} {
		s := newScene(t, nil)
		s.idp.Lie(lies)
		if address, err := s.provider.URL(t.Context(), flow("a"), ""); !errors.Is(err, upstream.ErrUnavailable) || s.provider.Up() {
			t.Errorf("%s: %s, %v", name, address, err)
		}
	}
}

func TestDiscovery_ComesBackAndIsKept(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	s.idp.Lie(oidc.Lies{Down: true})
	for range 3 {
		if err := s.provider.Check(t.Context()); !errors.Is(err, upstream.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	if n := s.idp.Requests(".well-known/openid-configuration"); n != 1 {
		t.Errorf("a provider that is down was asked %d times at once", n)
	}
	s.idp.Lie(oidc.Lies{})
	s.ahead.Store(int64(3 * time.Second))
	if err := s.provider.Check(t.Context()); err != nil || !s.provider.Up() {
		t.Errorf("after it came back: %v", err)
	}
	// The document stays good while the provider is down for an hour and more.
	s.idp.Lie(oidc.Lies{Down: true})
	s.ahead.Store(int64(2 * time.Hour))
	if err := s.provider.Check(t.Context()); err != nil || s.provider.Up() {
		t.Errorf("a document of two hours ago: %v, up %t", err, s.provider.Up())
	}
}

func TestExchange_ProviderHangs(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	q := s.visit(flow("a"))
	never := make(chan struct{})
	s.idp.Lie(oidc.Lies{Hang: never})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.provider.Exchange(ctx, upstream.Answer{Code: q.Get("code"), Issuer: q.Get("iss")}, flow("a")); !errors.Is(err, upstream.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	close(never)
}

func TestLogout(t *testing.T) {
	t.Parallel()
	s := newScene(t, nil)
	ended, err := s.provider.Logout(t.Context(), s.idp.LogoutToken(oidc.Ann(), nil))
	if err != nil || ended.Sub != "0001" || ended.Session != "s-ann" || ended.ID == "" || time.Until(ended.Expires) < time.Minute {
		t.Fatalf("%+v, %v", ended, err)
	}
	set := func(name string, value any) string {
		return s.idp.LogoutToken(oidc.Ann(), func(c map[string]any) {
			if value == nil {
				delete(c, name)
			} else {
				c[name] = value
			}
		})
	}
	nobody := oidc.Person{}
	for name, token := range map[string]string{
		"an ID token":       s.idp.IDToken(oidc.Ann(), "n"),
		"with a nonce":      set("nonce", "n"),
		"no event":          set("events", nil),
		"another event":     set("events", map[string]any{"other": map[string]any{}}),
		"no id":             set("jti", nil),
		"another audience":  set("aud", "other"),
		"two audiences":     set("aud", []string{oidc.ClientID, "other"}),
		"another issuer":    set("iss", "https://other.example"),
		"nobody":            s.idp.LogoutToken(nobody, func(c map[string]any) { delete(c, "sub") }),
		"issued long ago":   set("iat", time.Now().Add(-11*time.Minute).Unix()),
		"no time":           set("iat", nil),
		"no text at all":    "x",
		"three empty parts": "..",
	} {
		if ended, err := s.provider.Logout(t.Context(), token); !errors.Is(err, upstream.ErrRefused) {
			t.Errorf("%s: %+v, %v", name, ended, err)
		}
	}
	s.idp.Lie(oidc.Lies{ForeignKey: true})
	if _, err := s.provider.Logout(t.Context(), s.idp.LogoutToken(oidc.Ann(), nil)); !errors.Is(err, upstream.ErrRefused) {
		t.Errorf("signed by somebody else: %v", err)
	}
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	for _, issuer := range []string{"", "idp.example", "http://idp.example", "ftp://idp.example", "https://user:secret@idp.example", "https://idp.example#x"} {
		if _, err := upstream.New(upstream.Config{Issuer: issuer, ClientID: "c", Now: time.Now, Log: slog.New(slog.DiscardHandler)}); err == nil {
			t.Errorf("issuer %q is accepted", issuer)
		}
	}
}
