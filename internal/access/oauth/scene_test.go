package oauth_test

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // the tests read as sentences of it
	"candela/internal/access/oauth/storetest"
	"candela/internal/testkit/longtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	t.Parallel()
	tokens := longtest.Pick(100, oauth.MaxTokens) // each takes as long as there are others
	storetest.Run(t, tokens, func(*testing.T) oauth.Store { return oauth.NewMemory(tokens) })
	storetest.RunOwners(t, func(_ *testing.T, most oauth.Capacity) oauth.Store { return oauth.NewMemoryWithin(most) })
}

// registers demands that each metadata is answered as documented.
func registers(t *testing.T, metadata ...string) Response {
	t.Helper()
	t.Parallel()
	s := New(t, nil)
	var last Response
	for _, m := range metadata {
		last = s.PostRegister(m)
		Documented(t, last)
	}
	return last
}

// uris returns metadata with these redirect URIs.
func uris(list ...string) string {
	quoted := make([]string, 0, len(list))
	for _, uri := range list {
		quoted = append(quoted, `"`+uri+`"`)
	}
	return `{"redirect_uris":[` + strings.Join(quoted, ",") + `]}`
}

// each returns metadata with each of the URIs alone.
func each(list ...string) []string {
	all := make([]string, 0, len(list))
	for _, uri := range list {
		all = append(all, uris(uri))
	}
	return all
}

// program asks for authorization as a program does, and demands the documented
// answer.
func program(t *testing.T, s *Scene, query url.Values) Response {
	t.Helper()
	r := s.Do(http.MethodGet, "/authorize?"+query.Encode(), "", "", nil)
	Documented(t, r)
	return r
}

// A store holds the configured number of tokens and no more.
func TestMemory_StoreSuite(t *testing.T) {
	t.Parallel()
	most := longtest.Pick(oauth.MaxTokens+50, 3000)
	store, now := oauth.NewMemory(most), time.Now()
	for i := range most + 1 {
		name := strconv.Itoa(i)
		code := oauth.Code{Hash: oauth.HashOf("code " + name), Grant: oauth.Grant{Subject: "owner"}, Generation: store.Seal().Generation(), Expires: now.Add(time.Minute)}
		if err := store.PutCode(t.Context(), code, now); err != nil {
			t.Fatal(err)
		}
		token := oauth.Token{Hash: oauth.HashOf("token " + name), ID: name, Grant: code.Grant, Issued: now, Expires: now.Add(time.Hour + time.Duration(i))}
		if err := store.Redeem(t.Context(), code.Hash, token, now); err != nil {
			t.Fatal(err)
		}
	}
	list, err := store.Tokens(t.Context(), "owner", now)
	if err != nil || len(list) != most {
		t.Errorf("%d tokens: %v", len(list), err)
	}
	if _, err := store.Token(t.Context(), oauth.HashOf("token 0"), now); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("the oldest: %v", err)
	}
}
