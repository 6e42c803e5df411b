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

// firstCase is who comes to servers that have begun anew before a replica is back that
// knows which passphrase counts.
type firstCase struct {
	counted []string // the passphrases that counted before, the last one still does
	first   []string // those of who come, "" for a command of the owner
	stands  bool     // what the last of them let in stays
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

// TestGeneration_FirstReplicaOnEmptyServersDoesNotDecide takes all servers away, and has
// others than the replica that lives on come back first.
func TestGeneration_FirstReplicaOnEmptyServersDoesNotDecide(t *testing.T) {
	t.Parallel()
	three, now := replicatest.Start(t, 3), time.Now()
	prefixes, stays := make(map[string]string), make(map[string]*logins.Store)
	for name, c := range firstCases() {
		prefixes[name] = replicatest.NewPrefix()
		for _, passphrase := range c.counted {
			stays[name] = replicatest.OpenLoginsAs(t, three, prefixes[name], ownerOf(t, passphrase))
			stays[name].Close() // it does not hear of anything before it is back
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
				t.Error("a replica that does not know yet who was first takes what they let in")
			}
			stays.FollowAgain()
			replicatest.Eventually(t, "it draws another key, or takes the one that is there", func() bool { return stays.Seal() != former })
			replicatest.Eventually(t, "its passphrase counts", func() bool {
				_, err := stays.Authenticate(t.Context(), another)
				return err == nil
			})
			replicatest.Eventually(t, "they agree", func() bool { return stays.Seal() == last.Seal() })
			replicatest.Eventually(t, "what was let in is as it should be", func() bool {
				_, err := stays.Token(t.Context(), tok.Hash, now)
				return c.stands && err == nil || !c.stands && errors.Is(err, oauth.ErrNotFound)
			})
			replicatest.Eventually(t, "the one who was first takes part, with its passphrase if it counts", func() bool {
				given := c.first[len(c.first)-1]
				_, err := last.Authenticate(t.Context(), given)
				return given == another && err == nil || given != another && errors.Is(err, oauth.ErrReplaced)
			})
			fresh := replicatest.OpenLoginsAs(t, three, prefix, ownerOf(t, another))
			if fresh.Seal() != stays.Seal() {
				t.Error("one more with the passphrase that counts ends logins")
			}
		})
	}
}

// TestGeneration_MissesNoneDuringASwitch has EndAll enter an era between
// the look at what is known and the note of what was heard.
func TestGeneration_MissesNoneDuringASwitch(t *testing.T) {
	t.Parallel()
	s := replicatest.OpenLogins(t, replicatest.Servers(), replicatest.NewPrefix())
	s.Close()
	if heard := s.Overtake(t.Context()); s.Seal() != heard {
		t.Error("the later era is not known")
	}
	s.OvertakePassphraseCheck(t.Context())
	if _, err := s.Authenticate(t.Context(), oauthtest.Passphrase); err != nil {
		t.Errorf("the passphrase that counts: %v", err)
	}
}

// TestGeneration_LaggingServerRestoresNoToken asks servers that know neither the end of
// a token nor of its era.
func TestGeneration_LaggingServerRestoresNoToken(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	s := replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	tok := replicatest.IssueToken(t, s, "token", now)
	if gone, err := s.Ended(t.Context(), tok.Hash.Hex()); gone || err != nil {
		t.Errorf("a good token is gone: %v, %v", gone, err)
	}
	s.Close()
	s.Ahead()
	if _, err := replicatest.LookUp(t, s, tok, now); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("the token: %v", err)
	}
	if gone, err := s.Ended(t.Context(), tok.Hash.Hex()); !gone || err != nil {
		t.Errorf("a token whose era has ended is not gone: %v, %v", gone, err)
	}
}

// TestRevokeAll_SkipsUnreadableMessages ends logins with a message among them that
// is none.
func TestRevokeAll_SkipsUnreadableMessages(t *testing.T) {
	t.Parallel()
	prefix, now := replicatest.NewPrefix(), time.Now()
	s := replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	tok := replicatest.IssueToken(t, s, "token", now)
	replicatest.WriteUnreadable(t, replicatest.Servers(), prefix+".token."+oauth.HashOf("another").Hex())
	if ended, err := s.RevokeAll(t.Context(), now); err != nil || ended != 1 {
		t.Errorf("%d have ended, %v", ended, err)
	}
	if _, err := replicatest.LookUp(t, s, tok, now); !errors.Is(err, oauth.ErrNotFound) {
		t.Errorf("the token: %v", err)
	}
}
