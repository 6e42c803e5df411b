package oauth_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

const postClient = `{"redirect_uris":["` + Redirect + `"],"token_endpoint_auth_method":"client_secret_post"}`

func TestToken_Happy(t *testing.T) {
	t.Parallel()
	s := New(t, trading(oauth.PaperTrading))
	c := s.Known()
	r := s.Redeem(TokenForm(c, s.Code(c)))
	Documented(t, r)
	body := r.JSON(t)
	if body["token_type"] != "Bearer" || body["expires_in"] != 604800.0 || len(body) != 3 {
		t.Errorf("%s", r.Body)
	}
	caller, err := s.Server.Authorize(t.Context(), r.Text(t, "access_token"))
	if err != nil || caller.Subject != "owner" || caller.Scope != principal.Trade || caller.Client != "A Client" || caller.ClientKey == "" || caller.Key == "" {
		t.Errorf("%+v, %v", caller, err)
	}
	if left := time.Until(caller.Expires); left < 7*24*time.Hour-time.Minute || left > 7*24*time.Hour {
		t.Errorf("the token lives for %v", left)
	}
}

func TestToken_JSONBody(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	body, err := json.Marshal(map[string]string{"grant_type": "authorization_code", "client_id": c.ID, "code": s.Code(c), "code_verifier": Verifier})
	if err != nil {
		t.Fatal(err)
	}
	Documented(t, s.Do(http.MethodPost, "/token", "application/json; charset=utf-8", string(body), nil))
}

func TestToken_ReplayRevokes(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	form := TokenForm(c, s.Code(c))
	token := s.Redeem(form).Text(t, "access_token")
	Documented(t, s.Redeem(form))
	Documented(t, s.Redeem(form))
	if _, err := s.Server.Authorize(t.Context(), token); fault.KindOf(err) != fault.Unauthorized {
		t.Errorf("the token lives on: %v", err)
	}
}

func TestToken_PKCEWrongBurns(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	for _, wrong := range []string{"wrong", strings.Repeat("a", 43), Verifier + "a", Challenge(Verifier)} {
		code := s.Code(c)
		Documented(t, s.Redeem(TokenForm(c, code, "code_verifier", wrong)))
		Documented(t, s.Redeem(TokenForm(c, code)))
	}
	if log := s.Log.String(); strings.Count(log, "code_verifier does not match the code_challenge") != 4 {
		t.Errorf("the log does not record the verify result:\n%s", log)
	}
	// A verifier that is too short to be one is refused though its hash is right.
	Documented(t, s.Redeem(TokenForm(c, s.Code(c, "code_challenge", Challenge("short")), "code_verifier", "short")))
}

func TestToken_OtherClient(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c, other := s.Known(), s.Known()
	code := s.Code(c)
	Documented(t, s.Redeem(TokenForm(other, code)))
	Documented(t, s.Redeem(TokenForm(c, code)))
}

func TestToken_BadSecretKeepsCode(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Register(postClient)
	code := s.Code(c)
	Documented(t, s.Redeem(TokenForm(c, code)))
	Documented(t, s.Redeem(TokenForm(c, code, "client_secret", "wrong")))
	Documented(t, s.Redeem(TokenForm(c, code, "client_secret", s.Known().Secret)))
	public := s.Known()
	Documented(t, s.Redeem(TokenForm(public, code, "client_secret", "wrong")))
	basic := s.Do(http.MethodPost, "/token", "application/x-www-form-urlencoded", TokenForm(c, code, "client_id", "").Encode(), basicHeader(c.ID, "wrong"))
	Documented(t, basic)
	if basic.Header.Get("WWW-Authenticate") == "" {
		t.Error("no challenge for Basic")
	}
	if r := s.Redeem(TokenForm(c, code, "client_secret", c.Secret)); r.Status != http.StatusOK {
		t.Errorf("the code was burnt: %s", r.Body)
	}
}

func TestToken_SecretForPublicOK(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	Documented(t, s.Redeem(TokenForm(c, s.Code(c), "client_secret", c.Secret)))
}

func basicHeader(id, secret string) http.Header {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(id, secret)
	return r.Header
}

func TestToken_BasicOK(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	for _, metadata := range []string{postClient, uris(Redirect)} {
		c := s.Register(metadata)
		for _, id := range []string{"", c.ID} {
			Documented(t, s.Do(http.MethodPost, "/token", "application/x-www-form-urlencoded",
				TokenForm(c, s.Code(c), "client_id", id).Encode(), basicHeader(c.ID, c.Secret)))
		}
	}
}

