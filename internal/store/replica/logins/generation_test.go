package logins_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/kit/principal"
	"candela/internal/store/replica/logins"
	"candela/internal/store/replica/replicatest"
	"candela/lib/fault"
)

// another is the passphrase after oauthtest.Passphrase.
const another = "another horse another staple"

func ownerOf(tb testing.TB, given string) *oauth.Passphrase {
	tb.Helper()
	owner, err := oauth.NewOwner(given, oauthtest.Cost())
	if err != nil {
		tb.Fatal(err)
	}
	return owner
}

// decide signs in with a passphrase at a replica and returns the status.
func decide(at *oauthtest.Scene, passphrase string) int {
	b := at.Browser()
	return b.Decide(b.Open(oauthtest.Query(at.Known())), "passphrase", passphrase).Status
}

// TestGeneration_NewPassphraseRevokesAllLogins changes the passphrase in a rolling restart, while a
// client is signed in with the former one.
func TestGeneration_NewPassphraseRevokesAllLogins(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	old := replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	oldDoor := door(t, old)
	stolen, client, browser := oldDoor.Token(), oldDoor.Known(), oldDoor.Browser()
	page := browser.Open(oauthtest.Query(client))
	code := browser.Decide(page).Location(t).Query().Get("code") // also signs the browser in
	refused := func(at *oauthtest.Scene) bool {
		_, err := replicatest.Insist(t, func() (principal.Caller, error) { return at.Server.Authorize(t.Context(), stolen) })
		return fault.KindOf(err) == fault.Unauthorized
	}

	// 1. The first replica with the new passphrase revokes all logins before it serves.
	first := replicatest.OpenLoginsAs(t, replicatest.Servers(), prefix, ownerOf(t, another))
	newDoor := door(t, first)
	if !refused(newDoor) {
		t.Error("the revoking replica accepts the earlier token")
	}
	replicatest.Eventually(t, "the former replica has the generation", func() bool { return old.Seal() == first.Seal() })
	for name, at := range map[string]*oauthtest.Scene{"the new replica": newDoor, "the former replica": oldDoor} {
		if !refused(at) {
			t.Errorf("%s accepts the token", name)
		}
		if r := at.Redeem(oauthtest.TokenForm(client, code)); r.Status != http.StatusUnauthorized {
			t.Errorf("%s accepts the code: %d", name, r.Status)
		}
		there := browser.At(at)
		if r := at.Do(http.MethodGet, "/authorize?"+oauthtest.Query(client).Encode(), "", "", nil); r.Status != http.StatusBadRequest {
			t.Errorf("%s accepts the registration: %d", name, r.Status)
		}
		if r := there.Decide(page); r.Status != http.StatusBadRequest {
			t.Errorf("%s accepts the form: %d", name, r.Status)
		}
		if r := there.Decide(there.Open(oauthtest.Query(at.Known())), "passphrase", ""); r.Status == http.StatusSeeOther {
			t.Errorf("%s accepts the browser's login: %d", name, r.Status)
		}
	}

	// 2. The former replica accepts no passphrase, but the new one's tokens.
	for _, passphrase := range []string{oauthtest.Passphrase, another} {
		if got := decide(oldDoor, passphrase); got != http.StatusServiceUnavailable {
			t.Errorf("the former replica answers the passphrase %q with %d", passphrase, got)
		}
	}
	if got := decide(newDoor, oauthtest.Passphrase); got != http.StatusUnauthorized {
		t.Errorf("the new replica answers the former passphrase with %d", got)
	}
	fresh := replicatest.IssueToken(t, first, "fresh", time.Now())
	if _, err := replicatest.LookUp(t, old, fresh, time.Now()); err != nil {
		t.Errorf("the former replica refuses a current token: %v", err)
	}

	// 3. The former one restarts unchanged. It revokes nothing.
	again := replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	if _, err := replicatest.LookUp(t, again, fresh, time.Now()); err != nil || again.Seal() != first.Seal() {
		t.Errorf("a replica with a former passphrase revokes logins: %v", err)
	}
	if got := decide(door(t, again), oauthtest.Passphrase); got != http.StatusServiceUnavailable {
		t.Errorf("the former passphrase is accepted: %d", got)
	}

	// 4. It restarts with the new passphrase, revokes nothing and accepts it.
	last := replicatest.OpenLoginsAs(t, replicatest.Servers(), prefix, ownerOf(t, another))
	if _, err := replicatest.LookUp(t, last, fresh, time.Now()); err != nil {
		t.Errorf("the second replica with the new passphrase revokes logins: %v", err)
	}
	if got := decide(door(t, last), another); got != http.StatusSeeOther {
		t.Errorf("the new passphrase: %d", got)
	}
}

