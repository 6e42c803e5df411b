package cluster_test

import (
	"slices"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/market"
	"candela/internal/market/provider"
	"candela/internal/store/cluster"
	"candela/internal/store/cluster/natstest"
)

// scribble writes messages that cannot be read.
func scribble(t *testing.T, to *natstest.Cluster, subjects ...string) {
	t.Helper()
	js := adminOf(t, to)
	for _, subject := range subjects {
		if _, err := js.Publish(t.Context(), subject, []byte("{no")); err != nil {
			t.Fatal(err)
		}
	}
}

// A message that cannot be read is passed over where the others are of use without it.
func TestUnreadable_OneMessageStopsNothingButItself(t *testing.T) {
	t.Parallel()
	for name, sealed := range map[string]bool{"of a replica": true, "of others": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unreadable(t, sealed)
		})
	}
}

// unreadable writes messages that cannot be read, sealed as ours or not.
func unreadable(t *testing.T, sealed bool) {
	t.Helper()
	prefix, now := newPrefix(), time.Now()
	store, tokens := openStore(t, servers, prefix), openTokens(t, servers, prefix)
	_, conn := join(t, servers, prefix, "a")
	sub := provider.Sub{Symbol: market.Symbol{Venue: "bourse", Name: "S0"}, Interval: market.Hour1}
	if err := store.SaveMarks(t.Context(), map[provider.Sub]int64{sub: 3600}); err != nil {
		t.Fatal(err)
	}
	fire(t, store, 2)
	tok := issue(t, tokens, "one", now)
	for stream, subjects := range map[string][]string{
		"STATE": {".series.x.y.z", ".series.UzA.eA"}, "ALERTS": {".alert.UzA.x"}, "TOKENS": {".token." + oauth.HashOf("two").Hex()}, "MEMBERS": {".member.X"},
	} {
		for _, subject := range subjects {
			if !sealed {
				scribble(t, servers, prefix+subject)
			} else if err := conn.Scribble(t.Context(), stream, prefix+subject, []byte("{no")); err != nil {
				t.Fatal(err)
			}
		}
	}

	if marks, err := store.Marks(t.Context()); err != nil || len(marks) != 1 || marks[sub] != 3600 {
		t.Errorf("the marks are %v, %v", marks, err)
	}
	if n, err := store.PruneEntries(t.Context(), now.Add(time.Hour), 10, 10); err != nil || n != 1 {
		t.Errorf("%d notifications were pruned, %v", n, err)
	}
	if list, err := openTokens(t, servers, prefix).Tokens(t.Context(), "ann", now); err != nil || len(list) != 1 || list[0].ID != tok.ID {
		t.Errorf("the tokens are %v, %v", list, err)
	}
	if names, err := conn.Replicas(t.Context()); err != nil || !slices.Equal(names, []string{"a"}) {
		t.Errorf("the replicas are %v, %v", names, err)
	}
	b, err := conn.Join(t.Context(), cluster.Who{Name: "b", Account: "owner"}, quiet())
	if err != nil {
		t.Fatalf("join: %v", err)
	}
	b.Close()
}
