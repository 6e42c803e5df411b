package replicatest_test

import (
	"slices"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/data/provider"
	"candela/internal/store/replica/member"
	"candela/internal/store/replica/replicatest"
	"candela/lib/market"
)

// Messages that cannot be decoded are skipped where the others are usable.
func TestUnreadable_MessageIsSkipped(t *testing.T) {
	t.Parallel()
	for name, sealed := range map[string]bool{"sealed": true, "not sealed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unreadable(t, sealed)
		})
	}
}

// unreadable writes messages that cannot be decoded, sealed or not.
func unreadable(t *testing.T, sealed bool) {
	t.Helper()
	prefix, now := replicatest.NewPrefix(), time.Now()
	store, tokens := replicatest.OpenStore(t, replicatest.Servers(), prefix), replicatest.OpenLogins(t, replicatest.Servers(), prefix)
	_, conn := replicatest.Join(t, replicatest.Servers(), prefix, "a")
	sub := provider.Sub{Symbol: market.Symbol{Venue: "market", Name: "S0"}, Interval: market.Hour1}
	if err := store.SaveMarks(t.Context(), map[provider.Sub]int64{sub: 3600}); err != nil {
		t.Fatal(err)
	}
	replicatest.Fire(t, store, 2)
	tok := replicatest.IssueToken(t, tokens, "one", now)
	for stream, subjects := range map[string][]string{
		"STATE": {".series.x.y.z", ".series.UzA.eA"}, "ALERTS": {".alert.UzA.x"}, "TOKENS": {".token." + oauth.HashOf("two").Hex()}, "MEMBERS": {".member.X"},
	} {
		for _, subject := range subjects {
			if !sealed {
				replicatest.WriteUnreadable(t, replicatest.Servers(), prefix+subject)
			} else if err := replicatest.WriteSealed(t.Context(), conn, stream, prefix+subject, []byte("{no")); err != nil {
				t.Fatal(err)
			}
		}
	}

	if marks, err := store.Marks(t.Context()); err != nil || len(marks) != 1 || marks[sub] != 3600 {
		t.Errorf("watermarks %v, %v", marks, err)
	}
	if n, err := store.PruneEntries(t.Context(), now.Add(time.Hour), 10, 10); err != nil || n != 1 {
		t.Errorf("pruned %d notifications, %v", n, err)
	}
	if list, err := replicatest.OpenLogins(t, replicatest.Servers(), prefix).Tokens(t.Context(), "ann", now); err != nil || len(list) != 1 || list[0].ID != tok.ID {
		t.Errorf("tokens %v, %v", list, err)
	}
	if names, err := member.Names(t.Context(), conn); err != nil || !slices.Equal(names, []string{"a"}) {
		t.Errorf("replicas %v, %v", names, err)
	}
	b, err := member.Join(t.Context(), conn, member.Info{Name: "b", Account: "owner"}, replicatest.Quiet())
	if err != nil {
		t.Fatalf("join: %v", err)
	}
	b.Close()
}