// TestGeneration_SamePassphraseRevokesNothing configures the same passphrase in different ways.
func TestGeneration_SamePassphraseRevokesNothing(t *testing.T) {
	t.Parallel()
	hash := oauthtest.Owner(t).Hash()
	for name, c := range map[string]struct {
		before, after string
		ends          bool
	}{
		"both in plain":      {oauthtest.Passphrase, oauthtest.Passphrase, false},
		"the same hash":      {hash, hash, false},
		"a hash, then plain": {hash, oauthtest.Passphrase, false},
		"plain, then a hash, which cannot be compared": {oauthtest.Passphrase, hash, true},
		"another hash, which cannot be compared":       {hash, oauthtest.Owner(t).Hash(), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix, now := replicatest.NewPrefix(), time.Now()
			before := replicatest.OpenLoginsAs(t, replicatest.Servers(), prefix, ownerOf(t, c.before))
			tok := replicatest.IssueToken(t, before, "token", now)
			after := replicatest.OpenLoginsAs(t, replicatest.Servers(), prefix, ownerOf(t, c.after))
			if _, err := replicatest.LookUp(t, after, tok, now); (err != nil) != c.ends {
				t.Errorf("the token: %v", err)
			}
			if got := decide(door(t, after), oauthtest.Passphrase); got != http.StatusSeeOther {
				t.Errorf("the passphrase at the second: %d", got)
			}
			if strings.HasPrefix(c.before, "$") && c.ends {
				return // the first may not recognise it
			}
			replicatest.Eventually(t, "the first accepts it", func() bool { return decide(door(t, before), oauthtest.Passphrase) == http.StatusSeeOther })
		})
	}
}

// TestGeneration_IgnoresWritesOfALateReplica lets a replica without the new generation approve a
// client under the former passphrase and redeem its code.
func TestGeneration_IgnoresWritesOfALateReplica(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	deaf := replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	deaf.Close()
	first := replicatest.OpenLoginsAs(t, replicatest.Servers(), prefix, ownerOf(t, another))
	secret := door(t, deaf).Token() // valid at that replica
	tok := replicatest.IssueToken(t, deaf, "late", now)
	for name, s := range map[string]*logins.Store{"the new replica": first, "a later replica": replicatest.OpenLoginsAs(t, replicatest.Servers(), prefix, ownerOf(t, another))} {
		if _, err := replicatest.Insist(t, func() (principal.Caller, error) { return door(t, s).Server.Authorize(t.Context(), secret) }); fault.KindOf(err) != fault.Unauthorized {
			t.Errorf("%s accepts it: %v", name, err)
		}
		if _, err := replicatest.LookUp(t, s, tok, now); !errors.Is(err, oauth.ErrNotFound) {
			t.Errorf("%s accepts it: %v", name, err)
		}
		if list, err := s.Tokens(t.Context(), "ann", now); err != nil || len(list) != 0 {
			t.Errorf("%s lists %v, %v", name, list, err)
		}
	}
}

// TestGeneration_LateReplicaAcceptsATokenOfTheNext checks a token at a replica without its
// generation.
func TestGeneration_LateReplicaAcceptsATokenOfTheNext(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	deaf := replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	deaf.Close()
	tok := replicatest.IssueToken(t, replicatest.OpenLoginsAs(t, replicatest.Servers(), prefix, ownerOf(t, another)), "next", now)
	if _, err := replicatest.LookUp(t, deaf, tok, now); err != nil {
		t.Error(err)
	}
}

