package ledger_test

import (
	"encoding/hex"
	"encoding/json"
	"testing"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
)

// TestChain_IsTheOwnersAlone holds that the chain of an owner follows from the owner's events
// alone, that the export has it, and that the erasure of another leaves it as it is.
func TestChain_IsTheOwnersAlone(t *testing.T) {
	t.Parallel()
	both := t.TempDir()
	shared := open(t, both)
	for n := range 4 {
		for _, name := range []principal.Owner{"ann", "bob"} {
			put(t, shared, name, int64(n))
		}
	}
	before, _ := bobs(t, both, ledger.Chain{})
	if before.Events != 4 {
		t.Errorf("%+v", before)
	}
	var exported ledger.Chain
	for row, err := range shared.ExportOwner(t.Context(), "bob") {
		check(t, err)
		if row.Table != "audit" {
			continue
		}
		var e struct {
			Hash string `json:"hash"`
		}
		check(t, json.Unmarshal(row.JSON, &e))
		hash, err := hex.DecodeString(e.Hash)
		check(t, err)
		exported.Add(ledger.Hash(hash))
	}
	if exported != before {
		t.Errorf("the export has %+v, the log %+v", exported, before)
	}
	_, err := shared.SeeOwner(t.Context(), owners.Owner{ID: "ann"})
	check(t, err)
	_, err = shared.SetOwnerState(t.Context(), "ann", owners.Suspended)
	check(t, err)
	_, err = shared.EraseOwner(t.Context(), "ann")
	check(t, err)
	if after, found := bobs(t, both, before); after != before || !found {
		t.Errorf("the erasure of another made %+v of %+v", after, before)
	}
	put(t, shared, "bob", 9)
	if after, found := bobs(t, both, before); after.Events != 5 || !found {
		t.Errorf("then %+v, %v", after, found)
	}
	if _, found := bobs(t, both, ledger.Chain{Events: 4}); found {
		t.Error("a link that never was is found")
	}
	verified(t, both)
}

func put(t *testing.T, l *ledger.Ledger, owner principal.Owner, level int64) {
	t.Helper()
	a := newAlert(level)
	a.Owner = owner
	check(t, l.PutAlert(t.Context(), principal.Caller{Subject: owner}, a))
}

// bobs follows the chain of bob from a link.
func bobs(t *testing.T, dir string, link ledger.Chain) (ledger.Chain, bool) {
	t.Helper()
	log, err := ledger.OpenAudit(t.Context(), dir)
	check(t, err)
	now, found, err := log.Chain(t.Context(), "bob", link)
	check(t, err)
	check(t, log.Close())
	return now, found
}
