package ledger_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"candela/internal/access/owners"
	"candela/internal/kit/principal"
	"candela/internal/store/ledger"
	"candela/internal/trading/order"
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

// TestChains_AreStoredWithTheEvents holds that the stored chain is the one of the log after changes that succeed, that fail
// alone and that share a commit, and after an upgrade.
func TestChains_AreStoredWithTheEvents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := open(t, dir)
	var writers sync.WaitGroup
	release := l.Hold()
	for n := range 20 {
		writers.Go(func() {
			put(t, l, principal.Owner(fmt.Sprint("owner", n%3)), int64(n))
			if _, err := l.AppendEvents(t.Context(), principal.Caller{Subject: "owner1"}, []order.Event{{Kind: order.KindSent, OrderID: "none"}}); err == nil {
				t.Error("an event of no order is stored")
			}
		})
	}
	for l.Waiting() < 20 {
		time.Sleep(time.Millisecond)
	}
	release()
	writers.Wait()
	check(t, l.RecordPolicy(t.Context(), []byte("{}"), "sha256:1"))
	check(t, l.RecordPolicy(t.Context(), []byte("{}"), "sha256:1"))
	check(t, l.RecordPolicy(t.Context(), []byte("{}"), "sha256:2"))
	if r := verified(t, dir); r.Events != 22 {
		t.Errorf("%d events", r.Events)
	}
	check(t, l.Close())
	const upgrade = "DROP TABLE chains; DROP INDEX events_of_proofs; PRAGMA user_version = 6"
	check(t, behind(t, dir, upgrade))
	verified(t, dir) // a store of the version before
	check(t, open(t, dir).Close())
	verified(t, dir)
}

// TestChains_ShowChanges makes logs that are whole by their hashes and their head.
func TestChains_ShowChanges(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"the last event is cut": `DROP TRIGGER events_no_delete; DELETE FROM events WHERE seq = 6;
			UPDATE head SET event = 5, hash = (SELECT hash FROM events WHERE seq = 5);
			CREATE TRIGGER events_no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, ''); END`,
		"a chain is another":  "UPDATE chains SET hash = zeroblob(32) WHERE owner = 'ann'",
		"a chain is shorter":  "UPDATE chains SET events = 2 WHERE owner = 'ann'",
		"a chain is gone":     "DELETE FROM chains WHERE owner = 'bob'",
		"a chain is invented": "INSERT INTO chains VALUES ('eve', 1, zeroblob(32), 0, 0)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			l := open(t, dir)
			for n := range 3 {
				put(t, l, "ann", int64(n))
				put(t, l, "bob", int64(n))
			}
			check(t, l.Close())
			check(t, behind(t, dir, script))
			if r := verify(t, dir); len(r.Breaks) != 1 || !strings.Contains(r.Breaks[0].What, "the chain of owner") {
				t.Errorf("found %v", r.Breaks)
			}
		})
	}
}