// TestRevokeAll_ReachesAllReplicas revokes all logins at one replica; the passphrase stays valid.
func TestRevokeAll_ReachesAllReplicas(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	a, b := replicatest.OpenLogins(t, replicatest.Servers(), prefix), replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	toks := make([]oauth.Token, 30)
	for i := range toks {
		toks[i] = replicatest.IssueToken(t, a, strconv.Itoa(i), now)
	}
	if err := a.Revoke(t.Context(), "ann", "3"); err != nil {
		t.Fatal(err)
	}
	if ended, err := b.RevokeAll(t.Context(), now); err != nil || ended != len(toks)-1 {
		t.Fatalf("revoked %d, %v", ended, err)
	}
	for _, tok := range toks {
		if _, err := replicatest.LookUp(t, b, tok, now); !errors.Is(err, oauth.ErrNotFound) {
			t.Errorf("%s is accepted at the revoking replica: %v", tok.ID, err)
		}
		replicatest.WaitEnded(t, a, tok, now)
	}
	later := replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	for name, s := range map[string]*logins.Store{"a": a, "b": b, "later": later} {
		if s.Seal() != b.Seal() {
			t.Errorf("%s has another key", name)
		}
		if got := decide(door(t, s), oauthtest.Passphrase); got != http.StatusSeeOther {
			t.Errorf("%s: the passphrase is refused: %d", name, got)
		}
	}
	// The servers have removed the revoked logins.
	stream := replicatest.StreamOf(t, replicatest.Servers(), prefix+"_TOKENS")
	replicatest.Eventually(t, "little is left", func() bool {
		once, end := replicatest.Question(t)
		defer end()
		info, err := stream.Info(once)
		return err == nil && info.State.Msgs <= 8
	})
}

// TestRevokeAll_LateReplicaCountsRevokedTokens revokes all logins at a replica without their
// generation.
func TestRevokeAll_LateReplicaCountsRevokedTokens(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	a, deaf := replicatest.OpenLogins(t, replicatest.Servers(), prefix), replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	deaf.Close()
	replicatest.IssueToken(t, a, "ended before", now)
	if ended, err := a.RevokeAll(t.Context(), now); err != nil || ended != 1 {
		t.Fatalf("revoked %d, %v", ended, err)
	}
	tok := replicatest.IssueToken(t, a, "token", now)
	if ended, err := deaf.RevokeAll(t.Context(), now); err != nil || ended != 1 {
		t.Errorf("revoked %d, %v", ended, err)
	}
	replicatest.WaitEnded(t, a, tok, now)
}

