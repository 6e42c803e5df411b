package oauth_test

import (
	"strings"
	"testing"

	"candela/internal/access/oauth"
	. "candela/internal/access/oauth/oauthtest" //nolint:revive // as in every test of this package
)

func TestPassphrase_HasAFloor(t *testing.T) {
	t.Parallel()
	for _, weak := range []string{
		"", "password", "hunter2", "elevenchars", "passwordpassword", "Password123!", "P4ssword-2026", "aaaaaaaaaaaa", "abababababab", "abcabcabcabcab",
		"candela12345!", "letmein-letmein", "abcdefghijkl", "qwertyuiopas", "123456789012", "Welcome-2026-11", "1111-2222-1111", strings.Repeat("ab cd", 300),
	} {
		if _, err := oauth.HashPassphrase(weak, Cost()); err == nil {
			t.Errorf("%q is taken", weak)
		} else if weak != "" && strings.Contains(err.Error(), weak) {
			t.Errorf("the error contains the passphrase: %v", err)
		}
	}
	for _, good := range []string{
		Passphrase, "open sesame, please, please", "a passphrase of your own", "correct-horse-of-the-orders", "Tr0ub4dor&3-Tr0u", "öffne dich, Tür", "0f3a-99c1-7b22-d0e4",
		"my password is a walrus", oauth.NewPassphrase(),
	} {
		if _, err := oauth.HashPassphrase(good, Cost()); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}