func TestToken_RedirectDiffers(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	code := s.Code(c)
	Documented(t, s.Redeem(TokenForm(c, code, "redirect_uri", "http://localhost:1/callback")))
	if r := s.Redeem(TokenForm(c, code)); r.Status != http.StatusOK {
		t.Errorf("the code was burnt: %s", r.Body)
	}
}

func TestToken_RedirectAbsentOK(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	Documented(t, s.Redeem(TokenForm(c, s.Code(c), "redirect_uri", "")))
	Documented(t, s.Redeem(TokenForm(c, s.Code(c, "redirect_uri", ""))))
}

func TestToken_RefreshUnsupported(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	for _, grant := range []string{"refresh_token", "client_credentials", "password", "AUTHORIZATION_CODE"} {
		Documented(t, s.Redeem(TokenForm(c, "x", "grant_type", grant, "refresh_token", "x")))
	}
}

func TestToken_StaleClientRefresh401(t *testing.T) {
	t.Parallel()
	former := New(t, nil).Known()
	Documented(t, New(t, nil).Redeem(TokenForm(former, "", "grant_type", "refresh_token", "refresh_token", "x")))
}

func TestToken_UnknownClient(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	Documented(t, s.Redeem(TokenForm(Client{ID: "nobody"}, "x")))
	c := s.Known()
	Documented(t, s.Redeem(TokenForm(Client{ID: c.ID + "x"}, "x")))
}

func TestToken_ForeignResource(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	code := s.Code(c)
	Documented(t, s.Redeem(TokenForm(c, code, "resource", "https://b.example/mcp")))
	if r := s.Redeem(TokenForm(c, code, "resource", Base+"/mcp")); r.Status != http.StatusOK {
		t.Errorf("our own resource: %s", r.Body)
	}
}

func TestToken_Expired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(t, nil)
		c := s.Known()
		late, inTime := s.Code(c), s.Code(c)
		time.Sleep(5*time.Minute - time.Second)
		if r := s.Redeem(TokenForm(c, inTime)); r.Status != http.StatusOK {
			t.Errorf("within 5 minutes: %s", r.Body)
		}
		time.Sleep(time.Second)
		Documented(t, s.Redeem(TokenForm(c, late)))
	})
}

func TestToken_UnknownCode(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	Documented(t, s.Redeem(TokenForm(s.Known(), "never issued")))
}

func TestToken_RepeatedParam(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	form := TokenForm(c, "x")
	form.Add("code", "y")
	Documented(t, s.Redeem(form))
	for _, body := range []string{
		`{"code":"a","code":"b"}`, `{"code":["a","b"]}`, `{"code":1}`, `{"code":{}}`, `[]`, `{`, `{}{}`, `{"client_id":"x"`, ``,
	} {
		Documented(t, s.Do(http.MethodPost, "/token", "application/json", body, nil))
	}
	Documented(t, s.Do(http.MethodPost, "/token", "application/x-www-form-urlencoded", "code=%zz", nil))
	Documented(t, s.Do(http.MethodPost, "/token", "text/plain", TokenForm(c, "x").Encode(), nil))
}

func TestToken_SecretTwice(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c, other := s.Known(), s.Known()
	post := func(form string, header http.Header) Response {
		return s.Do(http.MethodPost, "/token", "application/x-www-form-urlencoded", form, header)
	}
	Documented(t, post(TokenForm(c, "x", "client_secret", c.Secret).Encode(), basicHeader(c.ID, c.Secret)))
	Documented(t, post(TokenForm(other, "x").Encode(), basicHeader(c.ID, c.Secret)))
	Documented(t, post(TokenForm(c, "x", "client_id", "").Encode(), nil))
}

func TestToken_NoGrantType(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	Documented(t, s.Redeem(TokenForm(s.Known(), "x", "grant_type", "")))
}

func TestToken_NoVerifier(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	Documented(t, s.Redeem(TokenForm(c, s.Code(c), "code_verifier", "")))
	Documented(t, s.Redeem(TokenForm(c, "")))
}

func TestToken_Oversize(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	Documented(t, s.Redeem(TokenForm(s.Known(), strings.Repeat("x", 16<<10))))
}

func TestToken_NoStore(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	good := s.Redeem(TokenForm(c, s.Code(c)))
	Documented(t, good)
	for _, r := range []Response{good, s.Redeem(TokenForm(c, "x")), s.Redeem(TokenForm(Client{ID: "x"}, "x"))} {
		if r.Header.Get("Cache-Control") != "no-store" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%d has %v", r.Status, r.Header)
		}
	}
}