// TestRevokeAll_ConcurrentReplicasAgree revokes all logins at all replicas at once.
func TestRevokeAll_ConcurrentReplicasAgree(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	all := []*logins.Store{replicatest.OpenLogins(t, replicatest.Servers(), prefix), replicatest.OpenLogins(t, replicatest.Servers(), prefix), replicatest.OpenLogins(t, replicatest.Servers(), prefix)}
	tok := replicatest.IssueToken(t, all[0], "token", now)
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(func() {
			if _, err := s.RevokeAll(t.Context(), now); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	replicatest.Eventually(t, "they agree", func() bool { return all[0].Seal() == all[1].Seal() && all[1].Seal() == all[2].Seal() })
	for _, s := range all {
		replicatest.WaitEnded(t, s, tok, now)
	}
	if _, err := replicatest.LookUp(t, all[2], replicatest.IssueToken(t, all[1], "next", now), now); err != nil {
		t.Error(err)
	}
}

// TestGeneration_PassphraseSurvivesServerRestarts restarts the servers after a change. Whichever
// replica reconnects first, the former passphrase stays replaced.
func TestGeneration_PassphraseSurvivesServerRestarts(t *testing.T) {
	t.Parallel()
	one, prefix := replicatest.Start(t, 3), replicatest.NewPrefix()
	old := replicatest.OpenLogins(t, one, prefix)
	first := replicatest.OpenLoginsAs(t, one, prefix, ownerOf(t, another))
	replicatest.Eventually(t, "the former replica has the generation", func() bool { return old.Seal() == first.Seal() })
	key := old.Seal()
	first.Close() // so that the former one reconnects first
	for i := range 3 {
		one.Kill(i)
	}
	replicatest.Restart(t, one, 0, 1, 2)
	replicatest.Eventually(t, "the former replica has another key", func() bool { return old.Seal() != key })
	if _, err := old.Authenticate(t.Context(), oauthtest.Passphrase); !errors.Is(err, oauth.ErrReplaced) {
		t.Errorf("the former passphrase: %v", err)
	}
	now := time.Now()
	tok := replicatest.IssueToken(t, old, "token", now)
	again := replicatest.OpenLoginsAs(t, one, prefix, ownerOf(t, another))
	if _, err := replicatest.LookUp(t, again, tok, now); err != nil {
		t.Errorf("the new passphrase was lost, and logins revoked again: %v", err)
	}
	if _, err := again.Authenticate(t.Context(), another); err != nil {
		t.Errorf("the new passphrase: %v", err)
	}
}

// TestGeneration_StoresOnlySlowHashes reads the stored generation.
func TestGeneration_StoresOnlySlowHashes(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	given := ownerOf(t, another).Hash()
	replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	replicatest.OpenLoginsAs(t, replicatest.Servers(), prefix, ownerOf(t, given))
	m, err := replicatest.StreamOf(t, replicatest.Servers(), prefix+"_TOKENS").GetLastMsgForSubject(t.Context(), prefix+".seal.era")
	if err != nil {
		t.Fatal(err)
	}
	var kept map[string]any
	if err := json.Unmarshal(replicatest.Unseal(t.Context(), replicatest.Connect(t, replicatest.Servers(), prefix), m), &kept); err != nil {
		t.Fatal(err)
	}
	former := fmt.Sprint(kept["former"])
	if kept["owner"] != given || !regexp.MustCompile(`^\[\$argon2id\$v=19\$m=8,t=1,p=1\$[^ ]+\]$`).MatchString(former) {
		t.Errorf("stored %v and %v", kept["owner"], former)
	}
	delete(kept, "owner")
	delete(kept, "former")
	delete(kept, "key") // random
	delete(kept, "line")
	delete(kept, "number") // a time
	delete(kept, "blank")
	if delete(kept, "why"); len(kept) > 0 {
		t.Errorf("also stored: %v", kept)
	}
}

// TestGeneration_BoundsFormerPassphrases changes the passphrase often.
func TestGeneration_BoundsFormerPassphrases(t *testing.T) {
	t.Parallel()
	prefix := replicatest.NewPrefix()
	var last *logins.Store
	for i := range 12 {
		last = replicatest.OpenLoginsAs(t, replicatest.Servers(), prefix, ownerOf(t, "mint anvil heron "+strconv.Itoa(i)))
	}
	if _, err := last.Authenticate(t.Context(), "mint anvil heron 11"); err != nil {
		t.Error(err)
	}
	if _, err := replicatest.OpenLoginsAs(t, replicatest.Servers(), prefix, ownerOf(t, "mint anvil heron 4")).Authenticate(t.Context(), "mint anvil heron 4"); !errors.Is(err, oauth.ErrReplaced) {
		t.Errorf("one of the last eight: %v", err)
	}
	if got, err := last.Authenticate(t.Context(), "mint anvil heron 11"); err != nil || got != oauth.SoleOwner {
		t.Errorf("a former one replaced it: %v", err)
	}
}

// TestGeneration_WithoutOwnerRevokesNothing opens the store like a replica without sign-in, and like
// a command of the owner.
func TestGeneration_WithoutOwnerRevokesNothing(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	a := replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	tok := replicatest.IssueToken(t, a, "token", now)
	visitor := replicatest.OpenLoginsAs(t, replicatest.Servers(), prefix, nil)
	if _, err := replicatest.LookUp(t, visitor, tok, now); err != nil {
		t.Error(err)
	}
	if _, err := visitor.Authenticate(t.Context(), oauthtest.Passphrase); !errors.Is(err, oauth.ErrReplaced) {
		t.Errorf("a replica without an owner accepts a passphrase: %v", err)
	}
	if ended, err := visitor.RevokeAll(t.Context(), now); err != nil || ended != 1 {
		t.Errorf("%d, %v", ended, err)
	}
	replicatest.WaitEnded(t, a, tok, now)
	if _, err := a.Authenticate(t.Context(), oauthtest.Passphrase); err != nil {
		t.Errorf("the passphrase is refused: %v", err)
	}
}
