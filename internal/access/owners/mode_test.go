package owners_test

import (
	"path/filepath"
	"testing"
	"time"

	"candela/internal/access/oauth"
	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/lib/fault"
)

// TestStore_IsRefusedInTheOtherMode opens stores that have something of one owner, of many, and of
// neither.
func TestStore_IsRefusedInTheOtherMode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		one, person  bool
		single, many bool // accepted
	}{
		"empty":   {single: true, many: true},
		"one":     {one: true, single: true},
		"many":    {person: true, many: true},
		"adopted": {one: true, person: true, many: true}, // orders stay with the former owner
	} {
		kept, err := ledger.Open(t.Context(), filepath.Join(t.TempDir()), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = kept.Close() }()
		if c.one {
			a := alertOf(1)
			a.Owner = oauth.SoleOwner
			if err := kept.PutAlert(t.Context(), principal.Caller{Subject: oauth.SoleOwner}, a); err != nil {
				t.Fatal(err)
			}
		}
		if c.person {
			if _, err := kept.SeeOwner(t.Context(), owners.Owner{ID: "ann"}); err != nil {
				t.Fatal(err)
			}
		}
		for many, accepted := range map[bool]bool{false: c.single, true: c.many} {
			err := owners.CheckMode(t.Context(), kept, many)
			if (err == nil) != accepted || err != nil && fault.Of(err).Code != "owners_mode" {
				t.Errorf("a store of %s, many owners %v: %v", name, many, err)
			}
		}
	}
}
