package oauth_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"candela/internal/oauth"
	. "candela/internal/oauth/oauthtest" //nolint:revive // see scene_test.go
)

// replicas returns servers that share a store and a key.
func replicas(t *testing.T, n int, key func() oauth.SealKey) []*Scene {
	t.Helper()
	store := oauth.NewMemory(oauth.MaxTokens)
	all := make([]*Scene, n)
	for i := range all {
		all[i] = NewWith(t, store, Owner(t), func(cfg *oauth.Config) { cfg.Seal = key })
	}
	return all
}

func fixed(key oauth.SealKey) func() oauth.SealKey { return func() oauth.SealKey { return key } }

// TestReplicas_FinishWhatAnotherBegan takes each step of the flow at another server.
func TestReplicas_FinishWhatAnotherBegan(t *testing.T) {
	t.Parallel()
	s := replicas(t, 4, fixed(oauth.NewSealKey()))
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

// TestReplicas_AKeyThatChangesEndsWhatWasSealed changes the key under a server.
func TestReplicas_AKeyThatChangesEndsWhatWasSealed(t *testing.T) {
	t.Parallel()
	var key atomic.Pointer[oauth.SealKey]
	first, second := oauth.NewSealKey(), oauth.NewSealKey()
	key.Store(&first)
	s := replicas(t, 1, func() oauth.SealKey { return *key.Load() })[0]
	c, browser := s.Known(), s.Browser()
	page := browser.Open(Query(c))
	if browser.Decide(page).Location(t).Query().Get("code") == "" {
		t.Fatal("no code")
	}
	key.Store(&second)
	if r := browser.Open(Query(c)); r.Status != http.StatusBadRequest {
		t.Errorf("a client of the former key: %d", r.Status)
	}
	if r := browser.Decide(page); r.Status != http.StatusBadRequest {
		t.Errorf("a form of the former key: %d", r.Status)
	}
	if r := browser.Decide(browser.Open(Query(s.Known())), "passphrase", ""); r.Status != http.StatusUnauthorized {
		t.Errorf("a login of the former key: %d", r.Status)
	}
	key.Store(&first)
	if r := browser.Open(Query(c)); r.Status != http.StatusOK {
		t.Errorf("the former key again: %d", r.Status)
	}
}

func TestReplicas_WithoutAKeyKnowNothingOfEachOther(t *testing.T) {
	t.Parallel()
	s := replicas(t, 2, nil)
	if r := s[1].Browser().Open(Query(s[0].Known())); r.Status != http.StatusBadRequest {
		t.Errorf("another server's client: %d", r.Status)
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
