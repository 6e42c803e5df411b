package logins_test

import (
	"errors"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/oauth/oauthtest"
	"candela/internal/store/replica/logins"
	"candela/internal/store/replica/replicatest"
)

// firstCase lists the replicas that come to restarted servers before one that knows the current
// passphrase.
type firstCase struct {
	counted []string // earlier passphrases; the last one is current
	first   []string // those of the new replicas, "" for a command of the owner
	stands  bool     // tokens of the last of them stay valid
}

func firstCases() map[string]firstCase {
	const forgotten = oauthtest.Passphrase
	return map[string]firstCase{
		"a forgotten replica":                       {[]string{another}, []string{forgotten}, false},
		"a forgotten replica, after a change":       {[]string{forgotten, another}, []string{forgotten}, false},
		"a command":                                 {[]string{another}, []string{""}, false},
		"a command, then a forgotten replica":       {[]string{another}, []string{"", forgotten}, false},
		"one that counts, then a forgotten replica": {[]string{another}, []string{another, forgotten}, false},
		"one that counts":                           {[]string{another}, []string{another}, true},
		"one that counts, ignorant of a former one": {[]string{forgotten, another}, []string{another}, false},
		"one that counts, then a change to a third": {[]string{another}, []string{another, "a third horse"}, false},
		"a forgotten replica, then one that counts": {[]string{another}, []string{forgotten, another}, true},
	}
}

// TestGeneration_FirstReplicaOnEmptyServersDoesNotDecide stops all servers and lets new replicas
// come before the running one.
func TestGeneration_FirstReplicaOnEmptyServersDoesNotDecide(t *testing.T) {
	t.Parallel()
	three, now := replicatest.Start(t, 3), time.Now()
	prefixes, stays := make(map[string]string), make(map[string]*logins.Store)
	for name, c := range firstCases() {
		prefixes[name] = replicatest.NewPrefix()
		for _, passphrase := range c.counted {
			stays[name] = replicatest.OpenLoginsAs(t, three, prefixes[name], ownerOf(t, passphrase))
			stays[name].Close() // it receives nothing before FollowAgain
		}
	}
	for i := range 3 {
		three.Kill(i)
	}
	replicatest.Restart(t, three, 0, 1, 2)
	for name, c := range firstCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stays, prefix := stays[name], prefixes[name]
			former := stays.Seal()
			var last *logins.Store
			var tok oauth.Token
			for _, passphrase := range c.first {
				if passphrase == "" {
					last = replicatest.OpenLoginsAs(t, three, prefix, nil)
					if _, err := last.RevokeAll(t.Context(), now); err != nil {
						t.Fatal(err)
					}
				} else {
					last = replicatest.OpenLoginsAs(t, three, prefix, ownerOf(t, passphrase))
				}
				tok = replicatest.IssueToken(t, last, "token of "+passphrase, now)
			}
			if _, err := stays.Token(t.Context(), tok.Hash, now); err == nil {
				t.Error("a replica without the new generation accepts its token")
			}
			stays.FollowAgain()
			replicatest.Eventually(t, "it has another key", func() bool { return stays.Seal() != former })
			replicatest.Eventually(t, "its passphrase is accepted", func() bool {
				_, err := stays.Authenticate(t.Context(), another)
				return err == nil
			})
			replicatest.Eventually(t, "they agree", func() bool { return stays.Seal() == last.Seal() })
			replicatest.Eventually(t, "the token is valid or revoked as expected", func() bool {
				_, err := stays.Token(t.Context(), tok.Hash, now)
				return c.stands && err == nil || !c.stands && errors.Is(err, oauth.ErrNotFound)
			})
			replicatest.Eventually(t, "the first replica accepts its passphrase if it is current", func() bool {
				given := c.first[len(c.first)-1]
				_, err := last.Authenticate(t.Context(), given)
				return given == another && err == nil || given != another && errors.Is(err, oauth.ErrReplaced)
			})
			fresh := replicatest.OpenLoginsAs(t, three, prefix, ownerOf(t, another))
			if fresh.Seal() != stays.Seal() {
				t.Error("another replica with the current passphrase revokes logins")
			}
		})
	}
}

// TestGeneration_MissesNoneDuringASwitch lets RevokeAll switch between the comparison with the
// known generation and the switch to a received one.
func TestGeneration_MissesNoneDuringASwitch(t *testing.T) {
	t.Parallel()
	s := replicatest.OpenLogins(t, replicatest.Servers(), replicatest.NewPrefix())
	s.Close()
	if heard := s.Overtake(t.Context()); s.Seal() != heard {
		t.Error("the later generation is not known")
	}
	s.OvertakePassphraseCheck(t.Context())
	if _, err := s.Authenticate(t.Context(), oauthtest.Passphrase); err != nil {
		t.Errorf("the current passphrase: %v", err)
	}
}

// TestGeneration_LaggingServerRestoresNoToken asks servers that know neither the end of a token nor
// of its generation.
func TestGeneration_LaggingServerRestoresNoToken(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	s := replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	tok := replicatest.IssueToken(t, s, "token", now)
	if gone, err := s.Ended(t.Context(), tok.Hash.Hex()); gone || err != nil {
		t.Errorf("a valid token has ended: %v, %v", gone, err)
	}
	s.Close()
	s.Ahead()
	if _, err := replicatest.LookUp(t, s, tok, now); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("the token: %v", err)
	}
	if gone, err := s.Ended(t.Context(), tok.Hash.Hex()); !gone || err != nil {
		t.Errorf("a token of an earlier generation has not ended: %v, %v", gone, err)
	}
}

// TestRevokeAll_SkipsUnreadableMessages revokes logins with an unreadable message among them.
func TestRevokeAll_SkipsUnreadableMessages(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	s := replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	tok := replicatest.IssueToken(t, s, "token", now)
	replicatest.WriteUnreadable(t, replicatest.Servers(), prefix+".token."+oauth.HashOf("another").Hex())
	if ended, err := s.RevokeAll(t.Context(), now); err != nil || ended != 1 {
		t.Errorf("revoked %d, %v", ended, err)
	}
	if _, err := replicatest.LookUp(t, s, tok, now); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("the token: %v", err)
	}
}
