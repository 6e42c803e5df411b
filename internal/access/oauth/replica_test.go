package oauth_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
	"candela/internal/kit/principal"
	"candela/lib/fault"
)

// replicas returns servers that share a store.
func replicas(t *testing.T, n int) []*Scene {
	t.Helper()
	store := oauth.NewMemory(oauth.MaxTokens)
	all := make([]*Scene, n)
	for i := range all {
		all[i] = NewWith(t, store, Owner(t), nil)
	}
	return all
}

// TestReplicas_FinishWhatAnotherBegan takes each step of the flow at another server.
func TestReplicas_FinishWhatAnotherBegan(t *testing.T) {
	t.Parallel()
	s := replicas(t, 4)
	c := s[0].Register(postClient)
	browser := s[1].Browser()
	page := browser.Open(Query(c))
	decided := browser.At(s[2]).Decide(page)
	code := decided.Location(t).Query().Get("code")
	token := s[3].Redeem(TokenForm(c, code, "client_secret", c.Secret)).Text(t, "access_token")
	for i, each := range s {
		if caller, err := each.Server.Authorize(t.Context(), token); err != nil || caller.Subject != oauth.SoleOwner {
			t.Errorf("server %d: %+v, %v", i, caller, err)
		}
	}
	// The login that the third gave is good at the first: no passphrase is asked for.
	again := browser.At(s[0])
	if r := again.Decide(again.Open(Query(c)), "passphrase", ""); r.Location(t).Query().Get("code") == "" {
		t.Errorf("the login does not hold at another server: %d %s", r.Status, r.Body)
	}
}

// TestEndAll_EndsWhatWasSealed ends all logins at one of two servers: neither takes
// anything of before.
func TestEndAll_EndsWhatWasSealed(t *testing.T) {
	t.Parallel()
	both := replicas(t, 2)
	s := both[0]
	token, c, browser := s.Token(), s.Known(), s.Browser()
	page := browser.Open(Query(c))
	code := browser.Decide(page).Location(t).Query().Get("code")
	if code == "" {
		t.Fatal("no code")
	}
	if ended, err := both[1].Server.RevokeAll(t.Context()); err != nil || ended != 1 {
		t.Fatalf("%d, %v", ended, err)
	}
	if _, err := s.Server.Authorize(t.Context(), token); fault.KindOf(err) != fault.Unauthorized {
		t.Errorf("a token of before: %v", err)
	}
	if r := s.Redeem(TokenForm(c, code)); r.Status != http.StatusUnauthorized {
		t.Errorf("a code of before: %d %s", r.Status, r.Body)
	}
	if r := s.Do(http.MethodGet, "/authorize?"+Query(c).Encode(), "", "", nil); r.Status != http.StatusBadRequest {
		t.Errorf("a client of before: %d", r.Status)
	}
	if r := browser.Decide(browser.Open(Query(c)), "passphrase", ""); r.Status != http.StatusUnauthorized {
		t.Errorf("a client of before, without the passphrase: %d", r.Status)
	}
	if r := browser.Decide(page); r.Status != http.StatusBadRequest {
		t.Errorf("a form of before: %d", r.Status)
	}
	fresh := s.Known()
	if r := browser.Decide(browser.Open(Query(fresh)), "passphrase", ""); r.Status != http.StatusUnauthorized {
		t.Errorf("a login of before: %d", r.Status)
	}
	if r := s.Redeem(TokenForm(fresh, code)); r.Status != http.StatusBadRequest {
		t.Errorf("a code of before, for a client of now: %d %s", r.Status, r.Body)
	}
	if _, err := s.Server.Authorize(t.Context(), s.Token()); err != nil {
		t.Errorf("nobody is let in any more: %v", err)
	}
	if log := both[1].Log.String(); !strings.Contains(log, "all logins revoked") {
		t.Errorf("the log says %s", log)
	}
}

// slowOwner lets something happen while a passphrase is being hashed.
type slowOwner struct {
	oauth.OwnerAuth
	meanwhile func()
}

func (o slowOwner) Authenticate(ctx context.Context, passphrase string) (principal.Owner, error) {
	subject, err := o.OwnerAuth.Authenticate(ctx, passphrase)
	o.meanwhile()
	return subject, err
}

// TestEndAll_EndsWhatIsBeingApproved ends all logins after a passphrase was found
// right and before anything came of it.
func TestEndAll_EndsWhatIsBeingApproved(t *testing.T) {
	t.Parallel()
	store := oauth.NewMemory(oauth.MaxTokens)
	s := NewWith(t, store, slowOwner{Owner(t), func() {
		if _, err := store.RevokeAll(t.Context(), time.Now()); err != nil {
			t.Error(err)
		}
	}}, nil)
	browser := s.Browser()
	if r := browser.Decide(browser.Open(Query(s.Known()))); r.Status != http.StatusBadRequest || !strings.Contains(string(r.Body), "start again") {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	// Nor is the browser logged in.
	if r := browser.Decide(browser.Open(Query(s.Known())), "passphrase", ""); r.Status != http.StatusUnauthorized {
		t.Errorf("the login of before holds: %d", r.Status)
	}
}

func TestStores_KnowNothingOfEachOther(t *testing.T) {
	t.Parallel()
	s, c := New(t, nil), New(t, nil).Known()
	if r := s.Do(http.MethodGet, "/authorize?"+Query(c).Encode(), "", "", nil); r.Status != http.StatusBadRequest {
		t.Errorf("another server's client: %d", r.Status)
	}
	b := s.Browser()
	if r := b.Decide(b.Open(Query(c)), "passphrase", ""); r.Status != http.StatusUnauthorized {
		t.Errorf("another server's client, without the passphrase: %d", r.Status)
	}
}

func TestSealKey_IsNotShown(t *testing.T) {
	t.Parallel()
	key := oauth.NewSealKey()
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("key", "key", key)
	if shown := fmt.Sprint(key, log.String()); key == oauth.NewSealKey() || !strings.Contains(shown, "[secret]") || strings.Contains(shown, fmt.Sprint([32]byte(key))) {
		t.Error(shown)
	}
}
