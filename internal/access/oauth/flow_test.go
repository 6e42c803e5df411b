package oauth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
	"candela/lib/fault"
)

// TestFlow_XOAuth2 lets golang.org/x/oauth2 talk to the server over a socket, with
// each way of sending the secret.
func TestFlow_XOAuth2(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	server := httptest.NewServer(s.Handler)
	defer server.Close()
	for name, style := range map[string]oauth2.AuthStyle{
		"public": oauth2.AuthStyleInParams, "secret in the body": oauth2.AuthStyleInParams,
		"secret in the header": oauth2.AuthStyleInHeader, "style found out": oauth2.AuthStyleAutoDetect,
	} {
		c := s.Register(postClient)
		if name == "public" {
			c = Client{ID: s.Known().ID}
		}
		config := oauth2.Config{
			ClientID: c.ID, ClientSecret: c.Secret, RedirectURL: Redirect, Scopes: []string{"openid"},
			Endpoint: oauth2.Endpoint{AuthURL: Base + "/authorize", TokenURL: server.URL + "/token", AuthStyle: style},
		}
		verifier := oauth2.GenerateVerifier()
		ask, err := url.Parse(config.AuthCodeURL("state", oauth2.S256ChallengeOption(verifier)))
		if err != nil {
			t.Fatal(err)
		}
		b := s.Browser()
		code := b.Decide(b.Open(ask.Query())).Location(t).Query().Get("code")
		ctx := context.WithValue(t.Context(), oauth2.HTTPClient, server.Client())
		token, err := config.Exchange(ctx, code, oauth2.VerifierOption(verifier))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if caller, err := s.Server.Authorize(ctx, token.AccessToken); err != nil || caller.Subject != oauth.SoleOwner {
			t.Errorf("%s: %+v, %v", name, caller, err)
		}
		if !token.Valid() || token.RefreshToken != "" {
			t.Errorf("%s: %+v", name, token)
		}
	}
}

// TestFlow_TokenExpires sees a token end after seven days.
func TestFlow_TokenExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(t, nil)
		token := s.Token()
		time.Sleep(7*24*time.Hour - time.Second)
		if _, err := s.Server.Authorize(t.Context(), token); err != nil {
			t.Errorf("within 7 days: %v", err)
		}
		time.Sleep(time.Second)
		if _, err := s.Server.Authorize(t.Context(), token); fault.KindOf(err) != fault.Unauthorized {
			t.Errorf("after 7 days: %v", err)
		}
	})
}