func TestToken_ConcurrentRedeemOneWins(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	c := s.Known()
	form := TokenForm(c, s.Code(c))
	var won atomic.Int32
	var token atomic.Value
	var all sync.WaitGroup
	for range 1000 {
		all.Go(func() {
			if r := s.Redeem(form); r.Status == http.StatusOK {
				won.Add(1)
				token.Store(r.Text(t, "access_token"))
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d redemptions won", won.Load())
	}
	if _, err := s.Server.Authorize(t.Context(), fmt.Sprint(token.Load())); fault.KindOf(err) != fault.Unauthorized {
		t.Errorf("the replays did not revoke the token: %v", err)
	}
	Documented(t, s.Redeem(form))
}

func TestTokens_ListAndRevoke(t *testing.T) {
	t.Parallel()
	s := New(t, nil)
	token := s.Token()
	list, err := s.Server.Tokens(t.Context(), oauth.SoleOwner)
	if err != nil || len(list) != 2 || list[0].Grant.ClientName != "A Client" || !list[1].Grant.Login {
		t.Fatalf("%+v, %v", list, err)
	}
	if err := s.Server.Revoke(t.Context(), oauth.SoleOwner, list[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Server.Authorize(t.Context(), token); fault.KindOf(err) != fault.Unauthorized {
		t.Errorf("the token lives on: %v", err)
	}
}

// leaving is a store whose callers leave while it works: at a call that is named, and then no call with their context
// succeeds.
type leaving struct {
	oauth.Store
	leave context.CancelFunc
}

func (l *leaving) Code(ctx context.Context, hash oauth.Hash, now time.Time) (oauth.Code, error) {
	code, err := l.Store.Code(ctx, hash, now)
	if l.leave != nil {
		l.leave()
	}
	return code, cmp.Or(err, ctx.Err())
}

func (l *leaving) RevokeReplayed(ctx context.Context, hash oauth.Hash) error {
	if l.leave != nil {
		l.leave()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.Store.RevokeReplayed(ctx, hash)
}

// TestRedeem_ClientLeaves holds that a client which leaves while its code is redeemed is no error of the server, and
// that a replay ends the token though the thief has hung up.
func TestRedeem_ClientLeaves(t *testing.T) {
	t.Parallel()
	store := &leaving{Store: oauth.NewMemory(oauth.MaxTokens)}
	s := NewWith(t, store, Owner(t), nil)
	redeem := func(form url.Values) {
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		store.leave = leave
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, Base+"/token", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		s.Handler.ServeHTTP(httptest.NewRecorder(), r)
		store.leave = nil
	}
	c := s.Known()
	redeem(TokenForm(c, s.Code(c)))
	if log := s.Log.String(); !strings.Contains(log, "level=INFO msg=\"[OAuth] code redemption failed\"") || strings.Contains(log, "level=ERROR") {
		t.Errorf("the log of a client that has left:\n%s", log)
	}
	form := TokenForm(c, s.Code(c))
	token := s.Redeem(form).Text(t, "access_token")
	redeem(form)
	if _, err := s.Server.Authorize(t.Context(), token); fault.KindOf(err) != fault.Unauthorized {
		t.Errorf("the token lives on: %v", err)
	}
}

// Nobody is let in of whom the audit log knows nothing: where it cannot be written there is no approval, and no token.
func TestToken_NoneWithoutItsAuditEntry(t *testing.T) {
	t.Parallel()
	s := New(t, trading(oauth.PaperTrading))
	full := ""
	s.Server.OnEvent(func(_ context.Context, e oauth.Event) error {
		if e.Kind == full {
			return errors.New("the disk is full")
		}
		return nil
	})
	c := s.Known()
	code := s.Code(c)
	full = "token_issued"
	if r := s.Redeem(TokenForm(c, code)); r.Status != http.StatusInternalServerError {
		t.Errorf("a token is answered with %d %s", r.Status, r.Body)
	}
	full = "client_approved"
	b := s.Browser()
	if r := b.Decide(b.Open(Query(c)), Passphrase, ""); r.Status != http.StatusInternalServerError {
		t.Errorf("an approval is answered with %d %s", r.Status, r.Body)
	}
	full = ""
	all, err := s.Server.Tokens(t.Context(), oauth.SoleOwner)
	for _, token := range all {
		if !token.Grant.Login {
			t.Errorf("there is a token: %+v", token)
		}
	}
	if err != nil {
		t.Error(err)
	}
	if r := s.Redeem(TokenForm(c, s.Code(c))); r.Status != http.StatusOK {
		t.Errorf("afterwards: %d %s", r.Status, r.Body)
	}
}
