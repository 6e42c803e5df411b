package oauth_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // see scene_test.go
	"candela/internal/access/upstream"
	"candela/internal/testkit/fake/oidc"
	"candela/internal/testkit/longtest"
)

// TestSignIn_ACrowdComesBack has many people sign in at once, as after a full restart, each from an
// address of their own. Each gets a token of their own, and the server keeps no more of a sign-in
// than its token. The long form has 10,000 people.
func TestSignIn_ACrowdComesBack(t *testing.T) { //nolint:paralleltest // its long form measures memory
	if !longtest.On() {
		t.Parallel()
	}
	people := longtest.Pick(100, 10_000)
	idp := oidc.New(t)
	s := NewWith(t, oauth.NewMemoryWithin(oauth.ManyOwners()), nil, func(c *oauth.Config) { c.SignIn = SignIn(t, idp, anyone()) })
	client := s.Known()
	tokens := make([]string, people)
	arrive := func(from, to int) {
		var group sync.WaitGroup
		for worker := range 16 {
			group.Go(func() {
				for i := from + worker; i < to; i += 16 {
					tokens[i] = arrives(t, s, client, i)
				}
			})
		}
		group.Wait()
	}
	began := time.Now()
	arrive(0, people/10)
	first := heap()
	arrive(people/10, people)
	each := (float64(heap()) - float64(first)) / float64(people-people/10)
	took := time.Since(began)
	for i, token := range tokens {
		caller, err := s.Server.Authorize(t.Context(), token)
		if want := upstream.OwnerID(idp.Issuer(), person(i)); err != nil || caller.Subject != want {
			t.Fatalf("the token of %s is of %q, %v; want %q", person(i), caller.Subject, err, want)
		}
	}
	t.Logf("%d people signed in in %v; each keeps %.0f bytes, with what the provider and the log of the test keep", people, took.Round(time.Millisecond), each)
	if longtest.On() && each > 4096 {
		t.Errorf("a sign-in keeps %.0f bytes", each)
	}
}

func person(i int) string { return fmt.Sprintf("person%05d", i) }

// arrives takes a person through the sign-in and the consent page, and returns the token.
func arrives(t *testing.T, s *Scene, c Client, i int) string {
	t.Helper()
	own := *s
	own.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:4000", i>>16, i>>8&255, i&255)
		s.Handler.ServeHTTP(w, r)
	})
	b := own.Browser()
	b.Person = person(i)
	page := b.SignIn(Query(c))
	if !strings.Contains(string(page.Body), "You are <strong>"+person(i)) {
		t.Errorf("%s is shown %d %.300s", person(i), page.Status, page.Body)
		return ""
	}
	return own.Redeem(TokenForm(c, allow(b, page).Location(t).Query().Get("code"))).Text(t, "access_token")
}

// heap returns how many bytes are in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