// TestLog_EveryStepAndNoSecret goes through every step and reads the log.
func TestLog_EveryStepAndNoSecret(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c, b := s.Known(), s.Browser()
	page := b.Open(Query(c, "state", "state-of-the-client"))
	b.Decide(page, "passphrase", "a wrong passphrase")
	code := b.Decide(page).Location(t).Query().Get("code")
	b.Decide(page, "decision", "deny")
	form := TokenForm(c, code, "client_secret", c.Secret)
	token := s.Redeem(form).Text(t, "access_token")
	s.Redeem(form)
	s.Redeem(TokenForm(Client{ID: "nobody"}, code))
	list, err := s.Server.Tokens(t.Context(), oauth.SoleOwner)
	if err != nil || len(list) != 1 || !list[0].Grant.Login {
		t.Fatalf("%v, %v", list, err)
	}
	s.Do(http.MethodGet, "/.well-known/oauth-authorization-server", "", "", nil)
	log := s.Log.String()
	for _, step := range []string{
		"metadata requested", "client registered", "authorization requested", "login refused", "owner logged in", "client approved", "client denied", "token issued", "code replayed", "request refused",
	} {
		if !strings.Contains(log, `msg="[OAuth] `+step) {
			t.Errorf("no line about %q", step)
		}
	}
	for line := range strings.Lines(log) {
		if !strings.Contains(line, `msg="[OAuth] `) {
			t.Errorf("without the prefix: %s", line)
		}
	}
	for what, secret := range map[string]string{
		"code": code, "token": token, "client secret": c.Secret, "passphrase": Passphrase, "wrong passphrase": "a wrong passphrase", "verifier": Verifier,
		"hash of the token": oauth.HashOf(token).Hex(), "state": "state-of-the-client", "cookie": strings.Split(b.Cookie(), "=")[1], "challenge": Challenge(Verifier),
	} {
		if strings.Contains(log, secret) {
			t.Errorf("the %s is in the log", what)
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	r := s.Do(http.MethodGet, "/.well-known/oauth-authorization-server", "", "", nil)
	want := map[string]any{
		"issuer": Base, "authorization_endpoint": Base + "/authorize", "token_endpoint": Base + "/token", "registration_endpoint": Base + "/register",
		"response_types_supported": []any{"code"}, "grant_types_supported": []any{"authorization_code"}, "code_challenge_methods_supported": []any{"S256"},
		"token_endpoint_auth_methods_supported": []any{"none", "client_secret_post"}, "logo_uri": Base + "/favicon.svg",
		"authorization_response_iss_parameter_supported": true, "scopes_supported": []any{"charts", "read", "trade"},
	}
	if diff := cmp.Diff(want, r.JSON(t)); diff != "" {
		t.Error(diff)
	}
}

// TestClientKey_SurvivesRegistration finds a client that registered again, on
// another port and in another order, and distinguishes others.
func TestClientKey_SurvivesRegistration(t *testing.T) {
	t.Parallel()
	key := func(metadata string) string {
		s := New(t, nil) // each its own run
		c, b := s.Register(metadata), s.Browser()
		code := b.Decide(b.Open(Query(c, "redirect_uri", "http://localhost:9/cb"))).Location(t).Query().Get("code")
		token := s.Redeem(TokenForm(c, code, "redirect_uri", "")).Text(t, "access_token")
		caller, err := s.Server.Authorize(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		return caller.ClientKey
	}
	first := key(`{"client_name":"A","redirect_uris":["http://localhost:1/cb","https://a.example/cb"]}`)
	if again := key(`{"client_name":"A","redirect_uris":["https://a.example/cb","http://localhost:2/cb"]}`); again != first {
		t.Errorf("%s and %s", first, again)
	}
	for _, other := range []string{
		`{"client_name":"B","redirect_uris":["http://localhost:1/cb","https://a.example/cb"]}`,
		`{"client_name":"A","redirect_uris":["http://localhost:1/cb"]}`,
		`{"redirect_uris":["http://localhost:1/cb","https://a.example/cb"]}`,
	} {
		if key(other) == first {
			t.Errorf("%s has the same key", other)
		}
	}
}

func TestNewOwner(t *testing.T) {
	t.Parallel()
	hash, err := oauth.HashPassphrase("open sesame, please", Cost())
	if err != nil || !strings.HasPrefix(hash, "$argon2id$v=19$m=8,t=1,p=1$") {
		t.Fatalf("%s, %v", hash, err)
	}
	for _, given := range []string{"open sesame, please", hash} {
		owner, err := oauth.NewOwner(given, Cost())
		if err != nil {
			t.Fatal(err)
		}
		if subject, err := owner.Authenticate(t.Context(), "open sesame, please"); err != nil || subject != oauth.SoleOwner {
			t.Errorf("%s, %v", subject, err)
		}
		if _, err := owner.Authenticate(t.Context(), hash); err == nil {
			t.Error("the hash is a passphrase")
		}
	}
	for _, bad := range []string{
		"", "sesame", strings.Repeat("x", 1025), "$argon2id$", "$argon2id$ is how mine begins", "$argon2id$v=19$m=8,t=1,p=1$$", "$argon2id$v=18$m=8,t=1,p=1$c2FsdHNhbHQ$a2V5a2V5a2V5a2V5a2V5",
		"$argon2id$v=19$m=99999999,t=1,p=1$c2FsdHNhbHQ$a2V5a2V5a2V5a2V5a2V5", "$argon2id$v=19$m=8,t=0,p=1$c2FsdHNhbHQ$a2V5a2V5a2V5a2V5a2V5",
		"$argon2id$v=19$m=8,t=1,p=1 $c2FsdHNhbHQ$a2V5a2V5a2V5a2V5a2V5", "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$!",
	} {
		if _, err := oauth.NewOwner(bad, Cost()); err == nil {
			t.Errorf("%q is taken", bad)
		} else if len(bad) > 10 && strings.Contains(err.Error(), bad[10:]) {
			t.Errorf("the message shows the passphrase: %v", err)
		}
	}
	// Other programs' hashes: this one was made by the argon2 command.
	owner, err := oauth.NewOwner("$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$cpx6VEQbwTVZvcpxNIxOVUWZ5xnAipUmAe1cg2GMG70", Cost())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := owner.Authenticate(t.Context(), "password"); err != nil {
		t.Error(err)
	}
	if p := oauth.NewPassphrase(); len(p) != 39 || p == oauth.NewPassphrase() {
		t.Error(p)
	}
}

// TestPassphrase_IsTheSame compares passphrases by what may be kept of them.
func TestPassphrase_IsTheSame(t *testing.T) {
	t.Parallel()
	owner := func(given string) *oauth.Passphrase {
		p, err := oauth.NewOwner(given, Cost())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	plain, again, other := owner("open sesame, please"), owner("open sesame, please"), owner("shut sesame, please")
	hashed, rehashed := owner(plain.Hash()), owner(again.Hash())
	if plain.Hash() == again.Hash() || strings.Contains(plain.Hash(), "sesame") {
		t.Error(plain.Hash())
	}
	for name, c := range map[string]struct {
		p    *oauth.Passphrase
		hash string
		want bool
	}{
		"a passphrase and its hash":                     {plain, plain.Hash(), true},
		"a passphrase and a hash with another salt":     {plain, again.Hash(), true},
		"a passphrase and the hash of another":          {plain, other.Hash(), false},
		"a passphrase and no hash":                      {plain, "open sesame, please", false},
		"a passphrase and nothing":                      {plain, "", false},
		"a hash and itself":                             {hashed, plain.Hash(), true},
		"a hash and another of the same passphrase":     {hashed, rehashed.Hash(), false},
		"a hash and the passphrase, which it cannot be": {hashed, "open sesame, please", false},
	} {
		if got, err := c.p.Is(t.Context(), c.hash); got != c.want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	lazy := owner("open sesame, please")
	if lazy.Hashed() {
		t.Error("a passphrase is hashed before anything is compared with it")
	}
	if same, err := lazy.Is(t.Context(), plain.Hash()); !same || err != nil || lazy.Hash() != plain.Hash() {
		t.Errorf("a stored hash of the same passphrase: %v, %v; the hash is another one", same, err)
	}
	if shown := fmt.Sprintf("%+v", plain); strings.Contains(shown, "sesame") {
		t.Error("it shows the passphrase")
	}
}
